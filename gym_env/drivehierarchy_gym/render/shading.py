"""Turns samples into colours: textures of the ground and of facades, haze, shadows, the sky, headlight beams, rain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.compiled import compiled

PLAIN, GLOW, FACADE, PAINT, ASPHALT, PAVEMENT, GRASS = range(7)
"""Kinds of surface. From `PAINT` on they lie on the ground: they are textured and take shadows."""

_ROUGHNESS = np.array([0.0, 0.0, 0.0, 0.10, 0.16, 0.13, 0.42], np.float32)
"""How far the brightness of a kind of surface varies."""


SPARE_ROWS = 20_000


class Triangles(NamedTuple):
    """What the triangle indices of the samples stand for. One row per triangle."""

    colour: NDArray[np.float32]
    """Lit colour, 0-255 (T, 3)."""
    kind: NDArray[np.uint8]
    owner: NDArray[np.int32]
    """0 for the scenery, i + 1 for actor i of the snapshot, -1 for the ego."""
    wall: NDArray[np.int32]
    """Row of `Walls` for facades."""

    def enlarged(self) -> Triangles:
        """A copy with `SPARE_ROWS` more rows."""

        def longer(column: NDArray) -> NDArray:
            return np.concatenate([column, np.zeros((SPARE_ROWS, *column.shape[1:]), column.dtype)])

        return Triangles(*(longer(column) for column in self))


class Walls(NamedTuple):
    """Facades with windows. One row per wall."""

    frame: NDArray[np.float64]
    """Start x, start y, unit direction x, y, length, window period along the wall, window width, floors (W, 8)."""
    glass: NDArray[np.float32]
    """Lit colour of the glass (W, 3)."""
    trim: NDArray[np.float32]
    """Lit colour of the window frames (W, 3)."""
    seed: NDArray[np.uint32]


PLAN_BITS = 11
_PLAN_MASK = (1 << PLAN_BITS) - 1
"""The map of `plan.PlanMap` has 2^11 pixels per side."""
_LANE = 20
"""Bits between the colours in a pixel of the map: eight, and room to multiply all three at once."""

FLOOR_HEIGHT = 3.0
_SILL, _WINDOW_HEIGHT, _TRIM = 0.95, 1.35, 0.11


class Air(NamedTuple):
    """What lies between a surface and the camera, and what lies beyond all surfaces. Colours 0-255."""

    haze: NDArray[np.float32]
    haze_distance: float
    grass: NDArray[np.float32]
    """Lit colour of the ground that no triangle covers."""
    shadow: float
    beams: float
    beam_origin: NDArray[np.float64]
    """Ego position x, y, and its unit heading x, y (4,)."""
    lit_windows: float


@compiled
def _hash(a, b, c):  # type: ignore[no-untyped-def]
    h = np.uint32(a) * np.uint32(0x8DA6B343) ^ np.uint32(b) * np.uint32(0xD8163841) ^ np.uint32(c)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0x85EBCA6B)
    return (h ^ (h >> np.uint32(16))) & np.uint32(0xFFFF)


@compiled
def _covered(at, period, per_period, start, width):  # type: ignore[no-untyped-def]
    """Length of the stripes [start, start + width] of every period that lies between 0 and `at`."""
    whole = np.floor(at * per_period)
    return whole * width + min(max(at - whole * period - start, 0.0), width)


@compiled
def _share(at, footprint, period, start, width):  # type: ignore[no-untyped-def]
    """Share of a pixel's footprint that stripes cover: the exact integral, so nothing flickers far away."""
    half, per_period = footprint / 2, 1.0 / period
    beyond = _covered(at + half, period, per_period, start, width)
    return (beyond - _covered(at - half, period, per_period, start, width)) / footprint


@compiled
def _facade(wall, glass, trim, seed, frame, x, y, z, view_x, view_y, size, lit_windows):  # type: ignore[no-untyped-def]
    """Colour of a wall at a world point; `size` is a pixel's footprint (m) on a surface that faces the camera."""
    red, green, blue = wall[0], wall[1], wall[2]
    u = (x - frame[0]) * frame[2] + (y - frame[1]) * frame[3]
    length, period, width, floors = frame[4], frame[5], frame[6], frame[7]
    if period > 0.0 and z < floors * FLOOR_HEIGHT and 0.0 <= u < length:
        du = size / max(abs(view_x * frame[3] - view_y * frame[2]), 0.05)
        start = (period - width) / 2
        pane = _share(u, du, period, start, width) * _share(z, size, FLOOR_HEIGHT, _SILL, _WINDOW_HEIGHT)
        border = _share(u, du, period, start - _TRIM, width + 2 * _TRIM) * _share(
            z, size, FLOOR_HEIGHT, _SILL - _TRIM, _WINDOW_HEIGHT + 2 * _TRIM
        )
        plaster = np.float32(1.0 - border)
        framing, pane32 = np.float32(border - pane), np.float32(pane)
        chance = _hash(int(u / period), int(z / FLOOR_HEIGHT), seed) / 65536.0
        pane_r, pane_g, pane_b = np.float32(250.0), np.float32(212.0), np.float32(140.0)
        if chance >= lit_windows:
            tone = np.float32(0.75 + 0.5 * chance)
            pane_r, pane_g, pane_b = glass[0] * tone, glass[1] * tone, glass[2] * tone
        red = red * plaster + pane_r * pane32 + trim[0] * framing
        green = green * plaster + pane_g * pane32 + trim[1] * framing
        blue = blue * plaster + pane_b * pane32 + trim[2] * framing
    return red, green, blue


@compiled
def _grain(texture, start, size, smooth, x, y):  # type: ignore[no-untyped-def]
    """Deviation of the ground's brightness (about -1 to 1) at texel coordinates of one level, which start at 0."""
    i, j = int(x), int(y)
    i0, j0 = i & (size - 1), (j & (size - 1)) * size + start
    grain = np.float32(texture[j0 + i0])
    if smooth:
        i1, j1 = (i + 1) & (size - 1), ((j + 1) & (size - 1)) * size + start
        fx, fy = np.float32(x - i), np.float32(y - j)
        grain += (np.float32(texture[j0 + i1]) - grain) * fx
        above = np.float32(texture[j1 + i0])
        above += (np.float32(texture[j1 + i1]) - above) * fx
        grain += (above - grain) * fy
    return (grain - np.float32(128.0)) * np.float32(1 / 128)


@compiled
def _beam(origin_x, origin_y, ahead_x, ahead_y, strength, x, y):  # type: ignore[no-untyped-def]
    """Factor by which the ego's headlights brighten a surface at (x, y)."""
    ahead = (x - origin_x) * ahead_x + (y - origin_y) * ahead_y
    aside = abs((y - origin_y) * ahead_x - (x - origin_x) * ahead_y)
    spread = max(1.0 - aside / (1.6 + 0.42 * max(ahead, 0.0)), 0.0) * min(max((ahead - 2.0) / 4.0, 0.0), 1.0)
    return np.float32(1.0 + 3.4 * strength * spread / (1.0 + ahead * ahead / 900.0))


@compiled
def resolve(samples, used, triangles, walls, ground_texture, lens, air, sky, sky_at, sky_turn, image):  # type: ignore[no-untyped-def]
    """Write the picture (H, W, 3) uint8: the mean colour of the first `used` samples of every pixel.

    `sky` is the panorama (rows, columns, 3); `sky_at` (H, W) is the texel, row * columns + column, that each pixel sees
    when the camera looks east (-1 below the horizon), and `sky_turn` the camera's heading in columns.
    """
    # Written out: a call that passes arrays costs more than what most pixels need.
    depth, index, shadow, _, offsets, width, height = samples
    colours, kinds, _, wall_of = triangles
    wall_frames, wall_glass, wall_trims, wall_seeds = walls
    r, p, focal, centre_x, centre_y, _, _, _ = lens
    texture, starts, texture_size, texel_size = ground_texture
    sky_mask = sky.shape[1] - 1
    sky = sky.reshape(-1, 3)
    haze, haze_distance, grass, shadow_light, beams, beam_origin, lit_windows = air
    haze_r, haze_g, haze_b = haze[0], haze[1], haze[2]
    grass_r, grass_g, grass_b = grass[0], grass[1], grass[2]
    beam_x, beam_y, beam_u, beam_v = beam_origin[0], beam_origin[1], beam_origin[2], beam_origin[3]
    count = offsets.shape[0]
    share = np.float32(1.0 / used)
    dark = np.float32(1.0 - shadow_light)
    one, half, full, zero = np.float32(1.0), np.float32(0.5), np.float32(255.0), np.float32(0.0)
    reach = np.float32(haze_distance)
    uniform, shaded, others = np.empty(width, np.bool_), np.empty(width, np.uint8), np.empty(width, np.int64)
    grain = np.zeros(width, np.float32)
    beamed = beams > 0
    for row in range(height):
        # On the ground everything but the place along the row is the same for all pixels of a row.
        y = (row + 0.5 - centre_y) / focal
        ground = max(-(r[1, 2] * y + r[2, 2]) / p[2], 1e-7)
        far = 1.0 / ground
        footprint = far / focal * np.sqrt(max(far / p[2], 1.0))
        level = 0
        while level < starts.shape[0] - 1 and footprint > texel_size * (1 << level) * 1.4:
            level += 1
        close = footprint < texel_size * 0.7  # texels would show as squares
        size = texture_size >> level
        start = starts[level]
        per_texel = 1.0 / (texel_size * (1 << level))
        ray_x, ray_y = r[1, 0] * y + r[2, 0], r[1, 1] * y + r[2, 1]
        left = (0.5 - centre_x) / focal
        ground_x, ground_y = p[0] + far * (r[0, 0] * left + ray_x), p[1] + far * (r[0, 1] * left + ray_y)
        move_x, move_y = far * r[0, 0] / focal, far * r[0, 1] / focal
        tx, ty = ground_x * per_texel, ground_y * per_texel
        tx += (1024 - np.floor(tx / size)) * size  # positive all along the row
        ty += (1024 - np.floor(ty / size)) * size
        step_x, step_y = move_x * per_texel, move_y * per_texel
        clear = np.float32(ground) * reach
        lost = one / (one + clear * clear)
        keep = one - lost
        veil_r, veil_g, veil_b = haze_r * lost, haze_g * lost, haze_b * lost
        base = row * count * width
        first = index[base : base + width]
        uniform[:] = True
        shaded[:] = shadow[base : base + width]
        for s in range(1, used):
            other, dark_there = index[base + s * width :], shadow[base + s * width :]
            for column in range(width):
                uniform[column] &= other[column] == first[column]
                shaded[column] += dark_there[column]
        if ground > 1e-7:
            for column in range(width):
                grain[column] = _grain(texture, start, size, close, tx + step_x * column, ty + step_y * column)
        # Most pixels see one surface with all their samples, and that is plain or ground: these are done here, all
        # others below.
        left_over = 0
        for column in range(width):
            t = first[column]
            if uniform[column]:
                texel = sky_at[row, column]
                if t < 0 and texel >= 0:
                    texel = (texel & ~sky_mask) | ((texel + sky_turn) & sky_mask)
                    image[row, column, 0] = sky[texel, 0]
                    image[row, column, 1] = sky[texel, 1]
                    image[row, column, 2] = sky[texel, 2]
                    continue
                kind = GRASS if t < 0 else kinds[t]
                if kind >= PAINT:
                    light = one + _ROUGHNESS[kind] * grain[column]
                    if beamed:
                        light *= _beam(
                            beam_x,
                            beam_y,
                            beam_u,
                            beam_v,
                            beams,
                            ground_x + move_x * column,
                            ground_y + move_y * column,
                        )
                    light *= (one - dark * share * np.float32(shaded[column])) * keep
                    if t < 0:
                        red, green, blue = grass_r, grass_g, grass_b
                    else:
                        red, green, blue = colours[t, 0], colours[t, 1], colours[t, 2]
                    image[row, column, 0] = np.uint8(min(red * light + veil_r + half, full))
                    image[row, column, 1] = np.uint8(min(green * light + veil_g + half, full))
                    image[row, column, 2] = np.uint8(min(blue * light + veil_b + half, full))
                    continue
                if kind == PLAIN and not beamed:
                    clear = depth[base + column] * reach
                    fog = one / (one + clear * clear)
                    red, green, blue = colours[t, 0], colours[t, 1], colours[t, 2]
                    image[row, column, 0] = np.uint8(red + (haze_r - red) * fog + half)
                    image[row, column, 1] = np.uint8(green + (haze_g - green) * fog + half)
                    image[row, column, 2] = np.uint8(blue + (haze_b - blue) * fog + half)
                    continue
            others[left_over] = column
            left_over += 1
        for k in range(left_over):
            column = others[k]
            at = base + column
            whole = uniform[column]
            parts = 1 if whole else used
            red, green, blue = zero, zero, zero
            for s in range(parts):
                here = at + s * width
                t = index[here]
                if t < 0 and sky_at[row, column] >= 0:
                    texel = sky_at[row, column]
                    texel = (texel & ~sky_mask) | ((texel + sky_turn) & sky_mask)
                    red += np.float32(sky[texel, 0])
                    green += np.float32(sky[texel, 1])
                    blue += np.float32(sky[texel, 2])
                    continue
                kind = GRASS
                sr, sg, sb = grass_r, grass_g, grass_b
                if t >= 0:
                    kind = kinds[t]
                    sr, sg, sb = colours[t, 0], colours[t, 1], colours[t, 2]
                if kind >= PAINT:
                    light = one + _ROUGHNESS[kind] * grain[column]
                    lit = np.float32(shaded[column]) * share if whole else np.float32(shadow[here])
                    light *= one - dark * lit
                    if beamed:
                        light *= _beam(
                            beam_x,
                            beam_y,
                            beam_u,
                            beam_v,
                            beams,
                            ground_x + move_x * column,
                            ground_y + move_y * column,
                        )
                    light *= keep
                    red += sr * light + veil_r
                    green += sg * light + veil_g
                    blue += sb * light + veil_b
                    continue
                w = depth[here]
                if kind == FACADE or (beamed and kind != GLOW):
                    distance = 1.0 / np.float64(w)
                    x = (column + offsets[s, 0] / 256 - centre_x) / focal
                    y_here = (row + offsets[s, 1] / 256 - centre_y) / focal
                    view_x = r[0, 0] * x + r[1, 0] * y_here + r[2, 0]
                    view_y = r[0, 1] * x + r[1, 1] * y_here + r[2, 1]
                    world_x, world_y = p[0] + distance * view_x, p[1] + distance * view_y
                    if kind == FACADE:
                        n = wall_of[t]
                        flat = np.sqrt(view_x * view_x + view_y * view_y)
                        sr, sg, sb = _facade(
                            colours[t], wall_glass[n], wall_trims[n], wall_seeds[n], wall_frames[n],
                            world_x, world_y, p[2] + distance * (r[1, 2] * y_here + r[2, 2]),
                            view_x / flat, view_y / flat, distance / focal, lit_windows,
                        )  # fmt: skip
                    if beamed:
                        light = _beam(beam_x, beam_y, beam_u, beam_v, beams, world_x, world_y)
                        sr, sg, sb = sr * light, sg * light, sb * light
                clear = w * reach
                lost = one / (one + clear * clear)
                if kind == GLOW:
                    lost *= half
                red += sr + (haze_r - sr) * lost
                green += sg + (haze_g - sg) * lost
                blue += sb + (haze_b - sb) * lost
            if not whole:
                red, green, blue = red * share, green * share, blue * share
            image[row, column, 0] = np.uint8(min(red + half, full))
            image[row, column, 1] = np.uint8(min(green + half, full))
            image[row, column, 2] = np.uint8(min(blue + half, full))


@compiled
def draw_rain(image, seed, count):  # type: ignore[no-untyped-def]
    """Blend `count` falling streaks into the picture; where they are depends on `seed` alone."""
    height, width = image.shape[0], image.shape[1]
    for i in range(count):
        x = _hash(i, seed, 1) * width // 65536
        y = _hash(i, seed, 2) * height // 65536
        long = (12 + _hash(i, seed, 3) * 20 // 65536) * height // 450
        for k in range(long):
            row, column = y + k, x - k // 6
            if row < height and column >= 0:
                for c in range(3):
                    image[row, column, c] += np.uint8((210 - min(image[row, column, c], 210)) * 70 // 256)


@compiled
def resolve_plan_piece(samples, triangles, ground_texture, level, bare, shadow_light, x0, y1, scale, out):  # type: ignore[no-untyped-def]
    """Write a piece of the map (H, W) uint64, see `plan.PlanMap`; drawn by the `draw_plan_…` kernels."""
    _, index, shadow, _, offsets, width, height = samples
    colours, kinds = triangles.colour, triangles.kind
    count = offsets.shape[0]
    dark = np.float32(1.0 - shadow_light)
    one, half, full = np.float32(1.0), np.float32(0.5), np.float32(255.0)
    texture, starts, size, texel = ground_texture
    start, size, texel = starts[level], size >> level, texel * (1 << level)
    for row in range(height):
        j = int(np.floor((y1 - (row + 0.5) / scale) / texel)) & (size - 1)
        for column in range(width):
            i = int(np.floor((x0 + (column + 0.5) / scale) / texel)) & (size - 1)
            grain = (np.float32(texture[start + j * size + i]) - np.float32(128.0)) * np.float32(1 / 128)
            base = row * count * width + column
            parts = 1
            for s in range(1, count):
                at = base + s * width
                if index[at] != index[base] or shadow[at] != shadow[base]:
                    parts = count
            share = np.float32(1.0 / parts)
            red, green, blue = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for s in range(parts):
                at = base + s * width
                t = index[at]
                kind = GRASS
                sr, sg, sb = bare[0], bare[1], bare[2]
                if t >= 0:
                    kind = kinds[t]
                    sr, sg, sb = colours[t, 0], colours[t, 1], colours[t, 2]
                light = one
                if kind >= PAINT:
                    light = (one + _ROUGHNESS[kind] * grain) * (one - dark * np.float32(shadow[at]))
                red += sr * light
                green += sg * light
                blue += sb * light
            out[row, column] = (
                np.uint64(min(red * share + half, full))
                | np.uint64(min(green * share + half, full)) << np.uint64(_LANE)
                | np.uint64(min(blue * share + half, full)) << np.uint64(2 * _LANE)
            )


@compiled
def resolve_plan(samples, used, triangles, plan, scale, view_x, view_y, right_x, right_y, shadow_light, image):  # type: ignore[no-untyped-def]
    """Write the picture (H, W, 3) uint8 seen from straight above (view_x, view_y) by a camera of the map's scale.

    `right` is the world direction of the image's x axis. `plan` is the map (`plan.PlanMap.pixels`) of `scale` pixels
    per metre, interpolated between four of its pixels on integers. Bodies and their shadows come from the first `used`
    samples of every pixel.
    """
    _, index, shadow, touched, offsets, width, height = samples
    colours = triangles.colour
    count = offsets.shape[0]
    step_u, step_v = np.int64(np.floor(right_x * 65536 + 0.5)), np.int64(np.floor(-right_y * 65536 + 0.5))
    pixels = plan.ravel()
    mask, unit, bits = np.uint64(_PLAN_MASK), np.uint64(1), np.uint64(PLAN_BITS)
    share, half = np.float32(1.0 / used), np.float32(0.5)
    dark = np.float32(1.0 - shadow_light)
    changed = np.empty(width, np.uint8)
    for row in range(height):
        # The image's y axis points along (right_y, -right_x).
        down, left = row + 0.5 - height / 2, 0.5 - width / 2
        u0 = np.int64(np.floor((view_x * scale + left * right_x + down * right_y - 0.5) * 65536))
        v0 = np.int64(np.floor((-view_y * scale - left * right_y + down * right_x - 0.5) * 65536))
        for column in range(width):
            u, v = u0 + column * step_u, v0 + column * step_v
            i0, j0 = np.uint64((u >> 16) & _PLAN_MASK), np.uint64((v >> 16) & _PLAN_MASK)
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
        low, high = touched[row, 0], touched[row, 1] + 1
        if low >= high:
            continue
        changed[low:high] = 0
        base = row * count * width
        for s in range(used):
            start = base + s * width
            dark_there, seen = shadow[start + low : start + high], index[start + low : start + high]
            marks = changed[low:high]
            for i in range(high - low):
                marks[i] |= dark_there[i] | np.uint8(seen[i] >= 0)
        for column in range(low, high):
            if changed[column] == 0:
                continue
            red, green, blue = np.float32(0.0), np.float32(0.0), np.float32(0.0)
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
            image[row, column, 0] = np.uint8(red * share + half)
            image[row, column, 1] = np.uint8(green * share + half)
            image[row, column, 2] = np.uint8(blue * share + half)
