"""The ego's motion: a planar single-track (bicycle) model with saturating tyres, driven by CARLA's pedals and wheel.

States are the velocities of the centre of mass in the body frame (forward, left) and the yaw rate. Tyre forces act at
the axles, across each wheel; they are solved implicitly, so that the same equations run from standstill, where they
turn into the kinematic bicycle model, to the limit of grip, where the front axle slides first. No reverse gear.

Parameters describe a Lincoln MKZ 2020 of 1.8 t with driver: wheelbase and box from the catalog, mass and drag from the
maker's data sheet, tyre, inertia and force limits typical of the class, tuned to 0-100 km/h in about 7 s and to a full
braking of 9 m/s². See docs/backends.md.
"""

from __future__ import annotations

import math

from drivehierarchy_gym.geometry import Pose, wrap_angle
from drivehierarchy_gym.state import EgoState, VehicleControl
from drivehierarchy_gym.steering import WHEELBASE, wheel_angle

MASS = 1800.0
"""kg."""
YAW_INERTIA = 3270.0
"""kg m²; 0.9 m a b."""
FRONT_AXLE = REAR_AXLE = WHEELBASE / 2
"""Distance from the centre of mass, which is the centre of the box, to the axles (m)."""
FRONT_STIFFNESS, REAR_STIFFNESS = 1.0e5, 1.3e5
"""Cornering stiffness per axle (N/rad): an understeer gradient of 1.2 degrees per g."""
FRICTION = 0.95
"""Tyre-road friction, dry asphalt."""
GRAVITY = 9.81
MAX_DRIVE_FORCE = 4.9 * MASS
"""Pull of a full throttle from standstill (N)."""
MAX_DRIVE_POWER = 132e3
"""Limit of pull times speed (W at the wheels)."""
MAX_BRAKE_FORCE = 8.7 * MASS
"""N, at full brake, on all four wheels; with the resistances 9 m/s²."""
ROLLING_RESISTANCE = 0.012 * MASS * GRAVITY
"""N."""
ENGINE_BRAKING = 0.3 * MASS
"""N, with the throttle closed; proportionally less when it is partly open."""
DRAG = 0.5 * 1.2 * 0.66
"""N s²/m²: half the density of air times drag area (c_w 0.29, 2.27 m²)."""
WHEEL_RATE = math.radians(70.0)
"""Fastest change of the front-wheel angle (rad/s): a hand wheel at 1,000 degrees per second."""
SUBSTEPS = 5
"""Integration steps in one tick."""

_AXLE_GRIP = FRICTION * MASS * GRAVITY / 2
_SLOWEST = 0.1
"""m/s; below it slip angles are taken as at this speed."""


class EgoDynamics:
    """Motion of the ego from `start` at `speed` (m/s), one `tick` at a time."""

    def __init__(self, start: Pose, speed: float) -> None:
        self.x, self.y, self.yaw = (float(value) for value in start)
        self.speed = max(float(speed), 0.0)
        """Forward velocity (m/s), never negative."""
        self.acceleration = 0.0
        self.wheel_angle = 0.0
        self._left = 0.0
        self._yaw_rate = 0.0

    def tick(self, control: VehicleControl, seconds: float) -> None:
        """Hold `control` for `seconds`."""
        throttle = min(max(control.throttle, 0.0), 1.0)
        brake = min(max(control.brake, 0.0), 1.0)
        before = self.speed
        drive = throttle * min(MAX_DRIVE_FORCE, MAX_DRIVE_POWER / max(before, 1.0))
        brakes = brake * MAX_BRAKE_FORCE
        resistance = ROLLING_RESISTANCE + ENGINE_BRAKING * (1.0 - throttle) + DRAG * before * before
        # Grip left for cornering on each axle, after its half of the pull and of the braking (friction circle).
        along = (drive - brakes) / 2
        grip = math.sqrt(max(_AXLE_GRIP * _AXLE_GRIP - along * along, 0.01 * _AXLE_GRIP * _AXLE_GRIP))
        step = seconds / SUBSTEPS
        turn = (wheel_angle(control.steer, before) - self.wheel_angle) / SUBSTEPS
        turn = min(max(turn, -WHEEL_RATE * step), WHEEL_RATE * step)
        self._integrate(drive - brakes - resistance, grip, turn, step)
        self.acceleration = (self.speed - before) / seconds

    def state(self) -> EgoState:
        """Present state as the protocol reports it."""
        return EgoState(self.x, self.y, self.yaw, self.speed, self.acceleration, self.wheel_angle)

    def _integrate(self, force: float, grip: float, turn: float, step: float) -> None:
        """`SUBSTEPS` steps of `step` seconds, the wheel turning by `turn` (rad) in each.

        Backward Euler for the sideways velocity and the yaw rate, with each axle's side force taken proportional to its
        sideways velocity within a step (a secant of the saturating curve).
        """
        x, y, yaw, forward, left, rate = self.x, self.y, self.yaw, self.speed, self._left, self._yaw_rate
        wheel = self.wheel_angle
        cos, sin = math.cos, math.sin
        m, inertia = MASS / step, YAW_INERTIA / step
        for _ in range(SUBSTEPS):
            wheel += turn
            c, s = cos(wheel), sin(wheel)
            axle_left = left + FRONT_AXLE * rate
            front = _secant(FRONT_STIFFNESS, c * axle_left - s * forward, abs(c * forward + s * axle_left), grip)
            rear = _secant(REAR_STIFFNESS, left - REAR_AXLE * rate, forward, grip)
            across = front * c * c
            a11 = m + across + rear
            a21 = FRONT_AXLE * across - REAR_AXLE * rear
            a12 = a21 + MASS * forward
            a22 = inertia + FRONT_AXLE * FRONT_AXLE * across + REAR_AXLE * REAR_AXLE * rear
            steered = front * c * s * forward
            b1 = m * left + steered
            b2 = inertia * rate + FRONT_AXLE * steered
            determinant = a11 * a22 - a12 * a21
            left = (b1 * a22 - b2 * a12) / determinant
            rate = (b2 * a11 - b1 * a21) / determinant

            side_force = -front * (c * (left + FRONT_AXLE * rate) - s * forward)
            forward += step * ((force - side_force * s) / MASS + left * rate)
            if forward <= 0.0:
                forward = 0.0
                if abs(left) < 0.05 and abs(rate) < 0.05:
                    left = rate = 0.0

            heading = yaw + rate * step / 2
            ch, sh = cos(heading), sin(heading)
            x += step * (ch * forward - sh * left)
            y += step * (sh * forward + ch * left)
            yaw += rate * step
        self.x, self.y, self.yaw, self.speed, self._left, self._yaw_rate = x, y, wrap_angle(yaw), forward, left, rate
        self.wheel_angle = wheel


def _secant(stiffness: float, sideways: float, along: float, grip: float) -> float:
    """Side force per sideways velocity (N s/m) of an axle whose force saturates at `grip` (N) as tanh of the slip."""
    if along < _SLOWEST:
        along = _SLOWEST
    linear = stiffness / along
    demand = abs(sideways) * linear / grip
    return linear if demand < 1e-6 else linear * math.tanh(demand) / demand
