"""A z-buffer rasteriser: which triangle is seen by every sample of a picture, and how far away it is.

A picture is drawn in two steps: the `queue_…` kernels project triangles of the world onto the screen, clip them and
line them up; `fill` then draws them all.

Written for identical bytes on every machine: coverage is decided on integers (corners are snapped to 1/256 pixel,
shared edges belong to exactly one triangle by the top-left rule), depth is strict IEEE arithmetic (no reassociation,
no fused multiply-add), and everything runs on one thread in one order.

Samples are stored plane by plane within a row, so that spans are contiguous: the sample `s` of pixel (row, column) is
at `(row * samples + s) * width + column`. `depth` holds 1 / depth (1/m, 0 = nothing seen there).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.compiled import compiled
from drivehierarchy_gym.render.camera import NEAR, CameraSpec, View

_GUARD = float(1 << 19)
"""Corners further than this (pixels) from the principal point are clipped: products of coordinates stay below 2^63."""

CENTRE = ((128, 128),)
FOUR = ((96, 32), (224, 96), (160, 224), (32, 160))
"""Places of the samples in a pixel, (x, y) in subpixel steps: the centre, or a rotated grid."""

SOLID, GROUND, SHADOW = np.int64(0), np.int64(1), np.int64(2)
"""How a triangle is drawn: with its own depth; on the ground, where higher layers hide lower ones; or as a shadow."""

_LAYER_STEP = 2.0**-20
"""Ground layers differ in 1 / depth by this share: too little to hide anything else, enough to have an order."""

SHADOW_LAYER = 255

_NARROW = 8
"""Triangles of fewer columns than this are filled sample by sample."""

_COLUMNS = 13
"""Columns of the queue: x and y of three corners (subpixel steps, clockwise on the screen), 1 / depth of each, how to
draw it, its triangle index, and 1 / depth of the ground at the top of the image and its change per subpixel step."""
_MOST_PARTS = 6
"""A triangle cut at five planes has at most eight corners: it becomes this many."""

NOTHING = -1
"""Triangle index of a sample that no triangle covers."""


class Samples(NamedTuple):
    """What every sample sees; all arrays have `height * len(offsets) * width` elements."""

    depth: NDArray[np.float32]
    triangle: NDArray[np.int32]
    shadow: NDArray[np.uint8]
    """1 where the ground, if it is seen there, lies in a shadow."""
    touched: NDArray[np.int64]
    """First and last column of every row in which anything was drawn (H, 2)."""
    offsets: NDArray[np.int64]
    """Places of the samples in the pixel (S, 2), see `FOUR`."""
    width: int
    height: int


def new_samples(width: int, height: int, offsets: tuple[tuple[int, int], ...]) -> Samples:
    """Empty samples of a picture."""
    size = width * height * len(offsets)
    return Samples(
        np.zeros(size, np.float32),
        np.full(size, NOTHING, np.int32),
        np.zeros(size, np.uint8),
        np.repeat(np.array([[width, -1]]), height, axis=0),
        np.array(offsets, np.int64),
        width,
        height,
    )


@compiled
def clear(samples):  # type: ignore[no-untyped-def]
    """Forget what was drawn."""
    depth, triangle, shadow, touched, offsets, width, height = samples
    count = offsets.shape[0]
    for row in range(height):
        low, high = touched[row, 0], touched[row, 1] + 1
        touched[row, 0], touched[row, 1] = width, -1
        for s in range(count):
            start = (row * count + s) * width
            depth[start + low : start + high] = 0
            triangle[start + low : start + high] = NOTHING
            shadow[start + low : start + high] = 0


@compiled
def identify(samples, triangles, background, ids):  # type: ignore[no-untyped-def]
    """Write into `ids` (H, W) int32 whose triangle the only sample of every pixel shows, `background` where none."""
    _, index, _, _, _, width, height = samples
    _, _, owner, _ = triangles
    for row in range(height):
        for column in range(width):
            triangle = index[row * width + column]
            ids[row, column] = owner[triangle] if triangle >= 0 else background


class Lens(NamedTuple):
    """A camera in the world, as the kernels want it; see `camera.View`."""

    rotation: NDArray[np.float64]
    position: NDArray[np.float64]
    focal: float
    centre_x: float
    centre_y: float
    half_x: float
    """Half of the image's width and height at depth 1."""
    half_y: float
    near: float


def lens_of(camera: CameraSpec, view: View) -> Lens:
    """The lens of a camera that is somewhere."""
    f, x, y = camera.focal_px, camera.width / 2, camera.height / 2
    return Lens(view.rotation, view.position, f, x, y, x / f, y / f, NEAR)


def new_queue(rows: int) -> NDArray[np.float64]:
    """An empty queue for `rows` triangles on the screen."""
    return np.empty((rows, _COLUMNS))


@compiled
def _narrow(a, k, inverse, low, high):  # type: ignore[no-untyped-def]
    """Columns of low..high where a * 256 * column + k >= 0, exactly; `inverse` = 1 / (256 a) is only an estimate."""
    if a > 0:
        i = int(np.ceil(-k * inverse))
        if 256 * a * (i - 1) + k >= 0:
            i -= 1
        elif 256 * a * i + k < 0:
            i += 1
        low = max(low, i)
    elif a < 0:
        i = int(np.floor(-k * inverse))
        if 256 * a * (i + 1) + k >= 0:
            i += 1
        elif 256 * a * i + k < 0:
            i -= 1
        high = min(high, i)
    elif k < 0:
        high = low - 1
    return low, high


@compiled
def _fill_triangle(samples, how, triangle, plane, slope, x0, y0, w0, x1, y1, w1, x2, y2, w2):  # type: ignore[no-untyped-def]
    """Draw one triangle given in subpixel steps (int64, clockwise on the screen) and 1 / depth (float64) per corner.

    Counter-clockwise triangles are not drawn. On the ground, 1 / depth is `plane` + `slope` * y (y in subpixel steps).
    """
    depth, index, shadow, touched, offsets, width, height = samples
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if area <= 0 or max(x0, x1, x2) < 0 or min(x0, x1, x2) > width * 256:
        return
    first = max(min(y0, y1, y2) >> 8, 0)
    last = min(max(y0, y1, y2) >> 8, height - 1)
    count = offsets.shape[0]
    # Edge i is a * x + b * y + c >= 0 inside. Edges that are neither top nor left exclude their own points.
    a0, b0 = y0 - y1, x1 - x0
    a1, b1 = y1 - y2, x2 - x1
    a2, b2 = y2 - y0, x0 - x2
    c0 = -(a0 * x0 + b0 * y0)
    c1 = -(a1 * x1 + b1 * y1)
    c2 = -(a2 * x2 + b2 * y2)
    if not (a0 > 0 or (a0 == 0 and b0 > 0)):
        c0 -= 1
    if not (a1 > 0 or (a1 == 0 and b1 > 0)):
        c1 -= 1
    if not (a2 > 0 or (a2 == 0 and b2 > 0)):
        c2 -= 1
    per_area = 1.0 / area
    gradient_x = ((w1 - w0) * (y2 - y0) - (w2 - w0) * (y1 - y0)) * per_area
    gradient_y = ((w2 - w0) * (x1 - x0) - (w1 - w0) * (x2 - x0)) * per_area
    left, right = max(min(x0, x1, x2) >> 8, 0), min(max(x0, x1, x2) >> 8, width - 1)
    if right - left < _NARROW:
        # Few columns: asking every sample is cheaper than finding where spans begin and end.
        for row in range(first, last + 1):
            touched[row, 0], touched[row, 1] = min(touched[row, 0], left), max(touched[row, 1], right)
            for s in range(count):
                x, y = left * 256 + offsets[s, 0], row * 256 + offsets[s, 1]
                e0, e1, e2 = a0 * x + b0 * y + c0, a1 * x + b1 * y + c1, a2 * x + b2 * y + c2
                w = plane + slope * y
                step = 0.0
                if how == SOLID:
                    w = w0 + gradient_x * (x - x0) + gradient_y * (y - y0)
                    step = gradient_x * 256.0
                start = (row * count + s) * width
                for column in range(left, right + 1):
                    if (e0 | e1 | e2) >= 0:
                        at = start + column
                        if how == SHADOW:
                            shadow[at] = 1
                        elif np.float32(w) > depth[at]:
                            depth[at] = np.float32(w)
                            index[at] = triangle
                    e0 += 256 * a0
                    e1 += 256 * a1
                    e2 += 256 * a2
                    w += step
        return
    inverse0 = 0.0 if a0 == 0 else 1.0 / (256 * a0)
    inverse1 = 0.0 if a1 == 0 else 1.0 / (256 * a1)
    inverse2 = 0.0 if a2 == 0 else 1.0 / (256 * a2)
    for row in range(first, last + 1):
        for s in range(count):
            offset = offsets[s, 0]
            y = row * 256 + offsets[s, 1]
            low, high = left, right
            low, high = _narrow(a0, a0 * offset + b0 * y + c0, inverse0, low, high)
            low, high = _narrow(a1, a1 * offset + b1 * y + c1, inverse1, low, high)
            low, high = _narrow(a2, a2 * offset + b2 * y + c2, inverse2, low, high)
            if low > high:
                continue
            touched[row, 0], touched[row, 1] = min(touched[row, 0], low), max(touched[row, 1], high)
            start = (row * count + s) * width
            if how == SHADOW:
                shadow[start + low : start + high + 1] = 1
                continue
            if how == GROUND:
                near, step32 = np.float32(plane + slope * y), np.float32(0.0)
            else:
                near = np.float32(w0 + gradient_x * (low * 256 + offset - x0) + gradient_y * (y - y0))
                step32 = np.float32(gradient_x * 256.0)
            depths = depth[start + low : start + high + 1]
            indices = index[start + low : start + high + 1]
            for i in range(depths.shape[0]):
                here = near + step32 * np.float32(i)
                if here > depths[i]:
                    depths[i] = here
                    indices[i] = triangle


@compiled
def fill(samples, queue, count):  # type: ignore[no-untyped-def]
    """Draw the first `count` triangles of a queue; of surfaces that are equally near, the first one stays."""
    for n in range(count):
        q = queue[n]
        _fill_triangle(
            samples, int(q[9]), int(q[10]), q[11], q[12],
            int(q[0]), int(q[1]), q[6], int(q[2]), int(q[3]), q[7], int(q[4]), int(q[5]), q[8],
        )  # fmt: skip


@compiled
def _cut(polygon, count, a, b, c, bound, out):  # type: ignore[no-untyped-def]
    """Part of a polygon where (a, b, c) . point >= bound; cut points depend on the edge alone, not on its direction."""
    kept = 0
    for i in range(count):
        j = count - 1 if i == 0 else i - 1
        here = a * polygon[i, 0] + b * polygon[i, 1] + c * polygon[i, 2] - bound
        before = a * polygon[j, 0] + b * polygon[j, 1] + c * polygon[j, 2] - bound
        if (here >= 0) != (before >= 0):
            if here >= 0:
                inner, outer, t = i, j, here / (here - before)
            else:
                inner, outer, t = j, i, before / (before - here)
            for k in range(3):
                out[kept, k] = polygon[inner, k] + t * (polygon[outer, k] - polygon[inner, k])
            kept += 1
        if here >= 0:
            for k in range(3):
                out[kept, k] = polygon[i, k]
            kept += 1
    return kept


@compiled
def _snap(value):  # type: ignore[no-untyped-def]
    """The next subpixel step, still as a float: whole numbers below 2^53 are exact."""
    return np.floor(value * 256.0 + 0.5)


@compiled
def _line_up(queue, count, how, triangle, plane, slope, u0, v0, w0, u1, v1, w1, u2, v2, w2):  # type: ignore[no-untyped-def]
    q = queue[count]
    q[0], q[1], q[2], q[3], q[4], q[5] = _snap(u0), _snap(v0), _snap(u2), _snap(v2), _snap(u1), _snap(v1)
    q[6], q[7], q[8] = w0, w2, w1
    q[9], q[10], q[11], q[12] = how, triangle, plane, slope


@compiled
def _clip_and_line_up(queue, count, lens, how, triangle, plane, slope, x0, y0, z0, x1, y1, z1, x2, y2, z2):  # type: ignore[no-untyped-def]
    """`queue_triangle` for one that reaches behind the near plane or far out of the image."""
    polygon, other = np.empty((9, 3)), np.empty((9, 3))
    polygon[0, 0], polygon[0, 1], polygon[0, 2] = x0, y0, z0
    polygon[1, 0], polygon[1, 1], polygon[1, 2] = x1, y1, z1
    polygon[2, 0], polygon[2, 1], polygon[2, 2] = x2, y2, z2
    reach = _GUARD / lens.focal
    corners = _cut(polygon, 3, 0.0, 0.0, 1.0, lens.near, other)
    corners = _cut(other, corners, 1.0, 0.0, reach, 0.0, polygon)
    corners = _cut(polygon, corners, -1.0, 0.0, reach, 0.0, other)
    corners = _cut(other, corners, 0.0, 1.0, reach, 0.0, polygon)
    corners = _cut(polygon, corners, 0.0, -1.0, reach, 0.0, other)
    for i in range(corners):
        w = 1.0 / other[i, 2]
        other[i, 0] = lens.focal * other[i, 0] * w + lens.centre_x
        other[i, 1] = lens.focal * other[i, 1] * w + lens.centre_y
        other[i, 2] = w
    for i in range(1, corners - 1):
        _line_up(
            queue, count, how, triangle, plane, slope, other[0, 0], other[0, 1], other[0, 2],
            other[i, 0], other[i, 1], other[i, 2], other[i + 1, 0], other[i + 1, 1], other[i + 1, 2],
        )  # fmt: skip
        count += 1
    return count


@compiled
def queue_triangle(queue, count, lens, how, triangle, plane, slope, x0, y0, z0, x1, y1, z1, x2, y2, z2):  # type: ignore[no-untyped-def]
    """Line up one triangle given in the camera frame (m), counter-clockwise seen from its front; returns the new count.

    The queue must have room for `_MOST_PARTS` more.
    """
    h, v = lens.half_x, lens.half_y
    if (
        (x0 > h * z0 and x1 > h * z1 and x2 > h * z2)
        or (-x0 > h * z0 and -x1 > h * z1 and -x2 > h * z2)
        or (y0 > v * z0 and y1 > v * z1 and y2 > v * z2)
        or (-y0 > v * z0 and -y1 > v * z1 and -y2 > v * z2)
    ):
        return count
    f, cx, cy, near = lens.focal, lens.centre_x, lens.centre_y, lens.near
    if z0 >= near and z1 >= near and z2 >= near:
        w0, w1, w2 = 1.0 / z0, 1.0 / z1, 1.0 / z2
        u0, v0, u1, v1, u2, v2 = f * x0 * w0, f * y0 * w0, f * x1 * w1, f * y1 * w1, f * x2 * w2, f * y2 * w2
        if max(abs(u0), abs(v0), abs(u1), abs(v1), abs(u2), abs(v2)) < _GUARD:
            _line_up(
                queue, count, how, triangle, plane, slope,
                u0 + cx, v0 + cy, w0, u1 + cx, v1 + cy, w1, u2 + cx, v2 + cy, w2,
            )  # fmt: skip
            return count + 1
    if z0 >= near or z1 >= near or z2 >= near:
        return _clip_and_line_up(queue, count, lens, how, triangle, plane, slope, x0, y0, z0, x1, y1, z1, x2, y2, z2)
    return count


@compiled
def queue_ground(queue, count, lens, corners, layers, first_triangle, starts, order):  # type: ignore[no-untyped-def]
    """Line up the ground triangles `corners` (T, 6: x, y of three corners, counter-clockwise from above) of some tiles.

    Tile i holds rows `starts[i]` to `starts[i + 1]`; `order` lists tiles. `layers` (T,) says which lie on top: higher
    hides lower, and `SHADOW_LAYER` makes shadows. Row t is triangle `first_triangle` + t of the samples.

    Returns the new count, or -1 when the queue is too short.
    """
    r, p = lens.rotation, lens.position
    # A ray through image row y meets the ground at 1 / depth = -(r12 (y - cy) / f + r22) / p2: the same for all
    # columns, as the camera does not roll.
    per_step = -r[1, 2] / (lens.focal * p[2] * 256.0)
    at_top = -(r[2, 2] - r[1, 2] * lens.centre_y / lens.focal) / p[2]
    r00, r01, r10, r11, r20, r21 = r[0, 0], r[0, 1], r[1, 0], r[1, 1], r[2, 0], r[2, 1]
    y_ground, z_ground = -r[1, 2] * p[2], -r[2, 2] * p[2]
    px, py = p[0], p[1]
    for tile in order:
        for t in range(starts[tile], starts[tile + 1]):
            if count + _MOST_PARTS > queue.shape[0]:
                return -1
            dx, dy = corners[t, 0] - px, corners[t, 1] - py
            ex, ey = corners[t, 2] - px, corners[t, 3] - py
            fx, fy = corners[t, 4] - px, corners[t, 5] - py
            layer = layers[t]
            scale = 1.0 + layer * _LAYER_STEP
            count = queue_triangle(
                queue, count, lens, SHADOW if layer == SHADOW_LAYER else GROUND, first_triangle + t,
                at_top * scale, per_step * scale,
                r00 * dx + r01 * dy, r10 * dx + r11 * dy + y_ground, r20 * dx + r21 * dy + z_ground,
                r00 * ex + r01 * ey, r10 * ex + r11 * ey + y_ground, r20 * ex + r21 * ey + z_ground,
                r00 * fx + r01 * fy, r10 * fx + r11 * fy + y_ground, r20 * fx + r21 * fy + z_ground,
            )  # fmt: skip
    return count


@compiled
def queue_solid(queue, count, lens, corners, normals, first_triangle, starts, order):  # type: ignore[no-untyped-def]
    """Line up the triangles `corners` (T, 9) with outward `normals` (T, 3) of some tiles, see `queue_ground`."""
    r, p = lens.rotation, lens.position
    for tile in order:
        for t in range(starts[tile], starts[tile + 1]):
            if count + _MOST_PARTS > queue.shape[0]:
                return -1
            dx, dy, dz = corners[t, 0] - p[0], corners[t, 1] - p[1], corners[t, 2] - p[2]
            if normals[t, 0] * dx + normals[t, 1] * dy + normals[t, 2] * dz >= 0:
                continue
            ex, ey, ez = corners[t, 3] - p[0], corners[t, 4] - p[1], corners[t, 5] - p[2]
            fx, fy, fz = corners[t, 6] - p[0], corners[t, 7] - p[1], corners[t, 8] - p[2]
            count = queue_triangle(
                queue, count, lens, SOLID, first_triangle + t, 0.0, 0.0,
                r[0, 0] * dx + r[0, 1] * dy + r[0, 2] * dz,
                r[1, 0] * dx + r[1, 1] * dy + r[1, 2] * dz,
                r[2, 0] * dx + r[2, 1] * dy + r[2, 2] * dz,
                r[0, 0] * ex + r[0, 1] * ey + r[0, 2] * ez,
                r[1, 0] * ex + r[1, 1] * ey + r[1, 2] * ez,
                r[2, 0] * ex + r[2, 1] * ey + r[2, 2] * ez,
                r[0, 0] * fx + r[0, 1] * fy + r[0, 2] * fz,
                r[1, 0] * fx + r[1, 1] * fy + r[1, 2] * fz,
                r[2, 0] * fx + r[2, 1] * fy + r[2, 2] * fz,
            )  # fmt: skip
    return count


@compiled
def queue_instances(queue, count, lens, light, atlas, instances, order, triangles, following):  # type: ignore[no-untyped-def]
    """Line up the instances listed in `order`; their triangles take the rows of `triangles` from `following` on.

    Returns the new count and the next free row; a count of -1 when the queue, or a row of -1 when the table is too
    short.
    """
    r, p = lens.rotation, lens.position
    side_x = np.sqrt(1.0 + lens.half_x * lens.half_x)
    side_y = np.sqrt(1.0 + lens.half_y * lens.half_y)
    m = np.empty((3, 4))
    for n in order:
        mesh = instances.mesh[n]
        place = instances.place[n]
        dx, dy, dz = place[0] - p[0], place[1] - p[1], place[2] - p[2]
        cx = r[0, 0] * dx + r[0, 1] * dy + r[0, 2] * dz
        cy = r[1, 0] * dx + r[1, 1] * dy + r[1, 2] * dz
        cz = r[2, 0] * dx + r[2, 1] * dy + r[2, 2] * dz
        reach = atlas.reach[mesh] * max(place[5], place[6], place[7])
        if cz < -reach or abs(cx) - lens.half_x * cz > reach * side_x or abs(cy) - lens.half_y * cz > reach * side_y:
            continue
        first, last = atlas.starts[mesh], atlas.starts[mesh + 1]
        if following + last - first > triangles.kind.shape[0]:
            return count, -1
        c, s = place[3], place[4]
        for i in range(3):
            m[i, 0] = (r[i, 0] * c + r[i, 1] * s) * place[5]
            m[i, 1] = (r[i, 1] * c - r[i, 0] * s) * place[6]
            m[i, 2] = r[i, 2] * place[7]
        m[0, 3], m[1, 3], m[2, 3] = cx, cy, cz
        sun_x = light.to_sun[0] * c + light.to_sun[1] * s
        sun_y = light.to_sun[1] * c - light.to_sun[0] * s
        for t in range(first, last):
            v = atlas.corners[t]
            x0 = m[0, 0] * v[0] + m[0, 1] * v[1] + m[0, 2] * v[2] + m[0, 3]
            y0 = m[1, 0] * v[0] + m[1, 1] * v[1] + m[1, 2] * v[2] + m[1, 3]
            z0 = m[2, 0] * v[0] + m[2, 1] * v[1] + m[2, 2] * v[2] + m[2, 3]
            x1 = m[0, 0] * v[3] + m[0, 1] * v[4] + m[0, 2] * v[5] + m[0, 3]
            y1 = m[1, 0] * v[3] + m[1, 1] * v[4] + m[1, 2] * v[5] + m[1, 3]
            z1 = m[2, 0] * v[3] + m[2, 1] * v[4] + m[2, 2] * v[5] + m[2, 3]
            x2 = m[0, 0] * v[6] + m[0, 1] * v[7] + m[0, 2] * v[8] + m[0, 3]
            y2 = m[1, 0] * v[6] + m[1, 1] * v[7] + m[1, 2] * v[8] + m[1, 3]
            z2 = m[2, 0] * v[6] + m[2, 1] * v[7] + m[2, 2] * v[8] + m[2, 3]
            # Seen from behind: the camera lies on the inner side of the triangle's plane.
            nx = (y1 - y0) * (z2 - z0) - (z1 - z0) * (y2 - y0)
            ny = (z1 - z0) * (x2 - x0) - (x1 - x0) * (z2 - z0)
            nz = (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0)
            if nx * x0 + ny * y0 + nz * z0 >= 0:
                continue
            if count + _MOST_PARTS > queue.shape[0]:
                return -1, following
            slot = instances.paint[n, atlas.slots[t]]
            normal = atlas.normals[t]
            glows = slot[3] != 0
            up = normal[2] * 0.5 + 0.5
            sun = max(normal[0] * sun_x + normal[1] * sun_y + normal[2] * light.to_sun[2], 0.0)
            for k in range(3):
                level = 1.0
                if not glows:
                    level = light.ground[k] + (light.sky[k] - light.ground[k]) * up + light.sun[k] * sun
                triangles.colour[following, k] = min(atlas.colours[t, k] * slot[k] * (1 / 255.0) * level, 255.0)
            triangles.kind[following] = np.uint8(slot[3])
            triangles.owner[following] = instances.owner[n]
            count = queue_triangle(queue, count, lens, SOLID, following, 0.0, 0.0, x0, y0, z0, x1, y1, z1, x2, y2, z2)
            following += 1
    return count, following
