"""Reading a model's reply, by two rules.

`official` is the released evaluator, rule by rule (module `official`): what the paper's Table 1 was computed with.
`flexible` is what a fair reader would take: reasoning and markup removed, the final declaration over earlier mentions,
units and number formats understood. It never guesses and never sees the true answer: a hedge (module `hedges`), a
range, two answers, an echoed template or an option that does not exist is unparseable. So is a negative count or
distance, a count that is not whole, and a number with a tolerance ("12 ± 2 m", "12 m, plus or minus 2 m"): it says a
range, where one number was asked for; "about 12 m" says 12. A space before exactly three digits groups thousands
("1 024"). Boxes are taken in the order asked for unless the reply announces another one.

Prose is read in English. Of other languages only yes, no, units and the announcement of an answer in Chinese are known;
numerals in characters and a letter behind a Chinese verb ("选B") are unparseable, as is an option named with neither a
mark nor a known word ("Opt B", "A definitely").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from drivehierarchy_gym.action_text import parse_action
from drivehierarchy_gym.reasoning import final_reply

from ..official import official_value
from . import json_values
from .box import read_box
from .choice import CHOICE_KEYS, Options, read_choice
from .declarations import ANSWER
from .free_text import read_text
from .hedges import without_hedges
from .numeric import read_json_numeric, read_numeric
from .order import read_order
from .parsed import (
    ANSWER_KINDS,
    PARSE_RULES,
    UNPARSEABLE,
    AnswerKind,
    Parsed,
    ParseRule,
    ParseStatus,
    in_requested_format,
    render,
)
from .reply import declared_by_markup, plain_text
from .yes_no import YES_NO_KEYS, read_yes_no

__all__ = [
    "ANSWER_KINDS",
    "PARSE_RULES",
    "AnswerKind",
    "ParseRule",
    "ParseStatus",
    "Parsed",
    "parse_answer",
    "render",
]


def parse_answer(
    text: str,
    kind: AnswerKind,
    *,
    options: Sequence[str] | None = None,
    image_size: tuple[int, int] | None = None,
    rule: ParseRule = "flexible",
) -> Parsed:
    """What a reply answers; `parsed.Parsed` says which value each kind has.

    `options` are the strings shown for `choice` ("A. moving.") or the labels for `order`; without them any capital
    letter may be answered, and any two or more different letters ordered. `image_size` is (width, height) in pixels
    and only turns boxes in per cent into pixels. Raises ValueError for an unknown kind or rule, TypeError for a text
    that is not a string: a missing generation is not an answer.
    """
    if kind not in ANSWER_KINDS:
        raise ValueError(f"unknown answer kind {kind!r}; known: {', '.join(ANSWER_KINDS)}")
    if rule not in PARSE_RULES:
        raise ValueError(f"unknown parsing rule {rule!r}; known: {', '.join(PARSE_RULES)}")
    if not isinstance(text, str):
        raise TypeError(f"a reply must be a string, not {type(text).__name__}; a missing generation has no score")
    if kind == "action":
        return _parse_action(text, rule)
    if kind == "text":
        value = text.strip() if rule == "official" else _read(text, kind, options, image_size)
    else:
        value = official_value(kind, text) if rule == "official" else _read(text, kind, options, image_size)
    if value is None or value == "":
        return UNPARSEABLE
    return Parsed(value, "ok" if _as_requested(text, kind, value, options) else "recovered")


def _as_requested(text: str, kind: AnswerKind, value: Any, options: Sequence[str] | None) -> bool:
    if not in_requested_format(text, kind):
        return False
    if kind == "choice":
        return value in Options.of(options).letters
    if kind == "order":
        return bool(json_values.decode(text) == value) and (options is None or sorted(value) == sorted(options))
    return kind != "text" or value == text.strip()


def _parse_action(text: str, rule: ParseRule) -> Parsed:
    action = parse_action(text, rule)
    if action.status == "unparseable":
        return UNPARSEABLE
    return Parsed({"steer": action.steer, "target_speed_mps": action.target_speed}, action.status)


# --- the flexible rule -----------------------------------------------------------------------------------------------

_DEEPEST = 3
"""Announcements inside announcements that are followed: a boxed JSON object in an answer tag."""


def _read(text: str, kind: AnswerKind, options: Sequence[str] | None, image_size: tuple[int, int] | None) -> Any:
    if kind == "text":
        return read_text(text)
    reply = final_reply(text)
    if reply is None:
        return None
    for _ in range(_DEEPEST):
        declared = declared_by_markup(reply)
        if declared is None or ANSWER.search(reply, declared[1]):
            break
        reply = declared[0]
    plain = _answer_text(plain_text(reply), kind)
    value = _read_plain(plain, kind, options, image_size)
    if value is None:
        return None
    stated = without_hedges(plain, [*Options.of(options).words.values()] if kind == "choice" else ())
    return value if stated == plain or _read_plain(stated, kind, options, image_size) == value else None


def _answer_text(plain: str, kind: AnswerKind) -> str:
    """What the answer is read from: the value of a JSON reply, else all of it; boxes and orders read JSON later."""
    if kind == "count":
        return _answer_in_json(plain, lambda value: read_json_numeric(value, "count"))
    if kind == "metres":
        return _answer_in_json(plain, lambda value: read_json_numeric(value, "metres"))
    if kind in ("yes_no", "choice"):
        keys = YES_NO_KEYS if kind == "yes_no" else CHOICE_KEYS
        return _answer_in_json(plain, lambda value: _json_text(value, keys))
    return plain


def _read_plain(plain: str, kind: AnswerKind, options: Sequence[str] | None, image_size: tuple[int, int] | None) -> Any:
    if kind == "box":
        return read_box(plain, image_size)
    if kind == "order":
        return read_order(plain, options)
    if kind == "count":
        number = read_numeric(plain, "count")
        return None if number is None or number < 0 or number != int(number) else int(number)
    if kind == "metres":
        number = read_numeric(plain, "metres")
        return None if number is None or number < 0 else abs(number)
    if kind == "yes_no":
        return read_yes_no(plain)
    return read_choice(plain, Options.of(options))


def _answer_in_json(plain: str, answer: Callable[[Any], str | None]) -> str:
    """The answer that the last JSON object of a reply holds, or a list that is all of it; else the reply itself."""
    whole = json_values.decode(plain)
    if whole is not json_values.MISSING:
        found = answer(whole)
        return plain if found is None else plain_text(found)
    for value in reversed(json_values.values_in(plain)):
        if isinstance(value, dict) and (found := answer(value)) is not None:
            return plain_text(found)
    return plain


def _json_text(value: Any, keys: tuple[str, ...]) -> str | None:
    """The answer of a JSON value in words; "" for one that says there is none, None when none can be singled out."""
    _, answer = json_values.answer_of(value, keys)
    if answer is json_values.MISSING or isinstance(answer, dict):
        return None
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, list):
        return ", ".join(map(str, answer))
    return "" if answer is None else str(answer)
