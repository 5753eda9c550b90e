"""Draws things of one scenery in one light through any lens, and keeps the tables this needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.render.instances import Atlas, Instances
from drivehierarchy_gym.render.lighting import Lighting
from drivehierarchy_gym.render.rasterizer import (
    SHADOW_LAYER,
    Lens,
    Samples,
    clear,
    fill,
    new_queue,
    queue_ground,
    queue_instances,
    queue_solid,
)
from drivehierarchy_gym.render.scenery import Scenery
from drivehierarchy_gym.render.tiles import in_view

_QUEUE_ROWS = 16_384
_ONLY_TILE = np.zeros(1, np.int64)


class Painter:
    """Lines up what is to be drawn, from near to far where that is easy (what is hidden is cheap), then draws it.

    Use: `begin`, any of the drawing methods, `finish`. `triangles` then says what the samples show; its rows beyond the
    scenery's are overwritten by the next picture.
    """

    def __init__(self, scenery: Scenery, lighting: Lighting, atlas: Atlas) -> None:
        self.scenery, self.lighting, self.atlas = scenery, lighting, atlas
        self.triangles = lighting.triangles.enlarged()
        self._standing = len(lighting.triangles.kind)
        self._queue = new_queue(_QUEUE_ROWS)

    def begin(self, lens: Lens) -> None:
        """Start a picture."""
        self._lens, self._count, self._following = lens, 0, self._standing

    def bodies(self, instances: Instances, limit: float) -> None:
        """Instances that come within `limit` metres of the camera."""
        reach = self.atlas.reach[instances.mesh] * instances.place[:, 5:].max(axis=1, initial=0.0)
        order = in_view(self._lens, instances.place[:, :3], reach, limit)
        while True:
            count, following = queue_instances(
                self._queue, self._count, self._lens, self.lighting.light, self.atlas, instances, order,
                self.triangles, self._following,
            )  # fmt: skip
            if following < 0:
                self.triangles = self.triangles.enlarged()
            elif count < 0:
                self._enlarge_queue()
            else:
                self._count, self._following = count, following
                return

    def buildings(self, limit: float) -> None:
        """Buildings that come within `limit` metres of the camera."""
        solid = self.scenery.solid
        first = len(self.scenery.ground.corners) + len(self.scenery.paint.corners)
        order = solid.tiles.in_view(self._lens, limit)
        while True:
            count = queue_solid(
                self._queue, self._count, self._lens, solid.corners, solid.normals, first, solid.tiles.starts, order
            )
            if count >= 0:
                break
            self._enlarge_queue()
        self._count = count

    def paint(self, limit: float) -> None:
        """Road markings that come within `limit` metres of the camera."""
        paint = self.scenery.paint
        order = paint.tiles.in_view(self._lens, limit)
        self._ground(paint.corners, paint.layers, len(self.scenery.ground.corners), paint.tiles.starts, order)

    def ground(self, limit: float) -> None:
        """Ground that comes within `limit` metres of the camera."""
        ground = self.scenery.ground
        order = ground.tiles.in_view(self._lens, limit)
        self._ground(ground.corners, ground.layers, 0, ground.tiles.starts, order)

    def standing_shadows(self, limit: float) -> None:
        """Shadows of buildings and trees that come within `limit` metres of the camera."""
        lighting = self.lighting
        order = lighting.shadow_tiles.in_view(self._lens, limit)
        self._ground(lighting.shadow_corners, lighting.shadow_layers, 0, lighting.shadow_tiles.starts, order)

    def shadows(self, corners: NDArray[np.float64]) -> None:
        """Shadows on the ground, triangles (T, 6) as in `shadows`."""
        layers = np.full(len(corners), SHADOW_LAYER, np.uint8)
        self._ground(corners, layers, 0, np.array([0, len(corners)]), _ONLY_TILE)

    def finish(self, samples: Samples) -> None:
        """Draw what was lined up into cleared samples."""
        clear(samples)
        fill(samples, self._queue, self._count)

    def _ground(
        self,
        corners: NDArray[np.float64],
        layers: NDArray[np.uint8],
        first: int,
        starts: NDArray[np.int64],
        order: NDArray[np.int64],
    ) -> None:
        while True:
            count = queue_ground(self._queue, self._count, self._lens, corners, layers, first, starts, order)
            if count >= 0:
                break
            self._enlarge_queue()
        self._count = count

    def _enlarge_queue(self) -> None:
        self._queue = np.concatenate([self._queue, new_queue(_QUEUE_ROWS)])
