"""Free text: the answer without its reasoning, its markup and its announcement, otherwise word for word."""

from __future__ import annotations

import re
from typing import Final

from drivehierarchy_gym.reasoning import final_reply

from . import json_values
from .reply import declared_by_markup

_DEEPEST: Final = 8
"""Wrappings that are taken off one after another; nobody means more."""

_ANNOUNCEMENT = re.compile(
    r"(?:#{1,6} ?\**(?:final )?answer\** ?:?\**\n\s*|\**(?:the )?(?:final )?(?:answer|response)(?: is)?\** ?:\**\s*)+",
    re.IGNORECASE,
)
_LATER_ANNOUNCEMENT = re.compile(r"\n\**(?:the )?(?:final )?answer(?: is)?\** ?:\**\s*(?=\S)", re.IGNORECASE)
_FENCED = re.compile(r"```[\w+-]*\n(.*)\n```", re.DOTALL)
_WRAPPINGS: Final = ("***", "**", "`", '"', "'", "“”")


def read_text(reply: str) -> str | None:
    """The answer in a raw reply; None when nothing is left, or a reasoning block never ends.

    A line "Answer: …" starts the answer; what stands above it is not part of it. Reading an answer gives it back.
    """
    for _ in range(_DEEPEST):
        answer = _unwrapped(reply)
        if answer is None or answer == reply:
            return answer or None
        reply = answer
    return None


def _unwrapped(reply: str) -> str | None:
    answer = final_reply(reply)
    if answer is None:
        return None
    declared = declared_by_markup(answer)
    answer = (answer if declared is None else declared[0]).strip()
    fenced = _FENCED.fullmatch(answer)
    answer = _in_json(fenced[1] if fenced else answer)
    later = [match.end() for match in _LATER_ANNOUNCEMENT.finditer(answer)]
    answer = answer[later[-1] :] if later else answer
    announcement = _ANNOUNCEMENT.match(answer)
    answer = answer[announcement.end() :].strip() if announcement else answer.strip()
    for marks in _WRAPPINGS:
        first, last = (marks[0], marks[1]) if marks == "“”" else (marks, marks)
        inside = answer[len(first) : len(answer) - len(last)]
        if len(answer) > len(first) + len(last) and answer.startswith(first) and answer.endswith(last):
            return inside.strip() if first not in inside and last not in inside else answer
    return answer


def _in_json(answer: str) -> str:
    """The answer that a JSON object which is all of the reply holds; "" when it says there is none."""
    value = json_values.decode(answer) if answer.startswith("{") else json_values.MISSING
    if value is json_values.MISSING:
        return answer
    _, found = json_values.answer_of(value, ())
    if found is None:
        return ""
    return found if isinstance(found, str) else answer
