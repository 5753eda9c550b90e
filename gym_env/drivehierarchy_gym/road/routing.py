"""Ways through a network: shortest paths over edges, lanes along them, and the line a vehicle drives."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.road.elements import Connection, Edge, Lane

if TYPE_CHECKING:
    from drivehierarchy_gym.road.network import RoadNetwork

LANE_CHANGE_LENGTHS = (25.0, 12.0, 8.0, 5.0, 3.0)
"""A lane change of a route is drawn over the first of these lengths (m) that keeps it on the road, or over what there
is before the next turn."""
_INTO_TURN = 12.0
"""A lane change just before a turn runs on into it until it is this long (m)."""
_HALF_WIDTH = 0.9
"""Room (m) that a lane change needs on both sides: half a car."""
_SAMPLE_STEP = 1.0


_Cost = tuple[int, float, int]
"""Wanted lanes missed, lane changes (each counts more on a short edge), sum of lane indices; compared in this order."""


class LaneChoice(NamedTuple):
    """Lanes (index) on which a route enters and leaves an edge."""

    enter: int
    leave: int


def successors(network: RoadNetwork, vclass: str) -> dict[str, dict[str, float]]:
    """For every normal edge: the edges that `vclass` can drive onto next, with the length of the way through the
    junction (m, the shortest where there are several)."""
    lanes = network.lanes
    found: dict[str, dict[str, float]] = {edge.id: {} for edge in network.edges.values() if edge.kind == "normal"}
    for connection in network.connections:
        before, after = lanes[connection.from_lane], lanes[connection.to_lane]
        if before.kind == "normal" and after.kind == "normal" and _allowed(network, connection, vclass):
            through = sum(lane.length for lane in network.internal_path(connection))
            options = found[before.edge_id]
            options[after.edge_id] = min(options.get(after.edge_id, through), through)
    return found


def shortest_path(
    network: RoadNetwork, following: Mapping[str, Mapping[str, float]], from_edge: str, to_edge: str
) -> list[str] | None:
    """Edges from `from_edge` to `to_edge`, both included, shortest in metres; None where there is no way.

    `following` is what `successors` returns. Ties are broken by edge id, never by the order of the file.
    """
    queue: list[tuple[float, str]] = [(0.0, from_edge)]
    best = {from_edge: 0.0}
    previous: dict[str, str] = {}
    while queue:
        cost, edge_id = heapq.heappop(queue)
        if edge_id == to_edge:
            path = [edge_id]
            while edge_id in previous:
                edge_id = previous[edge_id]
                path.append(edge_id)
            return path[::-1]
        if cost > best[edge_id]:
            continue
        for next_id, through in following.get(edge_id, {}).items():
            total = cost + through + network.edges[next_id].length
            if total < best.get(next_id, float("inf")):
                best[next_id] = total
                previous[next_id] = edge_id
                heapq.heappush(queue, (total, next_id))
    return None


def route_lanes(
    network: RoadNetwork, edges: Sequence[str], lanes_wanted: Mapping[str, int], vclass: str
) -> list[LaneChoice]:
    """Lanes along `edges`: the wanted ones where they continue the route, then few lane changes, then the rightmost.

    Raises:
        ScenarioError: an edge or wanted lane does not exist or does not allow `vclass`, or two edges do not connect.
    """
    roads = _roads(network, edges, vclass)
    return _choose_lanes(network, roads, lanes_wanted, vclass, [road.length for road in roads], None, None)


def _choose_lanes(
    network: RoadNetwork,
    roads: Sequence[Edge],
    lanes_wanted: Mapping[str, int],
    vclass: str,
    rooms: Sequence[float],
    first_lane: int | None,
    last_lane: int | None,
) -> list[LaneChoice]:
    """As `route_lanes`, for a route that covers `rooms` metres of each road; its first and last lane may be fixed."""
    for edge_id, index in lanes_wanted.items():
        road = network.edge(edge_id)
        if index not in _usable(road, vclass):
            raise ScenarioError(
                f"{network.path}: lane {index} of edge {edge_id!r} is not for {vclass}; lanes that are: "
                f"{_usable(road, vclass)}"
            )
    exits = [_links(network, a, b, vclass) for a, b in pairwise(roads)]
    exits.append({index: [-1] for index in ([last_lane] if last_lane is not None else _usable(roads[-1], vclass))})
    entering: dict[int, tuple[_Cost, list[LaneChoice]]] = {
        index: ((0, 0.0, 0), []) for index in ([first_lane] if first_lane is not None else _usable(roads[0], vclass))
    }
    for road, room, onward in zip(roads, rooms, exits, strict=True):
        wanted = lanes_wanted.get(road.id)
        leaving: dict[int, tuple[_Cost, list[LaneChoice]]] = {}
        for leave, onto in onward.items():
            options = []
            for enter, ((missed, changes, indices), choices) in entering.items():
                change = abs(leave - enter) * (1 + LANE_CHANGE_LENGTHS[0] / max(room, 0.1))
                cost = (missed + (wanted is not None and leave != wanted), changes + change, indices + leave)
                options.append((cost, [*choices, LaneChoice(enter, leave)]))
            best = min(options)
            for index in onto:
                if index not in leaving or best < leaving[index]:
                    leaving[index] = best
        entering = leaving
    return min(entering.values())[1]


def route_polyline(
    network: RoadNetwork,
    edges: Sequence[str],
    start_xy: tuple[float, float] | None,
    goal_xy: tuple[float, float] | None,
    lanes: Mapping[str, int],
    vclass: str,
) -> Polyline:
    """Line along `edges` from the projection of the start to that of the goal (None: the ends of the route), through
    the junction lanes, with lane changes blended over `LANE_CHANGE_LENGTHS`.

    The route begins in the lane nearest to the start. It ends in the lane nearest to the goal, unless `lanes` states
    another one for the last edge.

    Raises:
        ScenarioError: as `route_lanes`, or the goal does not lie ahead of the start.
    """
    roads = _roads(network, edges, vclass)
    rooms = [road.length for road in roads]
    first = last = None
    if start_xy is not None:
        lane = nearest_lane(roads[0], start_xy, vclass)
        first = lane.index
        rooms[0] -= _fraction(lane, start_xy) * lane.length
    if goal_xy is not None:
        lane = nearest_lane(roads[-1], goal_xy, vclass)
        last = None if edges[-1] in lanes else lane.index
        rooms[-1] -= (1 - _fraction(lane, goal_xy)) * lane.length
    choices = _choose_lanes(network, roads, lanes, vclass, rooms, first, last)
    enter = [road.lanes[choice.enter] for road, choice in zip(roads, choices, strict=True)]
    leave = [road.lanes[choice.leave] for road, choice in zip(roads, choices, strict=True)]
    links = [_connection(network, before, after, vclass) for before, after in zip(leave[:-1], enter[1:], strict=True)]
    spans = [(0.0, 1.0)] * len(roads)  # parts of the edges that the route covers, as fractions
    if start_xy is not None:
        spans[0] = (_fraction(enter[0], start_xy), 1.0)
    if goal_xy is not None:
        spans[-1] = (spans[-1][0], _fraction(leave[-1], goal_xy))
    if len(roads) == 1 and spans[0][1] <= spans[0][0]:
        begin, end = (fraction * roads[0].length for fraction in spans[0])
        raise ScenarioError(
            f"{network.path}: on edge {roads[0].id!r} the goal (at {end:.1f} m) does not lie ahead of the start "
            f"(at {begin:.1f} m); swap them or give a route that leads around"
        )
    attempts = [0] * len(roads)
    while True:
        line = _trace(network, enter, leave, links, spans, [LANE_CHANGE_LENGTHS[attempt] for attempt in attempts])
        outside = {i for i, pose in line.shifted if not _fits(network, pose, vclass)}
        retry = [i for i in outside if attempts[i] + 1 < len(LANE_CHANGE_LENGTHS)]
        if not retry:
            return _joined(network, line.points)
        for i in retry:
            attempts[i] += 1


def _fits(network: RoadNetwork, pose: Pose, vclass: str) -> bool:
    return all(network.on_road(*pose.to_world(0.0, left), vclass) for left in (-_HALF_WIDTH, _HALF_WIDTH))


def _trace(
    network: RoadNetwork,
    enter: Sequence[Lane],
    leave: Sequence[Lane],
    links: Sequence[Connection],
    spans: Sequence[tuple[float, float]],
    limits: Sequence[float],
) -> _Line:
    """Line through the lanes on which a route enters and leaves its edges, `spans` being the fractions it covers and
    `limits` the most that a lane change on each edge may take (m)."""
    line = _Line()
    for i, (begin, end) in enumerate(spans):
        turning = begin
        if enter[i] is not leave[i]:
            span = (end - begin) * leave[i].shape.length
            length = min(limits[i], _change_length(network, span, links[i:], leave[i + 1 :], spans[i + 1 :]))
            turning = begin + max(span - length, 0.0) / 2 / leave[i].shape.length
            line.follow(enter[i], begin, turning)
            x, y, _ = enter[i].shape.at(turning * enter[i].shape.length)
            arc, offset = leave[i].shape.project(x, y)
            line.change(i, (x, y), offset, length)
            turning = arc / leave[i].shape.length
        line.follow(leave[i], turning, end)
        if i < len(links):
            for lane in network.internal_path(links[i]):
                line.follow(lane, 0.0, 1.0)
    return line


def _change_length(
    network: RoadNetwork,
    room: float,
    links: Sequence[Connection],
    lanes: Sequence[Lane],
    spans: Sequence[tuple[float, float]],
) -> float:
    """Length (m) that a lane change may take which begins on an edge with `room` metres: over the next edges as long as
    the way is straight, into a turn only as far as it needs for `_INTO_TURN`, never beyond the goal."""
    to_turn = to_goal = room
    straight = True
    for link, lane, (begin, end) in zip(links, lanes, spans, strict=False):
        straight = straight and link.direction == "s"
        ahead = sum(each.shape.length for each in network.internal_path(link)) + (end - begin) * lane.shape.length
        to_goal += ahead
        to_turn += ahead if straight else 0.0
    return min(max(to_turn, _INTO_TURN), to_goal)


class _Line:
    """Points along one lane after the other; after a lane change they approach the new lane's centre line smoothly."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []
        self.shifted: list[tuple[int, Pose]] = []
        """Poses away from the centre line of their lane, with the edge (number in the route) of their lane change."""
        self._station = 0.0
        self._changes: list[tuple[int, float, float, float]] = []
        """Edge, station and length of lane changes, and the offset to the left with which they start."""

    def follow(self, lane: Lane, begin: float, end: float) -> None:
        """Append the part of a lane between two fractions of its length."""
        shape = lane.shape
        a, b = begin * shape.length, end * shape.length
        if b <= a:
            return
        changing = [change for change in self._changes if change[1] + change[2] > self._station]
        arcs = np.concatenate(([a], shape.arcs[(shape.arcs > a) & (shape.arcs < b)], [b]))
        if changing:
            arcs = np.union1d(arcs, np.linspace(a, b, max(int((b - a) / _SAMPLE_STEP), 1) + 1))
        arcs = arcs[np.diff(arcs, append=np.inf) > 1e-3]
        if len(arcs) < 2:
            return
        points = np.column_stack([np.interp(arcs, shape.arcs, shape.points[:, axis]) for axis in (0, 1)])
        steps = np.gradient(points, axis=0)
        left = np.column_stack((-steps[:, 1], steps[:, 0])) / np.hypot(steps[:, 0], steps[:, 1])[:, None]
        for edge, station, length, offset in changing:
            t = np.clip((self._station + arcs - a - station) / length, 0.0, 1.0)
            points = points + (offset * (1 - t * t * (3 - 2 * t)))[:, None] * left
            for i in np.flatnonzero(t < 1.0):
                x, y = points[i].tolist()
                self.shifted.append((edge, Pose(x, y, math.atan2(steps[i, 1], steps[i, 0]))))
        for point, step in zip(points.tolist(), steps.tolist(), strict=True):
            # Lanes may overlap, and a shifted line would loop in a tight bend: never step back.
            if self.points:
                x, y = self.points[-1]
                if (point[0] - x) * step[0] + (point[1] - y) * step[1] <= 0:
                    continue
            self.points.append((point[0], point[1]))
        self._station += b - a

    def change(self, edge: int, point: tuple[float, float], offset: float, length: float) -> None:
        """Start at `point`, `offset` metres to the left of the new lane, to go over to it within `length` metres."""
        self.points.append(point)
        self._changes.append((edge, self._station, length, offset))


def edge_polyline(
    network: RoadNetwork, edges: Sequence[str], start_xy: tuple[float, float], goal_xy: tuple[float, float]
) -> Polyline:
    """The release's reference line (facts §3.7): centre lines of `edges` joined through the junctions' node points, cut
    between the projections of the start and of the goal.

    Raises:
        ScenarioError: an edge does not exist, or the goal does not lie ahead of the start.
    """
    points: list[NDArray[np.float64]] = []
    for edge_id in edges:
        edge = network.edge(edge_id)
        points.append(with_nodes(network, edge, edge.centre_line()))
    line = _joined(network, np.vstack([np.empty((0, 2)), *points]))
    start, goal = line.project(*start_xy).arc, line.project(*goal_xy).arc
    if goal <= start:
        raise ScenarioError(
            f"{network.path}: along the edges {list(edges)} the goal (at {goal:.1f} m) does not lie ahead of the start "
            f"(at {start:.1f} m); check the order of the edges"
        )
    return line.cut(start, goal)


def with_nodes(network: RoadNetwork, edge: Edge, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """`points` of an edge or lane, extended to the positions of the edge's two nodes (unchanged for internal edges)."""
    if edge.kind != "normal":
        return points
    before, after = network.junctions[edge.from_node], network.junctions[edge.to_node]
    return np.vstack(([(before.x, before.y)], points, [(after.x, after.y)]))


def nearest_lane(edge: Edge, xy: tuple[float, float], vclass: str) -> Lane:
    """Lane of `edge` for `vclass` whose centre line is nearest to `xy`."""
    lanes = [lane for lane in edge.lanes if lane.allows(vclass)]
    return min(lanes, key=lambda lane: abs(lane.shape.project(*xy).offset))


def _roads(network: RoadNetwork, edges: Sequence[str], vclass: str) -> list[Edge]:
    if not edges:
        raise ScenarioError(f"{network.path}: a route needs at least one edge, found none")
    roads = [network.edge(edge_id) for edge_id in edges]
    for road in roads:
        if not road.allows(vclass):
            raise ScenarioError(f"{network.path}: edge {road.id!r} has no lane for {vclass}; choose another edge")
    return roads


def _usable(road: Edge, vclass: str) -> list[int]:
    return [lane.index for lane in road.lanes if lane.allows(vclass)]


def _allowed(network: RoadNetwork, connection: Connection, vclass: str) -> bool:
    return (
        vclass in connection.permissions
        and network.lanes[connection.from_lane].allows(vclass)
        and network.lanes[connection.to_lane].allows(vclass)
    )


def _links(network: RoadNetwork, before: Edge, after: Edge, vclass: str) -> dict[int, list[int]]:
    """Lane of `before` -> lanes of `after` it leads to."""
    found: dict[int, list[int]] = {}
    for lane in before.lanes:
        for connection in network.connections_from(lane.id):
            target = network.lanes[connection.to_lane]
            if target.edge_id == after.id and _allowed(network, connection, vclass):
                found.setdefault(lane.index, []).append(target.index)
    if not found:
        onward = sorted(
            {
                network.lanes[connection.to_lane].edge_id
                for lane in before.lanes
                for connection in network.connections_from(lane.id)
                if _allowed(network, connection, vclass)
            }
        )
        raise ScenarioError(
            f"{network.path}: edge {before.id!r} does not lead to edge {after.id!r} for {vclass}; it leads to {onward}"
        )
    return found


def _connection(network: RoadNetwork, before: Lane, after: Lane, vclass: str) -> Connection:
    """The connection between two lanes that `route_lanes` has chosen."""
    options = [c for c in network.connections_from(before.id) if c.to_lane == after.id]
    return next(c for c in options if _allowed(network, c, vclass))


def _fraction(lane: Lane, xy: tuple[float, float]) -> float:
    return lane.shape.project(*xy).arc / lane.shape.length


def _joined(network: RoadNetwork, points: Sequence[tuple[float, float]] | NDArray[np.float64]) -> Polyline:
    try:
        return Polyline.through(points, tolerance=0.02)
    except ValueError as error:
        raise ScenarioError(
            f"{network.path}: the route has no length ({error}); move the goal away from the start"
        ) from None
