"""Parallels, ribbons, dashes, chains and triangles."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.road.shapes import (
    chains,
    closed,
    dashes,
    joined,
    offset,
    opened,
    polygon,
    quad,
    ribbon,
    triangulate,
    union,
    upright,
    without,
)

_SETTINGS = settings(max_examples=100, deadline=None)


def areas(triangles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Signed areas, positive for counter-clockwise triangles."""
    u, v = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    return (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2


@st.composite
def gentle_lines(draw: st.DrawFn) -> NDArray[np.float64]:
    """Lines of 5 to 20 m steps that turn by at most 40 degrees each."""
    turns = draw(st.lists(st.floats(-0.7, 0.7), min_size=1, max_size=8))
    headings = np.cumsum(turns)
    steps = np.array(draw(st.lists(st.floats(5, 20), min_size=len(turns), max_size=len(turns))))
    moves = np.column_stack((np.cos(headings), np.sin(headings))) * steps[:, None]
    return np.vstack(([0.0, 0.0], np.cumsum(moves, axis=0)))


@_SETTINGS
@given(gentle_lines(), st.floats(-1.5, 1.5))
def test_parallel_segments_keep_their_distance(line: NDArray[np.float64], left: float) -> None:
    parallel = offset(line, left)
    assert parallel.shape == line.shape
    for (ax, ay), (bx, by), (px, py), (qx, qy) in zip(line, line[1:], parallel, parallel[1:], strict=False):
        length = math.hypot(bx - ax, by - ay)
        for x, y in ((px, py), (qx, qy)):  # both ends lie on the parallel of the segment
            assert ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / length == pytest.approx(left, abs=1e-9)


def test_parallel_of_a_hairpin_stays_near_it() -> None:
    line = np.array([(0.0, 0.0), (10.0, 0.0), (0.0, 0.01)])
    assert np.hypot(*(offset(line, 1.0) - line).T).max() <= 3.0 + 1e-9


@_SETTINGS
@given(gentle_lines(), st.floats(0.05, 1.0))
def test_ribbon_covers_its_line_with_upright_triangles(line: NDArray[np.float64], width: float) -> None:
    triangles = ribbon(line, width)
    assert len(triangles) == 2 * (len(line) - 1)
    assert (areas(triangles) > 0).all()
    assert areas(triangles).sum() == pytest.approx(Polyline.through(line).length * width, rel=0.05)


@_SETTINGS
@given(st.floats(0.1, 200), st.floats(0.5, 6), st.floats(0.5, 9))
def test_dashes_are_whole_and_even(length: float, on: float, off: float) -> None:
    found = dashes(Polyline.through([(0.0, 0.0), (length, 0.0)]), on, off)
    if length <= on:
        assert len(found) == (length >= on / 2)
        return
    assert len(found) >= 1
    starts = np.array([dash[0, 0] for dash in found])
    lengths = np.array([dash[-1, 0] - dash[0, 0] for dash in found])
    assert lengths == pytest.approx(np.full(len(found), on), abs=1e-6)
    assert starts[0] == pytest.approx(length - starts[-1] - on, abs=1e-6)  # the same rest at both ends
    if len(found) > 1:
        steps = np.diff(starts)
        assert steps == pytest.approx(np.full(len(steps), steps[0]), abs=1e-6)
        assert abs(steps[0] - on - off) <= (on + off) / 2  # whole dashes stretch or squeeze the gaps


def test_chains_join_lines_that_go_on() -> None:
    east, on, corner = np.array([(0, 0), (10, 0)]), np.array([(10.3, 0.1), (20, 0)]), np.array([(20, 0), (20, 9)])
    back = np.array([(30, 0), (20.1, 0)])
    lines = chains([line.astype(float) for line in (on, east, corner, back)], 0.8, math.radians(25))
    assert [line.points[[0, -1]].tolist() for line in lines] == [
        [[0, 0], [20, 0]],
        [[20, 0], [20, 9]],
        [[30, 0], [20.1, 0]],
    ]


def test_chains_open_a_closed_loop_once() -> None:
    angles = np.linspace(0, 2 * math.pi, 41)
    ring = np.column_stack((10 * np.cos(angles), 10 * np.sin(angles)))
    lines = chains([ring[i : i + 11] for i in range(0, 40, 10)], 0.5, math.radians(25))
    assert len(lines) == 1
    assert lines[0].length == pytest.approx(2 * math.pi * 10, rel=0.01)


@st.composite
def stars(draw: st.DrawFn) -> NDArray[np.float64]:
    """Simple polygons around the origin."""
    radii = draw(st.lists(st.floats(1, 30), min_size=3, max_size=20))
    angles = 2 * math.pi * np.arange(len(radii)) / len(radii)
    return np.column_stack((np.cos(angles), np.sin(angles))) * np.array(radii)[:, None]


@_SETTINGS
@given(stars(), stars())
def test_triangles_cover_polygons_and_their_holes_exactly(
    outline: NDArray[np.float64], cut: NDArray[np.float64]
) -> None:
    area = without(polygon(outline), polygon(cut * 0.3))
    triangles = triangulate(area)
    assert (areas(triangles) > 0).all()
    assert areas(triangles).sum() == pytest.approx(area.area, rel=1e-6, abs=1e-5)
    middles = triangles.mean(axis=1)
    assert shapely.contains_xy(shapely.buffer(area, 1e-6), middles[:, 0], middles[:, 1]).all()


def test_slits_close_and_slivers_go() -> None:
    halves = shapely.union(shapely.box(0, 0, 10, 4.9), shapely.box(0, 5.1, 10, 10))
    assert closed(halves, 0.4).area == pytest.approx(100.0)
    assert closed(halves, 0.1).area == pytest.approx(98.0)
    whiskered = shapely.union(shapely.box(0, 0, 10, 10), shapely.box(10, 4, 30, 4.2))
    assert opened(whiskered, 0.4).area == pytest.approx(100.0)
    assert opened(whiskered, 0.1).area == pytest.approx(104.0)


def test_nothing_has_no_triangles() -> None:
    assert triangulate(shapely.Polygon()).shape == (0, 3, 2)
    assert triangulate(polygon(np.array([(0.0, 0.0), (1.0, 1.0)]))).shape == (0, 3, 2)
    assert joined([]).shape == (0, 3, 2)
    assert union([]).is_empty


def test_self_crossing_outline_is_mended() -> None:
    bow = np.array([(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)])
    assert polygon(bow).area == pytest.approx(2.0)


def test_upright_turns_and_drops() -> None:
    clockwise, flat = [(0, 0), (0, 1), (1, 0)], [(0, 0), (1, 1), (2, 2)]
    found = upright(np.array([clockwise, flat], dtype=float))
    assert len(found) == 1
    assert areas(found)[0] == pytest.approx(0.5)
    assert areas(quad((0, 0), (2, 0), (2, 1), (0, 1))).sum() == pytest.approx(2.0)
