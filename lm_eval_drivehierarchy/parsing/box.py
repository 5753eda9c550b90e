"""Bounding boxes: four numbers that a reply gives as one box, in pixels of the image."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from . import declarations, json_values
from .declarations import ANSWER, ANSWER_LINE, CONCLUSION, RETRACTION
from .numbers import read_number
from .parsed import ordered_corners
from .reply import without_questions

Box = list[float]
ImageSize = tuple[int, int]

BOX_KEYS: Final = (
    "bbox", "bbox_2d", "bbox2d", "box", "box_2d", "bounding_box", "boundingbox", "bndbox", "coordinates", "coords",
    "bounding_box_2d", "xyxy", "bbox_xyxy", "box_xyxy",
)  # fmt: skip
_CORNERS: Final = (
    ("x1", "y1", "x2", "y2"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x_min", "y_min", "x_max", "y_max"),
    ("min_x", "min_y", "max_x", "max_y"),
    ("x0", "y0", "x1", "y1"),
    ("left", "top", "right", "bottom"),
)
_SIZED_KEYS: Final = ("xywh", "bbox_xywh", "box_xywh", "bbox_2d_xywh")
_FORMAT_KEYS: Final = ("format", "bbox_format", "box_format", "coordinate_format")
_FIRST_CORNER: Final = ("top_left", "topleft", "top_left_corner", "upper_left", "min")
_SECOND_CORNER: Final = ("bottom_right", "bottomright", "bottom_right_corner", "lower_right", "max")
_SIZED: Final = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height"))

_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9.,'_]*|\.[0-9][0-9_]*)(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_NAN = re.compile(r"(?<![a-z])(?:nan|inf|infinity|none|null)(?![a-z])", re.IGNORECASE)
_GROUP = re.compile(r"\[[^\[\]{}]*\]|\([^()\[\]{}]*\)")
_PLAIN = r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_CORNER_NAME = re.compile(
    r"(?<![a-z0-9_])[\"']?(?P<name>[xy][_ ]?(?:1|2|0|min|max)|[xywh]|left|top|right|bottom|width|"
    r"height)[\"']?(?: edge)? ?"
    rf"(?:=|:|is|at|(?<=edge )) ?(?P<number>{_PLAIN})(?![0-9.]*[0-9a-z])",
    re.IGNORECASE,
)
_PAIR = rf"\( ?({_PLAIN})(?: ?px)? ?[,;] ?({_PLAIN})(?: ?px)? ?\)"
_BETWEEN_PAIRS = (
    r" ?(?:[,;:→–—-]|->|to|and|and the)? ?(?:\n(?=[^\n]{0,20}(?:bottom|lower|right|max|end|second|x2)))?"
    r"(?:[a-z -]{1,40}(?:at|is|:|=)? ?)?"
)
_TWO_PAIRS = re.compile(_PAIR + _BETWEEN_PAIRS + _PAIR, re.IGNORECASE)
_TWO_SQUARES = re.compile((_PAIR + _BETWEEN_PAIRS + _PAIR).replace(r"\(", r"\[").replace(r"\)", r"\]"), re.IGNORECASE)
_CORNER_AND_SIZE = re.compile(
    rf"(?:top|upper)[ -]?left[^()\[\]\d]{{0,40}}{_PAIR}[^\d()\[\]]{{1,40}}?\bwidth[^\d()\[\]]{{0,20}}({_PLAIN})"
    rf"[^\d()\[\]]{{1,40}}?\bheight[^\d()\[\]]{{0,20}}({_PLAIN})|"
    rf"\bstarts? at {_PAIR}[^\d()\[\]]{{1,30}}?\bwidth[^\d()\[\]]{{0,20}}({_PLAIN})"
    rf"[^\d()\[\]]{{1,40}}?\bheight[^\d()\[\]]{{0,20}}({_PLAIN})",
    re.IGNORECASE,
)
"""The top left corner with a width and a height, in prose."""
_TO = rf"({_PLAIN})(?: ?px)? ?(?:-|–|—|to|and) ?(?:[xy] ?= ?)?({_PLAIN})(?: ?px)?"
_TWO_EXTENTS = re.compile(
    rf"\bx(?:[ -](?:axis|range))? ?(?:=|:|(?:ranges |extends |spans )?(?:from|"
    rf"between))? ?{_TO}[,;.]? ?(?:and )?(?:(?:in|along) )?"
    rf"\by(?:[ -](?:axis|range))? ?(?:=|:|(?:ranges |extends |spans )?(?:from|between))? ?{_TO}(?![\d.]*\d)",
    re.IGNORECASE,
)
"""Where the box extends to: "x from 264 to 525, y from 709 to 1469"."""
_SQUARE, _ROUND = re.compile(r"\[[^\[\]]*\]"), re.compile(_PAIR, re.IGNORECASE)
_ELLIPSIS = "..."


_TAKEN_BACK = re.compile(rf"(?:{RETRACTION.pattern})|\bnot\b[^\n.]{{0,80}}?\bbut\b", re.IGNORECASE)


def read_box(text: str, image_size: ImageSize | None) -> Box | None:
    """The box that plain text answers with, corners in order; None when there is none, or more than one.

    A box in per cent is turned into pixels when the image size is known. Whether plain numbers are pixels, fractions or
    thousandths is never guessed: they are taken as the pixels that were asked for.
    """
    text = without_questions(text)
    answers = declarations.spans(text, ANSWER, whole_line=True) + declarations.spans(text, ANSWER_LINE, whole_line=True)
    corrections = declarations.spans(text, _TAKEN_BACK, whole_line=True)
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
    first = next((plain[name] for name in _FIRST_CORNER if name in plain), None)
    second = next((plain[name] for name in _SECOND_CORNER if name in plain), None)
    if first is not None and second is not None:
        return _json_corners([_json_point(first), _json_point(second)], depth + 1)
    for name in _SIZED_KEYS:
        if isinstance(plain.get(name), list):
            return _sized(_finite(plain[name])) if len(plain[name]) == 4 else None
    for names in _SIZED:
        if all(name in plain for name in names):
            return _sized(_finite([plain[name] for name in names]))
    _, inner = json_values.answer_of(value, BOX_KEYS)
    if inner is json_values.MISSING or inner is value:
        return None
    corners = _json_corners(inner, depth + 1)
    formats = [str(plain[name]).lower() for name in _FORMAT_KEYS if name in plain]
    if "xywh" in formats and not isinstance(corners, str):
        return _sized(corners)
    return corners


def _json_point(value: Any) -> Any:
    """[x, y] of {"x": …, "y": …}; anything else as it is."""
    if isinstance(value, Mapping) and {"x", "y"} <= value.keys():
        return [value["x"], value["y"]]
    return value


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
    announced = {layout for match in _LAYOUT.finditer(text) if (layout := _layout(match)) is not None}
    if len(announced) > 1:
        return None
    quadruples = _quadruples(_LAYOUT.sub(_without_a_layout, text), image_size)
    if quadruples is None:
        return None
    laid_out = [_corners_of(box, *announced) for box in quadruples] if announced else quadruples
    return [ordered_corners(box) for box in laid_out if box is not None]


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
    for pattern in (_CORNER_AND_SIZE, _TWO_EXTENTS):
        stated = [[float(number) for number in match.groups() if number] for match in pattern.finditer(text)]
        if stated:
            return [box for found in stated if (box := _stated(found, pattern is _CORNER_AND_SIZE)) is not None]
    if _ELLIPSIS in text or _NAN.search(text):
        return None
    loose = _loose(text, image_size)
    return [loose] if loose else []


def _packed(inside: str, image_size: ImageSize | None) -> list[float] | None:
    """Four numbers separated by commas, semicolons or spaces, and nothing else."""
    inside = _ABOUT.sub("", inside).strip()
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


_AXIS = r"(?:c?[xy](?:[ _]?(?:min|max|[0-2]|c|center))?|center[ _][xy]|w(?:idth)?|h(?:eight)?|left|top|right|bottom)"
_LAYOUT = re.compile(
    rf"\b(?P<word>cxcywh|xywh)\b|[\[(]? ?(?P<names>\b{_AXIS}(?: ?, ?{_AXIS}){{3}}\b) ?[\])]?", re.IGNORECASE
)
"""What announces the order of the four numbers of a box."""
_WORDED_LAYOUTS: Final = {"xywh": ("x1", "y1", "w", "h"), "cxcywh": ("cx", "cy", "w", "h")}
_SAME_AXIS: Final = {
    "x": "x1", "xmin": "x1", "x0": "x1", "left": "x1", "y": "y1", "ymin": "y1", "y0": "y1", "top": "y1",
    "xmax": "x2", "right": "x2", "ymax": "y2", "bottom": "y2", "width": "w", "height": "h",
    "centerx": "cx", "xc": "cx", "xcenter": "cx", "cxcenter": "cx", "centery": "cy", "yc": "cy", "ycenter": "cy",
}  # fmt: skip
_ABOUT = re.compile(r"[~≈] ?(?=[-+.\d])")


def _layout(match: re.Match[str]) -> tuple[str, ...] | None:
    """The axes that four announced numbers mean, in their order; None for names that make no box."""
    if match["word"]:
        return _WORDED_LAYOUTS[match["word"].lower()]
    names = [re.sub(r"[ _]", "", name).lower() for name in match["names"].split(",")]
    if "x0" in names:
        names = [{"x1": "x2", "y1": "y2"}.get(name, name) for name in names]
    axes = tuple(_SAME_AXIS.get(name, name) for name in names)
    known = ({"x1", "y1", "x2", "y2"}, {"x1", "y1", "w", "h"}, {"cx", "cy", "w", "h"})
    return axes if set(axes) in known else None


def _without_a_layout(match: re.Match[str]) -> str:
    return match[0] if _layout(match) is None else " "


def _corners_of(box: Sequence[float], axes: Sequence[str]) -> list[float] | None:
    named = dict(zip(axes, box, strict=True))
    if "x2" in named:
        return [named["x1"], named["y1"], named["x2"], named["y2"]]
    width, height = named["w"], named["h"]
    left, top = (named["x1"], named["y1"]) if "x1" in named else (named["cx"] - width / 2, named["cy"] - height / 2)
    return _sized([left, top, width, height])


def _stated(numbers: Sequence[float], sized: bool) -> list[float] | None:
    if sized:
        return _sized(numbers)
    left, right, top, bottom = numbers
    return [left, top, right, bottom]


_LOOSE_WORDS = re.compile(
    r"\b(?:the|bounding|bounding_box|box|bbox|bbox_?2d|box_?2d|is|are|at|located|coordinates?|answer|final|"
    r"pixels?|px|in|to|and|from|object|approximately|about|around)\b|"
    r"\bx ?[12]|\by ?[12]|\b[xy][_ ]?(?:min|max)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"[0-9][-–—]|[0-9] (?:[-–—]|to) [0-9]")
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
