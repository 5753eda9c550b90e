"""A last look at a decision: does the car, as it really turns and stops, touch anybody who stands there?

Only who stands: before somebody who moves, stopping may be the wrong thing to do, and the plan of speeds knows better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from drivehierarchy_gym.agents.tracking import DECISION_SECONDS
from drivehierarchy_gym.bridge import STEER_STEP
from drivehierarchy_gym.catalog import EGO_LENGTH, EGO_REAR_AXLE_OFFSET, EGO_WIDTH
from drivehierarchy_gym.geometry import boxes_overlap
from drivehierarchy_gym.state import ActorState, EgoState
from drivehierarchy_gym.steering import WHEELBASE, wheel_angle

STEP = 0.1
"""Seconds between the looks."""
BRAKING = 6.0
"""m/s² with which the car is stopped after the decision."""
ROOM = 0.08
"""m kept on all sides."""
REACH = 12.0
"""m beyond the stopping distance within which bodies are looked at."""


def stays_clear(ego: EgoState, steer: float, held_steer: float, speed: float, standing: Sequence[ActorState]) -> bool:
    """Whether the car can hold `steer` for one decision, reach `speed` (m/s) meanwhile, then stop, and touch nobody.

    `held_steer` is the wheel's present command, from which one decision can move it by `STEER_STEP` only.
    """
    steer = min(max(steer, held_steer - STEER_STEP), held_steer + STEER_STEP)
    reach = REACH + speed * speed / (2 * BRAKING)
    near = [body for body in standing if math.hypot(body.x - ego.x, body.y - ego.y) < reach]
    x = ego.x - EGO_REAR_AXLE_OFFSET * math.cos(ego.yaw)
    y = ego.y - EGO_REAR_AXLE_OFFSET * math.sin(ego.yaw)
    yaw, v, time = ego.yaw, max(ego.speed, 0.0), 0.0
    gain = (speed - v) / DECISION_SECONDS
    while True:
        v = max(v + (gain if time < DECISION_SECONDS else -BRAKING) * STEP, 0.0)
        time += STEP
        yaw += v * STEP * math.tan(wheel_angle(steer, v)) / WHEELBASE
        x += v * STEP * math.cos(yaw)
        y += v * STEP * math.sin(yaw)
        centre_x = x + EGO_REAR_AXLE_OFFSET * math.cos(yaw)
        centre_y = y + EGO_REAR_AXLE_OFFSET * math.sin(yaw)
        for body in near:
            if boxes_overlap(
                centre_x, centre_y, yaw, EGO_LENGTH + 2 * ROOM, EGO_WIDTH + 2 * ROOM,
                body.x, body.y, body.yaw, body.length, body.width,
            ):  # fmt: skip
                return False
        if v == 0.0 and time >= DECISION_SECONDS:
            return True
