"""What a steering command means: the front-wheel angle of the ego, the same behind every backend.

The command is CARLA's (steer in [-1, 1], negative = left); the map to an angle is that of its Lincoln MKZ: 70 degrees
at full lock (carla-simulator/carla issue 106) times a factor that falls with speed (the four-point steering curve that
CARLA's VehiclePhysicsControl returns for its cars). Controllers invert it with `steer_for_wheel_angle`.
"""

from __future__ import annotations

import math

WHEELBASE = 2.85
"""Distance between the axles of the MKZ (m)."""
MAX_WHEEL_ANGLE = math.radians(70.0)
"""Front-wheel angle at |steer| = 1 and standstill (rad)."""
STEERING_CURVE = ((0.0, 1.0), (20 / 3.6, 0.9), (60 / 3.6, 0.8), (120 / 3.6, 0.7))
"""(speed in m/s, factor) points, linear between them and constant beyond."""


def wheel_angle(steer: float, speed: float) -> float:
    """Front-wheel angle (rad, positive = left) that `steer` in [-1, 1] (negative = left) asks for at `speed` (m/s)."""
    return -min(max(steer, -1.0), 1.0) * MAX_WHEEL_ANGLE * _factor(speed)


def steer_for_wheel_angle(angle: float, speed: float) -> float:
    """Steering command that asks for `angle` (rad, positive = left) at `speed` (m/s); clipped at the lock."""
    return min(max(-angle / (MAX_WHEEL_ANGLE * _factor(speed)), -1.0), 1.0)


def _factor(speed: float) -> float:
    low_speed, low = STEERING_CURVE[0]
    for high_speed, high in STEERING_CURVE[1:]:
        if speed <= high_speed:
            return low + (high - low) * (speed - low_speed) / (high_speed - low_speed) if speed > low_speed else low
        low_speed, low = high_speed, high
    return low
