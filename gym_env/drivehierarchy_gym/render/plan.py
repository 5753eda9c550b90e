"""The world from straight above: a map drawn piece by piece where it is needed, and pictures cut out of it."""

from __future__ import annotations

import math

import numpy as np

from drivehierarchy_gym.render.instances import Atlas, standing
from drivehierarchy_gym.render.lighting import Lighting
from drivehierarchy_gym.render.noise import ground_texture
from drivehierarchy_gym.render.rasterizer import (
    FOUR,
    clear,
    draw_plan_ground,
    draw_plan_instances,
    draw_plan_solid,
    new_samples,
)
from drivehierarchy_gym.render.scenery import Scenery
from drivehierarchy_gym.render.shading import Triangles, resolve_plan_piece
from drivehierarchy_gym.render.tiles import Tiles

SCALE = 8
"""Pixels per metre of the map (the release's BEV, facts §3.6)."""
PIECE = 64
"""Side of a piece (m)."""
_PIECES = 4
"""The map keeps 4 x 4 pieces; a new one takes the place of the one a multiple of four pieces away."""
_PIECE_PX = PIECE * SCALE
_MAP_PX = _PIECE_PX * _PIECES
REACH = PIECE * (_PIECES - 1) / 2
"""Pictures may look this far from their middle (m)."""
_TEXTURE_LEVEL = 1
"""Two texels are a tenth of a metre, a pixel of the map an eighth."""


class PlanMap:
    """Standing things seen from above, north up, in the light of one weather.

    `pixels` (2048, 2048) uint64 holds red, green and blue from bits 0, 20 and 40 on, with room to multiply all three at
    once; the pixel at (x, y) is in row floor(-8 y) and column floor(8 x), both modulo 2048.
    """

    def __init__(self, scenery: Scenery, lighting: Lighting, atlas: Atlas) -> None:
        self._scenery, self._lighting, self._atlas = scenery, lighting, atlas
        self._trees = standing(scenery.trees.far_mesh, scenery.trees.place)
        self.pixels = np.zeros((_MAP_PX, _MAP_PX), np.uint64)
        self._held: dict[tuple[int, int], tuple[int, int]] = {}
        self._samples = new_samples(_PIECE_PX, _PIECE_PX, FOUR)

    def prepare(self, x: float, y: float, reach: float, triangles: Triangles, free: int) -> Triangles:
        """Draw the pieces within `reach` metres of (x, y) that are not there yet.

        Rows of `triangles` from `free` on are overwritten. Returns the table, enlarged where it was too short.
        """
        for i in range(math.floor((x - reach) / PIECE), math.floor((x + reach) / PIECE) + 1):
            for j in range(math.floor((-y - reach) / PIECE), math.floor((-y + reach) / PIECE) + 1):
                slot = (i % _PIECES, j % _PIECES)
                if self._held.get(slot) != (i, j):
                    triangles = self._draw(i, j, triangles, free)
                    self._held[slot] = (i, j)
        return triangles

    def _draw(self, i: int, j: int, triangles: Triangles, free: int) -> Triangles:
        scenery, lighting, atlas = self._scenery, self._lighting, self._atlas
        x0, y1 = float(i * PIECE), float(-j * PIECE)
        samples = self._samples
        clear(samples)

        def touching(tiles: Tiles) -> np.ndarray:
            near = np.abs(tiles.centre[:, :2] - (x0 + PIECE / 2, y1 - PIECE / 2)) <= (tiles.reach + PIECE / 2)[:, None]
            return np.flatnonzero(near.all(axis=1))

        first = 0
        for flat in (scenery.ground, scenery.paint):
            order = touching(flat.tiles)
            draw_plan_ground(samples, flat.corners, flat.layers, first, flat.tiles.starts, order, x0, y1, SCALE)
            first += len(flat.corners)
        corners, layers, tiles = lighting.shadow_corners, lighting.shadow_layers, lighting.shadow_tiles
        draw_plan_ground(samples, corners, layers, 0, tiles.starts, touching(tiles), x0, y1, SCALE)
        solid = scenery.solid
        order = touching(solid.tiles)
        draw_plan_solid(samples, solid.corners, solid.normals, first, solid.tiles.starts, order, x0, y1, SCALE)
        crowns = atlas.reach[self._trees.mesh] * self._trees.place[:, 5]
        away = np.abs(self._trees.place[:, :2] - (x0 + PIECE / 2, y1 - PIECE / 2))
        order = np.flatnonzero((away <= (crowns + PIECE / 2)[:, None]).all(axis=1))
        while True:
            used = draw_plan_instances(
                samples, lighting.light, atlas, self._trees, order, triangles, free, x0, y1, SCALE
            )
            if used >= 0:
                break
            triangles = triangles.enlarged()
        row, column = (j % _PIECES) * _PIECE_PX, (i % _PIECES) * _PIECE_PX
        out = self.pixels[row : row + _PIECE_PX, column : column + _PIECE_PX]
        bare, shadow = lighting.bare_ground, lighting.look.shadow
        resolve_plan_piece(samples, triangles, ground_texture(), _TEXTURE_LEVEL, bare, shadow, x0, y1, SCALE, out)
        return triangles
