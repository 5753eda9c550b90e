"""Reading a driving decision out of a model's reply: pure functions from text to numbers or keys, never a guess.

Two rules for the two numbers of a decision. `official` is the release's reader to the letter (facts §3.5): the first
number after each label, and nothing between label and colon but blanks. `flexible` is what a fair reader would take.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from drivehierarchy_gym.bridge import MAX_TARGET_SPEED, clamp
from drivehierarchy_gym.reasoning import final_reply

ParseRule = Literal["official", "flexible"]
PARSE_RULES: tuple[ParseRule, ...] = ("official", "flexible")
ParseStatus = Literal["ok", "recovered", "unparseable"]
"""`ok`: in the requested format and range. `recovered`: understood all the same. `unparseable`: no decision in it."""

DIRECTION_KEYS = (
    "FOLLOW_LANE",
    "CHANGE_LANE_LEFT",
    "CHANGE_LANE_RIGHT",
    "GO_STRAIGHT",
    "TURN_LEFT",
    "TURN_RIGHT",
    "DEVIATE_LEFT",
    "DEVIATE_RIGHT",
)
SPEED_KEYS = ("KEEP", "ACCELERATE", "DECELERATE", "STOP")
"""Direction and speed keys of Bench2Drive-VL's action question, in its order."""

ACTION_FORMAT = f"steer: <float in [-1.0, 1.0]>\ntarget_speed_mps: <float in [0.0, {MAX_TARGET_SPEED:.1f}]>"
"""The two lines a reply should consist of, exactly as the release asks for them (facts §3.8)."""
META_FORMAT = f"direction: <one of {', '.join(DIRECTION_KEYS)}>\nspeed: <one of {', '.join(SPEED_KEYS)}>"


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """Wheel in [-1, 1] (negative = left) and target speed in [0, 30] m/s; both None when unparseable."""

    steer: float | None
    target_speed: float | None
    status: ParseStatus


@dataclass(frozen=True, slots=True)
class ParsedKeys:
    """A direction key and a speed key; both None when unparseable."""

    direction: str | None
    speed: str | None
    status: ParseStatus


UNPARSEABLE = ParsedAction(None, None, "unparseable")


_LOOK_ALIKES = {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2014\u2043\u2212"} | {
    ord(c): None for c in "\u200b\u200c\u200d\u2060\ufeff\u00ad"
}


def _plain_characters(text: str) -> str:
    """`text` with full-width forms, typographic minus signs and invisible characters replaced by plain ones (NFKC)."""
    return unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKES)


# --- steer and target speed ------------------------------------------------------------------------------------------

_PLAIN_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_REQUESTED = re.compile(rf"steer:[ \t]*({_PLAIN_NUMBER})[ \t]*\r?\ntarget_speed_mps:[ \t]*({_PLAIN_NUMBER})")

# The release's own number: any Unicode decimal digit, no exponent.
_RELEASE_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
_RELEASE_STEER = re.compile(rf"steer\s*[:=]\s*({_RELEASE_NUMBER})")
_RELEASE_SPEEDS = tuple(
    re.compile(rf"{label}\s*[:=]\s*({_RELEASE_NUMBER})") for label in ("target_speed_mps", "target_speed")
)

_METRES_PER_SECOND = {
    "m/s": 1.0, "mps": 1.0, "ms": 1.0, "m/sec": 1.0, "meters per second": 1.0, "metres per second": 1.0,
    "km/h": 1 / 3.6, "kmh": 1 / 3.6, "kph": 1 / 3.6, "kilometers per hour": 1 / 3.6, "kilometres per hour": 1 / 3.6,
    "mph": 0.44704, "miles per hour": 0.44704,
}  # fmt: skip
_UNIT = "|".join(sorted(map(re.escape, _METRES_PER_SECOND), key=len, reverse=True))
_BEFORE = r"(?<![a-z0-9])(?<![a-z0-9][-_])"
_LABELS = re.compile(
    rf"(?P<tag><)?{_BEFORE}"
    r"(?P<label>(?P<steer>steer(?:ing)?(?:[ _-](?:command|cmd|value))?)"
    rf"|target[ _-]?speed(?:[ _-]?[(\[]?(?:in )?(?P<unit>{_UNIT})[)\]]?)?)(?![a-z0-9])",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"""["'`*_}\s]*(?:\((?![^()\n]*(?:km|mph|kph))[^()\n]{0,80}\)["'`*_}\s]*)?   # a remark in brackets
    (?::=?|=>?|->|→|\|)["'`*_$|\s]*""",
    re.IGNORECASE | re.VERBOSE,
)
_ANOTHER_QUANTITY = re.compile(
    r"""\b(?:previous|prior|last|current|present|old|initial|max(?:imum)?|min(?:imum)?|average|example)[ ]["'`*_]*$""",
    re.I,
)
_TAG_END = re.compile(r">\s*")
_WORD_SEPARATOR = re.compile(r"\s+(?:is|to|of|at)\s+", re.IGNORECASE)
_NUMBER = re.compile(r"(?P<sign>[-+]?)[ ]?(?P<digits>[0-9]+(?:[.,][0-9]+)?|\.[0-9]+)(?P<exponent>e[-+]?[0-9]+)?", re.I)
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")
_UNIT_AFTER = re.compile(rf"\s*(?P<unit>{_UNIT})(?![a-z0-9²/])", re.IGNORECASE)
_NOT_ALONE = re.compile(
    r"""[a-z0-9]|[._,][a-z0-9]                                             # the number goes on, or is none
    |[ \t]*(?:-+>?|~|→|/|±|\+/?-|\.\.+|=+>|<|>)[ \t]*[-+]?\.?[0-9]         # a range, a fraction, a change of mind
    |[ \t]+(?:to|through|until|or|versus|vs|and|plus|minus)[ \t]+[-+]?\.?[0-9]
    |[ \t]*(?:[%°±?~]|(?:deg|degrees?|rad|radians?|percent|left|right)\b)   # another unit, or a sign in words
    |[ \t]*[,(]?[ \t]*(?:or|maybe|perhaps|possibly|probably|approximately|approx|roughly|ish)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_INSTEAD = re.compile(r"""\b(?:or|alternatively)\b[\s:,{`"'*]*$""", re.IGNORECASE)
_STATED_UNIT = re.compile(
    r"""(?:^|(?<=[\s,{]))["']?(?:(?:target[ _-]?)?speed[ _-]?)?units?["']?\s*[:=]\s*["']?([^"',;}\n]+)""", re.IGNORECASE
)
_LINE_ENDS = re.compile(r"""["'`*_$)\]},;.| \t]*(?:\n|$)""")
_AFTER_WORDS = re.compile(r"""\s*(?:$|[\n,;.!)\]}"'`*_|(]|(?:and|with|because|since|so|for|while|then|as)\b)""", re.I)
_CLAIMS_A_NUMBER = re.compile(r"[0-9]|\b(?:nan|inf|infinity|none|null|n/a|unknown|undefined)\b", re.IGNORECASE)


def parse_action(text: str, rule: ParseRule = "official") -> ParsedAction:
    """Read wheel and target speed from a reply; numbers out of range are clamped.

    `official`: each label's first occurrence with a number counts; `target_speed_mps` goes before `target_speed`.
    `flexible`: reasoning is dropped; JSON, markup, tags, units and typographic signs are understood; the last
    declaration of each number counts. A range, a hedge, a placeholder, NaN, a number too large to hold, a second
    decision offered with "or", or a missing half is unparseable. A unit under a key of its own ("unit": "km/h") is
    converted; one that is not known, or contradicts the one at the number, is unparseable.
    """
    requested = _REQUESTED.fullmatch(text.strip())
    if requested:
        return _clamped(float(requested[1]), float(requested[2]), "ok")
    return _parse_official(text) if rule == "official" else _parse_flexible(text)


def format_action(steer: float, target_speed: float) -> str:
    """The reply, in the requested format, that reads back as exactly these numbers."""
    return f"steer: {_decimal(steer)}\ntarget_speed_mps: {_decimal(target_speed)}"


def _decimal(value: float) -> str:
    # Never an exponent: the official reader would stop before it and take 1e-05 for 1.
    return format(Decimal(repr(float(value))), "f")


def _clamped(steer: float, target_speed: float, status: ParseStatus) -> ParsedAction:
    inside = (clamp(steer, -1.0, 1.0), clamp(target_speed, 0.0, MAX_TARGET_SPEED))
    return ParsedAction(*inside, status if inside == (steer, target_speed) else "recovered")


def _parse_official(text: str) -> ParsedAction:
    lowered = text.lower()
    steer = _RELEASE_STEER.search(lowered)
    speed = next((found for found in (p.search(lowered) for p in _RELEASE_SPEEDS) if found), None)
    if steer is None or speed is None:
        return UNPARSEABLE
    return _clamped(float(steer[1]), float(speed[1]), "recovered")


def _parse_flexible(text: str) -> ParsedAction:
    answer = final_reply(text)
    if answer is None:
        return UNPARSEABLE
    answer = _plain_characters(answer)
    labels = list(_LABELS.finditer(answer))
    steer: float | None = None
    speed: float | None = None
    seen: set[bool] = set()
    for i, label in enumerate(labels):
        end = labels[i + 1].start() if i + 1 < len(labels) else len(answer)
        declared = _declared(answer, label, end)
        if declared is False:
            continue
        is_steer = label["steer"] is not None
        if is_steer in seen and _INSTEAD.search(answer[max(0, label.start() - 40) : label.start()]):
            declared = None
        seen.add(is_steer)
        if is_steer:
            steer = declared
        else:
            speed = declared
    if steer is None or speed is None:
        return UNPARSEABLE
    return _clamped(steer, speed, "recovered")


def _declared(answer: str, label: re.Match[str], end: int) -> float | Literal[False] | None:
    """Number that a label declares; None where it claims one and gives none; False where it declares nothing."""
    if _ANOTHER_QUANTITY.search(answer[max(0, label.start() - 20) : label.start()]):
        return False
    separator = (_TAG_END if label["tag"] else _SEPARATOR).match(answer, label.end(), end)
    in_words = separator is None and not label["tag"]
    if in_words:
        separator = _WORD_SEPARATOR.match(answer, label.end(), end)
    if separator is None:
        return False
    start = separator.end()
    bracket = answer.startswith("<", start)
    number = _NUMBER.match(answer, start + bracket, end)
    value, after = (None, start) if number is None else _value(answer, number, label)
    if bracket:  # "<0.1>" is a placeholder that was filled, anything else between the brackets is the template itself
        return value if value is not None and answer.startswith(">", after) else False
    if in_words:
        return value if value is not None and _AFTER_WORDS.match(answer, after) else False
    if "\n" in separator[0] and not _LINE_ENDS.match(answer, after):
        value = None  # "1. keep left" on the line below is a list
    if value is not None:
        return value
    line_end = answer.find("\n", start, end)
    return None if _CLAIMS_A_NUMBER.search(answer, start, end if line_end < 0 else line_end) else False


def _value(answer: str, number: re.Match[str], label: re.Match[str]) -> tuple[float | None, int]:
    """Value of a number after a label in the label's unit, None when it does not stand alone; and where it ends."""
    unit = None if label["steer"] else _UNIT_AFTER.match(answer, number.end())
    after = number.end() if unit is None else unit.end()
    # One to three digits, a comma and three digits: decimal comma or thousands separator, nobody can tell.
    if _THOUSANDS.fullmatch(number["digits"]) or _NOT_ALONE.match(answer, after):
        return None, after
    value = float(number["sign"] + number["digits"].replace(",", ".") + (number["exponent"] or ""))
    if not math.isfinite(value):
        return None, after
    if not label["steer"]:
        name = unit["unit"] if unit else label["unit"]
        factors = {_METRES_PER_SECOND.get(stated) for stated in _units(answer, label, after, name)}
        if None in factors or len(factors) > 1:
            return None, after
        value *= next(iter(factors)) or 1.0 if factors else 1.0
    return value, after


def _units(answer: str, label: re.Match[str], after: int, at_number: str | None) -> list[str]:
    """Units of a speed in lower case: the one next to its number or in its label, and those under a key beside it.

    Beside it is the JSON object around it.
    """
    names = [at_number] if at_number else []
    opened = answer.rfind("{", max(0, label.start() - 400), label.start())
    enclosed = opened >= 0 and "}" not in answer[opened : label.start()]
    closed = answer.find("}", after) if enclosed else -1
    if enclosed and closed >= 0:
        names += _STATED_UNIT.findall(answer[opened:closed])
    return [name.strip().lower().rstrip(".") for name in names]


# --- direction and speed keys ----------------------------------------------------------------------------------------

_KEYS = re.compile(
    rf"(?<![A-Za-z_])(?:(?P<direction>{'|'.join(DIRECTION_KEYS)})|(?P<speed>{'|'.join(SPEED_KEYS)}))(?![A-Za-z_])"
)
_REQUESTED_KEYS = re.compile(
    rf"direction:[ \t]*({'|'.join(DIRECTION_KEYS)})[ \t]*\r?\nspeed:[ \t]*({'|'.join(SPEED_KEYS)})"
)


def parse_keys(text: str) -> ParsedKeys:
    """Read direction and speed key as Bench2Drive-VL does: the last of each counts.

    A missing direction is FOLLOW_LANE (go on along the route), a missing speed KEEP; neither is unparseable, and so is
    a reply whose reasoning never ends.
    """
    requested = _REQUESTED_KEYS.fullmatch(text.strip())
    if requested:
        return ParsedKeys(requested[1], requested[2], "ok")
    direction: str | None = None
    speed: str | None = None
    for found in _KEYS.finditer(final_reply(text) or ""):
        direction = found["direction"] or direction
        speed = found["speed"] or speed
    if direction is None and speed is None:
        return ParsedKeys(None, None, "unparseable")
    return ParsedKeys(direction or "FOLLOW_LANE", speed or "KEEP", "recovered")
