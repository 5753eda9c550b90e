"""r1_2_a, r1_2_b, r1_2_c: how far is the nearest one, how far is that one, how many are near, midway, far."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..drafts import Draft, frame_token, front
from ..questions import QUESTIONS
from ..scene import CATEGORIES, FRONT_CAMERA, Category, Clip, Frame, Object
from ..visibility import visible
from .words import PLURAL, SINGULAR

BUCKETS: tuple[tuple[str, str, float, float], ...] = (
    ("Near", "<20m", 0.0, 20.0),
    ("Mid", "20-50m", 20.0, 50.0),
    ("Far", ">50m", 50.0, math.inf),
)
"""Name, words, least and largest distance (m) of the release's ranges."""

CLASS_EDGES = (8.0, 13.0, 20.0, 32.0, 50.0)
"""Metres; distances between two neighbours are one answer class of the selection."""
PIXEL_SHARE = 0.30
"""An object that a pixel is to name fills at least this share of its projected box."""


def nearest_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_2_a: distance of the nearest object of a category."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        image = frame.images[FRONT_CAMERA]
        for category in CATEGORIES:
            shown = visible(frame, FRONT_CAMERA, category)
            if not shown:
                continue
            question = QUESTIONS["r1_2_a"][0].format(
                category=SINGULAR[category], camera=FRONT_CAMERA, width=image.width, height=image.height
            )
            nearest = min(shown, key=frame.distance)
            meta = _target(clip, index, frame, nearest, category)
            yield Draft(
                "r1_2_a",
                f"{index}:{category}",
                question,
                f"{frame.distance(nearest):.2f} m",
                front(index),
                category,
                distance_class(frame.distance(nearest)),
                meta=meta,
            )


def pixel_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_2_b: distance of the object that a pixel shows."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        image = frame.images[FRONT_CAMERA]
        for category in CATEGORIES:
            for body in visible(frame, FRONT_CAMERA, category) or ():
                if not can_point_at(body, FRONT_CAMERA):
                    continue
                u, v = body.sights[FRONT_CAMERA].point
                question = QUESTIONS["r1_2_b"][0].format(
                    category=SINGULAR[category],
                    u=u,
                    v=v,
                    camera=FRONT_CAMERA,
                    width=image.width,
                    height=image.height,
                )
                meta = {**_target(clip, index, frame, body, category), "pixel_coords": [u, v]}
                yield Draft(
                    "r1_2_b",
                    f"{index}:{body.id}",
                    question,
                    f"{frame.distance(body):.2f} m",
                    front(index),
                    category,
                    distance_class(frame.distance(body)),
                    meta=meta,
                )


def bucket_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_2_c: how many objects of a category are in a range, one at least; none stands on an edge of the range."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        for category in CATEGORIES:
            shown = visible(frame, FRONT_CAMERA, category) or ()
            for name, words, low, high in BUCKETS:
                inside = [body for body in shown if low <= frame.distance(body) < high]
                edgy = any(abs(frame.distance(body) - edge) < 0.25 for body in shown for edge in (low, high))
                if not inside or edgy:
                    continue
                question = QUESTIONS["r1_2_c"][0].format(
                    categories=PLURAL[category], camera=FRONT_CAMERA, bucket=name, bucket_range=words
                )
                meta = {
                    "category": category,
                    "bucket": name,
                    "bucket_range": words,
                    "frame": frame_token(clip, index),
                    "object_ids": [body.id for body in inside],
                    "distances_m": [round(frame.distance(body), 3) for body in inside],
                }
                count = str(len(inside))
                key = f"{index}:{category}:{name}"
                yield Draft("r1_2_c", key, question, count, front(index), f"{category} {name}", count, meta=meta)


def can_point_at(body: Object, camera: str) -> bool:
    """Whether a pixel can name the object: those that show it fill at least `PIXEL_SHARE` of its `Sight.extent`."""
    sight = body.sights[camera]
    left, top, right, bottom = sight.extent
    return sight.pixels >= PIXEL_SHARE * (right - left) * (bottom - top)


def distance_class(distance: float) -> str:
    """Answer class of a distance."""
    return str(sum(distance >= edge for edge in CLASS_EDGES))


def _target(clip: Clip, index: int, frame: Frame, body: Object, category: Category) -> dict[str, object]:
    forward, left = frame.position(body)
    return {
        "category": category,
        "frame": frame_token(clip, index),
        "target_object_id": body.id,
        "true_distance_m": frame.distance(body),
        "ego_xy": [forward, left],
        "global_center_xyz": [body.x, body.y, body.height / 2],
    }
