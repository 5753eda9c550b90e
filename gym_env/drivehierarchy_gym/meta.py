"""Driving by keywords: Bench2Drive-VL's direction and speed keys become a wheel position and a target speed.

The wheel follows the lane-level route, or a line beside it, by pure pursuit (Coulter 1992). What is said is what is
driven: a turn that the route does not take, or straight on where it bends, leaves the route.
"""

from __future__ import annotations

import math

from drivehierarchy_gym.bridge import MAX_TARGET_SPEED, clamp
from drivehierarchy_gym.catalog import EGO_REAR_AXLE_OFFSET
from drivehierarchy_gym.geometry import Polyline, Pose, wrap_angle
from drivehierarchy_gym.route import LOOKAHEAD, RouteTracker
from drivehierarchy_gym.state import EgoState
from drivehierarchy_gym.steering import WHEELBASE, steer_for_wheel_angle

OFFSETS = {"CHANGE_LANE_LEFT": 3.5, "CHANGE_LANE_RIGHT": -3.5, "DEVIATE_LEFT": 0.7, "DEVIATE_RIGHT": -0.7}
"""Metres left of the route that the direction keys aim at; every other key aims at the route itself."""
ACCELERATE_BY, DECELERATE_BY = 3.0, 1.5
"""m/s above and below the present speed that ACCELERATE and DECELERATE aim at."""
TURN_RADIUS = 8.0
"""Metres; radius of a turn that the route does not take."""
BEND = math.radians(20.0)
"""A change of heading from which on the route counts as turning."""
STRAIGHT_REACH = 15.0
"""Metres: GO_STRAIGHT contradicts a bend that begins within this distance; a turn key fits one that ended within it."""
_STEP = 3.0


class MetaDriver:
    """Executes one pair of keys per decision.

    Args:
        route: the lane-level way along the planned edges.
    """

    def __init__(self, route: Polyline) -> None:
        self._route = RouteTracker(route)
        self._kept_speed: float | None = None

    def decide(self, direction: str, speed: str, ego: EgoState) -> tuple[float, float]:
        """Wheel in [-1, 1] and target speed (m/s) for a direction key and a speed key."""
        angle = self._wheel_angle(direction, ego)
        return steer_for_wheel_angle(angle, abs(ego.speed)), self._target_speed(speed, max(ego.speed, 0.0))

    def _target_speed(self, key: str, speed: float) -> float:
        if key == "KEEP":
            # The speed at which keeping began: aiming at the present one would let it drift.
            if self._kept_speed is None:
                self._kept_speed = speed
            return self._kept_speed
        self._kept_speed = None
        if key == "ACCELERATE":
            return min(speed + ACCELERATE_BY, MAX_TARGET_SPEED)
        return max(speed - DECELERATE_BY, 0.0) if key == "DECELERATE" else 0.0

    def _wheel_angle(self, direction: str, ego: EgoState) -> float:
        rear = Pose(*Pose(ego.x, ego.y, ego.yaw).to_world(-EGO_REAR_AXLE_OFFSET, 0.0), ego.yaw)
        progress = self._route.project(rear.x, rear.y).arc
        if direction in ("TURN_LEFT", "TURN_RIGHT"):
            side = 1.0 if direction == "TURN_LEFT" else -1.0
            first = progress - STRAIGHT_REACH
            bends = self._bends(first, progress + LOOKAHEAD, self._route.heading(first))
            if max(side * bend for bend in bends) < BEND:
                return side * math.atan(WHEELBASE / TURN_RADIUS)
        elif direction == "GO_STRAIGHT":
            bends = self._bends(progress, progress + STRAIGHT_REACH, ego.yaw)
            if max(abs(bend) for bend in bends) >= BEND:
                return 0.0
        offset = OFFSETS.get(direction, 0.0)
        distance = clamp(4.0 + 0.5 * abs(ego.speed), 4.0 if abs(offset) < 1.0 else 12.0, 15.0)
        x, y = self._route.at(progress + distance)
        aim = Pose(x, y, self._route.heading(progress + distance)).to_world(0.0, offset)
        forward, left = rear.to_local(*aim)
        squared = forward * forward + left * left
        return math.atan(WHEELBASE * 2.0 * left / squared) if squared > 1.0 else 0.0

    def _bends(self, first: float, last: float, heading: float) -> list[float]:
        """Headings of the route (rad, positive = left) relative to `heading`, at points from `first` to `last`."""
        steps = math.ceil((last - first) / _STEP)
        return [wrap_angle(self._route.heading(first + _STEP * i) - heading) for i in range(steps + 1)]
