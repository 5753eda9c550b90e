"""Bounding boxes: four numbers that a reply gives as one box, in pixels of the image."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from . import declarations, json_values
from .declarations import ANSWER, ANSWER_LINE, CONCLUSION, CORRECTION
from .numbers import read_number
from .parsed import ordered_corners
from .reply import without_questions

Box = list[float]
ImageSize = tuple[int, int]

BOX_KEYS: Final = (
    "bbox", "bbox_2d", "bbox2d", "box", "box_2d", "bounding_box", "boundingbox", "bndbox", "coordinates", "coords",
    "bounding_box_2d", "xyxy",
)  # fmt: skip
_CORNERS: Final = (
    ("x1", "y1", "x2", "y2"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x_min", "y_min", "x_max", "y_max"),
    ("min_x", "min_y", "max_x", "max_y"),
    ("x0", "y0", "x1", "y1"),
    ("left", "top", "right", "bottom"),
)
_SIZED: Final = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height"))

_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9.,'_]*|\.[0-9][0-9_]*)(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_NAN = re.compile(r"(?<![a-z])(?:nan|inf|infinity|none|null)(?![a-z])", re.IGNORECASE)
_GROUP = re.compile(r"\[[^\[\]{}]*\]|\([^()\[\]{}]*\)")
_PLAIN = r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_CORNER_NAME = re.compile(
    r"(?<![a-z0-9_])[\"']?(?P<name>[xy][_ ]?(?:1|2|0|min|max)|[xywh]|left|top|right|bottom|width|height)[\"']? ?"
    rf"(?:=|:|is) ?(?P<number>{_PLAIN})(?![0-9.]*[0-9a-z])",
    re.IGNORECASE,
)
_PAIR = rf"\( ?({_PLAIN})(?: ?px)? ?[,;] ?({_PLAIN})(?: ?px)? ?\)"
_BETWEEN_PAIRS = r" ?(?:[,;:→–—-]|->|to|and|and the)? ?(?:[a-z -]{1,40}(?:at|is|:|=)? ?)?"
_TWO_PAIRS = re.compile(_PAIR + _BETWEEN_PAIRS + _PAIR, re.IGNORECASE)
_TWO_SQUARES = re.compile((_PAIR + _BETWEEN_PAIRS + _PAIR).replace(r"\(", r"\[").replace(r"\)", r"\]"), re.IGNORECASE)
_SQUARE, _ROUND = re.compile(r"\[[^\[\]]*\]"), re.compile(_PAIR, re.IGNORECASE)
_ELLIPSIS = "..."


def read_box(text: str, image_size: ImageSize | None) -> Box | None:
    """The box that plain text answers with, corners in order; None when there is none, or more than one.

    A box in per cent is turned into pixels when the image size is known. Whether plain numbers are pixels, fractions or
    thousandths is never guessed: they are taken as the pixels that were asked for.
    """
    text = without_questions(text)
    answers = declarations.spans(text, ANSWER, whole_line=True) + declarations.spans(text, ANSWER_LINE, whole_line=True)
    corrections = declarations.spans(text, CORRECTION, whole_line=True)
    conclusions = declarations.spans(text, CONCLUSION, whole_line=True)
    for span in itertools.chain(declarations.last_first(answers, corrections), declarations.last_first(conclusions)):
        boxes = _boxes(text[span.start : span.end], image_size)
        if boxes is None:
            return None
        if boxes:
            return _only(boxes)
    boxes = _boxes(text, image_size)
    return _only(boxes) if boxes else None


def read_json_box(value: Any, image_size: ImageSize | None) -> Box | None:
    """The box of a JSON value: four numbers, an object with corners or sizes, or such a thing under a key."""
    corners = _json_corners(value, 0)
    if isinstance(corners, str):
        return read_box(corners, image_size)
    return ordered_corners(corners) if corners else None


def _json_corners(value: Any, depth: int) -> Sequence[float] | str | None:
    if depth > 4:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        if len(value) == 1:
            return _json_corners(value[0], depth + 1)
        flat = value
        if len(value) == 2 and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            flat = [*value[0], *value[1]]
        if len(flat) == 4:
            return _finite(flat)
        boxes = [_json_corners(entry, depth + 1) for entry in value[:50]]
        distinct = {tuple(box) for box in boxes if box and not isinstance(box, str)}
        return list(distinct.pop()) if len(distinct) == 1 and len(boxes) == len(value) and all(boxes) else None
    if not isinstance(value, Mapping):
        return None
    plain = {json_values.plain_key(key): entry for key, entry in value.items()}
    for names in _CORNERS:
        if all(name in plain for name in names):
            return _finite([plain[name] for name in names])
    if "top_left" in plain and "bottom_right" in plain:
        return _json_corners([plain["top_left"], plain["bottom_right"]], depth + 1)
    for names in _SIZED:
        if all(name in plain for name in names):
            return _sized(_finite([plain[name] for name in names]))
    _, inner = json_values.answer_of(value, BOX_KEYS)
    if inner is json_values.MISSING or inner is value:
        return None
    corners = _json_corners(inner, depth + 1)
    if plain.get("format") in ("xywh", "XYWH") and not isinstance(corners, str):
        return _sized(corners)
    return corners


def _finite(values: Iterable[Any]) -> list[float] | None:
    numbers = [_number(value) for value in values]
    found = [number for number in numbers if number is not None]
    return found if len(found) == len(numbers) else None


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        text = value.strip().removesuffix("px").strip()
        return read_number(text) if _NUMBER.fullmatch(text) else None
    return json_values.finite(value)


def _sized(box: Sequence[float] | None) -> list[float] | None:
    if box is None or box[2] < 0 or box[3] < 0:
        return None
    return [box[0], box[1], box[0] + box[2], box[1] + box[3]]


def _only(boxes: list[Box]) -> Box | None:
    return boxes[0] if all(box == boxes[0] for box in boxes) else None


def _boxes(text: str, image_size: ImageSize | None) -> list[Box] | None:
    """Every box in a passage, the most explicit notation that occurs; None when it is broken or a template."""
    values = [value for value in json_values.values_in(text) if isinstance(value, dict)]
    boxes = [box for box in (read_json_box(value, image_size) for value in values) if box]
    if boxes:
        return boxes
    rows_first, sized = _ROWS_FIRST.search(text), _WITH_SIZE.search(text)
    quadruples = _quadruples(_ROWS_FIRST.sub(" ", _WITH_SIZE.sub(" ", text)), image_size)
    if quadruples is None:
        return None
    if rows_first:
        quadruples = [[x1, y1, x2, y2] for y1, x1, y2, x2 in quadruples]
    if sized:
        quadruples = [corners for box in quadruples if (corners := _sized(box)) is not None]
    return [ordered_corners(box) for box in quadruples]


def _quadruples(text: str, image_size: ImageSize | None) -> list[list[float]] | None:
    """The groups of four numbers in a passage, as they are written."""
    packed = [_packed(group[0][1:-1], image_size) for group in _GROUP.finditer(text)]
    found = [box for box in packed if box is not None]
    if found:
        return found
    for two, one in ((_TWO_SQUARES, _SQUARE), (_TWO_PAIRS, _ROUND)):
        found = [[float(number) for number in match.groups()] for match in two.finditer(text)]
        if found:
            return found if len(one.findall(text)) == 2 * len(found) else None
    named = _named_corners(text)
    if named is not None:
        return [named]
    if _ELLIPSIS in text or _NAN.search(text):
        return None
    loose = _loose(text, image_size)
    return [loose] if loose else []


def _packed(inside: str, image_size: ImageSize | None) -> list[float] | None:
    """Four numbers separated by commas, semicolons or spaces, and nothing else."""
    inside = inside.strip()
    percent = inside.count("%") == 4
    for separator in (r"[,;]\s+|;|\s+", r"\s*[,;]\s*|\s+"):
        parts = [part for part in re.split(separator, inside) if part]
        if len(parts) != 4:
            continue
        numbers = [_number(part.removesuffix("%") if percent else part.rstrip(",")) for part in parts]
        if all(number is not None for number in numbers):
            box = [number for number in numbers if number is not None]
            return _of_percent(box, image_size) if percent else box
    return None


def _of_percent(box: Sequence[float], image_size: ImageSize | None) -> list[float] | None:
    if image_size is None:
        return None
    return [number / 100.0 * image_size[index % 2] for index, number in enumerate(box)]


def _named_corners(text: str) -> list[float] | None:
    """x1=…, y1=…, x2=…, y2=… in any order, each once."""
    found: dict[str, float] = {}
    for match in itertools.islice(_CORNER_NAME.finditer(text), 64):
        name = match["name"].lower().replace(" ", "").replace("_", "")
        number = float(match["number"])
        if found.setdefault(name, number) != number:
            return None
    for names in _CORNERS:
        if {name.replace("_", "") for name in names} == found.keys():
            return [found[name.replace("_", "")] for name in names]
    for names in _SIZED:
        if set(names) == found.keys():
            return _sized([found[name] for name in names])
    return None


_ROWS_FIRST = re.compile(
    r"[\[(]? ?y(?:_?min|1) ?, ?x(?:_?min|1) ?, ?y(?:_?max|2) ?, ?x(?:_?max|2) ?[\])]?", re.IGNORECASE
)
"""Announces (y1, x1, y2, x2); anything else is read in the order that was asked for."""
_WITH_SIZE = re.compile(
    r"\bxywh\b|\[? ?\bx(?:1|min)? ?, ?y(?:1|min)? ?, ?w(?:idth)? ?, ?h(?:eight)?\b ?\]?", re.IGNORECASE
)
"""Announces (x, y, width, height)."""
_LOOSE_WORDS = re.compile(
    r"\b(?:the|bounding|bounding_box|box|bbox|bbox_?2d|box_?2d|is|are|at|located|coordinates?|answer|final|pixels?|px|in|to|and|from|object|approximately|about|around)\b|"
    r"\bx ?[12]|\by ?[12]|\b[xy][_ ]?(?:min|max)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"[0-9][-–—]|[0-9] [-–—] [0-9]")
_LOOSE_REST = re.compile(r"[\s,;:.\"'()<>\[\]{}/|→=–—-]*")


def _loose(text: str, image_size: ImageSize | None) -> list[float] | None:
    """Four bare numbers in a passage that holds hardly a word: "100, 200, 300, 400"."""
    if len(text) > 400 or _RANGE.search(text):
        return None
    words = _LOOSE_WORDS.sub(" ", text)
    packed = _packed(words.strip(" \n.,:;=()[]{}<>/|\"'"), image_size)
    if packed is not None:
        return packed
    numbers = [match[0] for match in _NUMBER.finditer(words)]
    if not _LOOSE_REST.fullmatch(_NUMBER.sub("", words)):
        return None
    values = [read_number(number.rstrip(",.")) for number in numbers]
    found = [value for value in values if value is not None and math.isfinite(value)]
    return found if len(found) == len(values) == 4 else None
