"""What reading a reply gives, and how a value is written in the requested format."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, get_args

from drivehierarchy_gym.action_text import PARSE_RULES, ParseRule, ParseStatus, format_action

__all__ = [
    "ANSWER_KINDS",
    "PARSE_RULES",
    "UNPARSEABLE",
    "AnswerKind",
    "ParseRule",
    "ParseStatus",
    "Parsed",
    "in_requested_format",
    "render",
]

AnswerKind = Literal["yes_no", "count", "metres", "choice", "box", "order", "text", "action"]
"""What a reply must contain. `action` belongs to the closed loop; no open-loop task uses it."""

ANSWER_KINDS: Final[tuple[AnswerKind, ...]] = get_args(AnswerKind)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply as read.

    `value` by kind: yes_no "yes" or "no"; count an int >= 0; metres a float >= 0; choice the option's letter; box
    [x1, y1, x2, y2] as floats with x1 <= x2 and y1 <= y2; order the list of labels; text the answer; action a mapping
    with `steer` in [-1, 1] and `target_speed_mps` in [0, 30]. It is None exactly when `status` is unparseable.
    Under the official rule a choice may also be normalised option text, a number or a box NaN or infinite, and an
    order incomplete, because the release accepts them.

    `status`: ok, the reply already is in the requested format; recovered, understood all the same; unparseable.
    """

    value: Any
    status: ParseStatus


UNPARSEABLE: Final = Parsed(None, "unparseable")

_DECIMAL = r"-?\d+(?:\.\d+)?"
_REQUESTED: Final = {
    "yes_no": re.compile(r"yes|no", re.IGNORECASE),
    "count": re.compile(r"\d+", re.ASCII),
    "metres": re.compile(r"\d+(?:\.\d+)?", re.ASCII),
    "choice": re.compile(r"[A-Z]"),
    "box": re.compile(rf"\[ *{_DECIMAL}(?: *, *{_DECIMAL}){{3}} *\]", re.ASCII),
    "order": re.compile(r'\[ *"[^"\\]+"(?: *, *"[^"\\]+")* *\]'),
    "text": re.compile(r"\S(?:.*\S)?", re.DOTALL),
}
"""Kind -> the whole reply in the requested format, white space around it aside."""


def in_requested_format(text: str, kind: AnswerKind) -> bool:
    """True when the reply is nothing but an answer as the format instruction of `kind` asks for it."""
    return _REQUESTED[kind].fullmatch(text.strip()) is not None


def render(value: Any, kind: AnswerKind) -> str:
    """The reply in the requested format that says `value`; reading it back gives `value` with status ok."""
    if kind == "count":
        return str(int(value))
    if kind == "metres":
        return decimal(value)
    if kind == "box":
        return f"[{', '.join(decimal(corner) for corner in value)}]"
    if kind == "order":
        return json.dumps(list(value), ensure_ascii=False)
    if kind == "action":
        return format_action(value["steer"], value["target_speed_mps"])
    return str(value)


def decimal(value: float) -> str:
    """The shortest decimal notation, without an exponent, that reads back as `value`: 17.77, 20, 0.00001."""
    text = format(Decimal(repr(float(value))), "f")
    return text[:-2] if text.endswith(".0") else text


def ordered_corners(corners: Sequence[float]) -> list[float]:
    """Two opposite corners (x1, y1, x2, y2) as [xmin, ymin, xmax, ymax]."""
    x1, y1, x2, y2 = corners
    left, right = sorted((x1, x2))
    top, bottom = sorted((y1, y2))
    return [left, top, right, bottom]
