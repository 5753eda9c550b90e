"""From a line and a wished acceleration to the decision `[steer, target speed]` that brings them about."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.bridge import MAX_PEDAL, MOVING_SPEED, STOP_TARGET
from drivehierarchy_gym.catalog import EGO_REAR_AXLE_OFFSET
from drivehierarchy_gym.state import EgoState
from drivehierarchy_gym.steering import WHEELBASE, steer_for_wheel_angle

DECISION_SECONDS = 0.25
REACTION = 0.15
"""Seconds between the state that is looked at and the middle of the wheel's answer to it."""
FULL_THROTTLE = 4.9
"""m/s² of a full throttle at town speed, before resistance; what the ego was measured to do."""
FULL_BRAKE = 9.0
"""m/s² of a full brake."""
COASTING = 0.42
"""m/s² lost with both pedals free."""


def pursue(ego: EgoState, x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Steer in [-1, 1] towards the line `x`, `y` (N,), whose first point is beside or behind the car (pure pursuit).

    Pure pursuit from the rear axle: the front wheels are set for the circle through the axle and the point of the line
    at the look-ahead distance (Coulter 1992).
    """
    advance = max(ego.speed, 0.0) * REACTION
    yaw = ego.yaw + advance * math.tan(ego.wheel_angle) / WHEELBASE
    c, s = math.cos(yaw), math.sin(yaw)
    axle_x = ego.x + c * (advance - EGO_REAR_AXLE_OFFSET)
    axle_y = ego.y + s * (advance - EGO_REAR_AXLE_OFFSET)
    wanted = min(max(2.6 + 0.5 * ego.speed, 3.4), 16.0)
    distances = np.hypot(x - axle_x, y - axle_y)
    nearest = int(np.argmin(distances))
    beyond = np.flatnonzero(distances[nearest:] >= wanted)
    target = nearest + int(beyond[0]) if len(beyond) else len(x) - 1
    dx, dy = float(x[target]) - axle_x, float(y[target]) - axle_y
    left = c * dy - s * dx
    angle = math.atan2(2.0 * WHEELBASE * left, dx * dx + dy * dy)
    return steer_for_wheel_angle(angle, max(ego.speed, 0.0))


def target_for(acceleration: float, speed: float) -> float:
    """Target speed (m/s) for which the actuation law (facts §3.4) gives about `acceleration` (m/s²) at `speed`."""
    if speed < 0.1 and acceleration <= 0.0:
        return 0.0
    if acceleration > -COASTING / 2:
        throttle = (acceleration + COASTING) / FULL_THROTTLE
        if throttle < 0.17:  # the law knows no throttle below 0.25: coast, and come back to it at the next decision
            return max(speed - 0.01, STOP_TARGET + 0.01)
        error = max((min(throttle, MAX_PEDAL) - 0.25) / 0.22, 0.0)
        return max(speed + error, MOVING_SPEED if speed < MOVING_SPEED else 0.0)
    brake = min((-acceleration - COASTING) / FULL_BRAKE, MAX_PEDAL)
    target = speed - max(brake, 0.0) / 0.30
    if target > STOP_TARGET:
        return target
    # Below the stop target the law brakes with at least 0.35: only for who wants that, or hardly rolls.
    return 0.0 if speed < 0.5 or brake >= 0.35 else STOP_TARGET + 0.01
