"""The ground of the roads."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surfaces import KERB_WIDTH, lane_surface, road_areas, road_polygons


def area_of(triangles: NDArray[np.float64]) -> float:
    u, v = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    signed = (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2
    assert (signed > 0).all()
    return float(signed.sum())


@pytest.mark.parametrize("name", ["town", "city", "tongji"])
def test_areas_do_not_overlap(name: str, request: pytest.FixtureRequest) -> None:
    network = request.getfixturevalue(name)
    areas = network.road_areas()
    total = sum(area_of(surface.triangles) for surface in areas)
    together = shapely.union_all([shapely.Polygon(t) for surface in areas for t in np.round(surface.triangles, 4)])
    assert total == pytest.approx(together.area, rel=2e-3)


def test_town_is_made_of_what_it_should_be(town: RoadNetwork) -> None:
    areas = {surface.kind: area_of(surface.triangles) for surface in town.road_areas()}
    assert areas["cycleway"] == areas["gravel"] == 0
    # 300 m with four lanes, 113.6 m with two, and rounded corners
    roadway = 300 * 12.8 + 113.6 * 6.4
    assert areas["asphalt"] == pytest.approx(roadway, abs=20)
    assert areas["sidewalk"] + areas["kerb"] == pytest.approx(2 * (2 * 300 + 2 * 113.6) - 2 * 10.4, rel=0.03)
    assert areas["kerb"] == pytest.approx(KERB_WIDTH * (2 * 300 + 2 * 113.6), rel=0.05)


def test_lanes_lie_on_their_ground(city: RoadNetwork) -> None:
    ground = {kind: shapely.buffer(area, 0.05) for kind, area in road_polygons(city).items()}
    ground["sidewalk"] = shapely.union(ground["sidewalk"], ground["kerb"])
    checked = set()
    for lane in city.lanes.values():
        kind = lane_surface(city, lane)
        if kind is None or lane.kind != "normal":
            continue
        checked.add(kind)
        x, y, _ = lane.shape.at(lane.shape.length / 2)
        on_it = shapely.contains_xy(ground[kind], x, y)
        assert on_it or shapely.contains_xy(ground["asphalt"], x, y)  # roads that cross on a bridge
    assert checked == {"asphalt", "gravel", "cycleway", "sidewalk"}


def test_where_cars_may_be_there_is_asphalt_or_gravel(city: RoadNetwork) -> None:
    areas = road_polygons(city)
    roadway = shapely.buffer(shapely.union(areas["asphalt"], areas["gravel"]), 0.4)
    raised = shapely.buffer(areas["sidewalk"], -0.4)
    rng = np.random.default_rng(4)
    lanes = [lane for lane in city.lanes.values() if lane.kind in ("normal", "internal") and lane.allows("passenger")]
    for _ in range(3000):
        lane = lanes[rng.integers(len(lanes))]
        x, y = lane.shape.at(rng.uniform(0, lane.shape.length)).to_world(0, rng.uniform(-8, 8))
        if city.on_road(x, y):
            assert shapely.contains_xy(roadway, x, y)
            assert not shapely.contains_xy(raised, x, y)


def test_areas_are_kept_and_come_back_the_same(
    town: RoadNetwork, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(tmp_path_factory.mktemp("cache")))
    for _ in range(2):  # built, then read
        monkeypatch.setattr(town, "_areas", None)
        found = {surface.kind: surface.triangles for surface in town.road_areas()}
        for surface in road_areas(town):
            assert np.array_equal(found[surface.kind], surface.triangles)
