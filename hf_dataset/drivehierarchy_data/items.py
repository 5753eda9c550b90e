"""The item: one question, its images and its answer, in the columns that every edition has."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pyarrow as pa

from .errors import DataError
from .images import EncodedImage

AnswerKind = Literal["yes_no", "count", "metres", "choice", "box", "text", "order"]
Rank = Literal["R1", "R2", "R3"]
Split = Literal["test", "train", "validation"]

ANSWER_KINDS: tuple[str, ...] = get_args(AnswerKind)
RANKS: tuple[str, ...] = get_args(Rank)
SPLITS: tuple[Split, ...] = get_args(Split)

Document = Mapping[str, Any]
"""A row of an edition without its pixels, as `shards.read_documents` gives it."""

METRES = re.compile(r"\d+(?:\.\d+)? m")
OPTION = re.compile(r"([A-Z])\. \S")


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its images and its answer.

    `answer` is written as the release writes it: ``Yes``/``No``; ``7``; ``17.78 m``; a letter or the whole option
    (``C. Turn left.``); JSON ``{"bbox": [x1, y1, x2, y2], "format": "xyxy"}`` in pixels of the first image; a JSON
    list of labels in true order; or a sentence. `options` are the strings shown ("A. moving."), for `order` the bare
    labels of the images. `views` names each image: its camera, ``t0`` … of a clip, or its label. `image_size` is
    (width, height) of the first image. `meta` holds what is known besides (tokens, instance ids, seed, …); further
    reference answers of a text item are in ``meta["references"]``.

    Raises DataError, naming item and field, when a value cannot be what its column says.
    """

    id: str
    task: str
    rank: Rank
    source: str
    scene_id: str
    question: str
    answer: str
    answer_kind: AnswerKind
    images: tuple[EncodedImage, ...]
    views: tuple[str, ...]
    options: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("id", "task", "source", "scene_id", "answer"):
            if not getattr(self, name):
                raise DataError(f"item {self.id or '(no id)'}: field {name!r} is empty")
        if self.rank not in RANKS:
            raise DataError(f"item {self.id}: field 'rank' is {self.rank!r}; it must be one of {', '.join(RANKS)}")
        if not self.question and self.answer_kind != "order":
            raise DataError(f"item {self.id}: field 'question' is empty")
        if not self.images:
            raise DataError(f"item {self.id}: field 'images' is empty; every item shows at least one image")
        if len(self.views) != len(self.images):
            raise DataError(f"item {self.id}: {len(self.views)} views name {len(self.images)} images; name each once")
        check_answer(self.id, self.answer_kind, self.answer, self.options)
        if self.answer_kind == "order" and self.options != self.views:
            raise DataError(
                f"item {self.id}: labels {list(self.options)} and views {list(self.views)} differ; "
                "an image that is to be put in order is named by its label"
            )

    @property
    def image_size(self) -> tuple[int, int]:
        """(width, height) of the first image in pixels."""
        return self.images[0].width, self.images[0].height


def check_answer(item_id: str, kind: str, answer: str, options: Sequence[str]) -> None:
    """Raises DataError unless `answer` is a well-formed answer of `kind` to a question with these `options`."""

    def wrong(expected: str) -> DataError:
        return DataError(f"item {item_id}: answer {answer!r} of kind {kind!r} must be {expected}")

    if kind not in ANSWER_KINDS:
        raise DataError(f"item {item_id}: answer kind {kind!r} is unknown; known: {', '.join(ANSWER_KINDS)}")
    if kind in ("choice", "order") and len(options) < 2:
        raise DataError(f"item {item_id}: field 'options' has {len(options)} entries; kind {kind!r} needs at least 2")
    if kind not in ("choice", "order") and options:
        raise DataError(f"item {item_id}: field 'options' is not empty, which kind {kind!r} does not allow")
    if len(set(options)) != len(options):
        raise DataError(f"item {item_id}: field 'options' repeats an entry: {list(options)}")
    if kind == "yes_no" and answer not in ("Yes", "No"):
        raise wrong("'Yes' or 'No'")
    if kind == "count" and not re.fullmatch(r"\d+", answer):
        raise wrong("a whole number")
    if kind == "metres" and not METRES.fullmatch(answer):
        raise wrong("a distance such as '17.78 m'")
    if kind == "choice":
        letters = [match.group(1) if (match := OPTION.match(option)) else "" for option in options]
        if letters != [letter_at(index) for index in range(len(options))]:
            raise DataError(f"item {item_id}: options {list(options)} must be lettered 'A. ', 'B. ', … in order")
        if answer not in letters and answer not in options:
            raise wrong(f"a letter of, or an entry of, {list(options)}")
    if kind == "box":
        check_box(answer, wrong)
    if kind == "order":
        order = _json(answer, wrong)
        if not isinstance(order, list) or sorted(map(str, order)) != sorted(options):
            raise wrong(f"a JSON list with each of the labels {list(options)} once")


def check_box(answer: str, wrong: Any) -> None:
    """Raises the error that `wrong` makes unless `answer` is a box with its corners in order."""
    box = _json(answer, wrong)
    corners = box.get("bbox") if isinstance(box, dict) and box.get("format") == "xyxy" else None
    numbers = isinstance(corners, list) and len(corners) == 4
    if not numbers or not all(isinstance(c, int | float) and math.isfinite(c) for c in corners or ()):
        raise wrong('JSON such as {"bbox": [x1, y1, x2, y2], "format": "xyxy"}')
    x1, y1, x2, y2 = corners  # type: ignore[misc]
    if x1 >= x2 or y1 >= y2:
        raise wrong("a box with x1 < x2 and y1 < y2")


def _json(answer: str, wrong: Any) -> Any:
    try:
        return json.loads(answer)
    except json.JSONDecodeError as error:
        raise wrong("JSON") from error


def truth(kind: str, answer: str) -> Any:
    """The answer column as scoring takes it: boxes and orders decoded, everything else the string itself."""
    return json.loads(answer) if kind in ("box", "order") else answer


def references(answer: str, meta: Mapping[str, Any]) -> list[str]:
    """Every reference answer of a text item, the first one first."""
    return list(dict.fromkeys([answer, *meta.get("references", ())]))


def letter_at(index: int) -> str:
    """Letter of the option at `index`: "A" at 0."""
    return chr(ord("A") + index)


def option_index(answer: str, options: Sequence[str]) -> int:
    """Index of a choice item's answer, which is stored as a letter or as the whole option."""
    return options.index(answer) if answer in options else ord(answer) - ord("A")


def option_letter(answer: str, options: Sequence[str]) -> str:
    """Letter of a choice item's answer, however it is stored."""
    return letter_at(option_index(answer, options))


# --- the columns -----------------------------------------------------------------------------------------------------

_STRING = {"dtype": "string", "_type": "Value"}


def _sequence(feature: Mapping[str, Any], length: int | None = None) -> dict[str, Any]:
    return {"feature": dict(feature), **({"length": length} if length else {}), "_type": "Sequence"}


FEATURES: dict[str, Any] = {
    "id": _STRING,
    "task": _STRING,
    "rank": _STRING,
    "source": _STRING,
    "scene_id": _STRING,
    "question": _STRING,
    "options": _sequence(_STRING),
    "answer": _STRING,
    "answer_kind": _STRING,
    "images": _sequence({"_type": "Image"}),
    "views": _sequence(_STRING),
    "image_size": _sequence({"dtype": "int32", "_type": "Value"}, 2),
    "meta": _STRING,
}
"""`datasets.Features` in its serialised form, spelled so that every version from 3.0 on reads it."""

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("task", pa.string()),
        pa.field("rank", pa.string()),
        pa.field("source", pa.string()),
        pa.field("scene_id", pa.string()),
        pa.field("question", pa.string()),
        pa.field("options", pa.list_(pa.string())),
        pa.field("answer", pa.string()),
        pa.field("answer_kind", pa.string()),
        pa.field("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
        pa.field("views", pa.list_(pa.string())),
        pa.field("image_size", pa.list_(pa.int32(), 2)),
        pa.field("meta", pa.string()),
    ],
    metadata={"huggingface": json.dumps({"info": {"features": FEATURES}})},
)
"""Arrow schema of every Parquet file of every edition; its metadata makes `load_dataset` decode the images."""


def row(item: Item) -> dict[str, Any]:
    """The item as one row of `SCHEMA`."""
    return {
        "id": item.id,
        "task": item.task,
        "rank": item.rank,
        "source": item.source,
        "scene_id": item.scene_id,
        "question": item.question,
        "options": list(item.options),
        "answer": item.answer,
        "answer_kind": item.answer_kind,
        "images": [{"bytes": image.data, "path": image.name} for image in item.images],
        "views": list(item.views),
        "image_size": list(item.image_size),
        "meta": json.dumps(item.meta, ensure_ascii=False, sort_keys=True, separators=(",", ":")),
    }
