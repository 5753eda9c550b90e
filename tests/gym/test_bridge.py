"""The control law against values worked out by hand from its constants."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.bridge import ActuationBridge, pedals
from drivehierarchy_gym.state import VehicleControl


@pytest.mark.parametrize(
    ("target", "speed", "throttle", "brake"),
    [
        (0.0, 0.0, 0.0, 0.35),
        (0.2, 1.0, 0.0, 0.60),
        (0.0, 2.0, 0.0, 0.85),
        (0.0, 10.0, 0.0, 0.85),
        (5.0, 5.0, 0.25, 0.0),
        (6.0, 5.0, 0.47, 0.0),
        (8.0, 5.0, 0.85, 0.0),
        (30.0, 0.0, 0.85, 0.0),
        (0.5, 0.0, 0.36, 0.0),  # 0.25 + 0.22 * 0.5: below the set-off target, no floor
        (0.8, 0.0, 0.45, 0.0),  # 0.426 raised to the floor
        (0.8, 0.79, 0.45, 0.0),
        (0.9, 0.8, 0.272, 0.0),  # already moving: no floor
        (4.0, 5.0, 0.0, 0.30),
        (3.0, 5.0, 0.0, 0.60),
        (1.0, 9.0, 0.0, 0.85),
    ],
)
def test_pedals(target: float, speed: float, throttle: float, brake: float) -> None:
    assert pedals(target, speed) == pytest.approx((throttle, brake))


def test_the_wheel_moves_at_most_a_step_per_decision() -> None:
    bridge = ActuationBridge()
    assert [bridge.follow(s, 5.0, 5.0).steer for s in (1.0, 1.0, 0.2, -1.0, 7.0)] == pytest.approx(
        [0.12, 0.24, 0.20, 0.08, 0.20]
    )


def test_wishes_out_of_range_are_clamped() -> None:
    bridge = ActuationBridge()
    bridge.follow(-0.05, 99.0, 29.5)
    assert bridge.target_speed == 30.0
    assert bridge.control == VehicleControl(-0.05, 0.25 + 0.22 * 0.5, 0.0)
    bridge.follow(-0.05, -3.0, 0.0)
    assert bridge.target_speed == 0.0
    assert bridge.control == VehicleControl(-0.05, 0.0, 0.35)


def test_rolling_back_counts_as_speed() -> None:
    bridge = ActuationBridge()
    assert bridge.follow(0.0, 0.0, -2.0).brake == pytest.approx(0.85)


def test_direct_control_is_clamped_and_is_where_the_next_decision_starts() -> None:
    bridge = ActuationBridge()
    assert bridge.drive(-2.0, 1.5, -1.0) == VehicleControl(-1.0, 1.0, 0.0)
    assert bridge.follow(1.0, 5.0, 5.0).steer == pytest.approx(-0.88)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(finite, finite, st.floats(-20, 60))))
def test_controls_stay_in_range(decisions: list[tuple[float, float, float]]) -> None:
    bridge = ActuationBridge()
    before = 0.0
    for steer, target, speed in decisions:
        control = bridge.follow(steer, target, speed)
        assert abs(control.steer) <= 1.0
        assert abs(control.steer - before) <= 0.12 + 1e-12
        assert 0.0 <= control.throttle <= 0.85
        assert 0.0 <= control.brake <= 0.85
        assert not (control.throttle and control.brake)
        assert all(math.isfinite(v) for v in (control.steer, control.throttle, control.brake))
        before = control.steer
