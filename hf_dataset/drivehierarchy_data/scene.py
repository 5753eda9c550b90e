"""The scene model: what every source of drives yields and every question builder reads.

World frame: x east, y north; yaw counter-clockwise from east in radians; metres, seconds, m/s. Ego frame: x forward, y
left, origin on the ground below the middle of the rear axle. Pixels: (0, 0) is the top left corner of the image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from drivehierarchy_gym.geometry import Pose

from .images import EncodedImage, PendingImage

Category = Literal["Vehicle", "Pedestrian", "Bicycle", "Traffic Cone"]
CATEGORIES: tuple[Category, ...] = ("Vehicle", "Pedestrian", "Bicycle", "Traffic Cone")
"""What the questions ask about (the release's vocabulary)."""

CAMERA_ORDER = ("CAM_FRONT", "CAM_FRONT_LEFT", "CAM_FRONT_RIGHT", "CAM_BACK", "CAM_BACK_LEFT", "CAM_BACK_RIGHT")
"""Order in which a model is shown the six views (release, R2_1)."""
FRONT_CAMERA = CAMERA_ORDER[0]

KEYFRAME_SECONDS = 0.5
"""Time between two frames of a clip: 2 Hz."""

Action = Literal["stand", "start", "slow_down", "speed_up", "keep_speed", "follow", "turn_left", "turn_right"]
"""What the ego is doing."""
Cause = Literal["red_light", "vehicle_ahead", "person_ahead", "cyclist_ahead", "route", "clear_road", "green_light"]
"""Why it does so."""


@dataclass(frozen=True, slots=True)
class Sight:
    """How one camera sees an object.

    `pixels` counts those that show it, `box` (x1, y1, x2, y2) is the smallest rectangle around them. `extent` is the
    rectangle that its whole box would fill were nothing in front of it, cut at the image's border. `point` is one of
    its pixels (column, row), near the middle of them. `contrast` is the share of its own colour that the air leaves.
    """

    pixels: int
    box: tuple[int, int, int, int]
    extent: tuple[float, float, float, float]
    point: tuple[int, int]
    contrast: float = 1.0


@dataclass(frozen=True, slots=True)
class Object:
    """One body at one instant. `x`, `y` is the centre of its box, which stands on the ground.

    `noun` and `colour` are the words for it ("van", "red"; None where no word is certain), `state` its attribute in the
    release's vocabulary (moving, parked, stopped; moving, standing), None where it is uncertain. `sights` holds the
    cameras that show at least one pixel of it.
    """

    id: str
    category: Category | None
    noun: str
    colour: str | None
    x: float
    y: float
    yaw: float
    length: float
    width: float
    height: float
    speed: float
    state: str | None
    sights: Mapping[str, Sight] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Situation:
    """What the ego does at a frame and why; `object_id` names the body that is the cause, if it is one."""

    action: Action
    cause: Cause
    object_id: str | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One instant. `origin` is the ego frame in the world, `images` the pictures that were taken, by camera."""

    time: float
    origin: Pose
    speed: float
    objects: tuple[Object, ...]
    images: Mapping[str, EncodedImage | PendingImage] = field(default_factory=dict)
    situation: Situation | None = None

    def distance(self, body: Object) -> float:
        """Distance on the ground from the ego's reference point to the centre of the body's box (m)."""
        return math.hypot(body.x - self.origin.x, body.y - self.origin.y)

    def position(self, body: Object) -> tuple[float, float]:
        """Centre of the body's box in the ego frame: (forward, left) in metres."""
        return self.origin.to_local(body.x, body.y)

    def find(self, object_id: str) -> Object | None:
        """The body with this id, None when it is not in the frame."""
        return next((body for body in self.objects if body.id == object_id), None)


@dataclass(frozen=True, slots=True)
class Clip:
    """Frames of one drive, `KEYFRAME_SECONDS` apart. The last ones may have no images: they say what happened next.

    `colours_certain` is False where light or air make colour words unreliable. `meta` is kept with every item.
    """

    scene_id: str
    source: str
    frames: tuple[Frame, ...]
    colours_certain: bool = True
    meta: Mapping[str, Any] = field(default_factory=dict)

    def seen_by(self, camera: str) -> Iterator[tuple[int, Frame]]:
        """Frames that have an image of `camera`, with their indices."""
        return ((index, frame) for index, frame in enumerate(self.frames) if camera in frame.images)
