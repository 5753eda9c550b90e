"""Repeatable randomness of the picture: integer hashes, and a tileable noise texture with its smaller levels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TEXTURE_SIZE = 512
"""Texels per side of the largest level."""
TEXEL = 0.05
"""Metres per texel of the largest level."""
LEVELS = 7


def hash_unit(*keys: int) -> float:
    """A number in [0, 1) that depends on the integers given and on nothing else."""
    h = 0x9E3779B9
    for key in keys:
        h = ((h ^ (key & 0xFFFFFFFF)) * 0x85EBCA6B) & 0xFFFFFFFF
        h ^= h >> 13
        h = (h * 0xC2B2AE35) & 0xFFFFFFFF
        h ^= h >> 16
    return h / 4294967296.0


def hash_grid(size: int, seed: int) -> NDArray[np.float64]:
    """White noise in [0, 1), (size, size)."""
    index = np.arange(size * size, dtype=np.uint64).reshape(size, size) + np.uint64(seed * 1_000_003 + 1)
    h = (index * np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    h ^= h >> np.uint64(29)
    h = h * np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(32)
    return (h >> np.uint64(40)).astype(np.float64) / float(1 << 24)


def smooth_noise(size: int, cells: int, seed: int) -> NDArray[np.float64]:
    """Noise in [0, 1) that varies over `size` / `cells` texels and repeats at the border, (size, size)."""
    grid = hash_grid(cells, seed)
    at = np.arange(size) * (cells / size)
    low = at.astype(int)
    t = at - low
    t = t * t * (3 - 2 * t)
    high = (low + 1) % cells
    rows = grid[low] * (1 - t)[:, None] + grid[high] * t[:, None]
    return rows[:, low] * (1 - t) + rows[:, high] * t


class Texture(NamedTuple):
    """Brightness of rough ground around 128. Level k has `size` >> k texels per side, each the mean of four of the
    level before it, and repeats at its borders."""

    texels: NDArray[np.uint8]
    """All levels, one after the other."""
    starts: NDArray[np.int64]
    size: int
    texel: float
    """Metres per texel of level 0."""


@lru_cache(maxsize=1)
def ground_texture() -> Texture:
    """The one texture of all ground."""
    size = TEXTURE_SIZE
    level = (
        0.50 * (hash_grid(size, 1) - 0.5)
        + 0.40 * (smooth_noise(size, 128, 2) - 0.5)
        + 0.45 * (smooth_noise(size, 24, 3) - 0.5)
        + 0.55 * (smooth_noise(size, 6, 4) - 0.5)
    )
    levels, starts = [], [0]
    for _ in range(LEVELS):
        levels.append(np.clip(np.floor(128 + 127 * level + 0.5), 0, 255).astype(np.uint8).ravel())
        starts.append(starts[-1] + levels[-1].size)
        level = (level[0::2, 0::2] + level[1::2, 0::2] + level[0::2, 1::2] + level[1::2, 1::2]) / 4
    return Texture(np.concatenate(levels), np.array(starts[:-1], dtype=np.int64), TEXTURE_SIZE, TEXEL)
