"""The world from straight above: a map drawn piece by piece where it is needed, and pictures cut out of it."""

from __future__ import annotations

import math

import numpy as np

from drivehierarchy_gym.render.instances import standing
from drivehierarchy_gym.render.noise import ground_texture
from drivehierarchy_gym.render.painter import Painter
from drivehierarchy_gym.render.rasterizer import FOUR, Lens, new_samples
from drivehierarchy_gym.render.shading import PLAN_BITS, resolve_plan_piece

SCALE = 8
"""Pixels per metre of the map (the release's BEV, facts §3.6)."""
_PIECES = 4
"""The map keeps 4 x 4 pieces; a new one takes the place of the one a multiple of four pieces away."""
_PIECE_PX = (1 << PLAN_BITS) // _PIECES
PIECE = _PIECE_PX // SCALE
"""Side of a piece (m)."""
REACH = PIECE * (_PIECES - 1) / 2
"""Pictures may look this far from their middle (m)."""
_ALTITUDE = 10_000.0
"""Pieces are drawn from this height (m)."""
_TEXTURE_LEVEL = 1
"""Two texels are a tenth of a metre, a pixel of the map an eighth."""


class PlanMap:
    """Standing things seen from above, north up, in the light of one weather.

    `pixels` (2048, 2048) uint64 holds red, green and blue from bits 0, 20 and 40 on, with room to multiply all three at
    once; the pixel at (x, y) is in row floor(-8 y) and column floor(8 x), both modulo 2048.
    """

    def __init__(self, painter: Painter) -> None:
        trees = painter.scenery.trees
        self._painter = painter
        self._trees = standing(trees.far_mesh, trees.place)
        self.pixels = np.zeros((1 << PLAN_BITS, 1 << PLAN_BITS), np.uint64)
        self._held: dict[tuple[int, int], tuple[int, int]] = {}
        self._samples = new_samples(_PIECE_PX, _PIECE_PX, FOUR)

    def prepare(self, x: float, y: float, reach: float) -> None:
        """Draw the pieces within `reach` metres of (x, y) that are not there yet."""
        for i in range(math.floor((x - reach) / PIECE), math.floor((x + reach) / PIECE) + 1):
            for j in range(math.floor((-y - reach) / PIECE), math.floor((-y + reach) / PIECE) + 1):
                slot = (i % _PIECES, j % _PIECES)
                if self._held.get(slot) != (i, j):
                    self._draw(i, j)
                    self._held[slot] = (i, j)

    def _draw(self, i: int, j: int) -> None:
        painter = self._painter
        west, north = float(i * PIECE), float(-j * PIECE)
        painter.begin(_lens_above(west + PIECE / 2, north - PIECE / 2))
        painter.bodies(self._trees, math.inf)
        painter.buildings(math.inf)
        painter.paint(math.inf)
        painter.ground(math.inf)
        painter.standing_shadows(math.inf)
        painter.finish(self._samples)
        row, column = (j % _PIECES) * _PIECE_PX, (i % _PIECES) * _PIECE_PX
        out = self.pixels[row : row + _PIECE_PX, column : column + _PIECE_PX]
        bare, shadow = painter.lighting.bare_ground, painter.lighting.look.shadow
        resolve_plan_piece(
            self._samples, painter.triangles, ground_texture(), _TEXTURE_LEVEL, bare, shadow, west, north, SCALE, out
        )


def _lens_above(x: float, y: float) -> Lens:
    """A camera so high above (x, y) that perspective moves a roof by no more than a quarter of a pixel."""
    rotation = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
    half = PIECE / 2 / _ALTITUDE
    return Lens(rotation, np.array([x, y, _ALTITUDE]), SCALE * _ALTITUDE, _PIECE_PX / 2, _PIECE_PX / 2, half, half, 1.0)
