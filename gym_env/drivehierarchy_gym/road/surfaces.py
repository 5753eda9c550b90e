"""The ground of the roads as coloured flat areas that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import shapely

from drivehierarchy_gym.road.elements import FOOT_CLASSES, RAIL_CLASSES, Lane
from drivehierarchy_gym.road.shapes import Triangles, closed, opened, polygon, polygons, triangulate, union, without

if TYPE_CHECKING:
    from drivehierarchy_gym.road.network import RoadNetwork

SurfaceKind = Literal[
    "asphalt", "gravel", "cycleway", "sidewalk", "kerb",
    "grass", "forest", "farmland", "water", "parking", "paving",
]  # fmt: skip
"""The first five belong to roads (`RoadNetwork.road_areas`), the others to their surroundings."""

GRAVEL_TYPES = ("highway.track",)
"""OpenStreetMap road types without a sealed surface."""
KERB_WIDTH = 0.15
SLIT = 0.4
"""Gaps and strips of asphalt that are narrower than this (m) come from rounding."""


@dataclass(frozen=True, eq=False)
class Surface:
    """All ground of one kind: `triangles` (T, 3, 2), counter-clockwise, without overlaps."""

    kind: SurfaceKind
    triangles: Triangles


def road_areas(network: RoadNetwork) -> tuple[Surface, ...]:
    """Asphalt (junctions included), gravel, cycleways, sidewalks, and the kerbs between sidewalk and roadway."""
    return tuple(
        Surface(kind, triangulate(shapely.simplify(area, 0.01))) for kind, area in road_polygons(network).items()
    )


def road_polygons(network: RoadNetwork) -> dict[SurfaceKind, shapely.Geometry]:
    """The same areas as polygons."""
    lanes: dict[SurfaceKind, list[Lane]] = {"asphalt": [], "gravel": [], "cycleway": [], "sidewalk": []}
    for lane in network.lanes.values():
        surface = lane_surface(network, lane)
        if surface is not None:
            lanes[surface].append(lane)
    corners = union(polygon(lane.shape.points) for lane in network.sidewalk_corners)
    junctions = {kind: _junctions(network, members) for kind, members in lanes.items()}
    corner_ids = {lane.id for lane in network.sidewalk_corners}
    shared = union(polygon(lane.shape.points) for lane in network.walking_areas if lane.id not in corner_ids)
    driven = _strips(lanes["asphalt"])
    ground = union([driven, shared, junctions["asphalt"]])
    asphalt = opened(closed(without(ground, without(corners, driven)), SLIT), SLIT)
    # What is left of a junction's polygon behind its sidewalk corners is no road.
    asphalt = union(part for part in shapely.get_parts(asphalt) if shapely.intersects(part, driven))
    covered = asphalt
    areas: dict[SurfaceKind, shapely.Geometry] = {"asphalt": asphalt}
    extras: dict[SurfaceKind, shapely.Geometry] = {
        "cycleway": junctions["cycleway"],
        "sidewalk": corners,
        "gravel": junctions["gravel"],
    }
    for kind, extra in extras.items():
        areas[kind] = without(union([_strips(lanes[kind]), extra]), covered)
        covered = union([covered, areas[kind]])
    roadway = union([areas["asphalt"], areas["gravel"]])
    edge = shapely.intersection(shapely.boundary(areas["sidewalk"]), shapely.buffer(roadway, 0.1))
    band = shapely.buffer(edge, KERB_WIDTH, cap_style="flat")
    areas["kerb"] = polygons(shapely.intersection(band, areas["sidewalk"]))
    areas["sidewalk"] = without(areas["sidewalk"], band)
    return areas


def lane_surface(network: RoadNetwork, lane: Lane) -> SurfaceKind | None:
    """What a normal or internal lane is made of; None for rails and for crossings and walking areas."""
    if lane.kind not in ("normal", "internal") or not lane.permissions or lane.permissions <= RAIL_CLASSES:
        return None
    if lane.permissions <= FOOT_CLASSES:
        return "sidewalk" if lane.kind == "normal" else None
    if lane.permissions <= FOOT_CLASSES | {"bicycle"}:
        return "cycleway"
    edge = network.edges[lane.edge_id]
    if lane.kind == "normal":
        return "gravel" if edge.road_type in GRAVEL_TYPES else "asphalt"
    followers = [network.edges[network.lanes[c.to_lane].edge_id] for c in network.connections_from(lane.id)]
    return "gravel" if followers and all(road.road_type in GRAVEL_TYPES for road in followers) else "asphalt"


def _junctions(network: RoadNetwork, lanes: Iterable[Lane]) -> shapely.Geometry:
    """Polygons of the junctions that the internal ones among `lanes` cross."""
    nodes = sorted({network.edges[lane.edge_id].from_node for lane in lanes if lane.kind == "internal"})
    return union(polygon(network.junctions[node].polygon) for node in nodes if node in network.junctions)


def _strips(lanes: Iterable[Lane]) -> shapely.Geometry:
    return union(
        shapely.buffer(shapely.LineString(lane.shape.points), lane.width / 2, cap_style="flat", join_style="mitre")
        for lane in lanes
    )
