"""JSON in a reply: where it is, what it says, and which of its values is the answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

MISSING: Final = object()
"""No such value; unlike None, which a reply may say."""

_BRACKET = re.compile(r"[\[\]{}]")
_CLOSES = {"]": "[", "}": "{"}
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_PYTHON_WORDS = re.compile(r"\b(?:True|False|None)\b")
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}


def bracketed(text: str) -> list[tuple[int, int]]:
    """(start, end) of the outermost balanced groups in square brackets and braces, in order of appearance."""
    groups: list[tuple[int, int]] = []
    stack: list[tuple[str, int]] = []
    for bracket in _BRACKET.finditer(text):
        sign = bracket[0]
        if sign in "[{":
            stack.append((sign, bracket.start()))
        elif stack and stack[-1][0] == _CLOSES[sign]:
            start = stack.pop()[1]
            while groups and groups[-1][0] > start:
                groups.pop()
            groups.append((start, bracket.end()))
    return groups


def decode(text: str) -> Any:
    """The value that `text` is in JSON, or nearly (single quotes, Python's words, trailing commas); else MISSING."""
    text = text.strip()
    if not text.startswith(("{", "[", '"')):
        return MISSING
    for candidate in _spellings(text):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return MISSING


def _spellings(text: str) -> Iterator[str]:
    yield text
    text = _TRAILING_COMMA.sub("", text)
    yield text
    text = _PYTHON_WORDS.sub(lambda word: _JSON_WORDS[word[0]], text)
    if '"' not in text:
        text = text.replace("'", '"')
    yield text


def values_in(text: str) -> list[Any]:
    """The objects and lists written in a reply, in order of appearance."""
    found = (decode(text[start:end]) for start, end in bracketed(text))
    return [value for value in found if value is not MISSING]


ANSWER_KEYS: Final = (
    "final_answer", "finalanswer", "answer", "ans", "final", "prediction", "predicted_answer", "result", "output",
    "response", "solution", "conclusion", "value",
)  # fmt: skip
"""Keys under which any answer may stand, the most explicit first."""

_REMARKS: Final = frozenset(
    (
        "reasoning", "explanation", "rationale", "reason", "thought", "thoughts", "think", "thinking", "analysis",
        "confidence", "probability", "certainty", "score", "unit", "units", "label", "name", "description", "note",
        "notes", "comment", "caption", "category", "class", "id", "question", "task", "type", "justification", "format",
        "evidence", "summary", "object", "camera",
    )
)  # fmt: skip
"""Keys that accompany an answer."""

_NOT_A_KEY_CHARACTER = re.compile(r"[^a-z0-9]+")


def plain_key(key: str) -> str:
    """ "Final Answer:" -> "final_answer"."""
    return _NOT_A_KEY_CHARACTER.sub("_", key.lower()).strip("_")


def answer_of(value: Any, keys: tuple[str, ...], depth: int = 0) -> tuple[str, Any]:
    """(key, answer) of a JSON value: what stands under an answer key or one of `keys`, else under its only own key.

    ("", MISSING) when nothing can be singled out. A list with one entry stands for that entry.
    """
    if depth > 4:
        return "", MISSING
    if isinstance(value, list) and len(value) == 1:
        return answer_of(value[0], keys, depth + 1)
    if not isinstance(value, Mapping):
        return "", MISSING if isinstance(value, list) else value
    plain = {plain_key(key): entry for key, entry in value.items()}
    for key in (*ANSWER_KEYS[:4], *keys, *ANSWER_KEYS[4:]):
        if key in plain:
            return _inner(key, plain[key], keys, depth)
    own = [key for key in plain if key not in _REMARKS]
    if len(own) == 1:
        return _inner(own[0], plain[own[0]], keys, depth)
    return "", MISSING


def _inner(key: str, entry: Any, keys: tuple[str, ...], depth: int) -> tuple[str, Any]:
    if isinstance(entry, Mapping | list):
        inner_key, found = answer_of(entry, keys, depth + 1)
        return inner_key or key, found if found is not MISSING else entry
    return key, entry


def finite(value: Any) -> float | None:
    """A JSON number as a float; None for anything else, NaN and infinity included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
