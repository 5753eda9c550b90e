import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.backends.sumo.contacts import Walls, box_touches_box, box_touches_segment
from drivehierarchy_gym.geometry import box_corners

CAR = (4.89, 1.84)
COORDINATE = st.floats(-12, 12)
ANGLE = st.floats(-math.pi, math.pi)


def test_boxes_touch_from_the_first_centimetre() -> None:
    assert not box_touches_box((0, 0, 0), CAR, (4.90, 0, 0), CAR)
    assert box_touches_box((0, 0, 0), CAR, (4.88, 0, 0), CAR)
    assert not box_touches_box((0, 0, 0), CAR, (0, 1.85, 0), CAR)
    assert box_touches_box((0, 0, 0), CAR, (0, 1.83, 0), CAR)


@pytest.mark.parametrize(
    ("wall", "touches"),
    [
        ((-20, 0.9, 20, 0.9), True),  # along the side
        ((-20, 0.93, 20, 0.93), False),
        ((2.4, -9, 2.4, 9), True),  # across the front
        ((2.46, -9, 2.46, 9), False),
        ((0.1, 0.1, 0.2, 0.2), True),  # inside
        ((3.0, 0.0, 9.0, 0.0), False),  # ends before the bumper
        ((2.0, 0.0, 9.0, 0.0), True),
    ],
)
def test_walls_and_the_box_of_the_ego(wall: tuple[float, float, float, float], touches: bool) -> None:
    assert box_touches_segment((0, 0, 0), CAR, wall) is touches
    assert box_touches_segment((0, 0, math.pi), CAR, wall) is touches


@given(COORDINATE, COORDINATE, ANGLE, st.tuples(COORDINATE, COORDINATE, COORDINATE, COORDINATE))
def test_a_wall_that_enters_the_box_touches_it(
    x: float, y: float, yaw: float, wall: tuple[float, float, float, float]
) -> None:
    """Against a dense sampling of the wall."""
    t = np.linspace(0, 1, 2000)
    dx, dy = wall[0] + t * (wall[2] - wall[0]) - x, wall[1] + t * (wall[3] - wall[1]) - y
    along, across = np.cos(yaw) * dx + np.sin(yaw) * dy, np.cos(yaw) * dy - np.sin(yaw) * dx
    outside = np.maximum(np.abs(along) - CAR[0] / 2, np.abs(across) - CAR[1] / 2).min()
    if abs(outside) > 0.02:  # the samples cannot tell what is closer
        assert box_touches_segment((x, y, yaw), CAR, wall) is bool(outside < 0)


@given(st.lists(st.tuples(*[st.floats(-60, 60)] * 4), max_size=30), st.floats(-60, 60), st.floats(-60, 60), ANGLE)
def test_the_grid_finds_every_wall(
    walls: list[tuple[float, float, float, float]], x: float, y: float, yaw: float
) -> None:
    grid = Walls(((number // 2, wall) for number, wall in enumerate(walls)), math.hypot(*CAR) / 2)
    touched = {number // 2 for number, wall in enumerate(walls) if box_touches_segment((x, y, yaw), CAR, wall)}
    assert list(grid.touched((x, y, yaw), CAR)) == sorted(touched)


def test_corners_are_part_of_the_box() -> None:
    for x, y in box_corners(3.0, 4.0, 0.7, CAR[0] - 1e-6, CAR[1] - 1e-6):
        assert box_touches_segment((3.0, 4.0, 0.7), CAR, (x, y, 2 * x - 3.0, 2 * y - 4.0))
    for x, y in box_corners(3.0, 4.0, 0.7, CAR[0] + 1e-6, CAR[1] + 1e-6):
        assert not box_touches_segment((3.0, 4.0, 0.7), CAR, (x, y, 2 * x - 3.0, 2 * y - 4.0))
