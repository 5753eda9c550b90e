"""The network against sumolib and shapely as independent witnesses, and against the release where it is present."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import shapely
import sumolib
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.road.elements import VEHICLE_CLASSES
from drivehierarchy_gym.road.network import RoadNetwork

_SETTINGS = settings(max_examples=200, deadline=None)


@pytest.fixture(scope="module")
def witness(city: RoadNetwork) -> sumolib.net.Net:
    return sumolib.net.readNet(str(city.path), withInternal=True)


def test_parts_agree_with_sumolib(city: RoadNetwork, witness: sumolib.net.Net) -> None:
    assert sorted(city.edges) == sorted(edge.getID() for edge in witness.getEdges())
    for theirs in witness.getEdges():
        ours = city.edge(theirs.getID())
        assert [lane.id for lane in ours.lanes] == [lane.getID() for lane in theirs.getLanes()]
        for lane, other in zip(ours.lanes, theirs.getLanes(), strict=True):
            assert (lane.width, lane.length, lane.speed) == (other.getWidth(), other.getLength(), other.getSpeed())
            assert lane.permissions == VEHICLE_CLASSES & other.getPermissions()
            assert np.allclose(lane.shape.points[[0, -1]], np.array(other.getShape())[[0, -1]])
            assert lane.shape.length == pytest.approx(sumolib.geomhelper.polyLength(other.getShape()))
    assert sorted(city.junctions) == sorted(node.getID() for node in witness.getNodes() if node.getType() != "internal")
    assert set(city.signals) == {light.getID() for light in witness.getTrafficLights()}


def test_stop_lines_are_the_ends_of_controlled_lanes(town: RoadNetwork) -> None:
    links = town.signals["signal"]
    assert sorted(links) == list(range(8))  # three approaches, eight ways for vehicles; 8 to 10 are crossings
    assert [stop.lane_id for stop in links[6]] == ["in_1"]
    x, y, yaw = links[6][0].pose
    assert (x, y, yaw) == (pytest.approx(-7.2), pytest.approx(-4.8), pytest.approx(0.0))
    assert [stop.lane_id for stop in links[4]] == ["up_1"]
    assert links[4][0].pose.yaw == pytest.approx(math.pi / 2)


def test_internal_path_follows_a_split_way_to_its_end(town: RoadNetwork) -> None:
    turn = next(c for c in town.connections_from("up_1") if c.direction == "l")
    path = town.internal_path(turn)
    assert [lane.id for lane in path] == [":signal_4_0", ":signal_10_0"]
    way = [town.lane("up_1"), *path, town.lane(turn.to_lane)]
    for lane, following in pairwise(way):
        assert lane.shape.points[-1].tolist() == following.shape.points[0].tolist()


def test_walking_parts(town: RoadNetwork) -> None:
    assert {lane.id for lane in town.crossings} == {":signal_c0_0", ":signal_c1_0", ":signal_c2_0", ":joint_c0_0"}
    assert {lane.id for lane in town.sidewalks} == {f"{edge}_0" for edge in town.edges if not edge.startswith(":")}
    assert {lane.id for lane in town.sidewalk_corners} == {lane.id for lane in town.walking_areas}


def test_unknown_ids_name_the_nearest(town: RoadNetwork) -> None:
    with pytest.raises(ScenarioError, match=r"town\.net\.xml: unknown edge 'hom'; did you mean 'home'"):
        town.edge("hom")
    with pytest.raises(ScenarioError, match=r"unknown lane 'up_7'.*'up_1'"):
        town.lane("up_7")


def test_lane_pose_counts_from_either_end(town: RoadNetwork) -> None:
    pose = town.lane_pose("up_1", 10.0, left=1.0)
    assert (pose.x, pose.y) == (pytest.approx(0.6), pytest.approx(-110.0))
    assert pose.yaw == pytest.approx(math.pi / 2)
    length = town.lane("up_1").length
    assert town.lane_pose("up_1", -10.0) == pytest.approx(town.lane_pose("up_1", length - 10.0))
    for pos in (length + 1, -length - 1):
        with pytest.raises(ScenarioError, match=r"'up_1', which is 109\.60 m long"):
            town.lane_pose("up_1", pos)


def test_lonlat_agrees_with_sumolib(city: RoadNetwork, witness: sumolib.net.Net) -> None:
    for lon, lat in ((13.6, 52.3), (13.61, 52.315)):
        assert city.lonlat_to_xy(lon, lat) == pytest.approx(witness.convertLonLat2XY(lon, lat), abs=1e-6)


def test_lonlat_of_the_release_projects_as_it_states(tongji: RoadNetwork) -> None:
    assert tongji.lonlat_to_xy(121.20172709529118, 31.291016810438038) == pytest.approx((41.4725, 287.0512), abs=1e-4)


@_SETTINGS
@given(st.floats(0, 3000), st.floats(0, 3200))
def test_lonlat_round_trip(city: RoadNetwork, x: float, y: float) -> None:
    assert city.lonlat_to_xy(*city.xy_to_lonlat(x, y)) == pytest.approx((x, y), abs=1e-6)


def test_projection_is_needed_for_lonlat(town: RoadNetwork) -> None:
    with pytest.raises(ScenarioError, match=r"town\.net\.xml.*projection.*x and y"):
        town.lonlat_to_xy(13.6, 52.3)


def test_place_outside_the_projection_is_refused(city: RoadNetwork) -> None:
    with pytest.raises(ScenarioError, match="latitude 95"):
        city.lonlat_to_xy(13.6, 95.0)


# --- on the road -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def car_lanes(city: RoadNetwork) -> shapely.Geometry:
    """Lanes for cars, each with its exact width."""
    lanes = [lane for lane in city.lanes.values() if lane.kind in ("normal", "internal") and lane.allows("passenger")]
    return shapely.union_all([shapely.buffer(shapely.LineString(lane.shape.points), lane.width / 2) for lane in lanes])


@pytest.fixture(scope="module")
def junctions(city: RoadNetwork) -> shapely.Geometry:
    outlines = [junction.polygon for junction in city.junctions.values() if len(junction.polygon) > 2]
    return shapely.union_all([shapely.make_valid(shapely.Polygon(outline)) for outline in outlines])


def test_on_road_agrees_with_exact_lanes(
    city: RoadNetwork, car_lanes: shapely.Geometry, junctions: shapely.Geometry
) -> None:
    rng = np.random.default_rng(1)
    lanes = [lane for lane in city.lanes.values() if lane.kind != "walkingarea"]
    inside = outside = 0
    wider = shapely.buffer(car_lanes, 0.3)
    for _ in range(4000):
        lane = lanes[rng.integers(len(lanes))]
        x, y = lane.shape.at(rng.uniform(0, lane.shape.length)).to_world(0, rng.uniform(-12, 12))
        if shapely.contains_xy(car_lanes, x, y):
            inside += 1
            assert city.on_road(x, y)
        elif not shapely.contains_xy(wider, x, y) and not shapely.contains_xy(junctions, x, y):
            outside += 1
            assert not city.on_road(x, y)
    assert min(inside, outside) > 500


def test_on_road_knows_kinds_of_traffic(town: RoadNetwork) -> None:
    sidewalk, lane, corner, grass = (-100.0, -7.4), (-100.0, -4.8), (5.0, -8.6), (-100.0, -12.0)
    assert [town.on_road(*place) for place in (sidewalk, lane, corner, grass)] == [False, True, False, False]
    walker = [town.on_road(*place, "pedestrian") for place in (sidewalk, lane, corner, grass)]
    assert walker == [True, False, True, False]
    assert town.on_road(0.0, 0.0)  # in the middle of the junction
    assert not town.on_road(1e9, -1e9)


def test_roads_have_no_hairline_gaps(city: RoadNetwork, tongji: RoadNetwork) -> None:
    for network in (city, tongji):
        for edge in network.edges.values():
            lanes = [lane for lane in edge.lanes if lane.allows("passenger")]
            if edge.kind != "normal" or len(lanes) < 2:
                continue
            for lane in lanes[:-1]:  # along the seam with the next lane
                for arc in np.linspace(0, lane.shape.length, 7):
                    assert network.on_road(*lane.shape.at(float(arc)).to_world(0, lane.width / 2))


# --- nearest lanes ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.floats(1500, 2300), st.floats(2000, 2900), st.floats(1, 40), st.booleans())
def test_nearest_lanes_agree_with_shapely(city: RoadNetwork, x: float, y: float, radius: float, internal: bool) -> None:
    kinds = ("normal", "internal") if internal else ("normal",)
    expected = {}
    for lane in city.lanes.values():
        if lane.kind in kinds and lane.allows("passenger"):
            distance = shapely.LineString(lane.shape.points).distance(shapely.Point(x, y))
            if abs(distance - radius) > 1e-6 and distance < radius:
                expected[lane.id] = distance
    hits = city.nearest_lanes(x, y, radius, internal=internal)
    found = {hit.lane.id: hit.distance for hit in hits if abs(hit.distance - radius) > 1e-6}
    assert found == pytest.approx(expected, abs=1e-6)
    assert [hit.distance for hit in hits] == sorted(hit.distance for hit in hits)
    for hit in hits[:5]:
        pose = city.lane_pose(hit.lane.id, hit.pos)
        assert math.dist(pose[:2], (x, y)) == pytest.approx(hit.distance, abs=1e-5)


def test_nearest_lanes_can_be_for_walkers(town: RoadNetwork) -> None:
    hits = town.nearest_lanes(-100.0, -7.4, 3.0, "pedestrian")
    assert [hit.lane.id for hit in hits] == ["in_0"]
    assert town.nearest_lanes(-100.0, 500.0, 3.0) == []


# --- shortest paths --------------------------------------------------------------------------------------------------


def test_shortest_paths_are_as_short_as_those_of_sumolib(city: RoadNetwork, witness: sumolib.net.Net) -> None:
    rng = np.random.default_rng(2)
    roads = [edge.id for edge in city.edges.values() if edge.kind == "normal" and edge.allows("passenger")]
    found = 0
    for _ in range(60):
        start, goal = (roads[i] for i in rng.integers(len(roads), size=2))
        path = city.shortest_path(start, goal)
        theirs, cost = witness.getShortestPath(witness.getEdge(start), witness.getEdge(goal), vClass="passenger")
        assert (path is None) == (theirs is None)
        if path is None:
            continue
        found += 1
        assert (path[0], path[-1]) == (start, goal)
        following = city.successors()
        length = sum(city.edge(edge).length for edge in path)
        length += sum(following[a][b] for a, b in pairwise(path))
        assert length <= cost + 1e-6
    assert found > 15


def test_shortest_path_respects_the_class(town: RoadNetwork) -> None:
    assert town.shortest_path("in", "down") == ["in", "down"]
    assert town.shortest_path("in", "in") == ["in"]
    assert town.shortest_path("in", "up") is None
    assert town.shortest_path("in", "down", "pedestrian") is None  # walkers change edges over walking areas
    with pytest.raises(ScenarioError, match="unknown edge 'inn'"):
        town.shortest_path("in", "inn")
