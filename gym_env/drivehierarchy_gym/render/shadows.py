"""Shadows on the ground: where things stand between it and the sun.

A point at height z throws its shadow (`slope_x`, `slope_y`) * z away. Shadows are triangles (T, 6) as x, y of three
corners, counter-clockwise from above; where several overlap, the ground is no darker.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.render.mesh import turn
from drivehierarchy_gym.render.scenery import Scenery
from drivehierarchy_gym.render.tiles import Tiles, tiled
from drivehierarchy_gym.road.shapes import upright

CROWN_MIDDLE, CROWN_RADIUS = 5.3, 2.3
"""Height and radius (m) of the ball that stands for a tree's crown, before the tree is scaled."""


def standing_shadows(scenery: Scenery, slope_x: float, slope_y: float) -> tuple[NDArray[np.float64], Tiles]:
    """Shadows of buildings and trees, sorted by tile; the slopes must not both be 0."""
    solid = scenery.solid.corners.reshape(-1, 3, 3)
    thrown = solid[:, :, :2] + solid[:, :, 2:] * np.array([slope_x, slope_y])
    length = math.sqrt(slope_x * slope_x + slope_y * slope_y)
    along, across = np.array([slope_x, slope_y]) / length, np.array([-slope_y, slope_x]) / length
    place = scenery.trees.place
    foot, spread, up = place[:, :2], place[:, 5:6], place[:, 7:8]
    # The shadow of a ball is an ellipse.
    middle = foot + CROWN_MIDDLE * up * length * along
    reach = np.sqrt((CROWN_RADIUS * spread) ** 2 + (CROWN_RADIUS * up * length) ** 2)
    sides = 8
    rim = [
        middle + reach * c * along + CROWN_RADIUS * spread * s * across
        for c, s in (turn(i, sides) for i in range(sides))
    ]
    crowns = [np.stack([rim[0], rim[i], rim[i + 1]], axis=1) for i in range(1, sides - 1)]
    half = 0.16 * spread * across
    trunks = [np.stack([foot - half, middle - half, middle + half], axis=1)]
    trunks.append(np.stack([foot - half, middle + half, foot + half], axis=1))
    triangles = np.concatenate([upright(thrown), *crowns, *trunks])
    order, tiles = tiled(triangles)
    return triangles[order].reshape(-1, 6), tiles


def box_shadows(boxes: NDArray[np.float64], slope_x: float, slope_y: float) -> NDArray[np.float64]:
    """Shadows of upright boxes (N, 7): x, y, cosine and sine of the heading, half length, half width, height (m).

    With slopes 0 only the floors are dark.
    """
    x, y, c, s, half_length, half_width, height = boxes.T[:, :, None]
    along, across = half_length * np.array([1.0, -1.0, -1.0, 1.0]), half_width * np.array([1.0, 1.0, -1.0, -1.0])
    floor = np.stack([x + c * along - s * across, y + s * along + c * across], axis=2)
    roof = floor + np.stack([slope_x * height, slope_y * height], axis=2)
    following = [1, 2, 3, 0]
    sides = [np.stack([floor[:, i], floor[:, j], roof[:, j], roof[:, i]], axis=1) for i, j in enumerate(following)]
    quads = np.concatenate([floor, roof, *sides])
    return upright(np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])).reshape(-1, 6)
