"""What a picture's instance buffer says about every actor: pixels, rectangle, and a pixel to point at."""

from __future__ import annotations

import numpy as np

from drivehierarchy_gym.compiled import compiled

COUNT, LEFT, TOP, RIGHT, BOTTOM, COLUMN, ROW = range(7)
"""Columns of `measure`'s table; the rectangle is half open: right and bottom are one past its last pixel."""


@compiled
def measure(ids, actors):  # type: ignore[no-untyped-def]
    """Table int64 (actors, 7) of the pixels that show each actor in `ids` int32 (height, width), as
    `SceneRenderer.ids` gives it: how many, the rectangle around them, and the one nearest to their mean."""
    height, width = ids.shape
    table = np.zeros((actors, 7), np.int64)
    table[:, LEFT], table[:, TOP] = width, height
    sums = np.zeros((actors, 2))
    for row in range(height):
        for column in range(width):
            n = ids[row, column] - 1
            if n >= 0:
                entry = table[n]
                entry[COUNT] += 1
                entry[LEFT] = min(entry[LEFT], column)
                entry[TOP] = min(entry[TOP], row)
                entry[RIGHT] = max(entry[RIGHT], column + 1)
                entry[BOTTOM] = max(entry[BOTTOM], row + 1)
                sums[n, 0] += column
                sums[n, 1] += row
    for n in range(actors):
        entry = table[n]
        if entry[COUNT] == 0:
            continue
        middle_x, middle_y = sums[n, 0] / entry[COUNT], sums[n, 1] / entry[COUNT]
        nearest = np.inf
        for row in range(entry[TOP], entry[BOTTOM]):
            for column in range(entry[LEFT], entry[RIGHT]):
                if ids[row, column] == n + 1:
                    distance = (column - middle_x) ** 2 + (row - middle_y) ** 2
                    if distance < nearest:
                        nearest = distance
                        entry[COLUMN], entry[ROW] = column, row
    return table
