"""The world from straight above: a map drawn piece by piece where it is needed, and pictures cut out of it."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from drivehierarchy_gym.render.instances import Atlas
from drivehierarchy_gym.render.lighting import Lighting
from drivehierarchy_gym.render.noise import TEXEL, TEXTURE_SIZE, ground_texture
from drivehierarchy_gym.render.rasterizer import (
    FOUR,
    GROUND,
    LAYER_STEP,
    SHADOW,
    SHADOW_LAYER,
    SOLID,
    clear,
    fill_triangle,
    new_samples,
    snap,
)
from drivehierarchy_gym.render.scenery import Scenery
from drivehierarchy_gym.render.shading import GRASS, PAINT, PLAIN, ROUGHNESS, Triangles
from drivehierarchy_gym.render.tiles import Tiles

SCALE = 8
"""Pixels per metre of the map (the release's BEV, facts §3.6)."""
PIECE = 64
"""Side of a piece (m)."""
_SIDE = PIECE * SCALE
_PIECES = 4
"""The map keeps 4 x 4 pieces; a new one takes the place of the one a multiple of four pieces away."""
_BITS = 11
_MASK = (1 << _BITS) - 1
"""The map's side is 2^11 pixels: `_SIDE` * `_PIECES`."""
_LANE = 20
REACH = PIECE * (_PIECES - 1) / 2
"""Pictures may look this far from their middle (m)."""


class PlanMap:
    """Standing things seen from above, north up, in the light of one weather.

    `pixels` (2048, 2048) uint64 holds red, green and blue from bits 0, 20 and 40 on, with room to multiply all three at
    once; the pixel at (x, y) is in row floor(-8 y) and column floor(8 x), both modulo 2048.
    """

    def __init__(self, scenery: Scenery, lighting: Lighting, atlas: Atlas) -> None:
        self._scenery, self._lighting, self._atlas = scenery, lighting, atlas
        self.pixels = np.zeros((_MASK + 1, _MASK + 1), np.uint64)
        self._held: dict[tuple[int, int], tuple[int, int]] = {}
        self._samples = new_samples(_SIDE, _SIDE, FOUR)

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
            _draw_flat(samples, flat.corners, flat.layers, first, flat.tiles.starts, order, x0, y1)
            first += len(flat.corners)
        order = touching(lighting.shadow_tiles)
        _draw_flat(
            samples, lighting.shadow_corners, lighting.shadow_layers, 0, lighting.shadow_tiles.starts, order, x0, y1
        )
        solid = scenery.solid
        _draw_roofs(samples, solid.corners, solid.normals, first, solid.tiles.starts, touching(solid.tiles), x0, y1)
        trees = scenery.trees
        crown = atlas.reach[trees.far_mesh] * trees.place[:, 5]
        away = np.abs(trees.place[:, :2] - (x0 + PIECE / 2, y1 - PIECE / 2))
        order = np.flatnonzero((away <= (crown + PIECE / 2)[:, None]).all(axis=1))
        while True:
            used = _draw_crowns(
                samples, lighting.light, atlas, trees.far_mesh, trees.place, order, triangles, free, x0, y1
            )
            if used >= 0:
                break
            triangles = triangles.enlarged()
        texture, starts = ground_texture()
        level = 1  # two texels are a tenth of a metre, the map's pixel an eighth
        row, column = (j % _PIECES) * _SIDE, (i % _PIECES) * _SIDE
        _resolve_piece(
            samples, triangles, texture[starts[level] : starts[level + 1]], TEXTURE_SIZE >> level, TEXEL * (1 << level),
            lighting.bare_ground, lighting.look.shadow, x0, y1, self.pixels[row : row + _SIDE, column : column + _SIDE],
        )  # fmt: skip
        return triangles


@njit(cache=True, error_model="numpy")
def _draw_flat(samples, corners, layers, first_triangle, starts, order, x0, y1):  # type: ignore[no-untyped-def]
    for tile in order:
        for t in range(starts[tile], starts[tile + 1]):
            layer = layers[t]
            fill_triangle(
                samples, SHADOW if layer == SHADOW_LAYER else GROUND, first_triangle + t, 1.0 + layer * LAYER_STEP, 0.0,
                snap((corners[t, 0] - x0) * SCALE), snap((y1 - corners[t, 1]) * SCALE), 1.0,
                snap((corners[t, 4] - x0) * SCALE), snap((y1 - corners[t, 5]) * SCALE), 1.0,
                snap((corners[t, 2] - x0) * SCALE), snap((y1 - corners[t, 3]) * SCALE), 1.0,
            )  # fmt: skip


@njit(cache=True, error_model="numpy")
def _draw_roofs(samples, corners, normals, first_triangle, starts, order, x0, y1):  # type: ignore[no-untyped-def]
    """Upward triangles, the highest on top: heights take the place of 1 / depth."""
    for tile in order:
        for t in range(starts[tile], starts[tile + 1]):
            if normals[t, 2] <= 0:
                continue
            fill_triangle(
                samples, SOLID, first_triangle + t, 0.0, 0.0,
                snap((corners[t, 0] - x0) * SCALE), snap((y1 - corners[t, 1]) * SCALE), 1.0 + corners[t, 2],
                snap((corners[t, 6] - x0) * SCALE), snap((y1 - corners[t, 7]) * SCALE), 1.0 + corners[t, 8],
                snap((corners[t, 3] - x0) * SCALE), snap((y1 - corners[t, 4]) * SCALE), 1.0 + corners[t, 5],
            )  # fmt: skip


@njit(cache=True, error_model="numpy")
def _draw_crowns(samples, light, atlas, meshes, places, order, triangles, following, x0, y1):  # type: ignore[no-untyped-def]
    """Trees from above; returns the next free row, or -1 when the table is too short."""
    for n in order:
        first, last = atlas.starts[meshes[n]], atlas.starts[meshes[n] + 1]
        if following + last - first > triangles.kind.shape[0]:
            return -1
        place = places[n]
        c, s = place[3], place[4]
        sun_x = light.to_sun[0] * c + light.to_sun[1] * s
        sun_y = light.to_sun[1] * c - light.to_sun[0] * s
        x, y, w = np.empty(3, np.int64), np.empty(3, np.int64), np.empty(3)
        for t in range(first, last):
            normal = atlas.normals[t]
            if normal[2] <= 0:
                continue
            for i in range(3):
                ahead, left = atlas.corners[t, 3 * i] * place[5], atlas.corners[t, 3 * i + 1] * place[6]
                x[i] = snap((place[0] + c * ahead - s * left - x0) * SCALE)
                y[i] = snap((y1 - place[1] - s * ahead - c * left) * SCALE)
                w[i] = 1.0 + place[2] + atlas.corners[t, 3 * i + 2] * place[7]
            up = normal[2] * 0.5 + 0.5
            sun = max(normal[0] * sun_x + normal[1] * sun_y + normal[2] * light.to_sun[2], 0.0)
            for k in range(3):
                level = light.ground[k] + (light.sky[k] - light.ground[k]) * up + light.sun[k] * sun
                triangles.colour[following, k] = min(atlas.colours[t, k] * level, 255.0)
            triangles.kind[following] = PLAIN
            fill_triangle(samples, SOLID, following, 0.0, 0.0, x[0], y[0], w[0], x[2], y[2], w[2], x[1], y[1], w[1])
            following += 1
    return following


@njit(cache=True, error_model="numpy")
def _resolve_piece(samples, triangles, texture, size, texel, bare, shadow_light, x0, y1, out):  # type: ignore[no-untyped-def]
    _, index, shadow, _, offsets, width, height = samples
    colours, kinds = triangles.colour, triangles.kind
    count = offsets.shape[0]
    dark = np.float32(1.0 - shadow_light)
    one, share = np.float32(1.0), np.float32(1.0 / count)
    half, full = np.float32(0.5), np.float32(255.0)
    for row in range(height):
        j = int(np.floor((y1 - (row + 0.5) / SCALE) / texel)) & (size - 1)
        for column in range(width):
            i = int(np.floor((x0 + (column + 0.5) / SCALE) / texel)) & (size - 1)
            grain = (np.float32(texture[j * size + i]) - np.float32(128.0)) * np.float32(1 / 128)
            red, green, blue = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for s in range(count):
                at = (row * count + s) * width + column
                t = index[at]
                kind = GRASS
                sr, sg, sb = bare[0], bare[1], bare[2]
                if t >= 0:
                    kind = kinds[t]
                    sr, sg, sb = colours[t, 0], colours[t, 1], colours[t, 2]
                light = one
                if kind >= PAINT:
                    light = (one + ROUGHNESS[kind] * grain) * (one - dark * np.float32(shadow[at]))
                red += sr * light
                green += sg * light
                blue += sb * light
            out[row, column] = (
                np.uint64(min(red * share + half, full))
                | np.uint64(min(green * share + half, full)) << np.uint64(_LANE)
                | np.uint64(min(blue * share + half, full)) << np.uint64(2 * _LANE)
            )


@njit(cache=True, error_model="numpy")
def resolve_plan(samples, used, triangles, pixels, view_x, view_y, right_x, right_y, shadow_light, image):  # type: ignore[no-untyped-def]
    """Write the picture (H, W, 3) uint8 seen from straight above (view_x, view_y) by a camera of the map's scale.

    `right` is the world direction of the image's x axis. `pixels` is the map, flattened; it is interpolated between
    four of its pixels on integers. Bodies and their shadows come from the first `used` samples of every pixel.
    """
    _, index, shadow, touched, offsets, width, height = samples
    colours = triangles.colour
    count = offsets.shape[0]
    step_u, step_v = np.int64(np.floor(right_x * 65536 + 0.5)), np.int64(np.floor(-right_y * 65536 + 0.5))
    mask, unit, bits = np.uint64(_MASK), np.uint64(1), np.uint64(_BITS)
    share, half = np.float32(1.0 / used), np.float32(0.5)
    dark = np.float32(1.0 - shadow_light)
    for row in range(height):
        # The image's y axis points along (right_y, -right_x).
        down, left = row + 0.5 - height / 2, 0.5 - width / 2
        u0 = np.int64(np.floor((view_x * SCALE + left * right_x + down * right_y - 0.5) * 65536))
        v0 = np.int64(np.floor((-view_y * SCALE - left * right_y + down * right_x - 0.5) * 65536))
        for column in range(width):
            u, v = u0 + column * step_u, v0 + column * step_v
            i0, j0 = np.uint64((u >> 16) & _MASK), np.uint64((v >> 16) & _MASK)
            i1, j1 = (i0 + unit) & mask, (j0 + unit) & mask
            fu, fv = np.uint64((u >> 12) & 15), np.uint64((v >> 12) & 15)
            j0, j1 = j0 << bits, j1 << bits
            # All three colours at once; 16 x 16 steps between pixels add 8 bits to each.
            a, b, c, d = pixels[j0 | i0], pixels[j0 | i1], pixels[j1 | i0], pixels[j1 | i1]
            upper = a * np.uint64(16) + (b - a) * fu
            lower = c * np.uint64(16) + (d - c) * fu
            mixed = (upper * np.uint64(16) + (lower - upper) * fv) >> np.uint64(8)
            image[row, column, 0] = mixed
            image[row, column, 1] = mixed >> np.uint64(_LANE)
            image[row, column, 2] = mixed >> np.uint64(2 * _LANE)
        base = row * count * width
        for column in range(touched[row, 0], touched[row, 1] + 1):
            red, green, blue = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            changed = False
            for s in range(used):
                at = base + s * width + column
                t = index[at]
                if t >= 0:
                    red, green, blue = red + colours[t, 0], green + colours[t, 1], blue + colours[t, 2]
                else:
                    light = np.float32(1.0) - dark * np.float32(shadow[at])
                    red += np.float32(image[row, column, 0]) * light
                    green += np.float32(image[row, column, 1]) * light
                    blue += np.float32(image[row, column, 2]) * light
                changed |= t >= 0 or shadow[at] > 0
            if changed:
                image[row, column, 0] = np.uint8(red * share + half)
                image[row, column, 1] = np.uint8(green * share + half)
                image[row, column, 2] = np.uint8(blue * share + half)
