"""A draft: one question that a clip allows, before it is chosen, numbered and given its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .scene import FRONT_CAMERA, Clip

ViewRef = tuple[int, str]
"""An image of a clip: index of the frame, and camera."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One possible item. `truth` is its answer; of a choice the text of the right option, and `wrong` the texts that
    are certainly false and may be shown beside it.

    `group` is what the question itself gives away (category, distance range, …) and `label` the answer, as a class:
    among the chosen items of a group no label is more frequent than chance (`selection`). `key` tells the drafts of a
    task and clip apart.
    """

    task: str
    key: str
    question: str
    truth: str
    views: tuple[ViewRef, ...]
    group: str
    label: str
    wrong: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


def front(index: int) -> tuple[ViewRef, ...]:
    """The one view of a question about the front image of a frame."""
    return ((index, FRONT_CAMERA),)


def front_clip(indices: range) -> tuple[ViewRef, ...]:
    """The front images of several frames."""
    return tuple((index, FRONT_CAMERA) for index in indices)


def frame_token(clip: Clip, index: int) -> str:
    """Names a frame in `meta`, for example "open-turning_01-0003/017"."""
    return f"{clip.scene_id}/{index:03d}"
