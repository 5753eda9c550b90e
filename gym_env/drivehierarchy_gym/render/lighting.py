"""A scenery in one weather: every standing triangle with its light, ready for the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.render.instances import Light, light_of, lit
from drivehierarchy_gym.render.rasterizer import SHADOW_LAYER
from drivehierarchy_gym.render.scenery import BARE_GROUND, Scenery
from drivehierarchy_gym.render.shading import Triangles, Walls
from drivehierarchy_gym.render.shadows import standing_shadows
from drivehierarchy_gym.render.tiles import Tiles
from drivehierarchy_gym.render.weather import Look, look_of
from drivehierarchy_gym.scenarios.schema import Weather

_WET = 0.68
"""Brightness of wet ground against dry."""
_UP = np.array([[0.0, 0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Lighting:
    """`triangles` hold the rows of ground, paint and solid of the scenery, in this order."""

    look: Look
    light: Light
    triangles: Triangles
    walls: Walls
    bare_ground: NDArray[np.float32]
    shadow_corners: NDArray[np.float64]
    """Static shadows on the ground (T, 6), sorted by `shadow_tiles`."""
    shadow_layers: NDArray[np.uint8]
    shadow_tiles: Tiles
    slope: tuple[float, float]
    """What a point 1 m high throws its shadow by (m)."""


@lru_cache(maxsize=8)
def light_scenery(scenery: Scenery, weather: Weather) -> Lighting:
    """Light and shadows of a scenery in a weather; one object per process."""
    look = look_of(weather)
    light = light_of(look)
    wet = 1.0 - (1.0 - _WET) * look.wetness
    solid = scenery.solid
    up = np.repeat(_UP, max(len(scenery.ground.colours), len(scenery.paint.colours)), axis=0)
    colour = np.concatenate(
        [
            lit(light, scenery.ground.colours * wet, up[: len(scenery.ground.colours)]),
            lit(light, scenery.paint.colours, up[: len(scenery.paint.colours)]),
            lit(light, solid.colours, solid.normals),
        ]
    )
    kind = np.concatenate([scenery.ground.kinds, scenery.paint.kinds, solid.kinds])
    wall = np.full(len(kind), -1, np.int32)
    wall[len(kind) - len(solid.wall) :] = solid.wall
    frames = scenery.wall_frames
    outward = np.column_stack([frames[:, 3], -frames[:, 2], np.zeros(len(frames))])
    walls = Walls(
        frames, lit(light, scenery.wall_glass, outward), lit(light, scenery.wall_trim, outward), scenery.wall_seeds
    )
    slope = (0.0, 0.0)
    corners, tiles = np.empty((0, 6)), Tiles(np.zeros(1, np.int64), np.empty((0, 3)), np.empty(0))
    if look.sun_shadows:
        slope = (-look.to_sun[0] / look.to_sun[2], -look.to_sun[1] / look.to_sun[2])
        corners, tiles = standing_shadows(scenery, *slope)
    return Lighting(
        look,
        light,
        Triangles(colour, kind, np.zeros(len(kind), np.int32), wall),
        walls,
        lit(light, np.array([BARE_GROUND], dtype=np.float64) * wet, _UP)[0],
        corners,
        np.full(len(corners), SHADOW_LAYER, np.uint8),
        tiles,
        slope,
    )
