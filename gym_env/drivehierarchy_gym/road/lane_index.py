"""Lanes near a point."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.road.elements import Lane

ROUNDING = 1e-6
"""m by which the bounds of segments are widened, so that rounding leaves nobody out."""


class LaneIndex:
    """Distances from points to lines that stand for lanes.

    Args:
        lanes: the lanes to be found.
        lines: for each of them, the points (N, 2) of the line that distances are measured to.
    """

    def __init__(self, lanes: Sequence[Lane], lines: Sequence[NDArray[np.float64]]) -> None:
        self._lanes = tuple(lanes)
        counts = [len(line) - 1 for line in lines]
        self._starts = np.concatenate([np.empty((0, 2)), *(line[:-1] for line in lines)])
        self._steps = np.concatenate([np.empty((0, 2)), *(line[1:] for line in lines)]) - self._starts
        self._lengths2 = np.maximum(np.square(self._steps).sum(axis=1), 1e-12)
        self._numbers = np.repeat(np.arange(len(counts)), counts)
        ends = self._starts + self._steps
        self._lowest = np.ascontiguousarray((np.minimum(self._starts, ends) - ROUNDING).T)
        self._highest = np.ascontiguousarray((np.maximum(self._starts, ends) + ROUNDING).T)

    def near(self, x: float, y: float, radius: float) -> list[tuple[float, Lane]]:
        """(distance, lane) of the lanes within `radius` metres of (x, y), nearest first, ties in the order given."""
        (low_x, low_y), (high_x, high_y) = self._lowest, self._highest
        near = np.flatnonzero(
            (low_x <= x + radius) & (high_x >= x - radius) & (low_y <= y + radius) & (high_y >= y - radius)
        )
        offset, steps = np.array((x, y)) - self._starts[near], self._steps[near]
        along = np.clip(np.einsum("ij,ij->i", offset, steps) / self._lengths2[near], 0.0, 1.0)
        distances2 = np.square(offset - along[:, None] * steps).sum(axis=1)
        best: dict[int, float] = {}
        for distance2, number in zip(distances2.tolist(), self._numbers[near].tolist(), strict=True):
            if distance2 <= radius * radius:
                best[number] = min(best.get(number, math.inf), distance2)
        # Rounded, so that lanes which meet in the nearest point tie in spite of floating point.
        hits = sorted((round(math.sqrt(distance2), 9), number) for number, distance2 in best.items())
        return [(distance, self._lanes[number]) for distance, number in hits]
