"""Buildings as walls with windows and as roofs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.render.mesh import Colour
from drivehierarchy_gym.render.noise import hash_unit
from drivehierarchy_gym.render.shading import FLOOR_HEIGHT
from drivehierarchy_gym.road.surroundings import Building

PLASTER: tuple[Colour, ...] = (
    (222, 212, 190), (206, 186, 154), (198, 204, 204), (214, 176, 142), (184, 98, 78),
    (230, 226, 214), (176, 186, 166), (226, 200, 140), (160, 84, 66), (150, 158, 168),
)  # fmt: skip
TILES: tuple[Colour, ...] = ((146, 66, 48), (122, 56, 44), (92, 84, 82), (74, 76, 82), (164, 86, 58))
FLAT_ROOF: Colour = (128, 126, 122)
GLASS: tuple[Colour, ...] = ((70, 88, 104), (58, 72, 84), (84, 104, 120))
TRIM: tuple[Colour, ...] = ((238, 236, 230), (96, 84, 74), (206, 206, 204))

GABLE_AREA = 420.0
"""Rectangular buildings up to this area (m²) have a pitched roof, all others a flat one."""
_EAVES = 0.4
"""Pitched roofs stand out by this much (m)."""


@dataclass(frozen=True, eq=False)
class Built:
    """Triangles of all buildings: `corners` (T, 3, 3), `colours` (T, 3) unlit, `wall` (T,) = row of the tables below or
    -1. `frames` (W, 8) as in `shading.Walls`, `glass` and `trim` (W, 3) unlit, `seeds` (W,)."""

    corners: NDArray[np.float64]
    colours: NDArray[np.float64]
    wall: NDArray[np.int32]
    frames: NDArray[np.float64]
    glass: NDArray[np.float64]
    trim: NDArray[np.float64]
    seeds: NDArray[np.uint32]


def build(buildings: Iterable[Building]) -> Built:
    """Walls and roofs of buildings; their looks depend on where they stand, so they never change."""
    corners: list[NDArray[np.float64]] = []
    colours: list[Colour] = []
    wall: list[int] = []
    frames: list[tuple[float, ...]] = []
    glass: list[Colour] = []
    trim: list[Colour] = []
    seeds: list[int] = []

    def add(triangles: NDArray[np.float64], colour: Colour, row: int = -1) -> None:
        corners.append(triangles)
        colours.extend([colour] * len(triangles))
        wall.extend([row] * len(triangles))

    for building in buildings:
        outline, height = building.outline, building.height
        key = (round(float(outline[0, 0]) * 10), round(float(outline[0, 1]) * 10))

        def pick(table: tuple[Colour, ...], what: int, key: tuple[int, int] = key) -> Colour:
            return table[int(hash_unit(*key, what) * len(table))]

        plaster = pick(PLASTER, 1)
        spacing, width = (2.2 + 1.6 * hash_unit(*key, 2)), 1.0 + 0.5 * hash_unit(*key, 3)
        floors = max(int(height / FLOOR_HEIGHT + 0.1), 0)
        for start, end in zip(outline, np.roll(outline, -1, axis=0), strict=True):
            dx, dy = float(end[0] - start[0]), float(end[1] - start[1])
            length = float(np.sqrt(dx * dx + dy * dy))
            if length < 1e-6:
                continue
            count = int((length - 0.6) / spacing)
            period = length / count if count > 0 and height >= FLOOR_HEIGHT * 0.9 else 0.0
            frames.append(
                (start[0], start[1], dx / length, dy / length, length, period, min(width, period * 0.6), floors)
            )
            glass.append(pick(GLASS, 4))
            trim.append(pick(TRIM, 5))
            seeds.append(int(hash_unit(*key, len(frames)) * 4294967295.0))
            a, b = (*start, 0.0), (*end, 0.0)
            c, d = (*end, height), (*start, height)
            add(np.array([(a, b, c), (a, c, d)]), plaster, len(frames) - 1)
        corner = _rectangle(outline)
        if corner is not None:
            triangles, gables = _pitched(corner, height)
            add(triangles, pick(TILES, 6))
            add(gables, plaster)
        else:
            tone = 0.85 + 0.3 * hash_unit(*key, 7)
            top = np.concatenate([building.roof, np.full((*building.roof.shape[:2], 1), height)], axis=2)
            add(top, (int(FLAT_ROOF[0] * tone), int(FLAT_ROOF[1] * tone), int(FLAT_ROOF[2] * tone)))
    return Built(
        np.concatenate([np.empty((0, 3, 3)), *corners]),
        np.array(colours, dtype=np.float64).reshape(-1, 3),
        np.array(wall, dtype=np.int32),
        np.array(frames, dtype=np.float64).reshape(-1, 8),
        np.array(glass, dtype=np.float64).reshape(-1, 3),
        np.array(trim, dtype=np.float64).reshape(-1, 3),
        np.array(seeds, dtype=np.uint32),
    )


def _rectangle(outline: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Corners (4, 2) of a small, nearly rectangular outline, its longer side first; None for any other."""
    if len(outline) != 4:
        return None
    sides = np.roll(outline, -1, axis=0) - outline
    lengths = np.sqrt(np.sum(sides * sides, axis=1))
    if lengths[0] * lengths[1] > GABLE_AREA or lengths.min() < 3.0:
        return None
    cosines = np.sum(sides * np.roll(sides, -1, axis=0), axis=1) / (lengths * np.roll(lengths, -1))
    if np.abs(cosines).max() > 0.15:
        return None
    return outline if lengths[0] >= lengths[1] else np.roll(outline, -1, axis=0)


def _pitched(corner: NDArray[np.float64], height: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A gable roof over a rectangle, the ridge along its longer side: tiles (both faces) and gables."""
    a, b, c, d = corner
    along, across = b - a, d - a
    run, span = float(np.sqrt(np.sum(along * along))), float(np.sqrt(np.sum(across * across)))
    rise = min(0.42 * span, 4.5)
    u, v = along / run, across / span
    slope = rise / (span / 2)

    def at(point: NDArray[np.float64], z: float) -> tuple[float, float, float]:
        return float(point[0]), float(point[1]), z

    middle_a, middle_b = a + v * span / 2, b + v * span / 2
    gables = np.array(
        [
            (at(b, height), at(c, height), at(middle_b, height + rise)),
            (at(d, height), at(a, height), at(middle_a, height + rise)),
        ]
    )
    low = height - slope * _EAVES
    ridge_a, ridge_b = at(middle_a - u * _EAVES, height + rise), at(middle_b + u * _EAVES, height + rise)
    eave_a, eave_b = at(a - (u + v) * _EAVES, low), at(b + (u - v) * _EAVES, low)
    eave_c, eave_d = at(c + (u + v) * _EAVES, low), at(d - (u - v) * _EAVES, low)
    upper = [
        (eave_a, eave_b, ridge_b),
        (eave_a, ridge_b, ridge_a),
        (eave_c, eave_d, ridge_a),
        (eave_c, ridge_a, ridge_b),
    ]
    under = [(x, z, y) for x, y, z in upper]
    return np.array(upper + under), gables
