"""Clips whose truth is known by construction: objects at given places, seen as given."""

from __future__ import annotations

import io
import math
import zlib
from dataclasses import replace
from functools import lru_cache
from typing import Any

from PIL import Image

from drivehierarchy_data.images import EncodedImage
from drivehierarchy_data.scene import (
    CAMERA_ORDER,
    FRONT_CAMERA,
    KEYFRAME_SECONDS,
    Category,
    Clip,
    Frame,
    Object,
    Sight,
    Situation,
)
from drivehierarchy_gym.geometry import Pose

WIDTH, HEIGHT = 1600, 900
SIZES = {"Vehicle": (4.6, 1.8, 1.5), "Pedestrian": (0.45, 0.6, 1.75), "Bicycle": (1.8, 0.65, 1.75)}
FOCAL = 1142.6


def image(seed: int, width: int = WIDTH, height: int = HEIGHT) -> EncodedImage:
    """A grey picture of this size; a comment in its file makes it unlike those of other seeds."""
    blank = _blank(width, height)
    comment = f"picture {seed}".encode()
    data = blank[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + blank[2:]
    return EncodedImage.of(data, width, height)


@lru_cache(maxsize=4)
def _blank(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (width, height), 128).save(buffer, "JPEG", quality=10)
    return buffer.getvalue()


def sight(forward: float, left: float, width: float, height: float, share: float = 0.8) -> Sight:
    """How a camera at the origin, 1.6 m up, sees a box of this width and height; `share` of its rectangle shows it."""
    u, v = WIDTH / 2 - FOCAL * left / forward, HEIGHT / 2 + FOCAL * (1.6 - height / 2) / forward
    w, h = FOCAL * width / forward, FOCAL * height / forward
    x1, y1, x2, y2 = u - w / 2, v - h / 2, u + w / 2, v + h / 2
    box = (round(x1), round(y1), max(round(x2), round(x1) + 1), max(round(y2), round(y1) + 1))
    return Sight(round(share * w * h), box, (x1, y1, x2, y2), (round(u), round(v)))


def body(
    name: str,
    forward: float,
    left: float,
    category: Category | None = "Vehicle",
    *,
    cameras: tuple[str, ...] = (FRONT_CAMERA,),
    share: float = 0.8,
    **fields: Any,
) -> Object:
    """An object at a place relative to an ego at the origin, seen by `cameras` as if each looked at it."""
    length, width, height = SIZES.get(category or "", (0.4, 0.4, 0.7))
    nouns = {"Vehicle": "car", "Pedestrian": "pedestrian", "Bicycle": "cyclist", "Traffic Cone": "traffic cone"}
    seen = sight(abs(forward) + 1e-9, left, width, height, share)
    if not 0 <= seen.point[0] < WIDTH:
        cameras = ()
    known = {
        "noun": nouns.get(category or "", "barrier"),
        "colour": "red",
        "yaw": 0.0,
        "length": length,
        "width": width,
        "height": height,
        "speed": 0.0,
        "state": None,
    }
    return Object(
        id=name, category=category, x=forward, y=left, sights=dict.fromkeys(cameras, seen), **{**known, **fields}
    )


def frame(
    *objects: Object,
    time: float = 0.0,
    cameras: tuple[str, ...] = (FRONT_CAMERA,),
    speed: float = 5.0,
    situation: Situation | None = None,
    seed: int = 0,
    at: float = 0.0,
) -> Frame:
    """A frame with the ego `at` metres along the x axis, looking along it."""
    images = {camera: image(1000 * seed + number) for number, camera in enumerate(cameras)}
    return Frame(time, Pose(at, 0.0, 0.0), speed, objects, images, situation)


def clip(*frames: Frame, scene_id: str = "toy", colours_certain: bool = True) -> Clip:
    """A clip of frames, their times and pictures set."""
    timed = []
    for number, entry in enumerate(frames):
        pictures = {camera: image(zlib.crc32(f"{scene_id}:{number}:{camera}".encode())) for camera in entry.images}
        timed.append(replace(entry, time=number * KEYFRAME_SECONDS, images=pictures))
    meta = {"scenario": "free", "sky": "clear", "sun_altitude_deg": 40.0, "seed": scene_id}
    return Clip(scene_id, "toy", tuple(timed), colours_certain, meta)


def surround(*objects: Object) -> Frame:
    """A frame with pictures of all six cameras."""
    return frame(*objects, cameras=CAMERA_ORDER)


def turned(entry: Object, degrees: float, **fields: Any) -> Object:
    """The object with another heading."""
    return replace(entry, yaw=math.radians(degrees), **fields)
