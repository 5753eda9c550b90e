"""What the ego touches: boxes of bodies, and walls of buildings.

The traffic simulator's own collision reports miss persons, junctions and vehicles that are placed from outside, so
contacts are judged from the poses after each tick.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from drivehierarchy_gym.geometry import boxes_overlap

CELL = 16.0
"""Side of a grid cell of `Walls` (m)."""

BoxPose = tuple[float, float, float]
"""x, y (m) of a box centre and its heading (rad)."""
Segment = tuple[float, float, float, float]


def box_touches_box(a: BoxPose, a_size: tuple[float, float], b: BoxPose, b_size: tuple[float, float]) -> bool:
    """Whether two oriented boxes of (length, width) share a point."""
    return boxes_overlap(*a, *a_size, *b, *b_size)


def box_touches_segment(box: BoxPose, size: tuple[float, float], segment: Segment) -> bool:
    """Whether an oriented box of (length, width) and a straight wall share a point: Liang-Barsky in the box's frame."""
    x, y, yaw = box
    c, s = math.cos(yaw), math.sin(yaw)
    ax, ay = segment[0] - x, segment[1] - y
    dx, dy = segment[2] - segment[0], segment[3] - segment[1]
    enter, leave = 0.0, 1.0
    for start, step, half in (
        (c * ax + s * ay, c * dx + s * dy, size[0] / 2),
        (c * ay - s * ax, c * dy - s * dx, size[1] / 2),
    ):
        if step == 0.0:
            if abs(start) > half:
                return False
            continue
        near, far = sorted(((-half - start) / step, (half - start) / step))
        enter, leave = max(enter, near), min(leave, far)
    return enter <= leave


class Walls:
    """Outlines of buildings in a grid, so that a test looks at the few walls around a box only.

    Args:
        segments: (number of the building, wall) pairs.
        reach: half the diagonal (m) of the largest box that will be tested; every cell lists the walls that a box
            centred in it can touch.
    """

    def __init__(self, segments: Iterable[tuple[int, Segment]], reach: float) -> None:
        cells: defaultdict[tuple[int, int], list[tuple[int, Segment]]] = defaultdict(list)
        for building, segment in segments:
            ax, ay, bx, by = segment
            for i in range(_cell(min(ax, bx) - reach), _cell(max(ax, bx) + reach) + 1):
                for j in range(_cell(min(ay, by) - reach), _cell(max(ay, by) + reach) + 1):
                    cells[i, j].append((building, segment))
        self._cells = dict(cells)

    def touched(self, box: BoxPose, size: tuple[float, float]) -> Sequence[int]:
        """Numbers of the buildings whose walls the box touches, ascending."""
        walls = self._cells.get((_cell(box[0]), _cell(box[1])))
        if walls is None:
            return ()
        return sorted({building for building, segment in walls if box_touches_segment(box, size, segment)})


def _cell(coordinate: float) -> int:
    return math.floor(coordinate / CELL)
