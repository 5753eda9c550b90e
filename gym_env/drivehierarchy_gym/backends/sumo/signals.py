"""Did the ego cross a stop line on red? Judged from the ego's front bumper, the lane it leaves and the way it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

RED_STATES = frozenset("ru")
"""SUMO link states that forbid entering: red, and red with yellow."""
MAX_HEADING_DIFFERENCE = math.radians(60.0)
"""Between the ego and the lane for a crossing to be one of this line (rad)."""
REACH = 30.0
"""Stop lines within this distance (m) plus the way of the coming ticks are looked at."""


@dataclass(frozen=True, slots=True)
class StopLine:
    """End of a lane under a traffic light.

    `links` are (link index, edge it leads to) pairs; `x`, `y`, `yaw` the end of the lane, `half_width` in metres.
    """

    signal: str
    edge: str
    links: tuple[tuple[int, str], ...]
    x: float
    y: float
    yaw: float
    half_width: float


class RedLightWatch:
    """Reports the signals that the ego's front passes on red.

    Args:
        lines: stop lines of the network.
        route_edges: edges of the ego's route; where a lane leads several ways, the route's way decides which light
            counts, and off the route all lights of the lane have to be red.
        read_state: signal id -> SUMO state string now.
    """

    def __init__(self, lines: Sequence[StopLine], route_edges: Sequence[str], read_state: Callable[[str], str]) -> None:
        following = dict(pairwise(route_edges))
        self._lines = [(line, _links_taken(line, following.get(line.edge))) for line in lines]
        self._near: list[tuple[StopLine, Collection[int]]] = []
        self._read_state = read_state

    def look_around(self, x: float, y: float, way: float) -> None:
        """Keep the lines that a front bumper now near (x, y) can reach within `way` metres."""
        reach = REACH + way
        self._near = [pair for pair in self._lines if abs(pair[0].x - x) <= reach and abs(pair[0].y - y) <= reach]

    def crossed(self, before: tuple[float, float], now: tuple[float, float], yaw: float) -> str | None:
        """Signal whose stop line the front bumper crossed on red between two ticks, None if none."""
        for line, links in self._near:
            c, s = math.cos(line.yaw), math.sin(line.yaw)
            along_before = c * (before[0] - line.x) + s * (before[1] - line.y)
            along_now = c * (now[0] - line.x) + s * (now[1] - line.y)
            if not along_before < 0.0 <= along_now:
                continue
            across = c * (now[1] - line.y) - s * (now[0] - line.x)
            if abs(across) > line.half_width or math.cos(yaw - line.yaw) < math.cos(MAX_HEADING_DIFFERENCE):
                continue
            state = self._read_state(line.signal)
            if all(state[link] in RED_STATES for link in links):
                return line.signal
        return None


def _links_taken(line: StopLine, next_edge: str | None) -> Collection[int]:
    taken = [link for link, edge in line.links if edge == next_edge]
    return taken or [link for link, _ in line.links]
