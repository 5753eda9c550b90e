"""The released evaluator stated a second time, from its description and in another manner, for tests to compare with.

Where the package uses regular expressions, this walks over characters. Nothing here is imported from the package. A
function returns the score, or None for the release's parse failure.
"""

from __future__ import annotations

import json
import math
from typing import Any


def score(kind: str, truth: Any, reply: str) -> float | None:
    """Score of `reply` by the released rules."""
    return {
        "yes_no": _yes_no,
        "count": _count,
        "metres": _metres,
        "choice": _choice,
        "box": _box,
        "order": _order,
    }[kind](truth, reply)


# --- numbers ---------------------------------------------------------------------------------------------------------


def _numbers(text: str) -> list[float]:
    """Signed decimals from left to right: digits with an optional fraction, or a fraction alone; optional exponent."""
    found = []
    at = 0
    while at < len(text):
        end = at
        if text[end] in "+-":
            end += 1
        whole = _digits(text, end)
        if whole > end:
            fraction = _digits(text, whole + 1) if text[whole : whole + 1] == "." else whole
            stop = fraction if fraction > whole + 1 else whole
        elif text[end : end + 1] == "." and _digits(text, end + 1) > end + 1:
            stop = _digits(text, end + 1)
        else:
            at += 1
            continue
        if text[stop : stop + 1] in ("e", "E"):
            start = stop + 2 if text[stop + 1 : stop + 2] in ("+", "-") else stop + 1
            if _digits(text, start) > start:
                stop = _digits(text, start)
        found.append(float(text[at:stop]))
        at = stop
    return found


def _digits(text: str, at: int) -> int:
    while at < len(text) and text[at].isdecimal():
        at += 1
    return at


def _first(value: Any) -> float | None:
    if isinstance(value, str):
        found = _numbers(value.replace(",", " "))
        return found[0] if found else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)


def _decayed(error: float, tolerance: float, half: float) -> float:
    """100 up to the tolerance, 50 at `half`, falling exponentially."""
    if error <= tolerance:
        return 100.0
    return 100.0 * 2.0 ** (-(error - tolerance) / (half - tolerance))


def _count(truth: Any, reply: str) -> float | None:
    expected, number = _first(truth), _first(reply)
    if expected is None or number is None or math.isinf(number):
        return None
    whole = [max(0, math.trunc(value + math.copysign(0.5, value))) for value in (expected, number)]
    return _decayed(abs(whole[0] - whole[1]) / max(whole[0], 1), 0.05, 0.20)


def _metres(truth: Any, reply: str) -> float | None:
    expected, number = _first(truth), _first(reply)
    if expected is None or number is None:
        return None
    if math.isinf(max(number, 0.0)):
        return 0.0
    return _decayed(abs(math.log(max(number, 0.0) + 0.1) - math.log(max(expected, 0.0) + 0.1)), 0.0, math.log(2.0))


# --- words -----------------------------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """Lower case, white space folded to one space, then only a-z, 0-9 and spaces kept."""
    folded = []
    for letter in text.strip().lower():
        if not letter.isspace():
            folded.append(letter)
        elif not folded or folded[-1] != " ":
            folded.append(" ")
    return "".join(letter for letter in folded if letter in " abcdefghijklmnopqrstuvwxyz0123456789").strip()


def _yes_no(truth: Any, reply: str) -> float | None:
    read = []
    for text in (_plain(str(truth)), _plain(reply)):
        if text[:3] == "yes" or text in {"y", "true"}:
            read.append(True)
        elif text[:2] == "no" or text in {"n", "false"}:
            read.append(False)
        else:
            return None
    return 100.0 if read[0] is read[1] else 0.0


def _letter(value: Any) -> str | None:
    text = str(value).strip().upper()
    if value is None or not text:
        return None
    if len(text) == 1 and text.isalpha():
        return text
    at = 0
    while text[at : at + 1] in tuple("\"'([{"):
        at += 1
    at = _spaces(text, at)
    if _capital(text, at):
        after = _spaces(text, at + 1)
        if at + 1 == len(text) or text[after : after + 1] in tuple(")]}\"'.,:;-"):
            return text[at]
    for start in range(len(text)):
        for word in ("OPTION", "ANSWER", "CHOICE"):
            if not text.startswith(word, start) or (start and _wordlike(text[start - 1])):
                continue
            at = _spaces(text, start + len(word))
            if text[at : at + 1] in (":", "-"):
                at = _spaces(text, at + 1)
            if _capital(text, at) and not (at + 1 < len(text) and _wordlike(text[at + 1])):
                return text[at]
    return None


def _spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _capital(text: str, at: int) -> bool:
    return "A" <= text[at : at + 1] <= "Z"


def _wordlike(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _words(value: Any) -> str:
    """The words of an option, without "A."-like and then "option A"-like beginnings."""
    text = str(value).strip()
    if text and text[0].isascii() and text[0].isalpha():
        at = _spaces(text, 1)
        if text[at : at + 1] in tuple(".):-"):
            text = text[_spaces(text, at + 1) :]
    begin = _spaces(text, 0)
    for word in ("option", "answer", "choice"):
        # Case is ignored: long s is s, dotless and dotted capital i are i, the Kelvin sign is k.
        if text[begin : begin + 6].replace("\u017f", "s").replace("\u0131", "i").replace("\u0130", "i").lower() != word:
            continue
        at = _spaces(text, begin + 6)
        if text[at : at + 1] in (":", "-"):
            at = _spaces(text, at + 1)
        following = text[at : at + 1]
        if following and ((following.isascii() and following.isalpha()) or following in "\u017f\u212a\u0131\u0130"):
            text = text[_spaces(text, at + 1) :]
        break
    return _plain(text)


def _choice(truth: Any, reply: str) -> float | None:
    pair = _letter(truth), _letter(reply)
    if None in pair:
        pair = _words(truth), _words(reply)
        if not all(pair):
            return None
    return 100.0 if pair[0] == pair[1] else 0.0


# --- boxes -----------------------------------------------------------------------------------------------------------


def _corners(value: Any) -> list[float] | None:
    if isinstance(value, dict):
        return _corners(value["bbox"]) if "bbox" in value else None
    if isinstance(value, list):
        if len(value) >= 4:
            four = [_first(entry) for entry in value[:4]]
            if None not in four:
                return _sorted(four)
        return _corners(value[0]) if value and isinstance(value[0], list) else None
    if not isinstance(value, str):
        return None
    try:
        decoded = json.loads(value.strip())
    except ValueError:
        decoded = None
    found = _corners(decoded)
    if found is None:
        numbers = _numbers(value)
        found = _sorted(numbers[:4]) if len(numbers) >= 4 else None
    return found


def _sorted(four: list[Any]) -> list[float]:
    left, right = sorted([four[0], four[2]])
    top, bottom = sorted([four[1], four[3]])
    return [left, top, right, bottom]


def _box(truth: Any, reply: str) -> float | None:
    gold, box = _corners(truth), _corners(reply)
    if gold is None or box is None:
        return None
    across, down = min(gold[2], box[2]) - max(gold[0], box[0]), min(gold[3], box[3]) - max(gold[1], box[1])
    common = max(0.0, across) * max(0.0, down)
    areas = [max(0.0, b[2] - b[0]) * max(0.0, b[3] - b[1]) for b in (gold, box)]
    union = areas[0] + areas[1] - common
    return 0.0 if union <= 0 else max(0.0, min(100.0, 100.0 * (common / union)))


# --- orders ----------------------------------------------------------------------------------------------------------


def _labels(value: Any) -> list[str]:
    entries: list[Any]
    if isinstance(value, list):
        entries = value
    elif isinstance(value, str) and value.strip():
        try:
            decoded = json.loads(value.strip())
            entries = decoded if isinstance(decoded, list) else [decoded]
        except ValueError:
            text = value.strip().upper()
            entries = [
                text[at]
                for at in range(len(text))
                if _capital(text, at)
                and not (at and _wordlike(text[at - 1]))
                and not (at + 1 < len(text) and _wordlike(text[at + 1]))
            ]
    else:
        return []
    labels: list[str] = []
    for entry in entries:
        label = _letter(entry)
        if label is not None and label not in labels:
            labels.append(label)
    return labels


def _order(truth: Any, reply: str) -> float | None:
    gold, named = _labels(truth), _labels(reply)
    if not gold or not named:
        return None
    order = [label for label in named if label in gold]
    order.extend(label for label in gold if label not in named)
    pairs = [(a, b) for i, a in enumerate(gold) for b in gold[i + 1 :]]
    if not pairs:
        return 100.0
    wrong = sum(order.index(a) > order.index(b) for a, b in pairs)
    return 100.0 * (1.0 - wrong / len(pairs))
