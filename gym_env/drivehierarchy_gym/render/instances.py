"""Placing meshes in the world: one table of all meshes, and the kernel that draws a list of placed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.render.mesh import Mesh, Slot
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
    """Colour of every slot, 0-255, and its kind of surface, `shading.PLAIN` or `GLOW` (N, len(Slot), 4)."""


def new_instances(count: int) -> Instances:
    """Rows to fill; all slots white and dull, all scales 1."""
    paint = np.zeros((count, len(Slot), 4), np.float32)
    paint[:, :, :3] = 255.0
    place = np.zeros((count, 8))
    place[:, 3] = place[:, 5:] = 1.0
    return Instances(np.zeros(count, np.int32), place, np.zeros(count, np.int32), paint)


def standing(mesh: NDArray[np.int32], place: NDArray[np.float64]) -> Instances:
    """Instances of the scenery: numbers of meshes (N,) and their places (N, 8), unpainted."""
    instances = new_instances(len(mesh))
    instances.mesh[:] = mesh
    instances.place[:] = place
    return instances
