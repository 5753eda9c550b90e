"""The navigation command: which of six things the driver is told to do next, chosen in one of two ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.road.elements import Lane
from drivehierarchy_gym.road.network import RoadNetwork

CommandChooser = Literal["release", "lane"]
COMMAND_CHOOSERS: tuple[CommandChooser, ...] = ("release", "lane")


class Command(IntEnum):
    """The six commands with the release's numbers (facts §3.7)."""

    TURN_LEFT = 1
    TURN_RIGHT = 2
    GO_STRAIGHT = 3
    FOLLOW_ROAD = 4
    CHANGE_LANE_LEFT = 5
    CHANGE_LANE_RIGHT = 6

    @property
    def text(self) -> str:
        """The command as the prompt words it."""
        return _TEXTS[self]


_TEXTS = {
    Command.TURN_LEFT: "turn left at the intersection",
    Command.TURN_RIGHT: "turn right at the intersection",
    Command.GO_STRAIGHT: "drive straight at the intersection",
    Command.FOLLOW_ROAD: "follow the road",
    Command.CHANGE_LANE_LEFT: "change to the lane on the left",
    Command.CHANGE_LANE_RIGHT: "change to the lane on the right",
}


def release_command(points: Sequence[tuple[float, float]]) -> Command:
    """The release's choice from the future points (forward, right) alone (facts §3.7).

    It looks at the geometry only: a straight road without any intersection is "drive straight at the intersection".
    """
    usable = [point for point in points if point[0] > 1.0]
    if not usable:
        return Command.FOLLOW_ROAD
    near_right = usable[min(1, len(usable) - 1)][1]
    far_forward, far_right = usable[-1]
    heading = math.degrees(math.atan2(far_right, far_forward))
    if heading <= -18.0 or near_right <= -4.0:
        return Command.TURN_LEFT
    if heading >= 18.0 or near_right >= 4.0:
        return Command.TURN_RIGHT
    if abs(heading) <= 8.0 and abs(near_right) <= 1.5:
        return Command.GO_STRAIGHT
    if near_right <= -2.0:
        return Command.CHANGE_LANE_LEFT
    if near_right >= 2.0:
        return Command.CHANGE_LANE_RIGHT
    return Command.FOLLOW_ROAD


# --- lane- and junction-aware ----------------------------------------------------------------------------------------

ANNOUNCE_JUNCTION = 30.0
"""A junction's command holds from this many metres before it until it is passed."""
ANNOUNCE_LANE_CHANGE = 100.0
"""A lane that does not lead where the route goes is left from this many metres before its end."""
_DIRECTIONS = {
    "s": Command.GO_STRAIGHT,
    "l": Command.TURN_LEFT,
    "L": Command.TURN_LEFT,
    "t": Command.TURN_LEFT,
    "r": Command.TURN_RIGHT,
    "R": Command.TURN_RIGHT,
}


@dataclass(frozen=True)
class _Stage:
    """One edge of the route and the way off it. Arc lengths on the route, metres."""

    edge_id: str
    entry: float
    """Where the edge ends and its junction begins."""
    exit: float
    """Where the next edge begins."""
    command: Command | None
    """What to do at the junction; None where there is nothing to choose."""
    lanes: frozenset[int]
    """Lanes of the edge that lead onto the next one."""


class LaneCommands:
    """Commands from the road network: turns and straight on only where roads part, lane changes only where needed.

    Args:
        network: road network of the plan.
        route: the line that progress is measured on.
        route_edges: edges of the route in order.
    """

    def __init__(self, network: RoadNetwork, route: Polyline, route_edges: Sequence[str]) -> None:
        self._network = network
        self._stages: list[_Stage] = []
        successors = network.successors("passenger")
        reached = 0.0
        for edge_id, next_id in pairwise(route_edges):
            edge, following = network.edge(edge_id), network.edge(next_id)
            links = [
                (lane.index, connection.direction)
                for lane in edge.lanes
                for connection in network.connections_from(lane.id)
                if network.lane(connection.to_lane).edge_id == next_id
            ]
            horizon = reached + edge.length + following.length + ANNOUNCE_JUNCTION
            entry = _arc_of(route, edge.centre_line()[-1], reached, horizon)
            exit_ = _arc_of(route, following.centre_line()[0], entry, horizon)
            reached = exit_
            ways = {other for other in successors[edge_id] if network.edge(other).to_node != edge.from_node}
            parts = len(ways | {next_id}) > 1
            command = _DIRECTIONS.get(links[0][1]) if links and parts else None
            self._stages.append(_Stage(edge_id, entry, exit_, command, frozenset(index for index, _ in links)))

    def choose(self, progress: float, x: float, y: float) -> Command:
        """Command for an ego at (x, y), `progress` metres along the route."""
        for stage in self._stages:
            if progress >= stage.exit:
                continue
            ahead = stage.entry - progress
            if 0.0 < ahead <= ANNOUNCE_LANE_CHANGE:
                lane = self._lane_of(stage.edge_id, x, y)
                if lane is not None and stage.lanes and lane.index not in stage.lanes:
                    if lane.index < min(stage.lanes):
                        return Command.CHANGE_LANE_LEFT
                    if lane.index > max(stage.lanes):
                        return Command.CHANGE_LANE_RIGHT
            if ahead <= ANNOUNCE_JUNCTION and stage.command is not None:
                return stage.command
            if ahead > 0.0:
                break
        return Command.FOLLOW_ROAD

    def _lane_of(self, edge_id: str, x: float, y: float) -> Lane | None:
        """Lane of the edge that (x, y) lies on, None when it lies beside all of them."""
        lanes = self._network.edge(edge_id).lanes
        lane, distance = min(((lane, abs(lane.shape.project(x, y).offset)) for lane in lanes), key=lambda hit: hit[1])
        return lane if distance <= lane.width / 2 else None


def _arc_of(route: Polyline, point: NDArray[np.float64], first: float, last: float) -> float:
    return max(first, route.project(float(point[0]), float(point[1]), near=(first, last)).arc)
