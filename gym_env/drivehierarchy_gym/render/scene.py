"""Pictures of the world through the cameras of the ego."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.render import plan
from drivehierarchy_gym.render.bodies import place_bodies, signal_paint
from drivehierarchy_gym.render.camera import CameraSpec, View, heading, view_of
from drivehierarchy_gym.render.instances import Instances, new_instances, standing
from drivehierarchy_gym.render.lighting import light_scenery
from drivehierarchy_gym.render.noise import ground_texture
from drivehierarchy_gym.render.painter import Painter
from drivehierarchy_gym.render.rasterizer import CENTRE, FOUR, Samples, identify, lens_of, new_samples
from drivehierarchy_gym.render.roadside import aspect
from drivehierarchy_gym.render.scenery import HEAD, build_scenery, mesh_atlas
from drivehierarchy_gym.render.shading import Air, draw_rain, resolve, resolve_plan
from drivehierarchy_gym.render.shadows import box_shadows
from drivehierarchy_gym.render.weather import SKY_COLUMNS, SKY_ROWS, sky_panorama
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surroundings import Surroundings
from drivehierarchy_gym.scenarios.schema import Weather
from drivehierarchy_gym.state import Snapshot

GROUND_RANGE, PAINT_RANGE, SOLID_RANGE, TREE_RANGE, POST_RANGE, SHADOW_RANGE = 420.0, 200.0, 500.0, 300.0, 160.0, 130.0
"""How far away (m) each kind of thing is still drawn."""
TREE_DETAIL = 40.0
"""Nearer trees (m) are drawn with all their leaves."""
BACKGROUND, EGO_ID = 0, -1
"""Instance ids of what is no actor; actor i of the snapshot has id i + 1."""
_RAIN_STREAKS = 260
_RAIN_STEPS_PER_SECOND = 20


class SceneRenderer:
    """Draws one road network in one weather. Same arguments, same bytes: nothing depends on what was drawn before.

    Args:
        network, surroundings: what stands still; derived data is shared by all renderers of a process.
        weather: light, haze and sky.
        samples: per pixel, 1 (fast, jagged) or 4 (smooth edges).

    Raises:
        ValueError: another number of samples.
    """

    def __init__(self, network: RoadNetwork, surroundings: Surroundings, weather: Weather, samples: int = 4) -> None:
        if samples not in (1, 4):
            raise ValueError(f"samples is {samples!r}; a picture has 1 or 4 samples per pixel")
        self._offsets = FOUR if samples == 4 else CENTRE
        self._scenery = build_scenery(network, surroundings)
        self._lighting = light_scenery(self._scenery, weather)
        self._look = self._lighting.look
        atlas, self._meshes = mesh_atlas()
        self._painter = Painter(self._scenery, self._lighting, atlas)
        self._plan = plan.PlanMap(self._painter)
        self._sky = sky_panorama(weather)
        self._buffers: dict[tuple[int, int, tuple[tuple[int, int], ...]], Samples] = {}
        self._trees = standing(self._scenery.trees.mesh, self._scenery.trees.place)
        self._posts = standing(self._scenery.posts.mesh, self._scenery.posts.place)
        self._heads = self._place_heads()

    def render(self, camera: CameraSpec, snapshot: Snapshot) -> NDArray[np.uint8]:
        """Picture through `camera`, uint8 (height, width, 3) RGB.

        Raises:
            ValueError: the camera is not above the ground.
            UnknownNameError: an actor's model is not in the catalogue.
        """
        return self._shade(camera, snapshot, self._cast(camera, snapshot, self._offsets))

    def ids(self, camera: CameraSpec, snapshot: Snapshot) -> NDArray[np.int32]:
        """Whom the centre of every pixel of the picture shows: int32 (height, width).

        Id i + 1 is `snapshot.actors[i]`, `BACKGROUND` is 0 and `EGO_ID` -1.

        Raises:
            ValueError, UnknownNameError: as `render`.
        """
        samples = self._cast(camera, snapshot, CENTRE, shadows=False)
        ids = np.empty((camera.height, camera.width), np.int32)
        identify(samples, self._painter.triangles, BACKGROUND, ids)
        return ids

    def _cast(
        self, camera: CameraSpec, snapshot: Snapshot, offsets: tuple[tuple[int, int], ...], shadows: bool = True
    ) -> Samples:
        """What every sample of every pixel shows."""
        if camera.z <= 0:
            raise ValueError(f"camera {camera.name!r}: z is {camera.z} m; a camera stands above the ground")
        key = (camera.width, camera.height, offsets)
        if key not in self._buffers:
            self._buffers[key] = new_samples(*key)
        view = view_of(camera, snapshot.ego)
        painter = self._painter
        if is_plan(camera):
            x, y, _ = view.position
            self._plan.prepare(x, y, _plan_reach(camera) + 1.0)  # draws with the painter too, so before it begins
        painter.begin(lens_of(camera, view))
        self._draw_bodies(camera, snapshot, shadows)
        if not is_plan(camera):
            self._draw_surroundings(snapshot, view)
            if shadows:
                painter.standing_shadows(SHADOW_RANGE)
        painter.finish(self._buffers[key])
        return self._buffers[key]

    def _shade(self, camera: CameraSpec, snapshot: Snapshot, samples: Samples) -> NDArray[np.uint8]:
        """The picture of samples that were just cast."""
        image = np.empty((camera.height, camera.width, 3), np.uint8)
        view = view_of(camera, snapshot.ego)
        if is_plan(camera):
            self._shade_plan(camera, view, samples, image)
        else:
            self._shade_view(camera, snapshot, view, samples, image)
        return image

    def _shade_plan(self, camera: CameraSpec, view: View, samples: Samples, image: NDArray[np.uint8]) -> None:
        x, y, _ = view.position
        right = view.rotation[0]
        resolve_plan(
            samples, len(self._offsets), self._painter.triangles, self._plan.pixels, plan.SCALE, x, y, right[0],
            right[1], self._look.shadow, image,
        )  # fmt: skip

    def _draw_surroundings(self, snapshot: Snapshot, view: View) -> None:
        painter = self._painter
        for n, head in enumerate(self._scenery.heads):
            self._heads.paint[n] = signal_paint(aspect(snapshot.signals, head.signal, head.link))
        painter.bodies(self._heads, POST_RANGE)
        painter.bodies(self._posts, POST_RANGE)
        trees = self._scenery.trees
        away = trees.place[:, :2] - view.position[:2]
        near = away[:, 0] ** 2 + away[:, 1] ** 2 < TREE_DETAIL**2
        self._trees.mesh[:] = np.where(near, trees.mesh, trees.far_mesh)
        painter.bodies(self._trees, TREE_RANGE)
        painter.buildings(SOLID_RANGE)
        painter.paint(PAINT_RANGE)
        painter.ground(GROUND_RANGE)

    def _shade_view(
        self, camera: CameraSpec, snapshot: Snapshot, view: View, samples: Samples, image: NDArray[np.uint8]
    ) -> None:
        lighting, look, ego = self._lighting, self._look, snapshot.ego
        air = Air(
            np.array(look.horizon, np.float32),
            look.haze_distance,
            lighting.bare_ground,
            look.shadow,
            look.beams,
            np.array([ego.x, ego.y, *heading(ego.yaw)]),
            look.lit_windows,
        )
        turned = (ego.yaw + math.radians(camera.yaw_deg)) / math.tau
        resolve(
            samples, len(self._offsets), self._painter.triangles, lighting.walls, ground_texture(),
            lens_of(camera, view), air, self._sky, _sky_map(camera), math.floor(turned * SKY_COLUMNS + 0.5), image,
        )  # fmt: skip
        if look.rain:
            draw_rain(image, math.floor(snapshot.time * _RAIN_STEPS_PER_SECOND + 0.5), _RAIN_STREAKS)

    def _draw_bodies(self, camera: CameraSpec, snapshot: Snapshot, shadows: bool) -> None:
        """The actors, the ego where the camera may see it, and their shadows."""
        ego = snapshot.ego if sees_ego(camera) else None
        bodies, boxes = place_bodies(ego, snapshot.actors, self._meshes, snapshot.time, self._look.lamps)
        self._painter.bodies(bodies, math.inf)
        if not shadows:
            return
        away = boxes[:, :2] - (snapshot.ego.x, snapshot.ego.y)
        near = away[:, 0] ** 2 + away[:, 1] ** 2 < SHADOW_RANGE**2
        self._painter.shadows(box_shadows(boxes[near], *self._lighting.slope))

    def _place_heads(self) -> Instances:
        heads = new_instances(len(self._scenery.heads))
        heads.mesh[:] = self._meshes[HEAD]
        for n, head in enumerate(self._scenery.heads):
            heads.place[n, :5] = (head.pose.x, head.pose.y, head.height, *heading(head.pose.yaw))
        return heads


def is_plan(camera: CameraSpec) -> bool:
    """Whether `camera` looks straight down in the scale of the map: it is served from the map, with roofs and crowns
    drawn over their floors, and shows moving bodies in perspective."""
    fits = _plan_reach(camera) < plan.REACH
    return fits and camera.pitch_deg == -90.0 and camera.focal_px == plan.SCALE * camera.z


def _plan_reach(camera: CameraSpec) -> float:
    """How far from its middle a picture in the map's scale shows the ground (m)."""
    return math.hypot(camera.width, camera.height) / 2 / plan.SCALE


def sees_ego(camera: CameraSpec) -> bool:
    """Whether the ego's body is drawn: for cameras that look back or down, or that are mounted off the body.

    A camera on the roof that looks ahead must not see the body it is mounted on.
    """
    outside = abs(camera.x) > EGO_LENGTH / 2 or abs(camera.y) > EGO_WIDTH / 2
    return outside or camera.pitch_deg <= -45.0 or math.cos(math.radians(camera.yaw_deg)) < -0.5


@lru_cache(maxsize=16)
def _sky_map(camera: CameraSpec) -> NDArray[np.int32]:
    """Texel of the sky that every pixel shows when the ego looks east, -1 below the horizon (height, width)."""
    f = camera.focal_px
    x = (np.arange(camera.width) + 0.5 - camera.width / 2) / f
    y = ((np.arange(camera.height) + 0.5 - camera.height / 2) / f)[:, None]
    pitch = math.radians(camera.pitch_deg)
    ahead, up = math.cos(pitch) + math.sin(pitch) * y, math.sin(pitch) - math.cos(pitch) * y
    flat = np.sqrt(x * x + ahead * ahead)
    # A hair more, so that angles on the border of two texels fall to the same side with every math library.
    row = np.floor(np.arctan2(up, flat) * ((SKY_ROWS - 1) / (math.pi / 2)) + 1e-9)
    column = np.floor(np.arctan2(-x, ahead) * (SKY_COLUMNS / math.tau) + 1e-9)
    texel = row * SKY_COLUMNS + column % SKY_COLUMNS
    return np.where(up > 0, texel, -1).astype(np.int32)
