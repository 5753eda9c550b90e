"""Trajectories on lanes, against sumolib's own searches and on the release's scenarios."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import sumolib

from drivehierarchy_gym.road.matching import CANDIDATES, EDGE_COST, SEARCH_RADII, match_points
from drivehierarchy_gym.road.network import RoadNetwork
from tests.gym.road.conftest import RELEASE

Point = tuple[float, float]


def test_points_along_a_route_give_the_route(town: RoadNetwork) -> None:
    points = [(-120.0, -5.0), (-60.0, -1.5), (60.0, -5.2), (120.0, -4.6)]
    matched = match_points(town, points)
    assert matched.route_edges == ("in", "out", "out2")
    assert [point.lane_id for point in matched.points] == ["in_1", "in_2", "out_1", "out2_1"]
    assert matched.points[0].lane_pos == pytest.approx(30.0)
    assert matched.points[0].distance == pytest.approx(0.2)
    assert matched.unmatched == ()


def test_direction_follows_from_what_can_be_reached(town: RoadNetwork) -> None:
    # The second point lies nearer to the lane of oncoming traffic, which cannot be reached from "in".
    matched = match_points(town, [(-120.0, -4.8), (60.0, 1.7)])
    assert matched.route_edges == ("in", "out")
    assert matched.points[1].lane_id == "out_2"


def test_staying_is_cheaper_than_the_next_edge(town: RoadNetwork) -> None:
    matched = match_points(town, [(-100.0, -4.8), (-4.0, -4.8)])  # inside the junction: "in" and "out" both reach there
    assert matched.route_edges == ("in",)


def test_far_points_are_unmatched_and_the_rest_goes_on(town: RoadNetwork) -> None:
    matched = match_points(town, [(-100.0, 200.0), (-100.0, -4.8), (500.0, 500.0), (50.0, -4.8)])
    assert matched.route_edges == ("in", "out")
    assert [point.point_index for point in matched.points] == [1, 3]
    assert matched.unmatched == (0, 2)
    nothing = match_points(town, [(999.0, 999.0)])
    assert (nothing.route_edges, nothing.points, nothing.unmatched) == ((), (), (0,))
    assert match_points(town, []).unmatched == ()


def test_search_widens_up_to_thirty_metres(town: RoadNetwork) -> None:
    outermost = -7.4  # centre of the sidewalk, which is a lane of the edge too
    assert match_points(town, [(-100.0, outermost - 29.5)]).route_edges == ("in",)
    assert match_points(town, [(-100.0, outermost - 30.5)]).unmatched == (0,)


def test_closed_lane_is_exchanged_for_the_open_one_of_its_edge(town: RoadNetwork) -> None:
    point = match_points(town, [(-100.0, -7.5)]).points[0]  # on the sidewalk
    assert point.lane_id == "in_1"
    assert point.distance == pytest.approx(2.7)


@pytest.mark.filterwarnings("ignore:Module .rtree. not available")
def test_same_route_as_with_the_searches_of_sumolib(city: RoadNetwork) -> None:
    net = sumolib.net.readNet(str(city.path))
    rng = np.random.default_rng(3)
    roads = [edge.id for edge in city.edges.values() if edge.kind == "normal" and edge.allows("passenger")]
    compared = 0
    while compared < 12:
        start, goal = (roads[i] for i in rng.integers(len(roads), size=2))
        path = city.shortest_path(start, goal)
        if path is None or len(path) < 3:
            continue
        line = city.route_polyline(path)
        arcs = np.linspace(0.0, line.length, 4)
        points = [line.at(float(arc)).to_world(0.0, rng.uniform(-5, 5)) for arc in arcs]
        matched = match_points(city, points)
        route, distances, unmatched = route_of_sumolib(net, points)
        assert list(matched.route_edges) == route
        assert list(matched.unmatched) == unmatched
        for found, expected in zip(matched.points, distances, strict=True):
            assert found.distance == pytest.approx(expected[found.lane_id], abs=1e-6)
        compared += 1


def route_of_sumolib(net: sumolib.net.Net, points: list[Point]) -> tuple[list[str], list[dict[str, float]], list[int]]:
    """Edges of the route, for every matched point the distances to all lanes of its edge, and the unmatched."""
    route: list[str] = []
    distances: list[dict[str, float]] = []
    unmatched = []
    for number, (x, y) in enumerate(points):
        best = None
        for lane, distance in lanes_of_sumolib(net, x, y):
            edges = [lane.getEdge().getID()]
            if route:
                way, _ = net.getShortestPath(net.getEdge(route[-1]), lane.getEdge(), vClass="passenger")
                if way is None:
                    continue
                edges = [edge.getID() for edge in way]
            score = distance + (EDGE_COST * len(edges) if route else 0.0)
            if best is None or score < best[0]:
                best = score, lane.getEdge(), edges
        if best is None:
            unmatched.append(number)
            continue
        distances.append({lane.getID(): lane.getClosestLanePosAndDist((x, y))[1] for lane in best[1].getLanes()})
        route.extend(best[2][1:] if route else best[2])
    return route, distances, unmatched


def lanes_of_sumolib(net: sumolib.net.Net, x: float, y: float) -> list[tuple[sumolib.net.lane.Lane, float]]:
    for radius in SEARCH_RADII:
        lanes = [hit for hit in net.getNeighboringLanes(x, y, radius) if hit[0].getEdge().allows("passenger")]
        if lanes:
            return sorted(lanes, key=lambda hit: round(hit[1], 9))[:CANDIDATES]
    return []


# --- the release -----------------------------------------------------------------------------------------------------


def participants(tongji: RoadNetwork) -> Iterator[tuple[str, str, list[Point]]]:
    """(scenario, kind, world points) of everybody in the release's scenarios."""
    for path in sorted((RELEASE / "Close_Loop_Evaluation/Scenario_Onsite").glob("*/*/entity.json")):
        for actor in json.loads(json.loads(path.read_text())["trajectoryInfo"])["participantTrajectories"]:
            points = [tongji.lonlat_to_xy(float(p["longitude"]), float(p["latitude"])) for p in actor["trajectory"]]
            yield path.parent.name, actor["type"], points


@pytest.mark.release
def test_hero_of_the_release_gets_its_route(tongji: RoadNetwork) -> None:
    heroes = {scenario: points for scenario, kind, points in participants(tongji) if kind == "main"}
    assert match_points(tongji, heroes["SC20260319210937GHNL"]).route_edges == ("-68", "-70")


@pytest.mark.release
def test_everybody_in_the_release_matches(tongji: RoadNetwork) -> None:
    following = tongji.successors()
    count = 0
    for scenario, _, points in participants(tongji):
        matched = match_points(tongji, points)
        assert matched.unmatched == (), scenario
        for before, after in pairwise(matched.route_edges):
            assert after in following[before], scenario
        for point in matched.points:
            assert tongji.lane(point.lane_id).allows("passenger")
            assert 0 <= point.lane_pos <= tongji.lane(point.lane_id).length + 1e-6
        count += 1
    assert count > 300
