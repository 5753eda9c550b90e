"""Places a recorded trajectory on the lanes of a network, the way the release's converter does (facts §3.11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.road import routing
from drivehierarchy_gym.road.elements import Edge, Lane
from drivehierarchy_gym.road.lane_index import LaneIndex
from drivehierarchy_gym.road.network import RoadNetwork

SEARCH_RADII = (6.0, 10.0, 14.0, 18.0, 22.0, 26.0, 30.0)
"""Lanes are looked for within the first of these distances (m) that holds one."""
CANDIDATES = 8
"""Only this many lanes, the nearest, are weighed against each other."""
EDGE_COST = 5.0
"""One edge on the way from the previous point costs as much as this distance (m)."""


class MatchedPoint(NamedTuple):
    """A point on its lane: `lane_pos` along it and `distance` from it in metres; `point_index` counts the input."""

    point_index: int
    edge_id: str
    lane_id: str
    lane_index: int
    lane_pos: float
    distance: float


class Matched(NamedTuple):
    """`route_edges` joins the ways between the matched points; `unmatched` holds indices of the input."""

    route_edges: tuple[str, ...]
    points: tuple[MatchedPoint, ...]
    unmatched: tuple[int, ...]


def match_points(
    network: RoadNetwork, points_xy: Sequence[tuple[float, float]] | NDArray[np.float64], vclass: str = "passenger"
) -> Matched:
    """Match points (N, 2), in driving order, to the lanes of edges that allow `vclass`.

    The first point takes the nearest lane; every later one the lane with the lowest `EDGE_COST` x (edges on the way
    from the previous point's edge, both counted) + distance, among the `CANDIDATES` nearest that can be reached. As in
    the release, lanes are extended to their edge's nodes for these distances, and the shortest way adds up edges only,
    not the ways through junctions. Unlike the release, a vehicle is never put on a lane closed to it (where SUMO would
    never insert it): it takes the nearest open lane of the edge that was found.

    A point stays unmatched when no lane lies within 30 m of it, or none can be reached.
    """
    route: list[str] = []
    matched: list[MatchedPoint] = []
    unmatched: list[int] = []
    for number, (x, y) in enumerate((float(x), float(y)) for x, y in points_xy):
        best: tuple[float, Lane, list[str]] | None = None
        for distance, lane in _candidates(network, x, y, vclass):
            way = _way(network, route[-1], lane.edge_id, vclass) if route else [lane.edge_id]
            if way is None:
                continue
            score = distance + (EDGE_COST * len(way) if route else 0.0)
            if best is None or score < best[0]:
                best = score, lane, way
        if best is None:
            unmatched.append(number)
            continue
        lane = best[1]
        if not lane.allows(vclass):
            lane = routing.nearest_lane(network.edges[lane.edge_id], (x, y), vclass)
        arc, offset = lane.shape.project(x, y)
        matched.append(MatchedPoint(number, lane.edge_id, lane.id, lane.index, lane.pos(arc), abs(offset)))
        route.extend(best[2][1:] if route else best[2])
    return Matched(tuple(route), tuple(matched), tuple(unmatched))


def _candidates(network: RoadNetwork, x: float, y: float, vclass: str) -> list[tuple[float, Lane]]:
    index = _extended_lanes(network, vclass)
    for radius in SEARCH_RADII:
        hits = index.near(x, y, radius)
        if hits:
            return hits[:CANDIDATES]
    return []


@lru_cache(maxsize=8)
def _extended_lanes(network: RoadNetwork, vclass: str) -> LaneIndex:
    lanes = [lane for edge in _roads(network, vclass) for lane in edge.lanes]
    return LaneIndex(
        lanes, [routing.with_nodes(network, network.edges[lane.edge_id], lane.shape.points) for lane in lanes]
    )


@lru_cache(maxsize=8)
def _followers(network: RoadNetwork, vclass: str) -> Mapping[str, Mapping[str, float]]:
    return {edge_id: dict.fromkeys(following, 0.0) for edge_id, following in network.successors(vclass).items()}


def _roads(network: RoadNetwork, vclass: str) -> list[Edge]:
    return [edge for edge in network.edges.values() if edge.kind == "normal" and edge.allows(vclass)]


def _way(network: RoadNetwork, from_edge: str, to_edge: str, vclass: str) -> list[str] | None:
    following = _followers(network, vclass)
    if to_edge in following[from_edge]:
        return [from_edge, to_edge]
    return routing.shortest_path(network, following, from_edge, to_edge)
