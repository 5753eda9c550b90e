"""A training sample: the very messages that evaluation sends, and the answer in the form that it asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drivehierarchy_data.shards import ImageLocation

from ..baselines import correct_reply
from ..chat_model import interleave
from ..harness import reply_to
from ..parsing import PARSE_RULES
from ..parsing.parsed import in_requested_format
from ..prompts import IMAGE_PLACEHOLDER, system_prompt, user_prompt
from ..replies import outcomes
from ..tasks import task as task_named
from .errors import SftError

SceneKey = tuple[str, str]
"""Source and scene: scene ids of different sources may be equal."""

IMAGE_PART: Mapping[str, str] = {"type": "image"}
FULL_MARKS = 99.0
"""Least score of a label; the official rule rounds a box to whole pixels."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One item as a dialogue of three messages.

    `parts` are those of the user message in order: ``{"type": "image"}`` for the next of `images`, or
    ``{"type": "text", "text": …}``.
    """

    item: str
    task: str
    scene: SceneKey
    system: str
    parts: tuple[Mapping[str, str], ...]
    answer: str
    images: tuple[ImageLocation, ...]


def scene_of(document: Mapping[str, Any]) -> SceneKey:
    """Scene of a document of an edition."""
    return document["source"], document["scene_id"]


def sample_of(document: Mapping[str, Any]) -> Sample:
    """The sample of a document of an edition.

    Raises SftError when its answer, read as a reply, would not get full marks in the requested form.
    """
    task = task_named(document["task"])
    prompt = user_prompt(
        task,
        question=document["question"],
        options=document["options"],
        views=document["views"],
        placeholders=True,
    )
    images = document["images"]
    sample = Sample(
        item=document["id"],
        task=task.id,
        scene=scene_of(document),
        system=system_prompt(task),
        parts=tuple(interleave(prompt, [dict(IMAGE_PART)] * len(images))),
        answer=correct_reply(document),
        images=tuple(images),
    )
    problems = label_problems(document, sample.answer)
    if problems:
        raise SftError(
            f"item {sample.item}: {sample.answer!r} cannot be taught: {'; '.join(problems)}. Correct the item, or "
            f"leave task {task.id} out"
        )
    return sample


def label_problems(document: Mapping[str, Any], text: str) -> list[str]:
    """What is wrong with `text` as the answer that a model learns for an item; empty when nothing is.

    It must be in the requested form, and both parsing rules must give it full marks. Of a description, which only a
    judge can score, it must be a reference answer.
    """
    kind = task_named(document["task"]).kind
    if kind != document["answer_kind"]:
        return [f"its kind is {document['answer_kind']}, but the task's is {kind}"]
    if not in_requested_format(text, kind) or text != text.strip() or IMAGE_PLACEHOLDER in text:
        return ["it is not in the form that the instruction asks for"]
    problems = []
    reply = reply_to({**document, "meta": json.dumps(document["meta"])}, text)
    for rule in PARSE_RULES:
        outcome = outcomes([reply], rule, None)[0]
        if outcome.status != "ok":
            problems.append(f"the {rule} rule reads it as {outcome.status}")
        elif outcome.score is not None and outcome.score < FULL_MARKS:
            problems.append(f"the {rule} rule gives it {outcome.score:.4g} of 100 points")
    if kind == "text" and text not in reply.truth:
        problems.append("it is none of the reference answers")
    if kind == "box":
        width, height = document["image_size"]
        x1, y1, x2, y2 = json.loads(text)
        if not (0 <= x1 < x2 <= width and 0 <= y1 < y2 <= height):
            problems.append(f"the box does not lie in the image of {width}x{height} pixels")
    return problems
