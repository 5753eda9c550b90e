import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.backends.sumo.paths import PathFollower
from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.plan import PathDrive

CORNER = Polyline.through([(0, 0), (10, 0), (10, 10)])


def _follow(drive: PathDrive, chord: float = 0.0) -> PathFollower:
    follower = PathFollower(drive, chord)
    follower.begin()
    return follower


def test_it_stands_until_it_begins() -> None:
    follower = PathFollower(PathDrive(CORNER, (1.0, 2.0)), 0.0)
    follower.tick(1.0)
    assert follower.pose() == (0.0, 0.0, 0.0)
    assert (follower.begun, follower.moving, follower.speed) == (False, False, 0.0)


def test_speeds_change_exactly_at_the_points() -> None:
    follower = _follow(PathDrive(CORNER, (4.0, 2.0)))
    follower.tick(2.0)
    assert follower.pose() == (pytest.approx(8.0), 0.0, 0.0)
    follower.tick(1.0)  # half a second to the corner at 4 m/s, half a second beyond it at 2 m/s
    assert follower.pose() == (pytest.approx(10.0), pytest.approx(1.0), pytest.approx(math.pi / 2))
    assert follower.speed == 2.0


def test_it_ends_exactly_at_the_last_point_and_stands() -> None:
    follower = _follow(PathDrive(CORNER, (3.0, 3.0)))
    for _ in range(200):
        follower.tick(0.05)
    assert follower.pose()[:2] == (10.0, 10.0)
    assert follower.finished
    assert follower.speed == 0.0


def test_accelerations_are_limited_at_both_ends() -> None:
    follower = _follow(PathDrive(Polyline.through([(0, 0), (60, 0)]), (8.0,), acceleration=2.0))
    speeds = []
    while not follower.finished:
        follower.tick(0.05)
        speeds.append(follower.speed)
    changes = [b - a for a, b in pairwise(speeds[:-1])]
    assert max(speeds) == 8.0
    assert max(changes) <= 0.1 + 1e-9
    assert min(changes) >= -0.13  # the braking to the end point is followed in steps
    assert speeds[-2] < 0.5
    assert len(speeds) * 0.05 == pytest.approx(8.0 / 2 + (60 - 16 - 16) / 8 + 8.0 / 2, abs=0.3)


def test_a_vehicle_turns_through_a_corner_smoothly_and_a_walker_at_once() -> None:
    car, walker = (_follow(PathDrive(CORNER, (5.0, 5.0)), chord) for chord in (2.8, 0.0))
    for _ in range(39):  # to 9.75 m
        car.tick(0.05)
        walker.tick(0.05)
    assert 0.3 < car.pose()[2] < 0.9
    assert walker.pose()[2] == 0.0
    assert car.pose()[:2] == walker.pose()[:2]


@given(
    st.lists(st.tuples(st.floats(0.5, 20), st.floats(-1, 1), st.floats(0.3, 15)), min_size=1, max_size=8),
    st.one_of(st.none(), st.floats(0.5, 8)),
    st.integers(1, 7),
)
def test_every_path_is_finished_in_bounded_time_and_never_left(
    legs: list[tuple[float, float, float]], acceleration: float | None, ticks: int
) -> None:
    points, heading = [(0.0, 0.0)], 0.0
    for length, turn, _ in legs:
        heading += turn
        points.append((points[-1][0] + length * math.cos(heading), points[-1][1] + length * math.sin(heading)))
    path = Polyline.through(points)
    follower = _follow(PathDrive(path, tuple(leg[2] for leg in legs), acceleration=acceleration))
    slowest = min(leg[2] for leg in legs)
    limit = path.length / slowest + (0.0 if acceleration is None else 4 * len(legs) * 15 / acceleration + 10)
    seconds = 0.0
    while not follower.finished:
        follower.tick(0.05 * ticks)
        seconds += 0.05 * ticks
        x, y, _ = follower.pose()
        assert abs(path.project(x, y).offset) < 1e-6
        assert seconds <= limit + 0.5
