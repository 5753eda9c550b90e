"""Everything that stands still: ground, paint, buildings, trees, signals and signs of one road network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render import buildings, props
from drivehierarchy_gym.render.actor_meshes import EGO, actor_meshes
from drivehierarchy_gym.render.camera import heading
from drivehierarchy_gym.render.instances import Atlas, build_atlas
from drivehierarchy_gym.render.mesh import Colour, Mesh, MeshBuilder, turn, unit_normals
from drivehierarchy_gym.render.noise import hash_unit
from drivehierarchy_gym.render.roadside import HIGH_HEAD, LOW_HEAD, SignalHead, signal_posts, signs
from drivehierarchy_gym.render.shading import ASPHALT, FACADE, GRASS, PAINT, PAVEMENT, PLAIN
from drivehierarchy_gym.render.tiles import Tiles, tiled
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surfaces import SurfaceKind
from drivehierarchy_gym.road.surroundings import Surroundings

BARE_GROUND: Colour = (112, 128, 72)
"""What lies where no area is known: meadow."""

SURFACES: dict[SurfaceKind, tuple[Colour, int, int]] = {
    "grass": ((104, 134, 64), GRASS, 1),
    "forest": ((84, 92, 54), GRASS, 1),
    "farmland": ((158, 144, 90), GRASS, 1),
    "water": ((84, 114, 136), PAINT, 1),
    "parking": ((120, 120, 122), ASPHALT, 1),
    "paving": ((162, 154, 144), PAVEMENT, 1),
    "gravel": ((158, 146, 124), ASPHALT, 2),
    "cycleway": ((150, 92, 80), PAVEMENT, 2),
    "sidewalk": ((172, 169, 162), PAVEMENT, 2),
    "asphalt": ((98, 99, 103), ASPHALT, 2),
    "kerb": ((206, 205, 200), PAINT, 3),
}
"""Colour, kind of surface and layer of every ground; higher layers hide lower ones."""
MARKING_LAYER = 4

BROADLEAF, BROADLEAF_FAR, CONIFER, CONIFER_FAR = "broadleaf", "broadleaf far", "conifer", "conifer far"
TREE_VARIANTS = 3
POLE, ARM, HEAD, STOP, YIELD = "signal pole", "signal arm", "signal head", "stop sign", "yield sign"


def _meshes(builders: list[MeshBuilder]) -> list[Mesh]:
    return [builder.build() for builder in builders]


@lru_cache(maxsize=1)
def mesh_atlas() -> tuple[Atlas, dict[str, int]]:
    """Meshes of all actors and of everything that stands at the roadside; numbers by name of the first of a group."""
    groups: dict[str, list[Mesh]] = {name: list(actor_meshes(name)) for name in (EGO, *ACTOR_MODELS)}
    variants = range(TREE_VARIANTS)
    groups[BROADLEAF] = _meshes([props.broadleaf(v, detail=True) for v in variants])
    groups[BROADLEAF_FAR] = _meshes([props.broadleaf(v, detail=False) for v in variants])
    groups[CONIFER] = _meshes([props.conifer(v, detail=True) for v in variants])
    groups[CONIFER_FAR] = _meshes([props.conifer(v, detail=False) for v in variants])
    groups[POLE] = _meshes([props.signal_pole()])
    groups[ARM] = _meshes([props.signal_arm()])
    groups[HEAD] = _meshes([props.signal_head()])
    groups[STOP] = _meshes([props.sign_stop()])
    groups[YIELD] = _meshes([props.sign_yield()])
    return build_atlas(groups)


@dataclass(frozen=True, eq=False)
class Flat:
    """Triangles on the ground, sorted by tile: `corners` (T, 6) are x, y of three, counter-clockwise from above."""

    corners: NDArray[np.float64]
    layers: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    colours: NDArray[np.float64]
    """Unlit (T, 3)."""
    tiles: Tiles


@dataclass(frozen=True, eq=False)
class Solid:
    """Triangles of buildings, sorted by tile: `corners` (T, 9), unit `normals` (T, 3), unlit `colours` (T, 3)."""

    corners: NDArray[np.float64]
    normals: NDArray[np.float64]
    colours: NDArray[np.float64]
    kinds: NDArray[np.uint8]
    wall: NDArray[np.int32]
    """Row of the walls for facades, -1 for roofs."""
    tiles: Tiles


@dataclass(frozen=True, eq=False)
class Fixtures:
    """Meshes that stand: `mesh` seen near and `far_mesh` beyond `TREE_DETAIL` (N,), `place` (N, 8) as `Instances`."""

    mesh: NDArray[np.int32]
    far_mesh: NDArray[np.int32]
    place: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scenery:
    """A network with its surroundings, before any light falls on it."""

    ground: Flat
    paint: Flat
    solid: Solid
    wall_frames: NDArray[np.float64]
    wall_glass: NDArray[np.float64]
    wall_trim: NDArray[np.float64]
    wall_seeds: NDArray[np.uint32]
    trees: Fixtures
    posts: Fixtures
    """Signs, poles and arms."""
    heads: tuple[SignalHead, ...]


@lru_cache(maxsize=4)
def build_scenery(network: RoadNetwork, surroundings: Surroundings) -> Scenery:
    """Scenery of a network; one object per process."""
    ground = _flat([(s.triangles, *SURFACES[s.kind]) for s in (*surroundings.areas, *network.road_areas())])
    paint = _flat([(m.triangles, m.colour, PAINT, MARKING_LAYER) for m in network.markings()])
    built = buildings.build(surroundings.buildings)
    order, tiles = tiled(built.corners)
    corners, wall = built.corners[order], built.wall[order]
    solid = Solid(
        corners.reshape(-1, 9),
        unit_normals(corners),
        built.colours[order],
        np.where(wall >= 0, FACADE, PLAIN).astype(np.uint8),
        wall,
        tiles,
    )
    posts, heads = _posts(network)
    return Scenery(
        ground,
        paint,
        solid,
        built.frames,
        built.glass,
        built.trim,
        built.seeds,
        _trees(surroundings.trees),
        posts,
        heads,
    )


def _flat(parts: list[tuple[NDArray[np.float64], Colour, int, int]]) -> Flat:
    corners = np.concatenate([np.empty((0, 3, 2)), *(triangles for triangles, *_ in parts)])
    counts = [len(triangles) for triangles, *_ in parts]
    order, tiles = tiled(corners)

    def column(values: list[Colour] | list[int], dtype: type) -> NDArray:
        return np.repeat(np.array(values, dtype=dtype), counts, axis=0)[order]

    return Flat(
        corners[order].reshape(-1, 6),
        column([layer for *_, layer in parts], np.uint8),
        column([kind for _, _, kind, _ in parts], np.uint8),
        column([colour for _, colour, _, _ in parts], np.float64),
        tiles,
    )


def _trees(trees: NDArray[np.float64]) -> Fixtures:
    """Trees (N, 3) as x, y, height; a tree's kind, shape and turn depend on where it stands."""
    _, first = mesh_atlas()
    mesh, far_mesh, place = [], [], np.ones((len(trees), 8))
    for n, (x, y, height) in enumerate(trees.tolist()):
        key = (round(x * 10), round(y * 10))
        # Tall trees stand in woods, and the woods here are half pine.
        near, far = (
            (CONIFER, CONIFER_FAR)
            if hash_unit(*key, 1) < (0.55 if height > 9.5 else 0.08)
            else (BROADLEAF, BROADLEAF_FAR)
        )
        variant = int(hash_unit(*key, 2) * TREE_VARIANTS)
        mesh.append(first[near] + variant)
        far_mesh.append(first[far] + variant)
        cosine, sine = turn(int(hash_unit(*key, 3) * 64), 64)
        scale = height / props.TREE_HEIGHT
        spread = min(scale, 0.4 + 0.6 * scale)
        place[n] = (x, y, 0.0, cosine, sine, spread, spread, scale)
    return Fixtures(np.array(mesh, np.int32), np.array(far_mesh, np.int32), place)


def _posts(network: RoadNetwork) -> tuple[Fixtures, tuple[SignalHead, ...]]:
    _, first = mesh_atlas()
    mesh: list[int] = []
    place: list[tuple[float, ...]] = []
    heads: list[SignalHead] = []

    def stand(name: str, pose: Pose, z: float = 0.0, across: float = 1.0, up: float = 1.0) -> None:
        mesh.append(first[name])
        place.append((pose.x, pose.y, z, *heading(pose.yaw), 1.0, across, up))

    for post in signal_posts(network):
        stand(POLE, post.pole, up=HIGH_HEAD + 0.2 if post.arm else LOW_HEAD + 0.4)
        if post.arm:
            stand(ARM, post.pole, z=HIGH_HEAD, across=post.arm)
        heads += post.heads
    for sign in signs(network):
        stand(STOP if sign.kind == "stop" else YIELD, sign.pose)
    numbers = np.array(mesh, np.int32)
    return Fixtures(numbers, numbers, np.array(place, dtype=np.float64).reshape(-1, 8)), tuple(heads)
