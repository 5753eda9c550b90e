"""The line a careful driver follows along its route, with the speeds, signals and junctions on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.geometry import Polyline, wrap_angle
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.state import Snapshot

STATION = 1.0
"""Distance between stations of the line (m)."""
BEYOND_GOAL = 60.0
"""The line goes on straight for so long (m): nobody brakes for a goal, the episode ends there."""
SIDE_ACCELERATION = 2.2
"""m/s² that a curve may ask for; a relaxed driver's limit (AASHTO's side friction for 30 km/h is 0.28 g)."""
SLOWING = 2.0
"""m/s² of the speed profile towards a slower stretch."""
ROUNDING = 3
"""Stations to either side over which corners of the line are rounded."""
DEFAULT_LIMIT = 50 / 3.6
"""m/s where no lane lies under the line."""

RED, AMBER, GREEN = "rRuU", "yY", "gG"
"""Letters of SUMO's signal programs; "u" is red with amber, before green."""


@dataclass(frozen=True)
class SignalStop:
    """A traffic light on the way: where the car's front has to stop, and which character of its state counts."""

    station: float
    signal: str
    link_index: int

    def shown(self, snapshot: Snapshot) -> str:
        """Letter that the light shows, as in SUMO's signal programs; "O" (off) where its state is not known."""
        state = snapshot.signals.get(self.signal, "")
        return state[self.link_index] if self.link_index < len(state) else "O"

    def is_open(self, snapshot: Snapshot) -> bool:
        """Whether the light lets pass: it is neither red nor amber."""
        return self.shown(snapshot) not in RED + AMBER


class ReferenceLine:
    """`plan.lane_route` at stations one metre apart.

    Arrays (N,): `x`, `y` (m), `yaw` (rad), `curvature` (1/m, positive to the left), `limit` (m/s).

    `stops` are the signals on the way; `yields` the stations of the junction entries where the route has to give way.
    """

    def __init__(self, plan: EpisodePlan, network: RoadNetwork) -> None:
        points = plan.lane_route.points
        ahead = points[-1] - points[-2]
        ahead = ahead / math.hypot(*ahead)
        self.line = Polyline.through([*points, points[-1] + BEYOND_GOAL * ahead])
        self.goal_arc = plan.lane_route.length
        arcs = np.arange(0.0, self.line.length, STATION)
        self.x = _smooth(np.interp(arcs, self.line.arcs, self.line.points[:, 0]))
        self.y = _smooth(np.interp(arcs, self.line.arcs, self.line.points[:, 1]))
        self.yaw, self.curvature = headings(self.x, self.y)
        self.limit = self._limits(network)
        self.stops, self.yields = self._junctions(plan, network)

    def __len__(self) -> int:
        return len(self.x)

    def _limits(self, network: RoadNetwork) -> NDArray[np.float64]:
        limits = np.full(len(self.x), DEFAULT_LIMIT)
        for i, (x, y, yaw) in enumerate(zip(self.x, self.y, self.yaw, strict=True)):
            for hit in network.nearest_lanes(float(x), float(y), 2.5, internal=True):
                heading = hit.lane.shape.at(hit.lane.arc(hit.pos)).yaw
                if abs(wrap_angle(heading - float(yaw))) < math.radians(50):
                    limits[i] = hit.lane.speed
                    break
        return limits

    def _junctions(self, plan: EpisodePlan, network: RoadNetwork) -> tuple[tuple[SignalStop, ...], tuple[float, ...]]:
        stops: dict[float, SignalStop] = {}
        yields: set[float] = set()
        for edge_id, next_id in zip(plan.route_edges, plan.route_edges[1:], strict=False):
            for lane in network.edge(edge_id).lanes:
                end = lane.shape.at(lane.shape.length)
                arc, offset = self.line.project(end.x, end.y)
                if abs(offset) > lane.width / 2 or abs(wrap_angle(self.line.at(arc).yaw - end.yaw)) > math.radians(60):
                    continue
                for connection in network.connections_from(lane.id):
                    if network.lane(connection.to_lane).edge_id != next_id:
                        continue
                    if connection.signal is not None and connection.link_index is not None:
                        stops[arc] = SignalStop(arc, connection.signal, connection.link_index)
                    elif connection.state not in ("M", "-"):
                        yields.add(arc)
        return tuple(stops[arc] for arc in sorted(stops)), tuple(sorted(yields))


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over `ROUNDING` stations to either side, fewer at the ends: the corners of the line as a car rounds them."""
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    reach = np.minimum(np.minimum(np.arange(count), np.arange(count)[::-1]), ROUNDING)
    index = np.arange(count)
    return (sums[index + reach + 1] - sums[index - reach]) / (2 * reach + 1)


def headings(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Headings (N,) and curvatures (N,) of a line of points about a station apart, smoothed over a car's length."""
    yaw = np.unwrap(np.arctan2(np.gradient(y), np.gradient(x)))
    steps = np.hypot(np.gradient(x), np.gradient(y))
    bend = np.gradient(yaw) / np.maximum(steps, 1e-3)
    window = np.ones(5) / 5
    smooth = np.convolve(np.pad(bend, 2, mode="edge"), window, mode="valid") if len(bend) >= 5 else bend
    return yaw, smooth


def speed_profile(curvature: NDArray[np.float64], limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Speeds (N,) at stations: the limit, less in curves, reached with `SLOWING` from faster stretches before."""
    speeds = np.minimum(limit, np.sqrt(SIDE_ACCELERATION / np.maximum(np.abs(curvature), 1e-4)))
    squares = speeds**2
    for i in range(len(squares) - 2, -1, -1):
        squares[i] = min(squares[i], squares[i + 1] + 2 * SLOWING * STATION)
    return np.sqrt(squares)
