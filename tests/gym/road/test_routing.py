"""Lanes and lines of routes."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.routing import LANE_CHANGE_LENGTHS, nearest_lane


def bends(line: Polyline) -> NDArray[np.float64]:
    """Change of heading at every inner point, degrees."""
    steps = np.diff(line.points, axis=0)
    headings = np.arctan2(steps[:, 1], steps[:, 0])
    return np.abs(np.degrees((np.diff(headings) + np.pi) % (2 * np.pi) - np.pi))


# --- lanes -----------------------------------------------------------------------------------------------------------


def test_lanes_are_those_that_continue_the_route(town: RoadNetwork) -> None:
    assert town.route_lanes(["in", "out", "out2"]) == [(1, 1), (1, 1), (1, 1)]  # lane 0 is the sidewalk
    assert town.route_lanes(["home2", "down"]) == [(2, 2), (1, 1)]  # only the left lane turns left
    assert town.route_lanes(["in", "down"], {"in": 2}) == [(1, 1), (1, 1)]  # lane 2 does not lead there


def test_wanted_lanes_are_taken(town: RoadNetwork) -> None:
    assert town.route_lanes(["in", "out", "out2"], {"in": 2}) == [(2, 2), (2, 2), (2, 2)]
    choices = town.route_lanes(["home", "home2", "back"], {"home": 1, "back": 2})
    assert choices[0].leave == 1
    assert choices[-1].leave == 2
    assert sum(choice.enter != choice.leave for choice in choices) == 1


def test_routes_that_cannot_be_driven_are_refused(town: RoadNetwork) -> None:
    for edges, lanes, message in (
        (["in", "back"], {}, "'in' does not lead to edge 'back' for passenger; it leads to ['down', 'out']"),
        (["in", "nowhere"], {}, "unknown edge 'nowhere'"),
        ([], {}, "at least one edge"),
        (["in"], {"in": 0}, "lane 0 of edge 'in' is not for passenger; lanes that are: [1, 2]"),
        (["in"], {"in": 3}, "lane 3 of edge 'in'"),
        (["in"], {"ni": 1}, "unknown edge 'ni'"),
    ):
        with pytest.raises(ScenarioError, match=re.escape(message)):
            town.route_polyline(edges, lanes=lanes)


def test_edge_without_a_lane_for_the_class_is_refused(city: RoadNetwork) -> None:
    walk = next(e.id for e in city.edges.values() if e.kind == "normal" and all(lane.is_sidewalk for lane in e.lanes))
    with pytest.raises(ScenarioError, match="no lane for passenger"):
        city.route_polyline([walk])


# --- lines -----------------------------------------------------------------------------------------------------------


def test_line_runs_from_the_start_to_the_goal_through_the_junction(town: RoadNetwork) -> None:
    line = town.route_polyline(["up", "back"], (3.0, -60.0), (-100.0, 9.0))
    assert line.points[0] == pytest.approx((1.6, -60.0))
    assert line.at(0).yaw == pytest.approx(math.pi / 2)
    assert line.points[-1, 0] == pytest.approx(-100.0)
    assert line.points[-1, 1] == pytest.approx(4.8)  # the right lane, nearest to the goal
    turn = next(c for c in town.connections_from("up_1") if c.direction == "l")
    for lane in town.internal_path(turn):
        for point in lane.shape.points:
            assert abs(line.project(*point).offset) < 0.05
    assert bends(line).max() < 35
    assert line.length == pytest.approx(49.6 + 17 + 92.8, abs=3)


def test_whole_edges_are_the_default(town: RoadNetwork) -> None:
    line = town.route_polyline(["in"])
    assert line.points.tolist() == town.lane("in_1").shape.points.tolist()


def test_lane_change_is_smooth_and_complete(town: RoadNetwork) -> None:
    line = town.route_polyline(["in"], (-140.0, -4.8), (-20.0, -1.6))
    assert line.points[0, 1] == pytest.approx(-4.8)
    assert line.points[-1, 1] == pytest.approx(-1.6)
    changing = line.points[(line.points[:, 1] > -4.75) & (line.points[:, 1] < -1.65)]
    assert 15 < np.ptp(changing[:, 0]) <= LANE_CHANGE_LENGTHS[0]
    assert bends(line).max() < 3
    assert (np.diff(line.points[:, 1]) >= 0).all()


def test_lanes_are_changed_where_there_is_room(town: RoadNetwork) -> None:
    # "out" is long, but the route covers only its last 5.8 m
    line = town.route_polyline(["out", "out2"], (67.2, -4.8), (145.0, -1.6))
    assert np.interp(80.0, line.points[:, 0], line.points[:, 1]) == pytest.approx(-4.8)
    whole = town.route_polyline(["out", "out2"], (10.0, -4.8), (85.0, -1.6))
    assert np.interp(70.0, whole.points[:, 0], whole.points[:, 1]) == pytest.approx(-1.6)


def test_lane_change_runs_on_over_a_short_edge(town: RoadNetwork) -> None:
    start = (70.0, -4.8)  # five metres before the joint, right lane
    line = town.route_polyline(["out", "out2"], start, (140.0, -1.6), lanes={"out": 2})
    assert line.points[0] == pytest.approx(start)
    assert line.points[-1] == pytest.approx((140.0, -1.6))
    assert bends(line).max() < 6
    y_after = np.interp((85.0, 100.0), line.points[:, 0], line.points[:, 1])
    assert -4.5 < y_after[0] < -2.0
    assert y_after[1] == pytest.approx(-1.6)


def test_goal_behind_the_start_is_refused(town: RoadNetwork) -> None:
    with pytest.raises(ScenarioError, match=r"'in' the goal \(at 50\.0 m\) does not lie ahead of the start"):
        town.route_polyline(["in"], (-50.0, -4.8), (-100.0, -4.8))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_lines_keep_to_the_road_and_never_step_back(city: RoadNetwork, data: st.DataObject) -> None:
    roads = [edge.id for edge in city.edges.values() if edge.kind == "normal" and edge.allows("passenger")]
    path = city.shortest_path(data.draw(st.sampled_from(roads)), data.draw(st.sampled_from(roads)))
    assume(path is not None and len(path) > 1)
    first, last = city.edge(path[0]), city.edge(path[-1])
    ends = []
    for edge, fractions in ((first, st.floats(0.0, 0.5)), (last, st.floats(0.5, 1.0))):
        index = data.draw(st.sampled_from([lane.index for lane in edge.lanes if lane.allows("passenger")]))
        shape = edge.lanes[index].shape
        ends.append(shape.at(data.draw(fractions) * shape.length)[:2])
    line = city.route_polyline(path, *ends)
    assert line.points[0] == pytest.approx(ends[0], abs=0.02)
    assert math.dist(line.points[-1], ends[1]) < 1.0 + last.lanes[0].width  # a last edge of centimetres has no room
    assert bends(line).max() < 110
    for arc in np.arange(0.0, line.length, 2.0):
        for left in (-0.8, 0.0, 0.8):
            assert city.on_road(*line.at(float(arc)).to_world(0.0, left))


def test_reference_line_of_the_release_joins_centre_lines_and_nodes(town: RoadNetwork) -> None:
    line = town.edge_polyline(["in", "out"], (-100.0, 0.0), (50.0, 3.0))
    # three lanes (2 + 3.2 + 3.2 m): the middle one is the right lane for cars, at -4.8
    assert line.points[0] == pytest.approx((-100.0, -4.8))
    assert line.points[-1] == pytest.approx((50.0, -4.8))
    assert abs(line.project(0.0, 0.0).offset) < 1e-6  # through the node
    with pytest.raises(ScenarioError, match="does not lie ahead of the start"):
        town.edge_polyline(["in", "out"], (50.0, 0.0), (-100.0, 0.0))


def test_nearest_lane_is_open_to_the_class(town: RoadNetwork) -> None:
    assert nearest_lane(town.edge("in"), (-50.0, -8.0), "passenger").id == "in_1"
    assert nearest_lane(town.edge("in"), (-50.0, -8.0), "pedestrian").id == "in_0"
