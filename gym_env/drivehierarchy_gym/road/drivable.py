"""Where vehicles of a class may be: a grid over lanes and junctions that answers in microseconds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.road.elements import Lane

CELL = 8.0
"""Side of a grid cell (m)."""
SEAM = 0.15
"""Lanes are widened by this on each side (m): shapes are rounded and adjoining lanes leave hairline gaps."""

_Ring = tuple[tuple[float, float], ...]
_Capsule = tuple[float, float, float, float, float, float]


class DrivableArea:
    """Union of lanes (centre line widened by half the lane width) and polygons, given by their outlines (N, 2)."""

    def __init__(self, lanes: Iterable[Lane], outlines: Iterable[NDArray[np.float64]]) -> None:
        cells: dict[tuple[int, int], tuple[list[_Capsule], list[_Ring]]] = {}

        def at(
            low_x: float, low_y: float, high_x: float, high_y: float
        ) -> Iterable[tuple[list[_Capsule], list[_Ring]]]:
            for i in range(math.floor(low_x / CELL), math.floor(high_x / CELL) + 1):
                for j in range(math.floor(low_y / CELL), math.floor(high_y / CELL) + 1):
                    yield cells.setdefault((i, j), ([], []))

        for lane in lanes:
            half = lane.width / 2 + SEAM
            for ax, ay, bx, by in _pieces(lane.shape.points):
                dx, dy = bx - ax, by - ay
                capsule = (ax, ay, dx, dy, dx * dx + dy * dy, half * half)
                bounds = (min(ax, bx) - half, min(ay, by) - half, max(ax, bx) + half, max(ay, by) + half)
                for cell in at(*bounds):
                    cell[0].append(capsule)
        for outline in outlines:
            ring = tuple((float(x), float(y)) for x, y in outline)
            for cell in at(*outline.min(axis=0), *outline.max(axis=0)):
                cell[1].append(ring)
        self._cells = {key: (tuple(capsules), tuple(rings)) for key, (capsules, rings) in cells.items()}

    def contains(self, x: float, y: float) -> bool:
        """Whether (x, y) lies in the area."""
        cell = self._cells.get((math.floor(x / CELL), math.floor(y / CELL)))
        if cell is None:
            return False
        capsules, rings = cell
        for ax, ay, dx, dy, length2, half2 in capsules:
            rx, ry = x - ax, y - ay
            along = rx * dx + ry * dy
            if along <= 0.0:
                distance2 = rx * rx + ry * ry
            elif along >= length2:
                rx -= dx
                ry -= dy
                distance2 = rx * rx + ry * ry
            else:
                across = rx * dy - ry * dx
                distance2 = across * across / length2
            if distance2 <= half2:
                return True
        return any(_inside(ring, x, y) for ring in rings)


def _inside(ring: _Ring, x: float, y: float) -> bool:
    """Whether (x, y) lies in the polygon with the corners `ring` (even-odd rule)."""
    found = False
    ax, ay = ring[-1]
    for bx, by in ring:
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            found = not found
        ax, ay = bx, by
    return found


def _pieces(points: NDArray[np.float64]) -> Iterable[tuple[float, float, float, float]]:
    """Segments of a polyline, cut to at most two cells each so that a long diagonal does not fill its bounding box."""
    corners = points.tolist()
    for (ax, ay), (bx, by) in pairwise(corners):
        count = math.ceil(math.hypot(bx - ax, by - ay) / (2 * CELL)) or 1
        for k in range(count):
            s, t = k / count, (k + 1) / count
            yield ax + s * (bx - ax), ay + s * (by - ay), ax + t * (bx - ax), ay + t * (by - ay)
