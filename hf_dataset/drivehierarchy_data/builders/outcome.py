"""r3_1: what will an object do next. The answer is what it does in the frames that follow, unseen by the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from drivehierarchy_gym.geometry import wrap_angle

from ..drafts import Draft, frame_token
from ..questions import QUESTIONS
from ..scene import CAMERA_ORDER, KEYFRAME_SECONDS, Category, Clip, Object
from ..visibility import visibility
from .distance import can_point_at
from .words import caption

HORIZON_FRAMES = 6
"""Frames that follow and decide the answer: 3 s."""
SOON_FRAMES = 4
"""Frames within which a person has begun, or ceased, to walk: 2 s."""
LEAST_SIDES = (0.007, 0.025)
"""Shorter and longer side of the object's box, as shares of the image's width, at least."""

OUTCOMES: dict[Category, tuple[str, ...]] = {
    "Vehicle": (
        "Keep going straight at the same speed.",
        "Turn left.",
        "Turn right.",
        "Stay where it is.",
        "Brake gently to a stop.",
        "Decelerate gradually without stopping.",
        "Accelerate and go ahead.",
    ),
    "Pedestrian": (
        "Keep walking.",
        "Stand still.",
        "Start walking.",
        "Stop walking.",
    ),
}
"""What can happen, by category. No two of a category can be true at once, and any three may be wrong beside any other,
so that an option neither gives itself nor its neighbours away."""
STEADY_TURN = 1.5
"""m/s by which the speed of who turns changes at most: then it neither accelerates nor decelerates."""


@dataclass(frozen=True, slots=True)
class Course:
    """How an object moves over the horizon: speeds (m/s) at its frames, change of heading (rad, to the left), metres
    moved to the left of, and along, its first heading."""

    speeds: tuple[float, ...]
    turned: float
    aside: float
    ahead: float


def outcome_drafts(clip: Clip) -> Iterator[Draft]:
    """r3_1: objects plain to see in any camera whose next three seconds are of one clear kind."""
    for camera in CAMERA_ORDER:
        for index, frame in clip.seen_by(camera):
            image = frame.images[camera]
            for body in frame.objects:
                if body.category not in OUTCOMES or visibility(frame, body, camera) != "visible":
                    continue
                x1, y1, x2, y2 = body.sights[camera].box
                sides = sorted((x2 - x1, y2 - y1))
                small = any(side < least * image.width for side, least in zip(sides, LEAST_SIDES, strict=True))
                if small or not can_point_at(body, camera):
                    continue
                course = course_of(clip, index, body.id)
                answer = outcome(body.category, course) if course is not None else None
                if course is None or answer is None:
                    continue
                name = caption(body, clip.colours_certain)
                question = QUESTIONS["r3_1"][0].format(
                    caption=name, x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", camera=camera
                )
                wrong = tuple(other for other in OUTCOMES[body.category] if other != answer)
                meta = {
                    "frame": frame_token(clip, index),
                    "camera": camera,
                    "target_object_id": body.id,
                    "category": body.category,
                    "horizon_sec": HORIZON_FRAMES * KEYFRAME_SECONDS,
                    "speeds_mps": [round(speed, 2) for speed in course.speeds],
                    "turned_deg": round(math.degrees(course.turned), 1),
                }
                key = f"{camera}:{index}:{body.id}"
                view = ((index, camera),)
                yield Draft("r3_1", key, question, answer, view, body.category, answer, wrong, meta)


def course_of(clip: Clip, index: int, object_id: str) -> Course | None:
    """How the object moves from frame `index` on; None when it does not stay in the clip for the whole horizon."""
    bodies = [frame.find(object_id) for frame in clip.frames[index : index + HORIZON_FRAMES + 1]]
    if len(bodies) <= HORIZON_FRAMES or any(body is None for body in bodies):
        return None
    known: Sequence[Object] = [body for body in bodies if body is not None]
    first, last = known[0], known[-1]
    turned = sum(wrap_angle(b.yaw - a.yaw) for a, b in pairwise(known))
    dx, dy = last.x - first.x, last.y - first.y
    c, s = math.cos(first.yaw), math.sin(first.yaw)
    return Course(tuple(body.speed for body in known), turned, c * dy - s * dx, c * dx + s * dy)


def outcome(category: Category, course: Course) -> str | None:
    """The one of `OUTCOMES` that describes the course; None when none clearly does."""
    return _walk(course.speeds) if category == "Pedestrian" else _drive(course)


def _drive(course: Course) -> str | None:
    speeds = course.speeds
    start, end = speeds[0], speeds[-1]
    turned = math.degrees(course.turned)
    if max(speeds) < 0.1:
        return "Stay where it is."
    if abs(turned) > 30 and course.ahead > 3.0:
        if abs(start - end) > STEADY_TURN or end < STEADY_TURN:
            return None
        return "Turn left." if turned > 0 else "Turn right."
    if abs(turned) > 6 or abs(course.aside) > 1.2:
        return None
    if start > 2.0 and end < 0.1 and _falls(speeds):
        return "Brake gently to a stop."
    if start - end > 2.5 and end > 1.5 and _falls(speeds):
        return "Decelerate gradually without stopping."
    if end - start > 2.5 and _falls(speeds[::-1]):
        return "Accelerate and go ahead."
    if min(speeds) > 2.0 and max(speeds) - min(speeds) < 0.8:
        return "Keep going straight at the same speed."
    return None


def _walk(speeds: Sequence[float]) -> str | None:
    walks = [speed > 0.4 for speed in speeds]
    stands = [speed < 0.05 for speed in speeds]
    if all(walks):
        return "Keep walking."
    if all(stands):
        return "Stand still."
    # Whoever changes does so in time, and once: then "keep walking" and "stand still" are wrong.
    if stands[0] and all(walks[SOON_FRAMES:]) and not any(a and not b for a, b in pairwise(walks)):
        return "Start walking."
    if walks[0] and all(stands[SOON_FRAMES:]) and not any(b and not a for a, b in pairwise(walks)):
        return "Stop walking."
    return None


def _falls(speeds: Sequence[float]) -> bool:
    return all(b <= a + 0.3 for a, b in pairwise(speeds))
