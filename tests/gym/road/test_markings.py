"""Paint on the road."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from drivehierarchy_gym.road.markings import LINE_WIDTH, STOP_WIDTH, road_markings
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surfaces import road_polygons


def paint(network: RoadNetwork) -> dict[str, shapely.Geometry]:
    return {
        marking.kind: shapely.union_all([shapely.Polygon(triangle) for triangle in marking.triangles])
        for marking in network.markings()
    }


@pytest.fixture(scope="module")
def town_paint(town: RoadNetwork) -> dict[str, shapely.Geometry]:
    return paint(town)


def painted(area: shapely.Geometry, x: float, y: float) -> bool:
    return bool(shapely.contains_xy(area, x, y))


def test_every_kind_is_named_and_upright(city: RoadNetwork) -> None:
    markings = city.markings()
    assert [marking.kind for marking in markings] == [
        "edge_line", "lane_line", "centre_line", "stop_line", "give_way_line", "crossing", "arrow",
    ]  # fmt: skip
    for marking in markings:
        assert len(marking.triangles) > 0
        u, v = (marking.triangles[:, i] - marking.triangles[:, 0] for i in (1, 2))
        assert (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] > 0).all()


def test_two_lanes_each_way_have_a_solid_middle_and_dashes_between(town_paint: dict[str, shapely.Geometry]) -> None:
    middle, lane_line = town_paint["centre_line"], town_paint["lane_line"]
    along = np.arange(-140.0, -60.0, 0.25)
    assert all(painted(middle, x, 0.0) for x in along)
    assert not painted(middle, -100.0, LINE_WIDTH)  # one line, painted by one of the two directions
    for y in (-3.2, 3.2):
        share = np.mean([painted(lane_line, x, y) for x in along])
        assert share == pytest.approx(1 / 3, abs=0.05)
    # one lane each way: the middle is dashed
    assert np.mean([painted(middle, 0.0, y) for y in np.arange(-110.0, -30.0, 0.25)]) == pytest.approx(1 / 3, abs=0.05)


def test_lines_are_solid_before_a_signal_only(town_paint: dict[str, shapely.Geometry]) -> None:
    lane_line = town_paint["lane_line"]
    approach = np.arange(-7.2 - 19.5, -7.5, 0.25)
    assert all(painted(lane_line, x, -3.2) for x in approach)
    assert not all(painted(lane_line, x, 3.2) for x in approach)  # the way out of the junction


def test_lines_run_on_through_a_joint(town_paint: dict[str, shapely.Geometry]) -> None:
    assert all(painted(town_paint["centre_line"], x, 0.0) for x in np.arange(72.0, 79.0, 0.25))


def test_kerbs_replace_edge_lines(town_paint: dict[str, shapely.Geometry]) -> None:
    assert not painted(town_paint["edge_line"], -100.0, -6.4)


def test_stop_lines_close_the_controlled_lanes(town: RoadNetwork, town_paint: dict[str, shapely.Geometry]) -> None:
    stops = town_paint["stop_line"]
    lanes = {stop.lane_id for links in town.signals["signal"].values() for stop in links}
    assert stops.area == pytest.approx(STOP_WIDTH * 3.2 * len(lanes))
    for lane_id in lanes:
        end = town.lane_pose(lane_id, -0.45)
        assert all(painted(stops, *end.to_world(0.0, left)) for left in (-1.5, 0.0, 1.5))
        assert not painted(stops, *town.lane_pose(lane_id, -2.0)[:2])


def test_crossings_are_zebras(town: RoadNetwork, town_paint: dict[str, shapely.Geometry]) -> None:
    zebra = town_paint["crossing"]
    crossing = town.lane(":signal_c1_0")
    arcs = np.arange(0.1, crossing.shape.length, 0.1)
    share = np.mean([painted(zebra, *crossing.shape.at(float(arc))[:2]) for arc in arcs])
    assert share == pytest.approx(0.5, abs=0.1)
    stripe = crossing.shape.at(crossing.shape.length / 2 - 0.5)
    on = [painted(zebra, *stripe.to_world(0.0, left)) for left in (-1.9, 0.0, 1.9)]
    assert on in ([True] * 3, [False] * 3)  # stripes run along the road


def test_arrows_stand_where_lanes_part(town: RoadNetwork, town_paint: dict[str, shapely.Geometry]) -> None:
    arrows = town_paint["arrow"]
    inside = {
        lane.id: shapely.intersection(
            arrows, shapely.buffer(shapely.LineString(lane.shape.points), lane.width / 2, cap_style="flat")
        ).area
        for lane in town.lanes.values()
        if lane.kind == "normal"
    }
    assert {lane_id for lane_id, area in inside.items() if area > 0.1} == {"in_1", "in_2", "home2_1", "home2_2"}
    assert inside["in_1"] > inside["in_2"] > 1.5  # straight and right against straight only
    straight = town.lane_pose("in_2", town.lane("in_2").shape.length - 4.5)
    assert painted(arrows, straight.x, straight.y)
    assert not painted(arrows, *straight.to_world(0.0, 0.8))


@pytest.mark.parametrize("name", ["city", "tongji"])
def test_paint_lies_on_the_road(name: str, request: pytest.FixtureRequest) -> None:
    network = request.getfixturevalue(name)
    roadway = shapely.buffer(road_polygons(network)["asphalt"], 0.3)
    shapely.prepare(roadway)
    for marking in network.markings():
        if len(marking.triangles) == 0:  # the release's network has neither signals nor crossings
            continue
        middles = marking.triangles.mean(axis=1)
        on_it = shapely.contains_xy(roadway, middles[:, 0], middles[:, 1])
        assert on_it.mean() > 0.97, marking.kind


ROUNDABOUT_ENTRIES = ("253109038", "26216780#1", "5067107#5", "151495035#2")
ROUNDABOUT_EDGES = ("253109039", "253109040", "253109041", "253109042", "253109043", "253109044", "253109045")


def test_those_who_enter_a_roundabout_give_way(city: RoadNetwork) -> None:
    lines = paint(city)["give_way_line"]
    for edge_id in (*ROUNDABOUT_ENTRIES, *ROUNDABOUT_EDGES):
        for lane in city.edge(edge_id).lanes:
            if lane.is_sidewalk or lane.length < 1.0:
                continue
            end = city.lane_pose(lane.id, -0.45)
            across = [painted(lines, *end.to_world(0.0, float(left))) for left in np.arange(-1.5, 1.5, 0.05)]
            if edge_id in ROUNDABOUT_ENTRIES:
                assert 0.5 < np.mean(across) < 0.85  # blocks of 0.5 m, gaps of 0.25 m
            else:
                assert not any(across)


def test_same_paint_every_time(town: RoadNetwork) -> None:
    first: list[NDArray[np.float64]] = [marking.triangles for marking in road_markings(town)]
    for before, marking in zip(first, road_markings(town), strict=True):
        assert np.array_equal(before, marking.triangles)
