"""Poses, polylines and boxes, each against an independent statement of the same thing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st

from drivehierarchy_gym.geometry import Polyline, Pose, box_corners, boxes_overlap, wrap_angle

coordinate = st.floats(-500, 500)
angle = st.floats(-20, 20)
poses = st.builds(Pose, coordinate, coordinate, angle)
points = st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=12)


def polylines(minimum: float = 0.5) -> st.SearchStrategy[Polyline]:
    def build(chain: list[tuple[float, float]]) -> Polyline | None:
        kept = chain[:1]
        for point in chain[1:]:
            if math.dist(point, kept[-1]) > minimum:
                kept.append(point)
        return Polyline.through(kept) if len(kept) > 1 else None

    return points.map(build).filter(lambda line: line is not None)


@given(angle)
def test_wrapped_angle_is_the_same_direction(value: float) -> None:
    wrapped = wrap_angle(value)
    assert -math.pi < wrapped <= math.pi
    assert math.cos(wrapped) == pytest.approx(math.cos(value), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(value), abs=1e-9)


@given(poses, coordinate, coordinate)
def test_local_and_world_are_inverse(pose: Pose, x: float, y: float) -> None:
    assert pose.to_world(*pose.to_local(x, y)) == pytest.approx((x, y), abs=1e-6)


def test_forward_and_left_of_a_pose_that_looks_north() -> None:
    pose = Pose(10.0, 20.0, math.pi / 2)
    assert pose.to_local(10.0, 25.0) == pytest.approx((5.0, 0.0))
    assert pose.to_local(7.0, 20.0) == pytest.approx((0.0, 3.0))


@given(polylines(), coordinate, coordinate)
def test_projection_is_the_nearest_point(line: Polyline, x: float, y: float) -> None:
    reference = shapely.LineString(line.points)
    arc, offset = line.project(x, y)
    assert line.length == pytest.approx(reference.length)
    assert abs(offset) == pytest.approx(reference.distance(shapely.Point(x, y)), abs=1e-6)
    assert math.dist(line.at(arc)[:2], (x, y)) == pytest.approx(abs(offset), abs=1e-6)


@given(polylines(), st.floats(0, 1), st.floats(-0.2, 0.2))
def test_projection_near_the_answer_equals_the_full_search(line: Polyline, share: float, offset: float) -> None:
    pose = line.at(share * line.length)
    x, y = pose.to_world(0.0, offset)
    full = line.project(x, y)
    near = line.project(x, y, near=(full.arc - 1.0, full.arc + 1.0))
    assert abs(near.offset) == pytest.approx(abs(full.offset), abs=1e-9)


def test_offset_is_positive_on_the_left() -> None:
    line = Polyline.through([(0, 0), (10, 0)])
    assert line.project(4.0, 2.0) == pytest.approx((4.0, 2.0))
    assert line.project(4.0, -2.0) == pytest.approx((4.0, -2.0))


@given(polylines(), st.floats(0, 1), st.floats(0, 1))
def test_cut_keeps_the_points_between(line: Polyline, a: float, b: float) -> None:
    start, end = sorted((a * line.length, b * line.length))
    assume(end - start > 0.01)
    part = line.cut(start, end)
    assert part.length == pytest.approx(end - start, abs=1e-5)
    middle = (start + end) / 2
    assert part.at(middle - start)[:2] == pytest.approx(line.at(middle)[:2], abs=1e-4)


@given(polylines(), st.floats(-100, 2000))
def test_at_clips_to_the_ends(line: Polyline, arc: float) -> None:
    pose = line.at(arc)
    expected = shapely.LineString(line.points).interpolate(min(max(arc, 0.0), line.length))
    assert pose[:2] == pytest.approx((expected.x, expected.y), abs=1e-6)


@pytest.mark.parametrize("bad", [[], [(0, 0)], [(1, 1), (1, 1)], [0, 1, 2]])
def test_polyline_without_two_points_is_refused(bad: list) -> None:
    with pytest.raises(ValueError, match="polyline needs"):
        Polyline.through(bad)


def test_empty_cut_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing of the polyline"):
        Polyline.through([(0, 0), (10, 0)]).cut(12, 15)


box = st.tuples(st.floats(-8, 8), st.floats(-8, 8), angle, st.floats(0.3, 12), st.floats(0.3, 3))


@given(box, box)
def test_overlap_agrees_with_polygons(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    pa, pb = (shapely.Polygon(box_corners(*values)) for values in (a, b))
    gap = pa.distance(pb)
    depth = pa.intersection(pb).area
    assume(gap > 1e-9 or depth > 1e-9)  # exact touching is decided by rounding
    assert boxes_overlap(*a, *b) == (gap == 0)
    assert boxes_overlap(*a, *b) == boxes_overlap(*b, *a)


def test_corners_of_a_box() -> None:
    corners = box_corners(1.0, 2.0, 0.0, 4.0, 2.0)
    np.testing.assert_allclose(corners, [(3, 3), (-1, 3), (-1, 1), (3, 1)])
