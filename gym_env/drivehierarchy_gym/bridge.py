"""From a driving decision to pedals and wheel: the control law of the release (facts §3.4, paper Eq. 2-4)."""

from __future__ import annotations

from drivehierarchy_gym.state import VehicleControl

MAX_TARGET_SPEED = 30.0
"""m/s; higher wishes are cut to this."""
MAX_PEDAL = 0.85
"""Most throttle, and most brake, that the law ever gives."""
STEER_STEP = 0.12
"""Largest change of the wheel per accepted decision."""
STOP_TARGET = 0.2
"""A target speed up to this (m/s) means: stop."""
MOVING_SPEED = 0.8
"""m/s; a slower car with a higher target is setting off and gets at least `SET_OFF_THROTTLE`."""
SET_OFF_THROTTLE = 0.45


def clamp(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value


def pedals(target_speed: float, speed: float) -> tuple[float, float]:
    """Throttle and brake in [0, 1] for a target and the present speed (m/s, both at least 0)."""
    if target_speed <= STOP_TARGET:
        return 0.0, min(MAX_PEDAL, 0.35 + 0.25 * speed)
    error = target_speed - speed
    if error < 0.0:
        return 0.0, min(MAX_PEDAL, 0.30 * -error)
    throttle = 0.25 + 0.22 * error
    if target_speed >= MOVING_SPEED and speed < MOVING_SPEED:
        throttle = max(throttle, SET_OFF_THROTTLE)
    return min(MAX_PEDAL, throttle), 0.0


class ActuationBridge:
    """Turns one decision after the other into the control that the car holds until the next.

    `control` is the one in force, `steer` and `target_speed` the last accepted decision after its limits. A decision
    that could not be read leaves all of them as they are.
    """

    def __init__(self) -> None:
        self.control = VehicleControl()
        self.steer = 0.0
        self.target_speed = 0.0

    def follow(self, steer: float, target_speed: float, speed: float) -> VehicleControl:
        """Accept a decision: wheel in [-1, 1] (negative = left) and target speed (m/s), any finite numbers.

        Both are clamped; the wheel moves at most `STEER_STEP` from the last accepted one. `speed` is the ego's (m/s),
        rolling back counts as its magnitude.
        """
        steer = clamp(steer, -1.0, 1.0)
        self.steer = clamp(steer, self.steer - STEER_STEP, self.steer + STEER_STEP)
        self.target_speed = clamp(target_speed, 0.0, MAX_TARGET_SPEED)
        throttle, brake = pedals(self.target_speed, abs(speed))
        self.control = VehicleControl(self.steer, throttle, brake)
        return self.control

    def drive(self, steer: float, throttle: float, brake: float) -> VehicleControl:
        """Accept pedals and wheel as they are, clamped to their ranges."""
        self.steer = clamp(steer, -1.0, 1.0)
        self.control = VehicleControl(self.steer, clamp(throttle, 0.0, 1.0), clamp(brake, 0.0, 1.0))
        return self.control
