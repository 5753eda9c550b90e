"""Lanes near a point: the edge of the radius, and nets without lanes. `test_network` compares the rest with shapely."""

from __future__ import annotations

import numpy as np
import pytest

from drivehierarchy_gym.road.elements import Lane
from drivehierarchy_gym.road.lane_index import LaneIndex


@pytest.mark.parametrize(("start", "radius", "x"), [(0.22, 1.0, -0.78), (3.52, 11.74, -8.22), (11.19, 17.88, -6.69)])
def test_who_lies_on_the_edge_of_the_radius_is_near(start: float, radius: float, x: float) -> None:
    """Also where x + radius is rounded to less than the start of the lane."""
    assert x + radius < start
    lane = Lane.__new__(Lane)
    index = LaneIndex([lane], [np.array([(start, 0.0), (50.0, 0.0)])])
    assert index.near(x, 0.0, radius) == [(radius, lane)]


def test_without_lanes_nothing_is_near() -> None:
    assert LaneIndex([], []).near(0.0, 0.0, 100.0) == []
