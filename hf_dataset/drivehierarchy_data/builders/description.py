"""r1_4: what the driver of the ego does, and why, in two wordings."""

from __future__ import annotations

from collections.abc import Iterator

from ..drafts import Draft, frame_token
from ..questions import QUESTIONS
from ..scene import FRONT_CAMERA, Clip, Frame, Situation
from ..visibility import visibility
from .words import caption

FRAMES, STRIDE = 5, 2
"""Five images one second apart (LingoQA)."""

SENTENCES: dict[tuple[str, str], tuple[str, str]] = {
    ("stand", "red_light"): (
        "I am standing still because the traffic light ahead is red.",
        "I am waiting at the stop line for the red light to change.",
    ),
    ("stand", "vehicle_ahead"): (
        "I am standing still because the {body} in front of me is not moving.",
        "I have stopped behind the {body} and wait for it to drive on.",
    ),
    ("stand", "cyclist_ahead"): (
        "I am standing still because the {body} in front of me is not moving.",
        "I have stopped behind the {body} and wait.",
    ),
    ("stand", "person_ahead"): (
        "I am standing still to let the {body} in front of me cross.",
        "I have stopped and wait for the {body} to clear my way.",
    ),
    ("start", "green_light"): (
        "I am setting off because the traffic light has turned green.",
        "I am accelerating from standstill since the light is green now.",
    ),
    ("start", "vehicle_ahead"): (
        "I am setting off because the {body} in front of me drives on.",
        "I am pulling away behind the {body}, which has started to move.",
    ),
    ("start", "cyclist_ahead"): (
        "I am setting off because the {body} in front of me rides on.",
        "I am pulling away behind the {body}, who has started to move.",
    ),
    ("start", "person_ahead"): (
        "I am setting off because the {body} moves out of my way.",
        "I am pulling away since the {body} is leaving my way.",
    ),
    ("start", "clear_road"): (
        "I am setting off because the road ahead is clear.",
        "I am accelerating from standstill since nothing is in my way.",
    ),
    ("slow_down", "red_light"): (
        "I am slowing down because the traffic light ahead is red.",
        "I am braking for the red light.",
    ),
    ("slow_down", "vehicle_ahead"): (
        "I am slowing down because the {body} ahead of me is slower.",
        "I am braking to keep a safe distance to the {body} in front.",
    ),
    ("slow_down", "cyclist_ahead"): (
        "I am slowing down because a {body} is riding ahead of me.",
        "I am braking to keep a safe distance to the {body} in front.",
    ),
    ("slow_down", "person_ahead"): (
        "I am slowing down because a {body} is on or near my way.",
        "I am braking for the {body} ahead.",
    ),
    ("slow_down", "route"): (
        "I am slowing down because a tight bend or turn lies ahead.",
        "I am braking to take the turn ahead safely.",
    ),
    ("speed_up", "clear_road"): (
        "I am speeding up because the road ahead is clear.",
        "I am accelerating since nothing is in my way.",
    ),
    ("keep_speed", "clear_road"): (
        "I am keeping my speed because the road ahead is clear.",
        "I am driving on at a steady speed since nothing is in my way.",
    ),
    ("follow", "vehicle_ahead"): (
        "I am following the {body} ahead at its speed.",
        "I am keeping my distance and matching the speed of the {body} in front of me.",
    ),
    ("follow", "cyclist_ahead"): (
        "I am following the {body} ahead at the same speed.",
        "I am staying behind the {body}, who rides in front of me.",
    ),
    ("turn_left", "route"): (
        "I am turning left because my route goes left here.",
        "I am steering to the left to follow my route.",
    ),
    ("turn_right", "route"): (
        "I am turning right because my route goes right here.",
        "I am steering to the right to follow my route.",
    ),
}
"""(action, cause) -> two ways to say it."""


def description_drafts(clip: Clip) -> Iterator[Draft]:
    """r1_4: five images, the last of them now; what is the cause must be plain to see in it."""
    pictured = sum(1 for _ in clip.seen_by(FRONT_CAMERA))
    for last in range((FRAMES - 1) * STRIDE, pictured):
        frame = clip.frames[last]
        situation = frame.situation
        if situation is None or not _is_seen(frame, situation):
            continue
        sentences = SENTENCES.get((situation.action, situation.cause))
        if sentences is None:
            continue
        body = frame.find(situation.object_id) if situation.object_id else None
        name = caption(body, clip.colours_certain) if body else ""
        answers = [sentence.format(body=name) for sentence in sentences]
        indices = range(last - (FRAMES - 1) * STRIDE, last + 1, STRIDE)
        question = QUESTIONS["r1_4"][last % len(QUESTIONS["r1_4"])]
        meta = {
            "frames": [frame_token(clip, index) for index in indices],
            "references": answers,
            "action": situation.action,
            "cause": situation.cause,
            "cause_object_id": situation.object_id,
            "speed_mps": round(frame.speed, 2),
        }
        yield Draft(
            "r1_4",
            str(last),
            question,
            answers[0],
            tuple((index, FRONT_CAMERA) for index in indices),
            "driver",
            f"{situation.action} {situation.cause}",
            meta=meta,
        )


def _is_seen(frame: Frame, situation: Situation) -> bool:
    if situation.object_id is None:
        return True
    body = frame.find(situation.object_id)
    return body is not None and visibility(frame, body, FRONT_CAMERA) == "visible"
