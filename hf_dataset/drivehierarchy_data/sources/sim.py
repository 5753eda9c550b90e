"""The source `sim`: drives through the R4 world, pictures and labels from one and the same instant.

Labels need to know whom a pixel shows, which costs little; a picture is made when a question is about it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from PIL import Image

from drivehierarchy_gym.agents.expert import ExpertAgent
from drivehierarchy_gym.agents.protocol import EpisodeContext
from drivehierarchy_gym.backends import make_backend
from drivehierarchy_gym.backends.protocol import TICK_SECONDS, Backend
from drivehierarchy_gym.bridge import ActuationBridge
from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_REAR_AXLE_OFFSET
from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.plan import EpisodePlan, StandDrive
from drivehierarchy_gym.render.camera import NUSCENES_CAMERAS, CameraSpec, box_vertices, image_box
from drivehierarchy_gym.render.scene import SceneRenderer
from drivehierarchy_gym.render.weather import look_of
from drivehierarchy_gym.road.default_map import surroundings
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.state import ActorState, Snapshot

from ..images import EncodedImage, PendingImage
from ..scene import CAMERA_ORDER, FRONT_CAMERA, KEYFRAME_SECONDS, Clip, Frame, Object, Sight, Situation
from .drives import DriveRecipe
from .sights import BOTTOM, COLUMN, COUNT, LEFT, RIGHT, ROW, TOP, measure
from .situations import FUTURE, PAST, Motion, SituationReader
from .words import NOUNS, colour_word

SOURCE = "sim"
TICKS_PER_DECISION = 5
WARM_UP_SECONDS = 2.0
"""Time before the first frame, in which traffic spreads."""
PICTURE_FRAMES = 40
"""Frames with pictures of one drive: 20 s, as a nuScenes scene."""
FUTURE_FRAMES = 7
"""Frames without pictures after them, for questions about what happens next."""
SURROUND_EVERY = 5
"""Every so many frames all six cameras take a picture, otherwise only the front one."""
LEAST_FRAMES = 22
"""A drive that ends before so many frames is not used."""
DRAWN_RANGE = {"Vehicle": 100.0, "Pedestrian": 60.0, "Bicycle": 60.0, "Traffic Cone": 35.0, "Barrier": 100.0}
"""Metres from the ego within which a body is drawn. On this plain one would see far-away specks of everything; where
they end, an object is still plain to see (`visibility`), so that counting it or not is no matter of taste."""
NARROW_VEHICLE_RANGE = 60.0
"""The same for motorcycles."""
KNOWN_RANGE = 150.0
"""Bodies farther away (m) are left out of a frame's objects."""
JPEG_QUALITY = 80

MOVING, STANDING = 1.0, 0.1
"""m/s: a vehicle that is faster moves, one that is slower stands; between them nothing is said."""
WALKING, STILL = 0.4, 0.02
"""The same for persons."""
LEAST_SUN_FOR_COLOURS = 10.0
"""Degrees; with a lower sun, or in fog, colours are not certain."""


@dataclass(frozen=True, slots=True)
class Cameras:
    """The six cameras at one resolution."""

    specs: Mapping[str, CameraSpec]

    @classmethod
    def of_width(cls, width: int) -> Cameras:
        """The cameras of nuScenes with pictures `width` pixels wide, 16:9."""
        specs = {}
        for spec in NUSCENES_CAMERAS:
            mount = spec.x, spec.y, spec.z, spec.yaw_deg, spec.pitch_deg
            specs[spec.name] = CameraSpec(spec.name, width, width * 9 // 16, spec.fov_deg, *mount)
        return cls(specs)


class SimSource:
    """Drives recipes and pictures them. One simulator per object; `close` ends it."""

    def __init__(self, cameras: Cameras) -> None:
        self._cameras = cameras
        self._backend: Backend = make_backend("sumo")

    def close(self) -> None:
        """Release the simulator."""
        self._backend.close()

    def clip(self, recipe: DriveRecipe) -> Clip | None:
        """The clip of a drive; None when the drive ended too early to ask about.

        Raises ScenarioError or InfrastructureError when the world cannot be built or fails.
        """
        plan = recipe.plan()
        network = load_network(plan.network_file)
        driven = drive(self._backend, plan)
        pictured = min(len(driven.snapshots) - FUTURE_FRAMES, PICTURE_FRAMES)
        if pictured < LEAST_FRAMES:
            return None
        eye = _Eye(self._cameras, plan, network)
        reader = SituationReader(plan, network)
        frames = []
        for index, snapshot in enumerate(driven.snapshots[: pictured + FUTURE_FRAMES]):
            wanted: tuple[str, ...] = ()
            if index < pictured:
                wanted = CAMERA_ORDER if index % SURROUND_EVERY == 0 else (FRONT_CAMERA,)
            frames.append(eye.frame(snapshot, wanted, reader.read(snapshot, driven.motions[index])))
        sun, sky = plan.weather.sun_altitude_deg, plan.weather.sky
        return Clip(
            recipe.scene_id,
            SOURCE,
            tuple(frames),
            colours_certain=sun >= LEAST_SUN_FOR_COLOURS and sky != "fog",
            meta={
                "scenario": recipe.scenario or "free",
                "seed": recipe.seed,
                "sky": sky,
                "sun_altitude_deg": sun,
            },
        )


# --- driving ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Driven:
    """States `KEYFRAME_SECONDS` apart, and how the ego moves at each."""

    snapshots: list[Snapshot]
    motions: list[Motion]


def drive(backend: Backend, plan: EpisodePlan) -> Driven:
    """The expert drives until the route or the time ends, or something goes wrong."""
    snapshot = backend.reset(plan)
    context = EpisodeContext(plan, plan.seed, snapshot)
    agent, bridge = ExpertAgent(), ActuationBridge()
    agent.reset(context, {})
    per_frame = round(KEYFRAME_SECONDS / TICK_SECONDS)
    warm_up = round(WARM_UP_SECONDS / TICK_SECONDS)
    last = warm_up + per_frame * (PICTURE_FRAMES + FUTURE_FRAMES)
    egos = [snapshot.ego]
    snapshots: list[Snapshot] = []
    while len(egos) <= last:
        ticks_run = len(egos) - 1
        if ticks_run >= warm_up and (ticks_run - warm_up) % per_frame == 0:
            snapshots.append(snapshot)
        context.snapshot = snapshot
        steer, target = (float(value) for value in agent.act({}, {}))
        ticks = backend.advance(bridge.follow(steer, target, snapshot.ego.speed), TICKS_PER_DECISION)
        snapshot = backend.snapshot()
        egos += [tick.ego for tick in ticks]
        off_road = not all(tick.on_road for tick in ticks)
        if off_road or any(tick.contacts for tick in ticks) or _near_end(plan, snapshot):
            break
    agent.close()
    past, future = round(PAST / TICK_SECONDS), round(FUTURE / TICK_SECONDS)
    motions = []
    for index in range(len(snapshots)):
        tick = warm_up + index * per_frame
        at = [egos[max(tick - past, 0)], egos[tick], egos[min(tick + future, len(egos) - 1)]]
        speeds, headings = [ego.speed for ego in at], [ego.yaw for ego in at]
        motions.append(Motion((speeds[0], speeds[1], speeds[2]), (headings[0], headings[1], headings[2])))
    return Driven(snapshots, motions)


def _near_end(plan: EpisodePlan, snapshot: Snapshot) -> bool:
    ego = snapshot.ego
    return math.hypot(ego.x - plan.goal[0], ego.y - plan.goal[1]) < plan.goal_radius


# --- looking ---------------------------------------------------------------------------------------------------------


class _Eye:
    """Pictures and labels of one drive's states."""

    def __init__(self, cameras: Cameras, plan: EpisodePlan, network: RoadNetwork) -> None:
        self._cameras = cameras.specs
        self._network = network
        self._renderer = SceneRenderer(network, surroundings(plan.network_file), plan.weather)
        self._haze = look_of(plan.weather).haze_distance
        self._standing = {actor.id for actor in plan.actors if isinstance(actor.drive, StandDrive)}
        self._off_lanes: dict[str, bool] = {}

    def frame(self, snapshot: Snapshot, wanted: tuple[str, ...], situation: Situation | None) -> Frame:
        ego = snapshot.ego
        pictured = drawn(snapshot)
        sights: dict[str, dict[str, Sight]] = {body.id: {} for body in snapshot.actors}
        images = {}
        for name in wanted:
            camera = self._cameras[name]
            images[name] = PendingImage(camera.width, camera.height, partial(self._picture, camera, pictured))
            table = measure(self._renderer.ids(camera, pictured), len(pictured.actors))
            for place in np.flatnonzero(table[:, COUNT]):
                entry = [int(value) for value in table[place]]
                body = pictured.actors[place]
                sights[body.id][name] = self._sight(camera, snapshot, body, entry)
        axle = Pose(ego.x, ego.y, ego.yaw).to_world(-EGO_REAR_AXLE_OFFSET, 0.0)
        objects = tuple(
            self._object(body, sights[body.id])
            for body in snapshot.actors
            if math.hypot(body.x - ego.x, body.y - ego.y) < KNOWN_RANGE
        )
        return Frame(snapshot.time, Pose(*axle, ego.yaw), ego.speed, objects, images, situation)

    def _picture(self, camera: CameraSpec, pictured: Snapshot) -> EncodedImage:
        return _encoded(self._renderer.render(camera, pictured))

    def _sight(self, camera: CameraSpec, snapshot: Snapshot, body: ActorState, entry: list[int]) -> Sight:
        vertices = box_vertices(body.x, body.y, body.yaw, body.length, body.width, body.height)
        box = (entry[LEFT], entry[TOP], entry[RIGHT], entry[BOTTOM])
        extent = image_box(camera, snapshot.ego, vertices) or tuple(float(value) for value in box)
        away = math.hypot(body.x - snapshot.ego.x, body.y - snapshot.ego.y)
        contrast = 1.0 / (1.0 + (away / self._haze) ** 2)
        return Sight(entry[COUNT], box, extent, (entry[COLUMN], entry[ROW]), round(contrast, 3))  # type: ignore[arg-type]

    def _object(self, body: ActorState, sights: dict[str, Sight]) -> Object:
        category = ACTOR_MODELS[body.model].category
        return Object(
            id=body.id,
            category=None if category == "Barrier" else category,
            noun=NOUNS[body.model],
            colour=colour_word(body.colour),
            x=body.x,
            y=body.y,
            yaw=body.yaw,
            length=body.length,
            width=body.width,
            height=body.height,
            speed=body.speed,
            state=self._state(body),
            sights=sights,
        )

    def _state(self, body: ActorState) -> str | None:
        category = ACTOR_MODELS[body.model].category
        if category == "Pedestrian":
            return "moving" if body.speed > WALKING else "standing" if body.speed < STILL else None
        if category == "Bicycle":
            return "with_rider"
        if category != "Vehicle":
            return None
        if body.id in self._standing:
            # A vehicle that broke down on a lane is neither parked nor about to move.
            return "parked" if self._is_off_lanes(body) else None
        return "moving" if body.speed > MOVING else "stopped" if body.speed < STANDING else None

    def _is_off_lanes(self, body: ActorState) -> bool:
        if body.id not in self._off_lanes:
            self._off_lanes[body.id] = not self._network.on_road(body.x, body.y)
        return self._off_lanes[body.id]


def drawn(snapshot: Snapshot) -> Snapshot:
    """What is pictured of a state: the bodies within their `DRAWN_RANGE`."""
    return replace(snapshot, actors=tuple(body for body in snapshot.actors if _is_near(body, snapshot)))


def _is_near(body: ActorState, snapshot: Snapshot) -> bool:
    reach = DRAWN_RANGE[ACTOR_MODELS[body.model].category]
    if body.model == "motorcycle":
        reach = NARROW_VEHICLE_RANGE
    return math.hypot(body.x - snapshot.ego.x, body.y - snapshot.ego.y) < reach


def _encoded(picture: np.ndarray) -> EncodedImage:
    buffer = io.BytesIO()
    image = Image.fromarray(picture)
    image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return EncodedImage.of(buffer.getvalue(), image.width, image.height)
