"""The released evaluator's reading and scoring of answers, rule by rule.

This is what the paper's Table 1 was computed with, so its oddities are kept: "not sure" reads as no, "Options: …" as
option S, an incomplete order is completed in the true order, and a box of NaN can score. Stated from the facts of the
release (commit c5be2f9), not copied. Where the release itself would stop with an error (a count beyond the range of a
float), the reply is a parse failure here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from .formulas import box_score, count_score, exact_score, metres_score, order_score

OfficialKind = Literal["yes_no", "count", "metres", "choice", "box", "order"]

_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
# Spaces around an optional mark are written so that they match in one way only: the time stays linear.
_LEADING_LETTER: Final = re.compile(r"""["'(\[{]*\s*([A-Z])(?:\s*[)\]}"'.,:;-]|$)""")
_ANNOUNCED_LETTER: Final = re.compile(r"\b(?:OPTION|ANSWER|CHOICE)(?:\s*[:-])?\s*([A-Z])\b")
_LETTER_PREFIX: Final = re.compile(r"\s*[A-Za-z]\s*[.):-]\s*")
_WORD_PREFIX: Final = re.compile(r"\s*(?:option|answer|choice)(?:\s*[:-])?\s*[A-Za-z]\s*", re.IGNORECASE)
_CAPITAL: Final = re.compile(r"\b[A-Z]\b")
_WHITE_SPACE: Final = re.compile(r"\s+")
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9 ]+")


def official_value(kind: OfficialKind, reply: Any) -> Any:
    """What the release reads out of a reply, or out of a truth; None for a parse failure.

    yes_no: "yes" or "no"; count: an int >= 0; metres: a float >= 0; choice: a capital letter, else the normalised text;
    box: four numbers with ordered corners; order: the labels, each once, perhaps incomplete.
    """
    try:
        return _value(kind, reply)
    except RecursionError:  # JSON nested deeper than Python can follow
        return None


def _value(kind: OfficialKind, reply: Any) -> Any:
    if kind == "yes_no":
        return yes_no(reply)
    if kind in ("count", "metres"):
        number = first_number(reply)
        if number is None or math.isnan(number):
            return None
        if kind == "metres":
            return max(0.0, number)
        return max(0, round_half_up(number)) if math.isfinite(number) else None
    if kind == "choice":
        return choice_letter(reply) or choice_text(reply) or None
    if kind == "box":
        return box(reply)
    return label_sequence(reply) or None


def official_score(kind: OfficialKind, truth: Any, reply: Any) -> float | None:
    """Score 0-100 of a reply as the release computes it; None for its parse failure (which it scores 0).

    Raises ValueError when the truth cannot be read; the release would count that as the model's failure.
    """
    expected = official_value(kind, truth)
    if expected is None or (kind == "metres" and math.isinf(expected)):
        raise ValueError(f"truth {truth!r} of kind {kind!r} cannot be read by the release's rules")
    if kind == "choice":
        return _choice_score(truth, reply)
    value = official_value(kind, reply)
    if value is None:
        return None
    if kind == "yes_no":
        return exact_score(expected, value)
    if kind == "count":
        return count_score(expected, value)
    if kind == "metres":
        return metres_score(expected, value)
    if kind == "box":
        return box_score(expected, value)
    named = [label for label in value if label in expected]
    return order_score(expected, [*named, *(label for label in expected if label not in named)])


def _choice_score(truth: Any, reply: Any) -> float | None:
    expected, letter = choice_letter(truth), choice_letter(reply)
    if expected is not None and letter is not None:
        return exact_score(expected, letter)
    expected, text = choice_text(truth), choice_text(reply)
    return exact_score(expected, text) if expected and text else None


def first_number(value: Any) -> float | None:
    """The first number of a text, commas read as spaces; a number stays itself."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        found = _NUMBER.search(value.replace(",", " "))
        return float(found[0]) if found else None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def round_half_up(number: float) -> int:
    """The nearest integer, a half rounded away from zero. Raises OverflowError for infinity."""
    return math.floor(number + 0.5) if number >= 0 else math.ceil(number - 0.5)


def normalised(value: Any) -> str:
    """Lower case, white space folded, then everything but a-z, 0-9 and spaces removed."""
    return _NOT_PLAIN.sub("", _WHITE_SPACE.sub(" ", str(value).strip().lower())).strip()


def yes_no(value: Any) -> Literal["yes", "no"] | None:
    """ "yes" or "no" by the first letters."""
    text = normalised(value)
    if text.startswith("yes") or text in ("y", "true"):
        return "yes"
    if text.startswith("no") or text in ("n", "false"):
        return "no"
    return None


def choice_letter(value: Any) -> str | None:
    """The option letter: alone, leading, or after OPTION, ANSWER or CHOICE."""
    if value is None:
        return None
    text = str(value).strip().upper()
    if len(text) == 1 and text.isalpha():
        return text
    found = _LEADING_LETTER.match(text) or _ANNOUNCED_LETTER.search(text)
    return found[1] if found else None


def choice_text(value: Any) -> str:
    """The option's words: a letter with its mark, then a word like "option" with its letter, taken off the front."""
    text = str(value).strip()
    for prefix in (_LETTER_PREFIX, _WORD_PREFIX):
        found = prefix.match(text)
        if found:
            text = text[found.end() :]
    return normalised(text)


def box(value: Any) -> list[float] | None:
    """Four numbers with ordered corners: from JSON if it holds a box, else the first four of the text."""
    if isinstance(value, dict):
        return box(value.get("bbox"))
    if isinstance(value, list):
        listed = [number for number in map(first_number, value[:4]) if number is not None]
        if len(listed) == 4:
            return _ordered(listed)
        return box(value[0]) if value and isinstance(value[0], list) else None
    if not isinstance(value, str):
        return None
    decoded = _decoded(value.strip())
    if decoded is not None and (corners := box(decoded)) is not None:
        return corners
    numbers = [float(number) for number in _NUMBER.findall(value)[:4]]
    return _ordered(numbers) if len(numbers) == 4 else None


def _ordered(corners: Sequence[float]) -> list[float]:
    # min and max would treat NaN otherwise than the release's sort.
    (left, right), (top, bottom) = sorted(corners[0::2]), sorted(corners[1::2])
    return [left, top, right, bottom]


def label_sequence(value: Any) -> list[str]:
    """Labels in order of appearance, each once: of a JSON value, else the capital letters that stand alone."""
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return []
        decoded = _decoded(text, absent=_NOT_JSON)
        if decoded is _NOT_JSON:
            value = _CAPITAL.findall(text.upper())
        else:
            value = decoded if isinstance(decoded, list) else [decoded]
    elif not isinstance(value, list):
        return []
    labels = (choice_letter(entry) for entry in value)
    return list(dict.fromkeys(label for label in labels if label))


_NOT_JSON: Final = object()


def _decoded(text: str, absent: Any = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return absent
