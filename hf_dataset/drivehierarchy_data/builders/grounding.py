"""r1_3: where is the object that a sentence describes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..drafts import Draft, frame_token, front
from ..questions import QUESTIONS
from ..scene import FRONT_CAMERA, Clip, Frame, Object
from ..visibility import HIDDEN_PIXELS, visibility
from .words import caption

LEAST_SIDE = 0.011
"""Shorter side of a box, as a share of the image's width, of an object that is asked for."""
LEAST_AGREEMENT = 0.72
"""IoU that the visible pixels' rectangle and the whole object's have: neither hidden nor cut off."""
CLEAR_SIDE = 0.08
"""Share of the image's width by which an object is left or right of another that it is told apart from."""
CLEARLY_NEARER = 1.25
"""Factor between the distances of an object that is called the nearest and of the next one."""

STATE_WORDS = {"moving": "moving", "parked": "parked", "stopped": "stopped", "standing": "standing still"}
"""State -> words in a description."""


def grounding_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_3: the box of an object described so that the description fits no other one in the image."""
    for index, frame in clip.seen_by(FRONT_CAMERA):
        image = frame.images[FRONT_CAMERA]
        seen = [body for body in frame.objects if FRONT_CAMERA in body.sights]
        seen = [body for body in seen if body.sights[FRONT_CAMERA].pixels >= HIDDEN_PIXELS / 2]
        for body in seen:
            if not _is_whole(frame, body, image.width):
                continue
            description = unique_description(frame, body, seen, image.width, clip.colours_certain)
            if description is None:
                continue
            question = QUESTIONS["r1_3"][0].format(width=image.width, height=image.height, expression=description)
            x1, y1, x2, y2 = body.sights[FRONT_CAMERA].box
            third = min(3 * (x1 + x2) // 2 // image.width, 2)
            size = (x2 - x1) * (y2 - y1) / (image.width * image.height)
            meta = {
                "expression": description,
                "frame": frame_token(clip, index),
                "target_object_id": body.id,
                "agent_type": body.category,
                "distance_m": round(frame.distance(body), 3),
            }
            yield Draft(
                "r1_3",
                f"{index}:{body.id}",
                question,
                json.dumps({"bbox": [x1, y1, x2, y2], "format": "xyxy"}),
                front(index),
                str(body.category),
                f"{third}{'s' if size < 0.002 else 'm' if size < 0.01 else 'l'}",
                meta=meta,
            )


def unique_description(
    frame: Frame, body: Object, seen: Sequence[Object], width: int, colours_certain: bool
) -> str | None:
    """Shortest description that fits `body` and certainly no other object of `seen`; None when there is none.

    Colour, then what it does, then leftmost or rightmost, or else nearest, is added as far as it takes. Where
    a word is not certain for another object, the word does not tell the two apart.
    """
    alike = [other for other in seen if other.id != body.id and other.noun == body.noun]
    name = caption(body, colours_certain)
    if name != body.noun:
        alike = [other for other in alike if other.colour in (body.colour, None)]
    if not alike:
        return f"the {name}"
    state = STATE_WORDS.get(body.state or "")
    if state is not None:
        same = [other for other in alike if other.state == body.state or other.state is None]
        if len(same) < len(alike):
            alike, name = same, f"{name} that is {state}"
    if not alike:
        return f"the {name}"
    middle, others = _middle(body), [_middle(other) for other in alike]
    apart = CLEAR_SIDE * width
    if all(middle < other - apart for other in others):
        return f"the leftmost {name}"
    if all(middle > other + apart for other in others):
        return f"the rightmost {name}"
    distance = frame.distance(body)
    if all(distance * CLEARLY_NEARER < frame.distance(other) for other in alike):
        return f"the nearest {name}"
    return None


def _middle(body: Object) -> float:
    x1, _, x2, _ = body.sights[FRONT_CAMERA].box
    return (x1 + x2) / 2


def _is_whole(frame: Frame, body: Object, width: int) -> bool:
    """Whether the object is plain to see, large enough, not cut off, and not hidden in part."""
    if body.category is None or visibility(frame, body, FRONT_CAMERA) != "visible":
        return False
    sight = body.sights[FRONT_CAMERA]
    x1, y1, x2, y2 = sight.box
    if min(x2 - x1, y2 - y1) < LEAST_SIDE * width or x1 == 0 or x2 == width:
        return False
    left, top, right, bottom = sight.extent
    inner = max(min(x2, right) - max(x1, left), 0) * max(min(y2, bottom) - max(y1, top), 0)
    union = (x2 - x1) * (y2 - y1) + (right - left) * (bottom - top) - inner
    return inner >= LEAST_AGREEMENT * union
