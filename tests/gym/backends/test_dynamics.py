"""The ego's bicycle model against what is known of cars and of the model's limits."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.backends.sumo import dynamics
from drivehierarchy_gym.backends.sumo.dynamics import FRICTION, GRAVITY, EgoDynamics
from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.state import VehicleControl
from drivehierarchy_gym.steering import WHEELBASE, steer_for_wheel_angle

TICK = 0.05
START = Pose(0.0, 0.0, 0.0)


def _drive(ego: EgoDynamics, seconds: float, **pedals: float) -> EgoDynamics:
    for _ in range(round(seconds / TICK)):
        ego.tick(VehicleControl(**pedals), TICK)
    return ego


def _turn(speed: float, angle: float, seconds: float = 10.0) -> EgoDynamics:
    """Hold a front-wheel angle (rad, left) at a roughly constant speed."""
    ego = EgoDynamics(START, speed)
    for _ in range(round(seconds / TICK)):
        throttle = max(0.25 + 0.5 * (speed - ego.speed), 0.0)
        ego.tick(VehicleControl(steer_for_wheel_angle(angle, ego.speed), throttle, 0.0), TICK)
    return ego


def test_full_throttle_reaches_100_kmh_in_about_seven_seconds() -> None:
    ego, seconds = EgoDynamics(START, 0.0), 0.0
    while ego.speed < 100 / 3.6:
        ego.tick(VehicleControl(throttle=1.0), TICK)
        seconds += TICK
    assert 6.8 <= seconds <= 7.4


def test_full_brake_slows_at_about_nine_metres_per_second_squared() -> None:
    ego, ticks = EgoDynamics(START, 25.0), 0
    while ego.speed > 0:
        ego.tick(VehicleControl(brake=1.0), TICK)
        ticks += 1
    assert 25.0 / (ticks * TICK) == pytest.approx(9.2, abs=0.3)
    assert ego.x == pytest.approx(25.0**2 / 2 / 9.2, rel=0.02)


def test_distance_is_the_integral_of_speed() -> None:
    ego, distance = EgoDynamics(START, 3.0), 0.0
    for _ in range(100):
        before = ego.speed
        ego.tick(VehicleControl(throttle=0.4), TICK)
        distance += (before + ego.speed) / 2 * TICK
    assert ego.x == pytest.approx(distance, abs=0.05)
    assert ego.y == 0.0


def test_standing_still_is_exact_whatever_the_wheel_does() -> None:
    ego = _drive(EgoDynamics(Pose(3.0, -2.0, 1.0), 0.0), 20.0, steer=0.7, brake=1.0)
    assert (ego.x, ego.y, ego.yaw, ego.speed) == (3.0, -2.0, 1.0, 0.0)


def test_there_is_no_reverse() -> None:
    ego = _drive(EgoDynamics(START, 2.0), 10.0, brake=0.3)
    assert ego.speed == 0.0
    assert ego.x > 0.0
    assert ego.acceleration == 0.0


def test_coasting_slows_down_gently() -> None:
    ego = _drive(EgoDynamics(START, 10.0), 2.0)
    assert 0.3 <= (10.0 - ego.speed) / 2.0 <= 0.8


@pytest.mark.parametrize("degrees", [5, 15, 35])
def test_at_walking_speed_it_is_the_kinematic_bicycle(degrees: float) -> None:
    angle = math.radians(degrees)
    ego = EgoDynamics(START, 1.0)
    for _ in range(round(4.0 / TICK)):  # let the wheel turn
        ego.tick(VehicleControl(steer_for_wheel_angle(angle, ego.speed), 0.15, 0.0), TICK)
    before, distance = ego.yaw, 0.0
    for _ in range(20):
        x, y = ego.x, ego.y
        ego.tick(VehicleControl(steer_for_wheel_angle(angle, ego.speed), 0.15, 0.0), TICK)
        distance += math.dist((x, y), (ego.x, ego.y))
    # The centre, half a wheelbase before the rear axle, runs on a circle a little wider than the rear axle's.
    radius = math.hypot(WHEELBASE / math.tan(angle), WHEELBASE / 2)
    assert distance / (ego.yaw - before) == pytest.approx(radius, rel=0.03)


def test_it_understeers_with_speed() -> None:
    slow, fast = _turn(3.0, math.radians(4), 3.0), _turn(20.0, math.radians(4), 3.0)
    assert abs(slow.yaw) / slow.speed > 1.2 * abs(fast.yaw) / fast.speed


@pytest.mark.parametrize("speed", [8.0, 15.0, 25.0])
def test_tyres_hold_no_more_than_friction_allows(speed: float) -> None:
    ego = EgoDynamics(START, speed)
    for tick in range(200):
        yaw = ego.yaw
        ego.tick(VehicleControl(-1.0, 0.5, 0.0), TICK)
        turn = math.remainder(ego.yaw - yaw, math.tau) / TICK
        if tick > 40:  # the first swing passes
            assert abs(turn) * ego.speed <= FRICTION * GRAVITY * 1.05


def test_braking_leaves_less_grip_to_turn() -> None:
    rolling, braking = EgoDynamics(START, 20.0), EgoDynamics(START, 20.0)
    for _ in range(20):
        rolling.tick(VehicleControl(-0.3), TICK)
        braking.tick(VehicleControl(-0.3, 0.0, 1.0), TICK)
    # Yaw per metre driven, so that the lower speed does not count.
    assert braking.yaw / math.hypot(braking.x, braking.y) < 0.75 * rolling.yaw / math.hypot(rolling.x, rolling.y)


def test_negative_steer_turns_left() -> None:
    left, right = (_drive(EgoDynamics(START, 5.0), 2.0, steer=s, throttle=0.2) for s in (-0.2, 0.2))
    assert left.y > 1.0
    assert left.y == pytest.approx(-right.y)
    assert left.yaw == pytest.approx(-right.yaw)
    assert left.state().wheel_angle > 0


def test_the_wheel_takes_time() -> None:
    ego = _drive(EgoDynamics(START, 5.0), TICK, steer=-1.0)
    assert ego.wheel_angle == pytest.approx(dynamics.WHEEL_RATE * TICK)


def test_shorter_steps_give_the_same_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    def lane_change() -> EgoDynamics:
        ego = EgoDynamics(START, 14.0)
        for i in range(120):
            ego.tick(VehicleControl(-0.08 * math.sin(math.tau * i / 60), 0.3, 0.0), TICK)
        return ego

    coarse = lane_change()
    monkeypatch.setattr(dynamics, "SUBSTEPS", 100)
    fine = lane_change()
    assert math.dist((coarse.x, coarse.y), (fine.x, fine.y)) < 0.35


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 12)), min_size=1, max_size=8),
    st.floats(0, 40),
)
def test_only_the_engine_makes_it_faster(pedals: list[tuple[float, float, float, int]], speed: float) -> None:
    """Also in a slide: no step of the integration adds energy, whatever wheel and pedals do."""
    ego = EgoDynamics(START, speed)
    way = speed * TICK
    for steer, throttle, brake, ticks in pedals:
        for _ in range(ticks):
            x, y = ego.x, ego.y
            ego.tick(VehicleControl(steer, throttle, brake), TICK)
            before, way = way, math.dist((x, y), (ego.x, ego.y))
            assert way <= before + 1.1 * dynamics.MAX_DRIVE_FORCE / dynamics.MASS * TICK * TICK
            assert ego.speed >= 0.0
            assert -math.pi < ego.yaw <= math.pi
