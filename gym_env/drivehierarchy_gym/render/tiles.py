"""Things of the scenery grouped by square tiles, so that a frame touches only what is near and in view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.render.rasterizer import Lens

TILE = 40.0
"""Side of a tile (m)."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """Rows `starts[i]` to `starts[i + 1]` of a table lie in tile i; balls with `centre` (N, 3) and radius `reach` (N,)
    bound them (m)."""

    starts: NDArray[np.int64]
    centre: NDArray[np.float64]
    reach: NDArray[np.float64]

    def in_view(self, lens: Lens, limit: float) -> NDArray[np.int64]:
        """Tiles that may be seen and come within `limit` metres of the camera, nearest first."""
        return in_view(lens, self.centre, self.reach, limit)


def in_view(lens: Lens, centre: NDArray[np.float64], reach: NDArray[np.float64], limit: float) -> NDArray[np.int64]:
    """Balls (centres (N, 3), radii (N,)) that meet the view frustum and come within `limit` metres, nearest first."""
    offset = centre - lens.position
    x, y, z = offset[:, 0], offset[:, 1], offset[:, 2]
    distance2 = x * x + y * y + z * z
    near = np.flatnonzero(distance2 < (limit + reach) ** 2)
    x, y, z, reach = x[near], y[near], z[near], reach[near]
    right, down, ahead = (row[0] * x + row[1] * y + row[2] * z for row in lens.rotation)
    seen = (
        (ahead > -reach)
        & (np.abs(right) - lens.half_x * ahead < reach * np.sqrt(1 + lens.half_x**2))
        & (np.abs(down) - lens.half_y * ahead < reach * np.sqrt(1 + lens.half_y**2))
    )
    near = near[seen]
    return near[np.argsort(distance2[near], kind="stable")]


def tiled(corners: NDArray[np.float64]) -> tuple[NDArray[np.int64], Tiles]:
    """Order that sorts triangles (T, 3, 2 or 3) by the tile of their middle, and the tiles in that order."""
    if len(corners) == 0:
        return np.empty(0, np.int64), Tiles(np.zeros(1, np.int64), np.empty((0, 3)), np.empty(0))
    middle = corners[:, :, :2].mean(axis=1)
    cell = np.floor(middle / TILE).astype(np.int64)
    key = cell[:, 0] * (1 << 20) + cell[:, 1]
    order = np.argsort(key, kind="stable")
    firsts = np.flatnonzero(np.diff(key[order], prepend=key[order[0]] - 1))
    starts = np.append(firsts, len(order)).astype(np.int64)
    low = np.minimum.reduceat(corners.min(axis=1)[order], firsts, axis=0)
    high = np.maximum.reduceat(corners.max(axis=1)[order], firsts, axis=0)
    centre, half = (low + high) / 2, (high - low) / 2
    if corners.shape[2] == 2:
        centre = np.column_stack([centre, np.zeros(len(centre))])
    return order, Tiles(starts, centre, np.sqrt(np.sum(half * half, axis=1)))
