"""Where the ego is on its route, and what of the route lies ahead of it (facts §3.7)."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from drivehierarchy_gym.geometry import Polyline, Projection

LOOKAHEAD = 60.0
"""Metres of route shown to the agent."""
FUTURE_DISTANCES = (5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)
"""Metres along the route, from the ego's nearest point on it, of the future points."""
CELL = 4.0
"""Edge of the grid cells (m) for which the nearest segments are remembered."""


class RouteView(NamedTuple):
    """The route as seen from one pose of the ego. Lengths in metres."""

    progress: float
    """Arc length of the nearest point of the route."""
    offset: float
    """Distance from the route, positive when the ego is left of it."""
    distance_to_goal: float
    """Route that is left; 0 at its end."""
    points: tuple[tuple[float, float], ...]
    """Future points (forward, right) in the ego frame, one for each of `FUTURE_DISTANCES`; the end point repeats."""


class RouteTracker:
    """Projects positions onto a route; the nearest point of the whole route counts, wherever the ego was before.

    The answers are those of `Polyline.project`, found in constant time: only the segments that can be nearest to some
    point of a grid cell are looked at, and they are worked out once per visited cell.
    """

    def __init__(self, route: Polyline) -> None:
        self.route = route
        self.length = route.length
        self._points: list[tuple[float, float]] = [(x, y) for x, y in route.points.tolist()]
        self._arcs: list[float] = route.arcs.tolist()
        starts, steps = route.points[:-1], np.diff(route.points, axis=0)
        squared = np.einsum("ij,ij->i", steps, steps)
        self._segments = np.column_stack([starts, steps, squared, route.arcs[:-1], np.sqrt(squared)])
        self._cells: dict[tuple[int, int], list[tuple[float, ...]]] = {}

    def project(self, x: float, y: float) -> Projection:
        """Nearest point of the route: arc length, and signed offset of (x, y) from it (positive = left)."""
        cell = (math.floor(x / CELL), math.floor(y / CELL))
        segments = self._cells.get(cell)
        if segments is None:
            segments = self._cells[cell] = self._nearest_segments(cell)
        best = math.inf
        arc = side = 0.0
        for ax, ay, dx, dy, squared, start, length in segments:
            rx, ry = x - ax, y - ay
            t = (rx * dx + ry * dy) / squared
            t = 0.0 if t < 0.0 else 1.0 if t > 1.0 else t
            ox, oy = rx - t * dx, ry - t * dy
            distance = ox * ox + oy * oy
            if distance < best:
                best = distance
                arc = start + t * length
                side = dx * ry - dy * rx
        return Projection(arc, math.copysign(math.sqrt(best), side))

    def _nearest_segments(self, cell: tuple[int, int]) -> list[tuple[float, ...]]:
        """Segments that may be the nearest one to a point of the cell, in route order."""
        ax, ay, dx, dy, squared, _, _ = self._segments.T
        rx, ry = (cell[0] + 0.5) * CELL - ax, (cell[1] + 0.5) * CELL - ay
        t = ((rx * dx + ry * dy) / squared).clip(0.0, 1.0)
        distances = np.hypot(rx - t * dx, ry - t * dy)
        # A point of the cell is at most half a diagonal from its centre, and so is any distance from it off.
        reach = distances.min() + CELL * math.sqrt(2.0) + 1e-6
        return list(map(tuple, self._segments[distances <= reach].tolist()))

    def at(self, arc: float) -> tuple[float, float]:
        """World point at an arc length, clipped to the ends."""
        if arc <= 0.0:
            return self._points[0]
        if arc >= self.length:
            return self._points[-1]
        i = bisect_right(self._arcs, arc) - 1
        (ax, ay), (bx, by) = self._points[i], self._points[i + 1]
        t = (arc - self._arcs[i]) / (self._arcs[i + 1] - self._arcs[i])
        return ax + t * (bx - ax), ay + t * (by - ay)

    def heading(self, arc: float) -> float:
        """Heading (rad) of the segment at an arc length, clipped to the ends."""
        i = min(max(bisect_right(self._arcs, arc) - 1, 0), len(self._points) - 2)
        (ax, ay), (bx, by) = self._points[i], self._points[i + 1]
        return math.atan2(by - ay, bx - ax)

    def ahead(self, arc: float, distance: float = LOOKAHEAD) -> list[tuple[float, float]]:
        """World points of the route from `arc` on: its vertices and both ends of the stretch of `distance` metres."""
        end = min(arc + distance, self.length)
        first = bisect_right(self._arcs, arc)
        inner = self._points[first : bisect_right(self._arcs, end, lo=first)]
        return [self.at(arc), *inner, self.at(end)]

    def view(self, x: float, y: float, yaw: float) -> RouteView:
        """The route from the ego's pose (world frame, radians counter-clockwise from east)."""
        progress, offset = self.project(x, y)
        cos, sin = math.cos(yaw), math.sin(yaw)
        points = []
        for distance in FUTURE_DISTANCES:
            px, py = self.at(progress + distance)
            dx, dy = px - x, py - y
            points.append((cos * dx + sin * dy, sin * dx - cos * dy))
        return RouteView(progress, offset, max(0.0, self.length - progress), tuple(points))
