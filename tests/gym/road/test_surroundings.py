"""Buildings, ground and trees beside the roads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely
from scipy.spatial import KDTree

from drivehierarchy_gym.road.default_map import source_file, surroundings
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surfaces import road_polygons
from drivehierarchy_gym.road.surroundings import (
    BUILDING_CLEARANCE,
    BUILDING_GAP,
    PATH_CLEARANCE,
    ROADWAY_CLEARANCE,
    Surroundings,
    build_surroundings,
    building_height,
)

PLOT = """<additional>
    <location netOffset="100.00,0.00" convBoundary="0,0,1,1" origBoundary="0,0,1,1" projParameter="!"/>
    <poly id="house" type="building.yes" shape="40,20 60,20 60,35 40,35 40,20"/>
    <poly id="over" type="building.yes" shape="0,0 20,0 20,30 0,30 0,0"/>
    <poly id="roof" type="building.roof" shape="70,20 80,20 80,30 70,20"/>
    <poly id="deck" type="amenity.parking" shape="-20,60 40,60 40,100 -20,100 -20,60"/>
    <poly id="deck" type="building.yes" shape="-20,60 40,60 40,100 -20,100 -20,60"/>
    <poly id="pond" type="natural.water" shape="60,60 80,60 80,80 60,80 60,60"/>
    <poly id="grass" type="landuse.grass" shape="50,50 150,50 150,150 50,150 50,50"/>
    <poly id="row" type="natural.tree_row" fill="0" shape="110,60 110,100"/>
    <poly id="zone" type="landuse.commercial" shape="-100,-100 500,-100 500,500 -100,-100"/>
</additional>"""
"""Positions are 100 m east of where they belong: the file has another offset than the net."""


@pytest.fixture(scope="module")
def around(city: RoadNetwork) -> Surroundings:
    return surroundings(city.path)


@pytest.fixture(scope="module")
def roads(city: RoadNetwork) -> dict[str, shapely.Geometry]:
    areas: dict[str, shapely.Geometry] = dict(road_polygons(city))
    areas["roadway"] = shapely.union(areas["asphalt"], areas["gravel"])
    areas["path"] = shapely.union_all([areas["sidewalk"], areas["kerb"], areas["cycleway"]])
    return areas


def test_map_has_buildings_trees_and_ground(around: Surroundings) -> None:
    assert len(around.buildings) == 16
    assert len(around.trees) > 1500
    assert [area.kind for area in around.areas] == ["water", "parking", "paving", "forest", "grass", "farmland"]


def test_buildings_keep_off_the_roads(around: Surroundings, roads: dict[str, shapely.Geometry]) -> None:
    ground = shapely.union(roads["roadway"], roads["path"])
    for building in around.buildings:
        outline = shapely.Polygon(building.outline)
        assert outline.is_valid
        assert shapely.is_ccw(outline.exterior)
        assert outline.distance(ground) > BUILDING_CLEARANCE - 0.3  # outlines are simplified
        roof = shapely.union_all([shapely.Polygon(triangle) for triangle in building.roof])
        assert roof.area == pytest.approx(outline.area, rel=1e-6)
        assert 3.0 <= building.height <= 12.0


def test_trees_keep_off_roads_paths_and_buildings(around: Surroundings, roads: dict[str, shapely.Geometry]) -> None:
    built = shapely.union_all([shapely.Polygon(building.outline) for building in around.buildings])
    trunks = shapely.points(around.trees[:, :2])
    for area, clearance in (
        (roads["roadway"], ROADWAY_CLEARANCE),
        (roads["path"], PATH_CLEARANCE),
        (built, BUILDING_GAP),
    ):
        near = shapely.buffer(area, clearance - 0.15)
        shapely.prepare(near)
        assert not shapely.contains(near, trunks).any()
    assert ((around.trees[:, 2] >= 5.5) & (around.trees[:, 2] <= 17.0)).all()
    distances, _ = KDTree(around.trees[:, :2]).query(around.trees[:, :2], k=2)
    assert distances[:, 1].min() > 4.4


def test_ground_overlaps_neither_roads_nor_itself(around: Surroundings, roads: dict[str, shapely.Geometry]) -> None:
    covered = shapely.union(roads["roadway"], roads["path"])
    for area in around.areas:
        ground = shapely.union_all(shapely.polygons(area.triangles))
        assert shapely.intersection(ground, covered).area < 0.02 * ground.area + 50.0
        covered = shapely.union(covered, ground)


def test_same_trees_every_time_and_others_for_another_net(city: RoadNetwork, town: RoadNetwork) -> None:
    polygons = source_file("osm.poly.xml").read_bytes()
    first, second = (build_surroundings(city, polygons) for _ in range(2))
    assert first.trees.tolist() == second.trees.tolist()
    bare = build_surroundings(town, None)
    assert len(bare.trees) > 20
    assert bare.trees[:5].tolist() != first.trees[:5].tolist()


def test_polygon_file_is_shifted_and_sorted_into_kinds(town: RoadNetwork) -> None:
    found = build_surroundings(town, PLOT.encode())
    outlines = sorted((shapely.Polygon(b.outline).bounds, b.height) for b in found.buildings)
    # "over" stands across the northern carriageway and its sidewalk (up to y = 8.4): what is left begins behind them
    assert outlines == [
        ((-120.0, 60.0, -60.0, 100.0), 12.0),  # a car park
        (pytest.approx((-100.0, 9.4, -80.0, 30.0), abs=0.05), 7.5),
        ((-60.0, 20.0, -40.0, 35.0), 6.0),  # 300 m² and no more
    ]
    areas = {area.kind: shapely.union_all(shapely.polygons(area.triangles)) for area in found.areas}
    assert areas["water"].bounds == (-40.0, 60.0, -20.0, 80.0)
    assert areas["grass"].area == pytest.approx(100 * 100 - 400)
    assert set(areas) == {"water", "parking", "grass"}  # a zone says nothing about the ground
    row = found.trees[np.abs(found.trees[:, 0] - 10.0) < 1e-6]
    assert sorted(row[:, 1]) == [60.0, 70.0, 80.0, 90.0, 100.0]


def test_street_trees_line_the_streets(town: RoadNetwork) -> None:
    trees = build_surroundings(town, None).trees
    main = trees[(np.abs(trees[:, 1]) < 11) & (np.abs(trees[:, 0]) < 140)]
    assert {-1, 1} == set(np.sign(main[:, 1]))
    assert np.hypot(trees[:, 0], trees[:, 1]).min() > 12  # the view into the junction is free
    for x, y, _ in trees:
        assert not town.on_road(x, y)
        assert not town.on_road(x, y, "pedestrian")


@pytest.mark.parametrize(
    ("kind", "area", "height"),
    [
        ("building.yes", 30, 3.0),
        ("building.yes", 150, 6.0),
        ("building.yes", 1000, 7.5),
        ("building.retail", 9000, 9.0),
        ("building.yes", 80_000, 12.0),
        ("amenity.parking", 4000, 12.0),
    ],
)
def test_heights_follow_the_rule(kind: str, area: float, height: float) -> None:
    assert building_height(kind, area) == height


def test_release_network_gets_trees(tongji: RoadNetwork) -> None:
    around = surroundings(Path(tongji.path))
    assert len(around.trees) > 100
    assert not any(tongji.on_road(x, y) for x, y, _ in around.trees)
