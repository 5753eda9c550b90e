"""r1_1_a, r1_1_b, r1_1_c: is there one, how many are there, what is the nearest one doing."""

from __future__ import annotations

from collections.abc import Iterator

from ..drafts import Draft, frame_token, front
from ..questions import QUESTIONS
from ..scene import CATEGORIES, FRONT_CAMERA, Category, Clip
from ..visibility import visible
from .words import PLURAL, SINGULAR

STATES: dict[Category, tuple[str, ...]] = {
    "Vehicle": ("moving", "parked", "stopped"),
    "Pedestrian": ("moving", "standing"),
}
"""States that are asked about, by category. Riders always sit on their bicycles here, so these are not asked about."""

NEARER_BY = 1.05
"""The nearest object is nearer than the next one by at least this factor."""


def existence_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_1_a: whether the front image shows any object of a category."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        for category in CATEGORIES:
            shown = visible(frame, FRONT_CAMERA, category)
            if shown is None:
                continue
            question = QUESTIONS["r1_1_a"][0].format(category=SINGULAR[category], camera=FRONT_CAMERA)
            answer = "Yes" if shown else "No"
            meta = {
                "category": category,
                "frame": frame_token(clip, index),
                "object_ids": [body.id for body in shown],
                "distances_m": [round(frame.distance(body), 3) for body in shown],
            }
            yield Draft("r1_1_a", f"{index}:{category}", question, answer, front(index), category, answer, meta=meta)


def counting_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_1_b: how many objects of a category the front image shows, one at least."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        for category in CATEGORIES:
            shown = visible(frame, FRONT_CAMERA, category)
            if not shown:
                continue
            question = QUESTIONS["r1_1_b"][0].format(categories=PLURAL[category], camera=FRONT_CAMERA)
            count = str(len(shown))
            meta = {
                "category": category,
                "frame": frame_token(clip, index),
                "object_ids": [body.id for body in shown],
                "distances_m": [round(frame.distance(body), 3) for body in shown],
            }
            yield Draft("r1_1_b", f"{index}:{category}", question, count, front(index), category, count, meta=meta)


def state_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_1_c: the state of the nearest object of a category."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        for category, states in STATES.items():
            shown = visible(frame, FRONT_CAMERA, category)
            if not shown:
                continue
            nearest, *others = sorted(shown, key=frame.distance)
            if others and frame.distance(others[0]) < NEARER_BY * frame.distance(nearest):
                continue
            if nearest.state not in states:
                continue
            question = QUESTIONS["r1_1_c"][0].format(category=SINGULAR[category], camera=FRONT_CAMERA)
            meta = {
                "category": category,
                "frame": frame_token(clip, index),
                "target_object_id": nearest.id,
                "target_distance_m": round(frame.distance(nearest), 3),
                "gt_status": nearest.state,
            }
            yield Draft(
                "r1_1_c",
                f"{index}:{category}",
                question,
                f"{nearest.state}.",
                front(index),
                category,
                nearest.state,
                tuple(f"{state}." for state in states if state != nearest.state),
                meta,
            )
