"""Motion along a path: where a scripted body is after each tick."""

from __future__ import annotations

import math
from bisect import bisect_right

from drivehierarchy_gym.plan import PathDrive


class PathFollower:
    """A body on its path: stands at the first point until `begin`, then moves, then stands at the last one.

    Args:
        drive: the path and the speeds on its segments.
        chord: length (m) over which the heading is measured, so that a vehicle turns through the corners of its path
            smoothly; 0 takes the heading of the segment, as walkers do.
    """

    def __init__(self, drive: PathDrive, chord: float) -> None:
        self._points = [(float(x), float(y)) for x, y in drive.path.points]
        self._arcs = [float(arc) for arc in drive.path.arcs]
        self._speeds = drive.speeds
        self._acceleration = drive.acceleration
        self._chord = chord
        self._arc = 0.0
        self.speed = 0.0
        self.begun = False

    @property
    def finished(self) -> bool:
        """Whether the body has arrived at the last point."""
        return self._arc >= self._arcs[-1]

    @property
    def moving(self) -> bool:
        return self.begun and not self.finished

    def begin(self) -> None:
        """Start to move."""
        self.begun = True
        if self._acceleration is None:
            self.speed = self._speeds[0]

    def tick(self, seconds: float) -> None:
        """Move for `seconds`; segments are left exactly at their ends, also in the middle of a tick."""
        end = self._arcs[-1]
        if self._acceleration is not None and self.moving:
            wanted = self._speeds[self._segment()]
            change = self._acceleration * seconds
            self.speed += min(max(wanted - self.speed, -change), change)
            # Never faster than what the limit can still stop before the end; a crawl, so that the end is reached.
            self.speed = min(self.speed, max(math.sqrt(2 * self._acceleration * (end - self._arc)), change))
        left = seconds
        while left > 0.0 and self.moving:
            segment = self._segment()
            if self._acceleration is None:
                self.speed = self._speeds[segment]
            until = self._arcs[segment + 1] - self._arc
            if self.speed * left < until:
                self._arc += self.speed * left
                left = 0.0
            else:
                self._arc = self._arcs[segment + 1]
                left -= until / self.speed
        if self.finished:
            self.speed = 0.0

    def pose(self) -> tuple[float, float, float]:
        """Centre (m) and heading (rad) now."""
        x, y = self._at(self._arc)
        if self._chord:
            back, front = self._at(self._arc - self._chord / 2), self._at(self._arc + self._chord / 2)
        else:
            segment = self._segment()
            back, front = self._points[segment], self._points[segment + 1]
        return x, y, math.atan2(front[1] - back[1], front[0] - back[0])

    def _segment(self) -> int:
        return min(bisect_right(self._arcs, self._arc) - 1, len(self._speeds) - 1)

    def _at(self, arc: float) -> tuple[float, float]:
        """Point at an arc length; beyond the ends the first and last segments are continued."""
        i = min(max(bisect_right(self._arcs, arc) - 1, 0), len(self._speeds) - 1)
        (ax, ay), (bx, by) = self._points[i], self._points[i + 1]
        t = (arc - self._arcs[i]) / (self._arcs[i + 1] - self._arcs[i])
        return ax + t * (bx - ax), ay + t * (by - ay)
