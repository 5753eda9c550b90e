"""r2_3: where is one object relative to another, along the axes of the ego vehicle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from ..drafts import Draft, frame_token, front
from ..questions import QUESTIONS
from ..scene import CATEGORIES, FRONT_CAMERA, Clip
from ..visibility import visible
from .distance import can_point_at
from .words import SINGULAR

DEAD_ZONE = 0.1
"""Metres per axis that count as no difference (release)."""
CLEAR = 1.0
"""Metres per axis from which on a difference is asked about: less cannot be told from a picture."""

RELATIONS = {
    "axis": ("Front", "Rear", "Left", "Right"),
    "diagonal": ("Front-Left", "Front-Right", "Rear-Left", "Rear-Right"),
}
"""The relations, in two sets. Options are of one set: "Front" and "Front-Left" are neighbours that no eye can tell
apart, and were they shown together only where neither is true, that would give both away."""


def relation(forward: float, left: float) -> str:
    """Relation of an object that is `forward` and `left` metres from another one; "" where they coincide."""
    parts = []
    if abs(forward) > DEAD_ZONE:
        parts.append("Front" if forward > 0 else "Rear")
    if abs(left) > DEAD_ZONE:
        parts.append("Left" if left > 0 else "Right")
    return "-".join(parts)


def relation_drafts(clip: Clip) -> Iterator[Draft]:
    """r2_3: ordered pairs of objects whose differences along both axes are clear, or none."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        image = frame.images[FRONT_CAMERA]
        shown = [body for category in CATEGORIES for body in visible(frame, FRONT_CAMERA, category) or ()]
        shown = [body for body in shown if can_point_at(body, FRONT_CAMERA)]
        for subject, reference in permutations(shown, 2):
            (subject_x, subject_y), (reference_x, reference_y) = frame.position(subject), frame.position(reference)
            forward, left = subject_x - reference_x, subject_y - reference_y
            answer = relation(forward, left)
            if not answer or any(DEAD_ZONE / 2 < abs(d) < CLEAR for d in (forward, left)):
                continue
            assert subject.category is not None
            assert reference.category is not None
            (u, v), (s, t) = subject.sights[FRONT_CAMERA].point, reference.sights[FRONT_CAMERA].point
            question = QUESTIONS["r2_3"][0].format(
                camera=FRONT_CAMERA,
                width=image.width,
                height=image.height,
                subject=SINGULAR[subject.category],
                subject_u=u,
                subject_v=v,
                reference=SINGULAR[reference.category],
                reference_u=s,
                reference_v=t,
            )
            meta = {
                "frame": frame_token(clip, index),
                "subject_instance_token": subject.id,
                "subject_pixel": [u, v],
                "subject_ego_xy": [subject_x, subject_y],
                "reference_instance_token": reference.id,
                "reference_pixel": [s, t],
                "reference_ego_xy": [reference_x, reference_y],
                "gt_relation": answer,
            }
            group = "diagonal" if "-" in answer else "axis"
            wrong = tuple(f"{other}." for other in RELATIONS[group] if other != answer)
            key = f"{index}:{subject.id}:{reference.id}"
            yield Draft("r2_3", key, question, f"{answer}.", front(index), group, f"{answer}.", wrong, meta)
