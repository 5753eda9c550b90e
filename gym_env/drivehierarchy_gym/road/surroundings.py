"""What stands and grows beside the roads: buildings and ground cover out of a SUMO polygon file, and trees.

Trees that no map states are placed by rule: along streets and at the edges of woods, at random but always the same for
a network, and never on a road, a path, a building, water or paved ground.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast
from xml.etree import ElementTree

import numpy as np
import shapely
from numpy.typing import NDArray

from drivehierarchy_gym.road.elements import Edge, Lane
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.shapes import Points, Triangles, polygon, triangulate, union, without
from drivehierarchy_gym.road.surfaces import Surface, SurfaceKind, road_polygons

MARGIN = 250.0
"""Ground is described this far beyond the outermost road (m)."""
BUILDING_CLEARANCE = 1.0
"""Buildings keep this distance (m) from roads and paths; what comes nearer is cut off."""
SMALLEST_BUILDING = 25.0
"""Remnants of buildings below this area (m²) are dropped."""

GROUND_COVER: dict[str, SurfaceKind] = {
    "natural.water": "water",
    "amenity.parking": "parking",
    "landuse.retail": "paving",
    "natural.wood": "forest",
    "landuse.forest": "forest",
    "leisure.park": "grass",
    "landuse.grass": "grass",
    "landuse.farmland": "farmland",
}
"""Polygon type -> ground, topmost first: where polygons overlap, the earlier row wins."""

STREET_SPACING, STREET_HEIGHTS = 18.0, (5.5, 9.0)
WOOD_SPACING, WOOD_HEIGHTS = 9.0, (9.0, 17.0)
ROW_SPACING, ROW_HEIGHTS = 9.0, (7.0, 12.0)
"""Mean distance between trees, and their heights (m): along streets, in woods, in rows that the map states."""
WOOD_DEPTH = 35.0
"""Woods are planted this far from the nearest road (m); behind, nobody sees single trees."""
ROADWAY_CLEARANCE, PATH_CLEARANCE, BUILDING_GAP = 2.2, 0.8, 3.0
"""Least distances of a trunk (m) from a roadway, from a sidewalk or path, and from a building."""
JUNCTION_CLEARANCE = 14.0
"""Street trees stay this far from nodes (m) and leave the view into junctions free."""
TREELESS_TYPES = ("highway.motorway", "highway.motorway_link", "highway.service", "highway.track", "highway.cycleway")


@dataclass(frozen=True, eq=False)
class Building:
    """`outline` (N, 2) counter-clockwise, `roof` its triangles (T, 3, 2), `height` in metres; walls are vertical."""

    outline: Points
    roof: Triangles
    height: float


@dataclass(frozen=True, eq=False)
class Surroundings:
    """`trees` (N, 3): position of the trunk and height, metres. `areas` overlap neither each other nor roads."""

    buildings: tuple[Building, ...]
    trees: NDArray[np.float64]
    areas: tuple[Surface, ...]


def building_height(kind: str, area: float) -> float:
    """Height (m) of a building of a polygon type and ground area (m²); the map states none.

    Car parks and halls above 20,000 m² 12 m, other buildings 9 m above 2,000 m², 7.5 m above 300 m², 6 m above 80 m²,
    3 m below (garages and kiosks).
    """
    if kind == "amenity.parking" or area > 20_000:
        return 12.0
    for smallest, height in ((2_000.0, 9.0), (300.0, 7.5), (80.0, 6.0)):
        if area > smallest:
            return height
    return 3.0


def build_surroundings(network: RoadNetwork, polygons_xml: bytes | None) -> Surroundings:
    """Surroundings of a network; without a polygon file, only street trees.

    Args:
        polygons_xml: a SUMO additional file with <poly> elements in the projection of the network. Types building.*
            become buildings (building.roof, a canopy, does not), those of `GROUND_COVER` ground, natural.tree_row and
            natural.tree trees.
    """
    shapes = _read_polygons(network, polygons_xml) if polygons_xml is not None else []
    roads = road_polygons(network)
    roadway = union([roads["asphalt"], roads["gravel"]])
    paths = union([roads["sidewalk"], roads["kerb"], roads["cycleway"]])
    ground = union([roadway, paths])
    buildings = list(_buildings(shapes, ground))
    built = union(polygon(building.outline) for building in buildings)
    cover = _ground_cover(network, shapes, ground)
    rng = np.random.default_rng(int(network.sha256[:16], 16))
    taken = union(
        [
            shapely.buffer(roadway, ROADWAY_CLEARANCE),
            shapely.buffer(paths, PATH_CLEARANCE),
            shapely.buffer(built, BUILDING_GAP),
            *(cover[kind] for kind in ("water", "parking", "paving") if kind in cover),
        ]
    )
    wood = cover.get("forest", shapely.Polygon())
    planted = [
        _heights(rng, list(_rows(shapes)), ROW_HEIGHTS),
        _heights(rng, list(_street_spots(network, rng, wood)), STREET_HEIGHTS),
        _heights(rng, list(_wood_spots(wood, roadway, rng)), WOOD_HEIGHTS),
    ]
    trees = np.concatenate(planted)
    shapely.prepare(taken)
    trees = _thinned(trees[~shapely.contains_xy(taken, trees[:, 0], trees[:, 1])])
    areas = tuple(Surface(kind, triangulate(shapely.simplify(area, 0.1))) for kind, area in cover.items())
    return Surroundings(tuple(buildings), trees, areas)


_Shape = tuple[str, Points]


def _read_polygons(network: RoadNetwork, polygons_xml: bytes) -> list[_Shape]:
    """(type, points) of all polygons, shifted from their file's offset to the network's."""
    root = ElementTree.fromstring(polygons_xml)
    location = root.find("location")
    x, y = (location.get("netOffset", "0,0") if location is not None else "0,0").split(",")
    shift = np.subtract(network.net_offset, (float(x), float(y)))
    shapes = []
    for element in root.iterfind("poly"):
        words = element.get("shape", "").split()
        points = np.array([[float(value) for value in word.split(",")[:2]] for word in words]).reshape(-1, 2)
        shapes.append((element.get("type", ""), points + shift))
    return shapes


def _buildings(shapes: list[_Shape], ground: shapely.Geometry) -> Iterator[Building]:
    outlines = {points.tobytes(): kind for kind, points in shapes if kind in GROUND_COVER}
    cut = shapely.buffer(ground, BUILDING_CLEARANCE, quad_segs=2)
    standing = shapely.Polygon()
    for kind, points in shapes:
        if not kind.startswith("building.") or kind == "building.roof":
            continue
        height = building_height(outlines.get(points.tobytes(), kind), polygon(points).area)
        rest = without(polygon(points), union([cut, standing]))
        for part in shapely.get_parts(shapely.simplify(rest, 0.2)):
            whole = shapely.Polygon(part.exterior)  # courtyards are not seen from the road
            if whole.area >= SMALLEST_BUILDING and not shapely.intersects(whole, ground):
                standing = union([standing, whole])
                outline = shapely.get_coordinates(shapely.normalize(whole))[-2::-1]
                yield Building(np.ascontiguousarray(outline), triangulate(whole), height)


def _ground_cover(
    network: RoadNetwork, shapes: list[_Shape], ground: shapely.Geometry
) -> dict[SurfaceKind, shapely.Geometry]:
    x0, y0, x1, y1 = network.bounds
    frame = shapely.box(x0 - MARGIN, y0 - MARGIN, x1 + MARGIN, y1 + MARGIN)
    cover: dict[SurfaceKind, shapely.Geometry] = {}
    covered = ground
    for kind, surface in GROUND_COVER.items():
        area = union(polygon(points) for found, points in shapes if found == kind)
        area = without(shapely.intersection(area, frame), covered)
        if not area.is_empty:
            cover[surface] = union([cover.get(surface, shapely.Polygon()), area])
            covered = union([covered, area])
    return cover


# --- trees -----------------------------------------------------------------------------------------------------------


def _heights(
    rng: np.random.Generator, spots: list[tuple[float, float]], heights: tuple[float, float]
) -> NDArray[np.float64]:
    """Trees (N, 3) of random heights at the given spots."""
    drawn = np.round(rng.uniform(*heights, size=len(spots)), 2)
    return np.column_stack((np.array(spots).reshape(-1, 2), drawn))


def _rows(shapes: list[_Shape]) -> Iterator[tuple[float, float]]:
    """Spots of the trees and tree rows that the map states."""
    for kind, points in shapes:
        if kind == "natural.tree":
            yield float(points[:, 0].mean()), float(points[:, 1].mean())
        elif kind == "natural.tree_row" and len(points) > 1:
            row = shapely.LineString(points)
            count = max(round(row.length / ROW_SPACING), 1)
            places = shapely.line_interpolate_point(row, np.arange(count + 1) / count, normalized=True)
            for x, y in shapely.get_coordinates(places):
                yield float(x), float(y)


def _street_spots(
    network: RoadNetwork, rng: np.random.Generator, wood: shapely.Geometry
) -> Iterator[tuple[float, float]]:
    """Spots beside the outermost lanes of streets, on both sides; other roads and woods are taken out by the caller."""
    shapely.prepare(wood)
    for edge in network.edges.values():
        if edge.kind != "normal" or not _is_street(edge):
            continue
        for lane, side in ((edge.lanes[0], -1.0), (edge.lanes[-1], 1.0)):
            clearance = PATH_CLEARANCE if lane.is_sidewalk else ROADWAY_CLEARANCE
            for arc in _steps(lane, rng):
                pose = lane.shape.at(arc)
                x, y = pose.to_world(0.0, side * (lane.width / 2 + clearance + rng.uniform(0.3, 1.0)))
                if not shapely.contains_xy(wood, x, y):
                    yield x, y


def _is_street(edge: Edge) -> bool:
    return edge.road_type not in TREELESS_TYPES and (edge.allows("passenger") or edge.allows("bus"))


def _steps(lane: Lane, rng: np.random.Generator) -> Iterator[float]:
    """Arc lengths along a lane, about `STREET_SPACING` apart, clear of the junctions at both ends."""
    arc = JUNCTION_CLEARANCE + float(rng.uniform(0.0, STREET_SPACING / 2))
    while arc < lane.shape.length - JUNCTION_CLEARANCE:
        yield arc
        arc += STREET_SPACING * float(rng.uniform(0.7, 1.3))


def _wood_spots(
    wood: shapely.Geometry, roadway: shapely.Geometry, rng: np.random.Generator
) -> Iterator[tuple[float, float]]:
    """Spots of a jittered grid in the parts of woods near roads."""
    if wood.is_empty:
        return
    near = shapely.intersection(wood, shapely.buffer(shapely.simplify(roadway, 1.0), WOOD_DEPTH, quad_segs=2))
    shapely.prepare(near)
    x0, y0, x1, y1 = near.bounds
    columns, rows = (math.ceil((high - low) / WOOD_SPACING) for low, high in ((x0, x1), (y0, y1)))
    grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij"), axis=-1).reshape(-1, 2)
    spots = np.array((x0, y0)) + (grid + rng.uniform(0.1, 0.9, size=grid.shape)) * WOOD_SPACING
    for x, y in spots[shapely.contains_xy(near, spots[:, 0], spots[:, 1])]:
        yield float(x), float(y)


def _thinned(trees: NDArray[np.float64], distance: float = 4.5) -> NDArray[np.float64]:
    """Trees in order, without those that stand within `distance` metres of an earlier one; centimetres."""
    kept: list[NDArray[np.float64]] = []
    cells: dict[tuple[int, int], list[NDArray[np.float64]]] = {}
    for tree in np.round(trees, 2):
        column, row = math.floor(tree[0] / distance), math.floor(tree[1] / distance)
        around = (cells.get((column + i, row + j), ()) for i in (-1, 0, 1) for j in (-1, 0, 1))
        if all(math.dist(tree[:2], other[:2]) >= distance for cell in around for other in cell):
            cells.setdefault((column, row), []).append(tree)
            kept.append(tree)
    return np.array(kept).reshape(-1, 3)


# --- storage ---------------------------------------------------------------------------------------------------------


def to_arrays(surroundings: Surroundings) -> dict[str, NDArray[np.float64]]:
    """The surroundings as named arrays, for a cache file; inverse of `from_arrays`."""
    arrays = {"trees": surroundings.trees}
    for area in surroundings.areas:
        arrays[f"area-{area.kind}"] = area.triangles
    for i, building in enumerate(surroundings.buildings):
        arrays[f"outline-{i}"] = building.outline
        arrays[f"roof-{i}"] = building.roof
    arrays["heights"] = np.array([building.height for building in surroundings.buildings])
    return arrays


def from_arrays(arrays: dict[str, NDArray[np.float64]]) -> Surroundings:
    """Surroundings out of the arrays of `to_arrays`."""
    return Surroundings(
        tuple(
            Building(arrays[f"outline-{i}"], arrays[f"roof-{i}"], float(height))
            for i, height in enumerate(arrays["heights"])
        ),
        arrays["trees"],
        tuple(
            Surface(cast(SurfaceKind, name.removeprefix("area-")), triangles)
            for name, triangles in arrays.items()
            if name.startswith("area-")
        ),
    )
