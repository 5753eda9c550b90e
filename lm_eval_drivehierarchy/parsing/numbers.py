"""The number grammar: every quantity that a text mentions, with its unit and the part it plays.

One grammar for all kinds of answer: signs, decimal points and commas, thousands separators, exponents, number words and
units of length; and what looks like an answer but is none: coordinates, resolutions, labels ("image 2"), list numbers,
ordinals, times, shares, bounds ("at least 5") and ranges ("5-10").
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

METRES_PER_UNIT: Final = {
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0, "mtr": 1.0, "mtrs": 1.0, "米": 1.0,
    "km": 1000.0, "kms": 1000.0, "kilometer": 1000.0, "kilometers": 1000.0, "kilometre": 1000.0,
    "kilometres": 1000.0, "公里": 1000.0, "千米": 1000.0,
    "cm": 0.01, "cms": 0.01, "centimeter": 0.01, "centimeters": 0.01, "centimetre": 0.01, "centimetres": 0.01,
    "厘米": 0.01,
    "dm": 0.1, "decimeter": 0.1, "decimeters": 0.1, "decimetre": 0.1, "decimetres": 0.1,
    "mm": 0.001, "millimeter": 0.001, "millimeters": 0.001, "millimetre": 0.001, "millimetres": 0.001,
    "ft": 0.3048, "foot": 0.3048, "feet": 0.3048,
    "inch": 0.0254, "inches": 0.0254,
    "yd": 0.9144, "yds": 0.9144, "yard": 0.9144, "yards": 0.9144,
    "mi": 1609.344, "mile": 1609.344, "miles": 1609.344,
}  # fmt: skip
"""Unit of length -> metres."""

_OTHER_UNITS: Final = frozenset(
    (
        "s", "sec", "secs", "second", "seconds", "ms", "min", "mins", "minute", "minutes", "h", "hr", "hour", "hours",
        "hz", "fps", "mph", "kph", "kmh", "kmph", "mps", "percent", "px", "pixel", "pixels", "pix", "deg", "degree",
        "degrees", "radians", "times", "year", "years", "old", "am", "pm", "mp", "megapixels", "kg", "tons",
        "frame", "frames", "image", "images", "view", "views", "camera", "cameras", "picture", "pictures", "photo",
        "photos", "lane", "lanes", "direction", "directions", "side", "sides", "option", "options", "angle", "angles",
        "step", "steps", "row", "rows",
    )
)  # fmt: skip
_LABELLED: Final = frozenset(
    (
        "image", "frame", "view", "camera", "cam", "picture", "photo", "step", "figure", "fig", "option", "lane",
        "object", "vehicle", "car", "truck", "bus", "van", "suv", "sedan", "motorcycle", "pedestrian", "person",
        "bicycle", "cyclist", "cone", "item", "example", "question", "line", "row", "point", "part", "section", "group",
        "id", "stage", "scenario", "level", "case", "note", "t", "time", "timestamp", "instance", "index", "route",
        "highway", "exit", "grade", "version", "track", "sample", "scene", "class",
    )
)  # fmt: skip
"""Words after which a number is a name: "vehicle 3" is not three vehicles."""

_LABELLED_TOGETHER: Final = frozenset(("images", "frames", "views", "cameras", "pictures", "photos", "steps", "ids"))

_SMALL: Final = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS: Final = {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
} | {"fourty": 40}
_SCALES: Final = {"thousand": 1000, "million": 1_000_000}
_NUMERAL_SCALES: Final = {"hundred": 100, "dozen": 12} | _SCALES

_AND_A_PART: Final = {
    ("and", "a", "half"): 0.5,
    ("and", "one", "half"): 0.5,
    ("and", "a", "quarter"): 0.25,
    ("and", "one", "quarter"): 0.25,
    ("and", "three", "quarters"): 0.75,
}

_DETERMINERS: Final = frozenset(
    (
        "the", "this", "that", "each", "every", "no", "any", "another", "which", "other", "last", "first", "next",
        "nearest", "closest", "red", "white", "black", "blue", "same", "correct", "right", "left",
    )
)  # fmt: skip
_AFTER_A_PRONOUN: Final = frozenset(
    ("of", "another", "by", "way", "can", "should", "could", "might", "would", "moment", "time", "glance", "after")
)
"""Words before and after a "one" that is no number: "the one", "one of them", "one by one", "at one moment"."""

_TOKEN = re.compile(
    r"(?P<number>[-+]?(?<![\[(\d.,'_])(?<![\[(\d.,'_] )"
    r"[1-9][0-9]{0,2}(?: [0-9]{3})+(?![0-9])(?! [-+]?[0-9])(?:\.[0-9]+)?"
    r"|[-+]?\.?[0-9][0-9.,'_]*(?:e[-+]?[0-9]+)?)"
    r"|(?P<word>[^\W\d_²³¹⁰-⁹]+(?:'[^\W\d_]+)*)|(?P<line>\n)|(?P<sign>[^\s])",
    re.IGNORECASE,
)
_PART_OF: Final = ("which", "whom", "them", "these", "those")
"""Words after "of" that make a number a part of another one."""
_COORDINATES: Final = ("x", "y", "u", "v", "w", "h")
COUNTED: Final = re.compile(
    r"vehicles?|cars?|pedestrians?|people|persons?|bicycles?|bikes?|cyclists?|(?:traffic )?cones?|objects?|trucks?|"
    r"bus(?:es)?|motorcycles?|instances?|targets?|ones?"
)
"""What the questions count."""
_INTEGER = r"[0-9]+"
_GROUPED = r"[1-9][0-9]{0,2}"
_SPELLINGS: Final = (
    (re.compile(rf"{_INTEGER}(?:\.[0-9]+)?|\.[0-9]+"), ""),
    (re.compile(rf"{_GROUPED}(?:,[0-9]{{3}})+(?:\.[0-9]+)?"), ","),
    (re.compile(rf"{_GROUPED}(?: [0-9]{{3}})+(?:\.[0-9]+)?"), " "),
    (re.compile(rf"{_GROUPED}(?:'[0-9]{{3}})+(?:\.[0-9]+)?"), "'"),
    (re.compile(rf"{_GROUPED}(?:_[0-9]{{3}})+(?:\.[0-9]+)?"), "_"),
    (re.compile(rf"{_GROUPED}(?:\.[0-9]{{3}}){{2,}}"), "."),
)
_EUROPEAN = re.compile(rf"{_GROUPED}(?:\.[0-9]{{3}})+,[0-9]+")
_GROUPED_BY_COMMA = re.compile(rf"{_GROUPED}(?:,[0-9]{{3}})+")
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+")
_WHOLE_FLOATS: Final = 2.0**53
"""Up to here every whole number is a float of its own."""


def read_number(text: str) -> float | None:
    """Value of one number in digits: 5, -5, .5, 5.25, 5,25, 1,234.5, 1.234,5, 1'234, 1 234, 1e3; else None.

    A comma before exactly three digits groups thousands unless a zero leads ("0,125"). An overflow is None.
    """
    value = _exact_number(text)
    return None if value is None else float(value)


def _exact_number(text: str) -> float | None:
    """The same, as an int where the nearest float is another whole number."""
    body = text.lstrip("+-").rstrip(".,'_")
    negative = text.startswith("-")
    mantissa, _, exponent = body.lower().partition("e")
    plain: str | None = None
    for pattern, separator in _SPELLINGS:
        if pattern.fullmatch(mantissa):
            plain = mantissa.replace(separator, "") if separator else mantissa
            break
    else:
        if _EUROPEAN.fullmatch(mantissa):
            plain = mantissa.replace(".", "").replace(",", ".")
        elif _DECIMAL_COMMA.fullmatch(mantissa):
            plain = mantissa.replace(",", ".")
    if plain is None:
        return None
    value = float(f"{plain}e{exponent}" if exponent else plain)
    if not math.isfinite(value):
        return None
    whole, _, fraction = plain.partition(".")
    if abs(value) >= _WHOLE_FLOATS and not exponent and not fraction.strip("0"):
        value = int(whole)
    return -value if negative else value


Unit = Literal["", "length", "other"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number in a text.

    `start` and `end` are offsets, unit included. `value` is in metres for unit "length"; None when the number is
    malformed. `hedged`: a bound, a range, a fraction or an alternative, so not an answer; `bound` tells which side a
    bound leaves open, "above" or "below". `aside`: in round brackets.
    `operand`: a term of a sum. `decimal_comma`: written with a comma that might as well separate two numbers.
    """

    start: int
    end: int
    value: float | None
    unit: Unit = ""
    hedged: bool = False
    bound: Literal["", "above", "below"] = ""
    aside: bool = False
    operand: bool = False
    decimal_comma: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int
    depth: int


def _tokens(text: str) -> list[_Token]:
    tokens = []
    depth = 0
    for match in _TOKEN.finditer(text.lower()):
        sign = match[0]
        if sign == ")":
            depth = max(0, depth - 1)
        tokens.append(_Token(match.lastgroup or "", sign, match.start(), match.end(), depth))
        if sign == "(":
            depth += 1
    return tokens


def quantities(text: str) -> list[Quantity]:
    """The quantities that plain text mentions, in order, without those that play another part (see the module)."""
    if len(text.lower()) != len(text):  # a letter whose lower case is longer: offsets would shift
        text = "".join(letter if len(letter.lower()) == 1 else " " for letter in text)
    tokens = _tokens(text)
    found = _Scanner(tokens).scan()
    return _joined(found, text)


class _Scanner:
    """Goes once over the tokens."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self.tokens = tokens
        self.coordinates = _coordinate_tokens(tokens)
        self.list_numbers = _list_numbers(tokens)
        self.quoted = any(token.text == "'" for token in tokens)
        named = {a.text for a, b in itertools.pairwise(tokens) if b.text == "=" and a.text in _COORDINATES}
        self.coordinate_names = named if len(named) > 1 else frozenset()

    def at(self, index: int) -> _Token:
        return self.tokens[index] if 0 <= index < len(self.tokens) else _NOTHING

    def adjacent(self, index: int) -> bool:
        """True when nothing separates token `index` from the one before."""
        return 0 < index < len(self.tokens) and self.tokens[index].start == self.tokens[index - 1].end

    def scan(self) -> list[Quantity]:
        found: list[Quantity] = []
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.kind == "number":
                quantity, index = self._digits(index)
            elif token.kind == "word":
                quantity, index = self._words(index)
            else:
                quantity, index = None, index + 1
            if quantity is not None:
                found.append(quantity)
        return found

    # digits

    def _digits(self, index: int) -> tuple[Quantity | None, int]:
        token = self.tokens[index]
        text = token.text
        before = self.at(index - 1)
        hyphen = text[0] == "-" and (before.kind in ("number", "word") or before.text in (")", "]", "%", "°"))
        if text[0] == "+" and before.kind in ("number", "word") and self.adjacent(index):
            text = text[1:]
        elif hyphen:
            if before.kind == "word" and before.text not in METRES_PER_UNIT and self.adjacent(index):
                return None, index + 1  # "camera-2"
            if before.kind == "word" and before.text not in METRES_PER_UNIT:
                hyphen = False  # "about -5"
            else:
                text = text[1:]
        elif self.adjacent(index) and (before.text == "_" or (before.kind == "word" and before.text.isascii())):
            return None, index + 1  # "x1", "bbox_2d"
        end = index + 1
        value = _exact_number(text)
        scale = self.at(end)
        if scale.text in _NUMERAL_SCALES and value is not None:
            value *= _NUMERAL_SCALES[scale.text]
            end += 1
        if value is not None and (part := self._part(end)):
            value += -part if value < 0 else part
            end += 3
        bare = text.strip("+-.,'_")
        comma = bool(_DECIMAL_COMMA.fullmatch(bare)) and not _GROUPED_BY_COMMA.fullmatch(bare)
        return self._classified(index, end, value, after_hyphen=hyphen, decimal_comma=comma), end

    # words

    def _words(self, index: int) -> tuple[Quantity | None, int]:
        value, end = self._spelled(index)
        if value is None:
            return None, index + 1
        if end == index + 1 and self.tokens[index].text == "one" and self._pronoun(index):
            return None, end
        if self.adjacent(index) and self.at(index - 1).text in ("-", "_"):
            return None, end
        return self._classified(index, end, value), end

    def _spelled(self, index: int) -> tuple[float | None, int]:
        """Value of the number words that begin at `index`, and where they end."""
        word = self.tokens[index].text
        after = self.at(index + 1).text
        if word in ("a", "one") and after in _NUMERAL_SCALES:
            total, end = self._spelled_rest(index + 1, 1)
        elif word == "half" and after == "a" and self.at(index + 2).text == "dozen":
            return 6.0, index + 3
        elif word == "half" and after in ("a", "an") and self.at(index + 2).text in METRES_PER_UNIT:
            return 0.5, index + 2
        elif word == "a" and after in METRES_PER_UNIT and self._part(index + 2):
            return 1.0, index + 1
        elif word == "a" and after in ("single", "lone", "pair"):
            return (2.0 if after == "pair" else 1.0), index + 2
        elif word == "single" and after not in ("", ".", ","):
            return 1.0, index + 1
        elif word in _SMALL or word in _TENS:
            total, end = self._spelled_rest(index, None)
        else:
            return None, index + 1
        if part := self._part(end):
            return total + part, end + 3
        if self.at(end).text == "point" and self.at(end + 1).text in _SMALL:
            digits = ""
            end += 1
            while (digit := _SMALL.get(self.at(end).text)) is not None and digit < 10 and len(digits) < 15:
                digits += str(digit)
                end += 1
            if digits:
                total = float(f"{int(total)}.{digits}")
        return total, end

    def _part(self, index: int) -> float:
        """The fraction that the words from `index` on add to a number: "and a half"."""
        return _AND_A_PART.get((self.at(index).text, self.at(index + 1).text, self.at(index + 2).text), 0.0)

    def _spelled_rest(self, index: int, start: int | None) -> tuple[float, int]:
        total, current = 0, start or 0
        last = "unit" if start is not None else "start"
        while True:
            word = self.at(index).text
            step = 1
            if word in _SMALL and (last in ("start", "scale") or (last == "tens" and 0 < _SMALL[word] < 10)):
                current += _SMALL[word]
                last = "unit"
            elif word in _TENS and last in ("start", "scale"):
                current += _TENS[word]
                last = "tens"
            elif word == "hundred" and last == "unit" and 0 < current < 100:
                current *= 100
                last = "scale"
            elif word == "dozen" and last in ("unit", "tens") and 0 < current < 100:
                return float(total + current * 12), index + 1
            elif word in _SCALES and last != "start" and 0 < current < 1000 and (total == 0 or total > _SCALES[word]):
                total += current * _SCALES[word]
                current = 0
                last = "scale"
            elif (word == "-" and last == "tens" and 0 < _SMALL.get(self.at(index + 1).text, 0) < 10) or (
                word == "and" and last == "scale" and self.at(index + 1).text in (_SMALL.keys() | _TENS.keys())
            ):
                pass
            else:
                return float(total + current), index
            index += step

    def _pronoun(self, index: int) -> bool:
        """True when "one" stands for a thing: "the one", "no one", "one of them"."""
        before, after = self.at(index - 1).text, self.at(index + 1).text
        return before in _DETERMINERS or after in _AFTER_A_PRONOUN

    # parts

    def _classified(
        self, index: int, end: int, value: float | None, *, after_hyphen: bool = False, decimal_comma: bool = False
    ) -> Quantity | None:
        """The quantity in tokens [index, end), or None when it plays another part."""
        if index in self.coordinates or index in self.list_numbers:
            return None
        measured = self._unit(index, end)
        if measured is None or self._named(index) or self._clock_or_resolution(index, end) or self._part_of(index, end):
            return None
        unit, factor, following = measured
        part = self._part(following) if unit == "length" and self.at(following + 3).text != "-" else 0.0
        if part and value is not None:  # "one metre and a half"
            value += -part if value < 0 else part
            following += 3
        glued = unit == "length" and self.adjacent(following) and self.at(following).kind == "number"  # "12m50"
        if glued or self._beside_a_number(index, end):
            value = None
        bound = self._bound(index, following)
        return Quantity(
            start=self.tokens[index].start,
            end=self.tokens[following - 1].end,
            value=value if value is None or factor == 1 else value * factor,  # an int stays exact
            unit=unit,
            hedged=after_hyphen or bool(bound) or self._hedged(index, following),
            bound=bound,
            aside=self.tokens[index].depth > 0,
            operand=self._operand(index, end),
            decimal_comma=decimal_comma,
        )

    def _unit(self, index: int, end: int) -> tuple[Unit, float, int] | None:
        """(unit, its metres, token after it) of the number in [index, end); None for a quantity that is no length."""
        before, after, later = self.at(index - 1), self.at(end), self.at(end + 1)
        attached = self.adjacent(end)
        compound = after.text == "-" and attached and self.adjacent(end + 1) and later.kind == "word"
        name = later.text if compound else after.text
        following = end + 1 + compound
        inches = name == "in" and ((attached and not later.text[:1].isalpha()) or before.text in ("ft", "feet", "foot"))
        if name in METRES_PER_UNIT or inches:
            rate = self.at(following)
            if (
                rate.text == "per"
                or (rate.text == "/" and not self._is_number(following + 1))
                or (rate.text in ("²", "^", "2") and self.adjacent(following))
            ):
                return None  # a speed, an area
            return "length", METRES_PER_UNIT.get(name, METRES_PER_UNIT["inch"]), following
        word = after.kind == "word" and after.text.isascii() and not COUNTED.fullmatch(after.text)
        if compound or (attached and (after.text == "_" or word)):
            return None  # "3-lane", "2nd", "3D", "1600x900"
        if after.text in _OTHER_UNITS or after.text in ("%", "°", "x", "×", "²"):
            return None
        if later.text in ("length", "lengths"):
            return None  # "5 car lengths"
        foot_mark = self.tokens[end - 1].text.endswith("'") and not self.quoted
        if foot_mark or (attached and after.text == '"' and before.text != '"'):
            return None  # feet and inches as marks
        return "", 1.0, end

    def _beside_a_number(self, index: int, end: int) -> bool:
        """True for both parts of "12 50" and of "2^3": what they are together is anybody's guess."""
        for first, second in ((index - 1, index), (end - 1, end)):
            one, other = self.at(first), self.at(second)
            if one.kind == other.kind == "number" and one.text[-1].isdigit() and other.text[0].isdigit():
                return True
        return "^" in (self.at(index - 1).text, self.at(end).text)

    def _part_of(self, index: int, end: int) -> bool:
        """True for the 2 of "2 of which" and "of which 2": a part of another number."""
        if self.at(index - 1).text in _PART_OF and self.at(index - 2).text == "of":
            return True
        whole = self.tokens[end - 1].text.endswith(",")
        return self.at(end).text == "of" and self.at(end + 1).text in _PART_OF and not whole

    def _operand(self, index: int, end: int) -> bool:
        before, after = self.at(index - 1), self.at(end)
        if before.text in ("+", "*", "×", "plus", "minus") or (
            after.text in ("+", "*", "plus", "minus") and self._is_number(end + 1)
        ):
            return True
        if after.kind == "number" and after.text.startswith("+"):
            return True
        return self.tokens[index].text.startswith("+") and before.kind == "number"

    def _named(self, index: int) -> bool:
        before = self.at(index - 1)
        if before.text in ("±", "not", "isn't", "aren't", "wasn't", "weren't"):
            return True
        if before.text in ("including", "excluding", "counting"):
            return True
        if self._end_of_labels(index):
            return True
        if before.text == "#":
            return self.at(index - 2).kind == "word"  # "car #3", but "#3" is three
        name = self.at(index - 2).text
        if before.text == "=" and (name == "t" or name in self.coordinate_names):
            return True
        labels = before.text in _LABELLED or before.text in _LABELLED_TOGETHER
        return labels and self.tokens[index].text[0] not in "+-"

    def _end_of_labels(self, index: int) -> bool:
        """True for the 10 of "frames 1-10" and the 2 of "images 1 and 2"."""
        direct = self.tokens[index].text[0] == "-"
        joined = direct or self.at(index - 1).text in ("-", "–", "to", "and", "through")
        first = index - 1 if direct else index - 2
        return joined and self.at(first).kind == "number" and self.at(first - 1).text in _LABELLED_TOGETHER

    def _clock_or_resolution(self, index: int, end: int) -> bool:
        before, after = self.at(index - 1), self.at(end)
        if before.text in ("x", "×") and self.at(index - 2).kind == "number":
            return True
        digits_after = self.at(end + 1).kind == "number" and self.adjacent(end + 1)
        if after.text == ":" and self.adjacent(end) and digits_after:
            return True
        return (
            before.text == ":"
            and self.adjacent(index)
            and self.adjacent(index - 1)
            and (self.at(index - 2).kind == "number")
        )

    def _hedged(self, index: int, following: int) -> bool:
        """True when the number before token `following` is an end of a range, or one of several."""
        after, before, earlier = self.at(following), self.at(index - 1), self.at(index - 2)
        if "±" in (after.text, self.at(following + 1).text if after.text == "(" else "") or (
            after.kind == "number" and after.text[0] == "-"
        ):
            return True
        doubted = after.text == "(" and self.at(following + 1).text in _DOUBTS
        if doubted and (self._is_number(following + 2) or self._is_number(following + 3)):
            return True
        joined = after.text in _JOINS or (after.text == "and" and before.text == "between")
        if joined and self._is_number(following + 1):
            return True
        # "10 m to 15 m": a unit may stand between.
        unit = earlier.text in METRES_PER_UNIT
        if before.text in _JOINS:
            return self._is_number(index - 2) or (unit and self.at(index - 3).kind == "number")
        if before.text == "and":
            return self.at(index - 3).text == "between" or (unit and self.at(index - 4).text == "between")
        return before.text == "between"

    def _bound(self, index: int, following: int) -> Literal["", "above", "below"]:
        """The side that "at least 5" or "5 or more" leaves open; "" for a number that is no bound."""
        after, later = self.at(following).text, self.at(following + 1).text
        before, earlier = self.at(index - 1).text, self.at(index - 2).text
        if after in ("+", "plus", "minus") and not self._is_number(following + 1):
            return "below" if after == "minus" else "above"
        if (after in ("or", "and") and later in _MORE) or (after == "at" and later == "least"):
            return "above"
        if (after == "or" and later in ("less", "fewer", "below")) or (after == "at" and later == "most"):
            return "below"
        if after in ("<", "≤", ">", "≥"):
            return "above" if after in ("<", "≤") else "below"
        # "=>" and "->" point at the answer.
        if before == ">" and earlier in ("=", "-"):
            return ""
        if before == "=" and earlier in ("<", ">"):
            return "above" if earlier == ">" else "below"
        if before == "than":
            return "above" if earlier in _MORE else "below" if earlier in ("less", "fewer", "closer", "nearer") else ""
        if before in ("least", "most") and earlier == "at":
            return "above" if before == "least" else "below"
        if before == "to" and earlier == "up":
            return "below"
        return _BOUNDS.get(before, "")

    def _is_number(self, index: int) -> bool:
        token = self.at(index)
        return token.kind == "number" or token.text in _SMALL or token.text in _TENS


_JOINS: Final = ("-", "–", "—", "‒", "―", "~", "/", "to", "through", "or")
"""What stands between the ends of a range, or between two answers."""
_DOUBTS: Final = ("maybe", "perhaps", "possibly", "or", "could")
_MORE: Final = (
    "more",
    "counting",
    "above",
    "up",
    "over",
    "higher",
    "greater",
    "farther",
    "further",
    "larger",
    "beyond",
)
_BOUNDS: Final[dict[str, Literal["above", "below"]]] = {
    ">": "above", "≥": "above", "over": "above", "above": "above", "exceeding": "above", "exceeds": "above",
    "beyond": "above", "minimum": "above", "min": "above", "max": "below",
    "<": "below", "≤": "below", "under": "below", "below": "below", "within": "below", "maximum": "below",
}  # fmt: skip
"""Word before a number -> the side that it leaves open."""
_NOTHING = _Token("", "", -1, -1, 0)


def _coordinate_tokens(tokens: Sequence[_Token]) -> frozenset[int]:
    """Indices of the numbers in brackets that hold two numbers or more and nothing else."""
    inside: set[int] = set()
    opened: tuple[str, int] | None = None
    for index, token in enumerate(tokens):
        if token.text in ("[", "("):
            opened = (token.text, index)
        elif token.text in ("]", ")"):
            if opened is not None and (opened[0] == "[") == (token.text == "]"):
                numbers = [i for i in range(opened[1] + 1, index) if tokens[i].kind == "number"]
                packed = sum(tokens[i].text.rstrip(",.").count(",") for i in numbers)
                if len(numbers) + packed >= 2:
                    inside.update(numbers)
            opened = None
        elif opened is not None and not (token.kind == "number" or token.text in (",", ";", "x", "y", "=", "px")):
            opened = None
    return frozenset(inside)


def _list_numbers(tokens: Sequence[_Token]) -> frozenset[int]:
    """Indices of the numbers that only count lines or clauses: "1. …", "2) …", "1. … 2. …" in one line."""
    lines: list[tuple[int, int]] = []
    clauses: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != "number" or not token.text.rstrip(".").isdigit() or len(token.text) > 4:
            continue
        following = tokens[index + 1] if index + 1 < len(tokens) else _NOTHING
        first = index == 0 or tokens[index - 1].kind == "line"
        dotted = token.text.endswith(".") and following.kind in ("word", "number", "sign")
        bracket = following.text == ")" and following.start == token.end and token.depth == 0
        if first and (dotted or bracket or (following.text == ":" and following.start == token.end)):
            lines.append((index, int(token.text.rstrip("."))))
        elif bracket:
            clauses.append(index)
    runs: set[int] = set(clauses) | _run_in_a_line(tokens)
    numbers = [number for _, number in lines]
    if len(numbers) >= 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] in (0, 1):
        runs.update(index for index, _ in lines)
    if clauses:
        runs.update(index for index, _ in lines)
    return frozenset(runs)


_SAYS_A_NUMBER: Final = frozenset(
    (
        "is", "are", "was", "were", "be", "of", "see", "count", "counted", "total", "answer", "about", "exactly",
        "only", "just", "=", ":", "than", "least", "most",
    )
)  # fmt: skip
"""What stands before a number at the end of a sentence, not before the next number of a list."""


def _run_in_a_line(tokens: Sequence[_Token]) -> set[int]:
    """Indices of the 1, 2, 3 of a list whose entries follow each other without a line break: "1. car 2. van 3. bus"."""
    run: list[int] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else _NOTHING
        following = tokens[index + 1] if index + 1 < len(tokens) else _NOTHING
        if token.text != f"{len(run) + 1}." or following.kind != "word":
            continue
        if before.text not in _SAYS_A_NUMBER if run else before.kind in ("", "line") or before.text == ":":
            run.append(index)
    return set(run) if len(run) > 1 else set()


_BETWEEN_PARTS = re.compile(r"\s?(?:,|and)?\s?")
_BETWEEN_ENDS = re.compile(r"\s?(?:[-–—~/]|to|through|and|or)?\s?", re.IGNORECASE)


_NAMES_A_RANGE = re.compile(
    r"[ -]?(?:range|bucket|zone|interval|band|category|limit|threshold|radius)\b", re.IGNORECASE
)


def _joined(found: list[Quantity], text: str) -> list[Quantity]:
    """Lengths in two parts made one ("5 feet 10 inches"), and both ends of a range of the same unit ("20-50 m").

    Lengths that only name a class ("in the 20-50 m range", "the 20 m limit") are left out. A length right before a bare
    number ("12 m 50") loses its value: 12.5 is only likely.
    """
    joined: list[Quantity] = []
    for quantity in found:
        last = joined[-1] if joined else None
        if last is not None and last.hedged and quantity.hedged and not last.unit and quantity.unit == "length":
            between = text[last.end : quantity.start]
            if len(between) <= 10 and _BETWEEN_ENDS.fullmatch(between):
                last = joined[-1] = replace(last, unit="length")
        if quantity.unit == "length" and _NAMES_A_RANGE.match(text, quantity.end):
            if last is not None and last.hedged and quantity.hedged:
                joined.pop()
            continue
        if (
            last is not None
            and last.unit == quantity.unit == "length"
            and last.value is not None
            and quantity.value is not None
            and 0 <= quantity.value < METRES_PER_UNIT.get(_unit_word(text, last), 0.0)
            and quantity.start - last.end <= 6
            and _BETWEEN_PARTS.fullmatch(text[last.end : quantity.start])
            and not (last.hedged or quantity.hedged)
        ):
            joined[-1] = replace(last, end=quantity.end, value=last.value + quantity.value)
        elif (
            last is not None
            and (last.unit, quantity.unit) == ("length", "")
            and text[last.end : quantity.start] == " "
            and text[quantity.start].isdigit()
        ):
            joined[-1] = replace(last, value=None)
        else:
            joined.append(quantity)
    return joined


_LAST_WORD = re.compile(r"[^\W\d_]+$")


def _unit_word(text: str, quantity: Quantity) -> str:
    word = _LAST_WORD.search(text[quantity.start : quantity.end].lower())
    return word[0] if word else ""
