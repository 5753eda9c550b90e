import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.steering import MAX_WHEEL_ANGLE, steer_for_wheel_angle, wheel_angle


@pytest.mark.parametrize(
    ("kmh", "factor"), [(0, 1.0), (10, 0.95), (20, 0.9), (40, 0.85), (60, 0.8), (90, 0.75), (120, 0.7), (200, 0.7)]
)
def test_the_lock_narrows_with_speed(kmh: float, factor: float) -> None:
    assert wheel_angle(-1.0, kmh / 3.6) == pytest.approx(math.radians(70) * factor)


def test_negative_steer_is_left_and_commands_are_clipped() -> None:
    assert wheel_angle(-0.5, 0.0) > 0 > wheel_angle(0.5, 0.0)
    assert wheel_angle(7.0, 0.0) == -MAX_WHEEL_ANGLE
    assert steer_for_wheel_angle(3.0, 0.0) == -1.0


@given(st.floats(-1, 1), st.floats(0, 60))
def test_the_inverse_gives_the_command_back(steer: float, speed: float) -> None:
    assert steer_for_wheel_angle(wheel_angle(steer, speed), speed) == pytest.approx(steer, abs=1e-12)
