"""r2_1, r2_2_a, r2_2_b: count each vehicle once over six views or ten frames; follow one object through a clip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..drafts import Draft, frame_token, front_clip
from ..questions import QUESTIONS
from ..scene import CAMERA_ORDER, FRONT_CAMERA, KEYFRAME_SECONDS, Category, Clip
from ..visibility import unique_visible, visibility
from .distance import can_point_at
from .words import SINGULAR

CLIP_FRAMES = 10
"""Frames of a counting clip, the first one included (release: 5.0 s at 2 Hz)."""
CHANGE_FRAMES = (5, 7, 9)
"""Frames of the clips in which one object is followed: 2, 3 and 4 s."""

CHANGES: dict[Category, tuple[str, ...]] = {
    "Vehicle": (
        "It transitions from moving to stopped.",
        "It transitions from stopped to moving.",
        "No Change (It remains moving).",
        "No Change (It remains stopped).",
        "No Change (It remains parked).",
    ),
    "Pedestrian": (
        "It transitions from moving to standing.",
        "It transitions from standing to moving.",
        "No Change (It remains moving).",
        "No Change (It remains standing).",
    ),
}
"""What can happen to an object's state here, by category, in the release's words."""

_COLUMNS = ("left", "center", "right")
_ROWS = ("upper", "middle", "lower")


def surround_count_drafts(clip: Clip) -> Iterator[Draft]:
    """r2_1: different vehicles over the six cameras; at least one is seen by two of them, so that counting view by
    view gives another number."""
    for index, frame in clip.seen_by(CAMERA_ORDER[-1]):
        seen = unique_visible([(frame, camera) for camera in CAMERA_ORDER], "Vehicle")
        if not seen:
            continue
        overlapping = sorted(name for name, views in seen.items() if len(views) > 1)
        if not overlapping:
            continue
        meta = {
            "frame": frame_token(clip, index),
            "overlapping_instances": overlapping,
            "total_unique_count": len(seen),
            "camera_breakdown": {
                camera: sum(place in views for views in seen.values()) for place, camera in enumerate(CAMERA_ORDER)
            },
            "subtype_distribution": _nouns(clip, index, seen),
        }
        count = str(len(seen))
        views = tuple((index, camera) for camera in CAMERA_ORDER)
        yield Draft("r2_1", str(index), QUESTIONS["r2_1"][0], count, views, "Vehicle", count, meta=meta)


def temporal_count_drafts(clip: Clip) -> Iterator[Draft]:
    """r2_2_a: different vehicles over ten frames of the front camera; clips do not overlap."""
    pictured = sum(1 for _ in clip.seen_by(FRONT_CAMERA))
    for begin in range(0, pictured - CLIP_FRAMES + 1, CLIP_FRAMES):
        frames = range(begin, begin + CLIP_FRAMES)
        seen = unique_visible([(clip.frames[index], FRONT_CAMERA) for index in frames], "Vehicle")
        if seen is None:
            continue
        span = clip.frames[frames[-1]].time - clip.frames[begin].time
        question = QUESTIONS["r2_2_a"][0].format(camera=FRONT_CAMERA, seconds=f"{CLIP_FRAMES * KEYFRAME_SECONDS:.1f}")
        meta = {
            "frames": [frame_token(clip, index) for index in frames],
            "time_window_sec": CLIP_FRAMES * KEYFRAME_SECONDS,
            "keyframe_hz": 1 / KEYFRAME_SECONDS,
            "actual_span_sec": round(span, 3),
            "unique_instance_tokens": sorted(seen),
        }
        count = str(len(seen))
        yield Draft("r2_2_a", str(begin), question, count, front_clip(frames), "Vehicle", count, meta=meta)


def state_change_drafts(clip: Clip) -> Iterator[Draft]:
    """r2_2_b: how the state of one object changes, of one that is plain to see in every frame."""
    pictured = sum(1 for _ in clip.seen_by(FRONT_CAMERA))
    for length in CHANGE_FRAMES:
        for begin in range(pictured - length + 1):
            frames = range(begin, begin + length)
            for body in clip.frames[begin].objects:
                if body.category is not None and body.category in CHANGES:
                    yield from _state_change(clip, frames, body.id, body.category)


def _state_change(clip: Clip, frames: range, object_id: str, category: Category) -> Iterator[Draft]:
    states: list[str] = []
    for index in frames:
        frame = clip.frames[index]
        body = frame.find(object_id)
        if body is None or body.state is None or visibility(frame, body, FRONT_CAMERA) != "visible":
            # Between two states there may be one that is neither, as long as the ends are certain.
            if body is None or index in (frames[0], frames[-1]):
                return
            if visibility(frame, body, FRONT_CAMERA) != "visible":
                return
            continue
        if not states or states[-1] != body.state:
            states.append(body.state)
    if len(states) > 2 or (len(states) == 2 and "parked" in states):
        return
    start, end = states[0], states[-1]
    answer = f"No Change (It remains {start})." if start == end else f"It transitions from {start} to {end}."
    if answer not in CHANGES[category]:
        return
    first = clip.frames[frames[0]]
    body = first.find(object_id)
    assert body is not None
    if not can_point_at(body, FRONT_CAMERA):
        return
    image = first.images[FRONT_CAMERA]
    u, v = body.sights[FRONT_CAMERA].point
    seconds = (len(frames) - 1) * KEYFRAME_SECONDS
    question = QUESTIONS["r2_2_b"][0].format(
        category=SINGULAR[category],
        u=u,
        v=v,
        width=image.width,
        height=image.height,
        region=region(u, v, image.width, image.height),
        seconds=f"{seconds:.1f}",
    )
    meta = {
        "frames": [frame_token(clip, index) for index in frames],
        "target_instance_token": object_id,
        "category": category,
        "start_attribute": start,
        "end_attribute": end,
        "duration_sec": seconds,
        "is_state_change": start != end,
        "u": u,
        "v": v,
    }
    wrong = tuple(change for change in CHANGES[category] if change != answer)
    key = f"{frames[0]}:{len(frames)}:{object_id}"
    yield Draft("r2_2_b", key, question, answer, front_clip(frames), category, answer, wrong, meta)


def region(u: int, v: int, width: int, height: int) -> str:
    """Third of the image in words: "middle-center"."""
    return f"{_ROWS[min(3 * v // height, 2)]}-{_COLUMNS[min(3 * u // width, 2)]}"


def _nouns(clip: Clip, index: int, seen: dict[str, list[int]]) -> dict[str, int]:
    nouns = Counter(body.noun for body in clip.frames[index].objects if body.id in seen)
    return dict(sorted(nouns.items()))
