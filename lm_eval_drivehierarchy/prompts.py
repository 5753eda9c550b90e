"""What a model is told: persona, format instruction, images, question and options.

The layout is the release's (one system message; images first, then the question, options one a line; labelled images
only where they are to be put in order); the wording is this project's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .tasks import Task

PERSONA: Final = (
    "You are an experienced and careful driver. "
    "Answer questions about what you see while driving, from the images alone."
)
IMAGE_PLACEHOLDER: Final = "<image>"
"""Where an image goes, for model classes that look for it in the text."""


def system_prompt(task: Task) -> str:
    """The system message of a task: persona and format instruction."""
    return f"{PERSONA} {task.format_instruction}"


def user_prompt(task: Task, *, question: str, options: Sequence[str], views: Sequence[str], placeholders: bool) -> str:
    """The user message of an item.

    `options` are the strings of a choice or the labels of an order, `views` names the images one by one. With
    `placeholders` the text says `<image>` where each image goes; without them all images are shown before the text, and
    labels are explained in it. An order without a question, as in the release, gets the task's own.
    """
    parts = [question or task.questions[0]]
    if task.kind == "choice":
        parts += ["Options:", *options]
    if task.kind == "order":
        parts.append(f"Labels: {', '.join(options)}.")
    if not placeholders:
        if task.kind == "order":
            shown = ", ".join(f"image {view}" for view in views)
            parts.insert(0, f"The images above are, in the order in which they are shown: {shown}.")
        return "\n".join(parts)
    if task.kind == "order":
        images = [line for view in views for line in (f"Image {view}", IMAGE_PLACEHOLDER)]
    else:
        images = [IMAGE_PLACEHOLDER] * len(views)
    return "\n".join([*images, *parts])
