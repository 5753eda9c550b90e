"""Plane geometry of the world frame: poses, polylines with arc length, and oriented boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


def wrap_angle(angle: float) -> float:
    """Angle in (-pi, pi]."""
    wrapped = math.remainder(angle, math.tau)
    return math.pi if wrapped == -math.pi else wrapped


class Pose(NamedTuple):
    """Position (m) and heading (rad, counter-clockwise from east) in the world frame."""

    x: float
    y: float
    yaw: float

    def to_local(self, x: float, y: float) -> tuple[float, float]:
        """World point as (forward, left) of this pose, metres."""
        dx, dy = x - self.x, y - self.y
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return c * dx + s * dy, c * dy - s * dx

    def to_world(self, forward: float, left: float) -> tuple[float, float]:
        """Point (forward, left) of this pose in the world frame, metres."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return self.x + c * forward - s * left, self.y + s * forward + c * left


class Projection(NamedTuple):
    """Nearest point of a polyline: arc length from its start, and signed offset of the query (positive = left)."""

    arc: float
    offset: float


@dataclass(frozen=True, eq=False)
class Polyline:
    """An open chain of points with arc length; `points` is float64 (N, 2), N >= 2, without zero-length segments."""

    points: NDArray[np.float64]

    @classmethod
    def through(cls, points: ArrayLike, *, tolerance: float = 1e-6) -> Polyline:
        """Polyline through `points` (N, 2 or more columns), dropping repeats closer than `tolerance`.

        Raises:
            ValueError: fewer than two distinct points.
        """
        array = np.asarray(points, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] < 2:
            raise ValueError(f"a polyline needs points of shape (N, 2), found {array.shape}")
        kept = [array[0, :2]]
        for point in array[1:, :2]:
            if math.dist(point, kept[-1]) > tolerance:
                kept.append(point)
        if len(kept) < 2:
            raise ValueError("a polyline needs two distinct points")
        return cls(np.ascontiguousarray(kept))

    @cached_property
    def arcs(self) -> NDArray[np.float64]:
        """Arc length at every point, starting at 0 (N,)."""
        steps = np.hypot(*np.diff(self.points, axis=0).T)
        return np.concatenate(([0.0], np.cumsum(steps)))

    @cached_property
    def _segments(self) -> tuple[NDArray[np.float64], ...]:
        """Of every segment: x and y of its start, its extent to the east and north, its length squared (N - 1,)."""
        x, y = np.ascontiguousarray(self.points[:-1].T)
        d = np.diff(self.points, axis=0)
        dx, dy = np.ascontiguousarray(d.T)
        return x, y, dx, dy, np.einsum("ij,ij->i", d, d)

    @cached_property
    def length(self) -> float:
        return float(self.arcs[-1])

    def at(self, arc: float) -> Pose:
        """Pose at arc length `arc`, clipped to the ends; heading of the segment it lies on."""
        arc = min(max(arc, 0.0), self.length)
        i = min(int(self.arcs.searchsorted(arc, side="right")) - 1, len(self.points) - 2)
        a, b = self.points[i], self.points[i + 1]
        t = (arc - self.arcs[i]) / (self.arcs[i + 1] - self.arcs[i])
        return Pose(
            float(a[0] + t * (b[0] - a[0])),
            float(a[1] + t * (b[1] - a[1])),
            math.atan2(b[1] - a[1], b[0] - a[0]),
        )

    def project(self, x: float, y: float, near: tuple[float, float] | None = None) -> Projection:
        """Nearest point to (x, y); `near` = (from, to) restricts the search to segments touching that arc interval."""
        first, last = 0, len(self.points) - 1
        if near is not None:
            first = max(int(self.arcs.searchsorted(near[0], side="right")) - 1, 0)
            last = min(max(int(self.arcs.searchsorted(near[1], side="left")), first + 1), last)
            first = min(first, last - 1)
        xs, ys, dx, dy, length2 = self._segments
        if near is not None:
            part = slice(first, last)
            xs, ys, dx, dy, length2 = xs[part], ys[part], dx[part], dy[part], length2[part]
        rx, ry = x - xs, y - ys
        t = np.minimum(np.maximum((rx * dx + ry * dy) / length2, 0.0), 1.0)
        ox, oy = rx - t * dx, ry - t * dy
        dist2 = ox * ox + oy * oy
        i = int(dist2.argmin())
        side = dx[i] * ry[i] - dy[i] * rx[i]
        arc = self.arcs[first + i] + t[i] * math.sqrt(length2[i])
        return Projection(float(arc), math.copysign(math.sqrt(float(dist2[i])), float(side)))

    def cut(self, start: float, end: float) -> Polyline:
        """Part between two arc lengths (start < end), clipped to the polyline.

        Raises:
            ValueError: nothing lies between them.
        """
        start, end = max(start, 0.0), min(end, self.length)
        if end - start <= 1e-6:
            raise ValueError(f"nothing of the polyline lies between {start:.3f} m and {end:.3f} m")
        inner = (self.arcs > start) & (self.arcs < end)
        return Polyline.through([self.at(start)[:2], *self.points[inner], self.at(end)[:2]])


def box_corners(x: float, y: float, yaw: float, length: float, width: float) -> NDArray[np.float64]:
    """Corners (4, 2) of an oriented box, counter-clockwise from the front left."""
    c, s = math.cos(yaw), math.sin(yaw)
    f, h = length / 2, width / 2
    return np.array(
        [
            (x + c * f - s * h, y + s * f + c * h),
            (x - c * f - s * h, y - s * f + c * h),
            (x - c * f + s * h, y - s * f - c * h),
            (x + c * f + s * h, y + s * f - c * h),
        ]
    )


def boxes_overlap(
    ax: float, ay: float, ayaw: float, alength: float, awidth: float,
    bx: float, by: float, byaw: float, blength: float, bwidth: float,
) -> bool:  # fmt: skip
    """Whether two oriented boxes share a point (separating-axis test; touching counts)."""
    dx, dy = bx - ax, by - ay
    reach = (math.hypot(alength, awidth) + math.hypot(blength, bwidth)) / 2
    if dx * dx + dy * dy > reach * reach:
        return False
    ca, sa, cb, sb = math.cos(ayaw), math.sin(ayaw), math.cos(byaw), math.sin(byaw)
    cos_ab = abs(ca * cb + sa * sb)
    sin_ab = abs(ca * sb - sa * cb)
    al, aw, bl, bw = alength / 2, awidth / 2, blength / 2, bwidth / 2
    return (
        abs(ca * dx + sa * dy) <= al + bl * cos_ab + bw * sin_ab
        and abs(ca * dy - sa * dx) <= aw + bl * sin_ab + bw * cos_ab
        and abs(cb * dx + sb * dy) <= bl + al * cos_ab + aw * sin_ab
        and abs(cb * dy - sb * dx) <= bw + al * sin_ab + aw * cos_ab
    )
