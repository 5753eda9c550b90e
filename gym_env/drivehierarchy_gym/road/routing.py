"""Ways through a network: shortest paths over edges, lanes along them, and the line a vehicle drives."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.road.elements import Connection, Edge, Lane

if TYPE_CHECKING:
    from drivehierarchy_gym.road.network import RoadNetwork

LANE_CHANGE_LENGTH = 25.0
"""A lane change of a route is drawn over this length (m), or over what there is of the edge."""
_SAMPLE_STEP = 1.0


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
    network: RoadNetwork,
    edges: Sequence[str],
    lanes_wanted: Mapping[str, int],
    vclass: str,
    *,
    first_lane: int | None = None,
    last_lane: int | None = None,
) -> list[LaneChoice]:
    """Lanes along `edges`: the wanted ones where they continue the route, then few lane changes, then the rightmost.

    `first_lane` fixes the lane of the start, `last_lane` that of the goal.

    Raises:
        ScenarioError: an edge or wanted lane does not exist or does not allow `vclass`, or two edges do not connect.
    """
    roads = [_road(network, edge_id, vclass) for edge_id in edges]
    if not roads:
        raise ScenarioError(f"{network.path}: a route needs at least one edge, found none")
    for edge_id, index in lanes_wanted.items():
        road = network.edge(edge_id)
        if not (0 <= index < len(road.lanes)) or not road.lanes[index].allows(vclass):
            usable = [lane.index for lane in road.lanes if lane.allows(vclass)]
            raise ScenarioError(
                f"{network.path}: lane {index} of edge {edge_id!r} is not for {vclass}; lanes that are: {usable}"
            )
    links = [_links(network, a, b, vclass) for a, b in pairwise(roads)]
    # Costs compare as (wanted lanes missed, lane changes, sum of lane indices); a change counts more on a short edge.
    Cost = tuple[int, float, int]
    usable = [lane.index for lane in roads[0].lanes if lane.allows(vclass)]
    entering: dict[int, tuple[Cost, list[LaneChoice]]] = {
        index: ((0, 0.0, 0), []) for index in (usable if first_lane is None else [first_lane])
    }
    for i, road in enumerate(roads):
        is_last = i == len(roads) - 1
        if is_last:
            exits = {index: [-1] for index in ([lane.index for lane in road.lanes if lane.allows(vclass)])}
            if last_lane is not None:
                exits = {last_lane: [-1]}
        else:
            exits = links[i]
        wanted = lanes_wanted.get(road.id)
        leaving: dict[int, tuple[Cost, list[LaneChoice]]] = {}
        for leave, onto in exits.items():
            options = []
            for enter, ((missed, changes, indices), choices) in entering.items():
                change = abs(leave - enter) * (1 + LANE_CHANGE_LENGTH / road.length)
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
    the junction lanes, with lane changes blended over `LANE_CHANGE_LENGTH`.

    Raises:
        ScenarioError: as `route_lanes`, or the goal does not lie ahead of the start.
    """
    first, last = _road(network, edges[0], vclass) if edges else None, network.edge(edges[-1]) if edges else None
    start_lane = nearest_lane(first, start_xy, vclass) if first and start_xy else None
    goal_lane = nearest_lane(last, goal_xy, vclass) if last and goal_xy and edges[-1] not in lanes else None
    choices = route_lanes(
        network,
        edges,
        lanes,
        vclass,
        first_lane=start_lane.index if start_lane else None,
        last_lane=goal_lane.index if goal_lane else None,
    )
    roads = [network.edges[edge_id] for edge_id in edges]
    points: list[NDArray[np.float64]] = []
    for i, (road, choice) in enumerate(zip(roads, choices, strict=True)):
        enter, leave = road.lanes[choice.enter], road.lanes[choice.leave]
        begin = enter.shape.project(*start_xy).arc / enter.shape.length if i == 0 and start_xy else 0.0
        end = leave.shape.project(*goal_xy).arc / leave.shape.length if i == len(roads) - 1 and goal_xy else 1.0
        if i == 0 and i == len(roads) - 1 and end <= begin:
            raise ScenarioError(
                f"{network.path}: on edge {road.id!r} the goal (at {end * road.length:.1f} m) does not lie ahead of "
                f"the start (at {begin * road.length:.1f} m); swap them or give a route that leads around"
            )
        points.append(_along(enter, leave, begin, end))
        if i + 1 < len(roads):
            points.extend(
                lane.shape.points for lane in _through(network, leave, roads[i + 1].lanes[choices[i + 1].enter], vclass)
            )
    return _joined(network, points)


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
    line = _joined(network, points)
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


def _road(network: RoadNetwork, edge_id: str, vclass: str) -> Edge:
    edge = network.edge(edge_id)
    if not edge.allows(vclass):
        raise ScenarioError(f"{network.path}: edge {edge_id!r} has no lane for {vclass}; choose another edge")
    return edge


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


def _through(network: RoadNetwork, before: Lane, after: Lane, vclass: str) -> tuple[Lane, ...]:
    """Internal lanes from the end of one lane to the start of another."""
    for connection in network.connections_from(before.id):
        if connection.to_lane == after.id and _allowed(network, connection, vclass):
            return network.internal_path(connection)
    raise AssertionError("route_lanes only chooses lanes that connect")


def _along(enter: Lane, leave: Lane, begin: float, end: float) -> NDArray[np.float64]:
    """Points from the fraction `begin` of one lane to the fraction `end` of another one of the same edge."""
    if enter is leave:
        arcs = enter.shape.arcs / enter.shape.length
        inner = enter.shape.points[(arcs > begin) & (arcs < end)]
        return np.vstack((_sample(enter, np.array([begin])), inner, _sample(enter, np.array([end]))))
    length = enter.shape.length
    blend = min(LANE_CHANGE_LENGTH / length, end - begin)
    middle = (begin + end) / 2
    fractions = np.linspace(begin, end, max(int((end - begin) * length / _SAMPLE_STEP), 4) + 1)
    t = np.clip((fractions - middle) / blend + 0.5, 0.0, 1.0)
    weight = (t * t * (3 - 2 * t))[:, None]
    return (1 - weight) * _sample(enter, fractions) + weight * _sample(leave, fractions)


def _sample(lane: Lane, fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    shape = lane.shape
    at = fractions * shape.length
    return np.column_stack([np.interp(at, shape.arcs, shape.points[:, axis]) for axis in (0, 1)])


def _joined(network: RoadNetwork, points: list[NDArray[np.float64]]) -> Polyline:
    try:
        return Polyline.through(np.vstack(points), tolerance=0.02)
    except ValueError as error:
        raise ScenarioError(
            f"{network.path}: the route has no length ({error}); move the goal away from the start"
        ) from None
