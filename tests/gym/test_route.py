"""Projection, future points and the stretch ahead, against hand-made routes and the plain polyline."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.route import FUTURE_DISTANCES, RouteTracker

STRAIGHT = RouteTracker(Polyline.through([(0, 0), (100, 0)]))
CORNER = RouteTracker(Polyline.through([(0, 0), (20, 0), (20, 30)]))


def test_future_points_on_a_straight_route() -> None:
    view = STRAIGHT.view(10.0, 2.0, 0.0)
    assert view.progress == pytest.approx(10.0)
    assert view.offset == pytest.approx(2.0)
    assert view.distance_to_goal == pytest.approx(90.0)
    assert view.points == tuple(pytest.approx((d, 2.0)) for d in FUTURE_DISTANCES)


def test_right_is_positive_and_the_frame_turns_with_the_ego() -> None:
    # Heading north at (0, 0) while the route runs east: it lies to the right.
    assert STRAIGHT.view(0.0, 0.0, math.pi / 2).points[0] == pytest.approx((0.0, 5.0))
    # A left turn ahead.
    assert CORNER.view(10.0, 0.0, 0.0).points[3] == pytest.approx((10.0, -10.0))


def test_the_end_point_repeats_near_the_goal() -> None:
    view = STRAIGHT.view(92.0, 0.0, 0.0)
    assert view.points == tuple(pytest.approx((d, 0.0)) for d in (5.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0))
    past = STRAIGHT.view(103.0, 0.0, 0.0)
    assert past.distance_to_goal == 0.0
    assert past.points[0] == pytest.approx((-3.0, 0.0))


def test_the_stretch_ahead_keeps_the_vertices() -> None:
    assert CORNER.ahead(5.0, 25.0) == [pytest.approx(p) for p in [(5, 0), (20, 0), (20, 10)]]
    assert CORNER.ahead(40.0) == [pytest.approx(p) for p in [(20, 20), (20, 30), (20, 30)]]


def test_heading() -> None:
    assert CORNER.heading(-1.0) == 0.0
    assert CORNER.heading(19.9) == 0.0
    assert CORNER.heading(20.1) == pytest.approx(math.pi / 2)


def test_the_whole_route_counts_not_the_way_already_driven() -> None:
    # A loop that comes back beside its own start: from between, the nearer leg wins.
    loop = RouteTracker(Polyline.through([(0, 0), (50, 0), (50, 4), (0, 4)]))
    assert loop.project(10.0, 1.9).arc == pytest.approx(10.0)
    assert loop.project(10.0, 2.1).arc == pytest.approx(94.0)


coordinate = st.floats(-60, 60)


@given(
    st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=25), st.lists(st.tuples(coordinate, coordinate))
)
def test_projection_equals_the_plain_one(points: list[tuple[float, float]], queries: list[tuple[float, float]]) -> None:
    try:
        route = Polyline.through(points, tolerance=0.01)
    except ValueError:
        return
    tracker = RouteTracker(route)
    for x, y in queries:
        found, plain = tracker.project(x, y), route.project(x, y)
        assert abs(found.offset) == pytest.approx(abs(plain.offset), abs=1e-6)
        if not np.isclose(found.arc, plain.arc):  # two places of the route are equally near
            assert math.dist(tracker.at(found.arc), (x, y)) == pytest.approx(abs(plain.offset), abs=1e-5)


@given(st.floats(-10, 60))
def test_at_equals_the_plain_one(arc: float) -> None:
    assert CORNER.at(arc) == pytest.approx(CORNER.route.at(arc)[:2])
