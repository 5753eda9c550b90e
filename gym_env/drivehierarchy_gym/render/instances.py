"""Placing meshes in the world: one table of all meshes, and the kernel that draws a list of placed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from drivehierarchy_gym.render.mesh import Mesh, Slot
from drivehierarchy_gym.render.rasterizer import SOLID, draw_triangle
from drivehierarchy_gym.render.shading import GLOW, PLAIN
from drivehierarchy_gym.render.weather import Look


class Light(NamedTuple):
    """Light on surfaces, factors per colour channel (3,); `to_sun` is a unit vector. See `weather.Look`."""

    sun: NDArray[np.float64]
    sky: NDArray[np.float64]
    ground: NDArray[np.float64]
    to_sun: NDArray[np.float64]


def light_of(look: Look) -> Light:
    """The light of a look as arrays."""
    return Light(*(np.array(part) for part in (look.sun, look.sky_light, look.ground_light, look.to_sun)))


def lit(light: Light, colours: NDArray[np.float64], normals: NDArray[np.float64]) -> NDArray[np.float32]:
    """Colours (T, 3) of surfaces with unit `normals` (T, 3) under a light; the same law as `draw_instances`."""
    up = (normals[:, 2] * 0.5 + 0.5)[:, None]
    sun = np.maximum(
        normals[:, 0] * light.to_sun[0] + normals[:, 1] * light.to_sun[1] + normals[:, 2] * light.to_sun[2], 0
    )
    level = light.ground + (light.sky - light.ground) * up + light.sun * sun[:, None]
    return np.minimum(colours * level, 255.0).astype(np.float32)


class Atlas(NamedTuple):
    """All triangles of all meshes, one mesh after the other."""

    corners: NDArray[np.float64]
    """(T, 9)"""
    normals: NDArray[np.float64]
    colours: NDArray[np.float64]
    slots: NDArray[np.uint8]
    starts: NDArray[np.int64]
    """First triangle of every mesh, and the end of the last (M + 1,)."""
    reach: NDArray[np.float64]
    """Distance of the farthest corner from the mesh's origin (M,)."""


def build_atlas(groups: Mapping[str, Sequence[Mesh]]) -> tuple[Atlas, dict[str, int]]:
    """Atlas of named groups of meshes, and the number of the first mesh of every group."""
    meshes: list[Mesh] = []
    first: dict[str, int] = {}
    for name, group in groups.items():
        first[name] = len(meshes)
        meshes += group
    corners = [mesh.corners for mesh in meshes]
    reach = [float(np.sqrt(np.max(np.sum(c.reshape(-1, 3) ** 2, axis=1)))) for c in corners]
    atlas = Atlas(
        np.concatenate(corners).reshape(-1, 9),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.colours for mesh in meshes]),
        np.concatenate([mesh.slots for mesh in meshes]),
        np.cumsum([0] + [len(c) for c in corners]).astype(np.int64),
        np.array(reach),
    )
    return atlas, first


class Instances(NamedTuple):
    """Placed meshes, one per row."""

    mesh: NDArray[np.int32]
    place: NDArray[np.float64]
    """x, y, z, cosine and sine of the heading, scale along, across and up (N, 8)."""
    owner: NDArray[np.int32]
    paint: NDArray[np.float32]
    """Colour of every slot, 0-255, and 1 where it glows (N, len(Slot), 4)."""


def new_instances(count: int) -> Instances:
    """Rows to fill; all slots white and dull, all scales 1."""
    paint = np.zeros((count, len(Slot), 4), np.float32)
    paint[:, :, :3] = 255.0
    place = np.zeros((count, 8))
    place[:, 3] = place[:, 5:] = 1.0
    return Instances(np.zeros(count, np.int32), place, np.zeros(count, np.int32), paint)


@njit(cache=True, error_model="numpy")
def draw_instances(samples, lens, light, atlas, instances, order, triangles, following):  # type: ignore[no-untyped-def]
    """Draw the instances listed in `order`; their triangles take the rows of `triangles` from `following` on.

    Returns the next free row, or -1 when the rows did not suffice (nothing is lost but the rest of the picture: the
    caller enlarges the table and draws again).
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
            return -1
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
            slot = instances.paint[n, atlas.slots[t]]
            normal = atlas.normals[t]
            glows = slot[3] > 0
            up = normal[2] * 0.5 + 0.5
            sun = max(normal[0] * sun_x + normal[1] * sun_y + normal[2] * light.to_sun[2], 0.0)
            for k in range(3):
                level = 1.0
                if not glows:
                    level = light.ground[k] + (light.sky[k] - light.ground[k]) * up + light.sun[k] * sun
                triangles.colour[following, k] = min(atlas.colours[t, k] * slot[k] * (1 / 255.0) * level, 255.0)
            triangles.kind[following] = GLOW if glows else PLAIN
            triangles.owner[following] = instances.owner[n]
            draw_triangle(samples, lens, SOLID, following, 0.0, 0.0, x0, y0, z0, x1, y1, z1, x2, y2, z2)
            following += 1
    return following
