"""Paint on the road: lane lines, stop lines, crossings and arrows.

Dimensions follow the German guideline for road markings (RMS), which is what the default map's roads carry.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.road.elements import Connection, Edge, Lane
from drivehierarchy_gym.road.lane_index import LaneIndex
from drivehierarchy_gym.road.shapes import Points, Triangles, chains, dashes, joined, offset, quad, ribbon, upright

if TYPE_CHECKING:
    from drivehierarchy_gym.road.network import RoadNetwork

MarkingKind = Literal["edge_line", "lane_line", "centre_line", "stop_line", "give_way_line", "crossing", "arrow"]

WHITE = (232, 232, 226)

LINE_WIDTH = 0.12
DASH, GAP = 3.0, 6.0
"""Dashed lines: 3 m of paint, 6 m of gap."""
SOLID_APPROACH = 20.0
"""Lane lines are solid for this long (m) before a signal."""
STOP_WIDTH = 0.5
GIVE_WAY_DASH, GIVE_WAY_GAP = 0.5, 0.25
STRIPE, STRIPE_GAP = 0.5, 0.5
ARROW_SETBACKS = (4.0, 24.0)
"""The tips of arrows lie this far (m) before the end of their lane."""
ARROW_LENGTH = 5.0

UNMARKED_TYPES = ("highway.service", "highway.track", "highway.living_street")
"""OpenStreetMap road types without any paint."""
QUIET_TYPES = ("highway.residential", "highway.unclassified")
"""Types with a centre line, but without edge lines."""

_ROADWAY = frozenset({"passenger", "delivery", "truck", "bus", "taxi"})
_Style = Literal["edge", "lane", "approach", "centre", "barrier"]


@dataclass(frozen=True, eq=False)
class Marking:
    """All paint of one kind and colour: `triangles` (T, 3, 2), counter-clockwise."""

    kind: MarkingKind
    colour: tuple[int, int, int]
    triangles: Triangles


def road_markings(network: RoadNetwork) -> tuple[Marking, ...]:
    """Everything painted on the roads of a network, kind by kind."""
    joints = _joints(network)
    borders = _borders(network, joints)

    def solid(style: _Style) -> list[Triangles]:
        return [ribbon(line.points, LINE_WIDTH) for line in chains(borders[style], *_CHAINING)]

    def dashed(style: _Style) -> list[Triangles]:
        lines = chains(borders[style], *_CHAINING)
        return [ribbon(dash, LINE_WIDTH) for line in lines for dash in dashes(line, DASH, GAP)]

    parts: dict[MarkingKind, list[Triangles]] = {
        "edge_line": solid("edge"),
        "lane_line": dashed("lane") + solid("approach"),
        "centre_line": dashed("centre") + solid("barrier"),
        "stop_line": [],
        "give_way_line": [],
        "crossing": [stripe for lane in network.crossings for stripe in _stripes(lane)],
        "arrow": [],
    }
    for edge in network.edges.values():
        if edge.kind == "normal" and _is_marked(edge):
            yields = _must_give_way(network, edge)
            for lane in _roadway(edge):
                if _must_stop(network, lane):
                    parts["stop_line"].append(_bar(lane, lane.width / 2, -lane.width / 2))
                elif yields:
                    parts["give_way_line"] += _blocks(lane)
            parts["arrow"] += _arrows(network, edge)
    return tuple(Marking(kind, WHITE, joined(found)) for kind, found in parts.items())


_CHAINING = (0.8, math.radians(25))
"""Borders are one line where they meet within 0.8 m and turn by less than 25 degrees."""


def _is_marked(edge: Edge) -> bool:
    return edge.road_type not in UNMARKED_TYPES and bool(_roadway(edge))


def _roadway(edge: Edge) -> list[Lane]:
    """Lanes for ordinary traffic: no sidewalks, cycle lanes, shoulders or tracks."""
    return [lane for lane in edge.lanes if not _ROADWAY.isdisjoint(lane.permissions)]


# --- lines along lanes -----------------------------------------------------------------------------------------------


def _joints(network: RoadNetwork) -> dict[str, Edge]:
    """Internal edges of junctions that only join one road to the next, with the road that each of them carries on."""
    ways: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for connection in network.connections:
        before, after = network.lanes[connection.from_lane], network.lanes[connection.to_lane]
        if connection.via and connection.direction != "t" and before.kind == after.kind == "normal":
            node = network.edges[before.edge_id].to_node
            ways[node][before.edge_id, after.edge_id] = network.lanes[connection.via].edge_id
    joints = {}
    for pairs in ways.values():
        if len({before for before, _ in pairs}) == len({after for _, after in pairs}) == len(pairs):
            joints.update({via: network.edges[before] for (before, _), via in pairs.items()})
    return joints


def _borders(network: RoadNetwork, joints: dict[str, Edge]) -> dict[_Style, list[Points]]:
    """Borders of lanes in driving direction, by the style in which they are painted."""
    found: dict[_Style, list[Points]] = {"edge": [], "lane": [], "approach": [], "centre": [], "barrier": []}
    roads = [
        (edge, joints.get(edge.id, edge))
        for edge in network.edges.values()
        if (edge.kind == "normal" or edge.id in joints) and _is_marked(joints.get(edge.id, edge)) and _roadway(edge)
    ]
    leftmost = [_roadway(edge)[-1] for edge, _ in roads]
    index = LaneIndex(leftmost, [lane.shape.points for lane in leftmost])
    for edge, road in roads:
        lanes = _roadway(edge)
        has_edge_lines = road.road_type not in QUIET_TYPES
        right = edge.lanes[lanes[0].index - 1] if lanes[0].index > 0 else None
        if has_edge_lines if right is None else not right.is_sidewalk:
            found["edge"].append(offset(lanes[0].shape.points, -lanes[0].width / 2))
        for lane, neighbour in pairwise(lanes):
            border = offset(lane.shape.points, lane.width / 2)
            if neighbour.index != lane.index + 1:
                found["edge"] += [border, offset(neighbour.shape.points, -neighbour.width / 2)]
            elif edge.kind == "normal" and any(_must_stop(network, each) for each in (lane, neighbour)):
                dashed, solid = _split(border, SOLID_APPROACH)
                found["lane"] += dashed
                found["approach"].append(solid)
            else:
                found["lane"].append(border)
        border = offset(lanes[-1].shape.points, lanes[-1].width / 2)
        opposite = _opposite(index, lanes[-1]) if lanes[-1] is edge.lanes[-1] else None
        if opposite is None:
            if has_edge_lines or lanes[-1] is not edge.lanes[-1]:
                found["edge"].append(border)
        elif _draws(network, edge, network.edges[opposite.edge_id]):
            single = len(lanes) == len(_roadway(network.edges[opposite.edge_id])) == 1
            found["centre" if single else "barrier"].append(border)
    return found


def _split(line: Points, length: float) -> tuple[list[Points], Points]:
    """What lies before the last `length` metres of a line (nothing where it is shorter), and those metres."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    arcs = np.concatenate(([0.0], np.cumsum(steps)))
    cut = arcs[-1] - length
    if cut <= 0.5:
        return [], line
    point = np.array([[np.interp(cut, arcs, line[:, axis]) for axis in (0, 1)]])
    return [np.vstack((line[arcs < cut - 0.01], point))], np.vstack((point, line[arcs > cut + 0.01]))


def _opposite(index: LaneIndex, lane: Lane) -> Lane | None:
    """The lane of oncoming traffic whose left border is that of `lane`."""
    middle = lane.shape.at(lane.shape.length / 2)
    x, y = middle.to_world(0.0, lane.width / 2)
    for distance, other in index.near(x, y, 4.0):
        heading = other.shape.at(other.shape.project(x, y).arc).yaw
        if math.cos(heading - middle.yaw) < -0.7 and abs(distance - other.width / 2) < 0.8:
            return other
    return None


def _draws(network: RoadNetwork, edge: Edge, opposite: Edge) -> bool:
    """Whether the line between two directions belongs to `edge`; exactly one of them draws it."""
    if (edge.from_node, edge.to_node) == (opposite.to_node, opposite.from_node):
        return edge.id < opposite.id
    heading = edge.lanes[-1].shape.at(edge.lanes[-1].shape.length / 2).yaw
    return math.cos(heading - 0.3) > 0  # an axis that few roads are square to


# --- at the end of lanes ---------------------------------------------------------------------------------------------


def _onward(network: RoadNetwork, lane: Lane) -> list[Connection]:
    return [c for c in network.connections_from(lane.id) if network.lanes[c.to_lane].kind == "normal"]


def _must_stop(network: RoadNetwork, lane: Lane) -> bool:
    """A signal, a stop sign or an all-way stop at the end of the lane."""
    return any(c.signal is not None or c.state in ("s", "w") for c in _onward(network, lane))


def _must_give_way(network: RoadNetwork, edge: Edge) -> bool:
    """Whether every way on from `edge` is a minor one; on a major road only left turns are."""
    states = {c.state for lane in _roadway(edge) for c in _onward(network, lane) if c.direction != "t"}
    return "m" in states and "M" not in states


def _bar(lane: Lane, left: float, right: float) -> Triangles:
    end = lane.shape.at(lane.shape.length)
    near, far = -0.2 - STOP_WIDTH, -0.2
    return quad(end.to_world(near, right), end.to_world(far, right), end.to_world(far, left), end.to_world(near, left))


def _blocks(lane: Lane) -> list[Triangles]:
    count = int((lane.width + GIVE_WAY_GAP) / (GIVE_WAY_DASH + GIVE_WAY_GAP))
    used = count * (GIVE_WAY_DASH + GIVE_WAY_GAP) - GIVE_WAY_GAP
    lefts = [used / 2 - i * (GIVE_WAY_DASH + GIVE_WAY_GAP) for i in range(count)]
    return [_bar(lane, left, left - GIVE_WAY_DASH) for left in lefts]


def _stripes(lane: Lane) -> Iterator[Triangles]:
    """Zebra of a crossing: stripes along the road, side by side across it."""
    count = max(int((lane.shape.length + STRIPE_GAP) / (STRIPE + STRIPE_GAP)), 1)
    used = count * (STRIPE + STRIPE_GAP) - STRIPE_GAP
    for i in range(count):
        pose = lane.shape.at((lane.shape.length - used) / 2 + i * (STRIPE + STRIPE_GAP) + STRIPE / 2)
        half, side = STRIPE / 2, lane.width / 2
        yield quad(
            pose.to_world(-half, -side),
            pose.to_world(half, -side),
            pose.to_world(half, side),
            pose.to_world(-half, side),
        )


# --- arrows ----------------------------------------------------------------------------------------------------------

_Outline = tuple[tuple[float, float], ...]

_SHAFT: _Outline = ((0.0, -0.08), (3.4, -0.08), (3.4, 0.08), (0.0, 0.08))
_STRAIGHT_HEAD: _Outline = ((3.4, -0.4), (5.0, 0.0), (3.4, 0.4))
_TURN_SHAFT: _Outline = ((0.0, -0.08), (3.3, -0.08), (3.3, 0.08), (0.0, 0.08))
_TURN_BRANCH: _Outline = ((3.1, 0.0), (3.3, 0.0), (3.3, 0.5), (3.1, 0.5))
_TURN_HEAD: _Outline = ((2.6, 0.5), (3.8, 0.5), (3.2, 1.2))
"""Outlines (forward, left) of an arrow's parts, metres; turns are drawn to the left."""


def _arrows(network: RoadNetwork, edge: Edge) -> list[Triangles]:
    """Arrows on every lane of an edge whose lanes lead to different directions."""
    turns = {
        lane.index: frozenset(c.direction.lower() for c in _onward(network, lane) if c.direction.lower() in "slr")
        for lane in _roadway(edge)
    }
    if len(set(turns.values())) < 2:
        return []
    arrows = []
    for lane in _roadway(edge):
        for setback in ARROW_SETBACKS:
            start = lane.shape.length - setback - ARROW_LENGTH
            if start > 0 and turns[lane.index]:
                arrows.append(_arrow(lane.shape.at(start), turns[lane.index]))
    return arrows


def _arrow(pose: Pose, turns: frozenset[str]) -> Triangles:
    outlines = [_SHAFT, _STRAIGHT_HEAD] if "s" in turns else [_TURN_SHAFT]
    back = 1.6 if "s" in turns else 0.0  # branches leave a straight arrow lower down
    for side, letter in ((1.0, "l"), (-1.0, "r")):
        if letter in turns:
            for outline in (_TURN_BRANCH, _TURN_HEAD):
                outlines.append(tuple((forward - back, side * left) for forward, left in outline))
    triangles = []
    for outline in outlines:
        corners = [pose.to_world(forward, left) for forward, left in outline]
        triangles += [(corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1)]
    return upright(np.array(triangles))
