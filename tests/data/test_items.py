"""The item schema: what a column may hold, and what is refused with the item, the field and the value named."""

from __future__ import annotations

import dataclasses
import json

import datasets
import pytest

from drivehierarchy_data.errors import DataError
from drivehierarchy_data.items import (
    FEATURES,
    SCHEMA,
    Item,
    check_answer,
    letter_at,
    option_index,
    option_letter,
    references,
    row,
    truth,
)
from drivehierarchy_data.release import QUESTION_FILES
from tests import tiny_edition

BY_TASK = {file.task: file for file in QUESTION_FILES}


def an_item(task: str = "r1_1_b", **changes: object) -> Item:
    return dataclasses.replace(tiny_edition.item(BY_TASK[task], 0), **changes)


def test_image_size_is_that_of_the_first_image() -> None:
    images = (tiny_edition.noise(1, 60, 30), tiny_edition.noise(2, 96, 54))
    assert an_item(images=images, views=("a", "b")).image_size == (60, 30)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, r"item \(no id\): field 'id' is empty"),
        ({"scene_id": ""}, "field 'scene_id' is empty"),
        ({"question": ""}, "field 'question' is empty"),
        ({"rank": "R9"}, "field 'rank' is 'R9'; it must be one of R1, R2, R3"),
        ({"images": (), "views": ()}, "field 'images' is empty"),
        ({"views": ("CAM_FRONT", "CAM_BACK")}, "2 views name 1 images"),
        ({"options": ("A. x.", "B. y.")}, "field 'options' is not empty, which kind 'count' does not allow"),
        ({"answer_kind": "colour"}, "answer kind 'colour' is unknown; known: yes_no, count"),
        ({"answer": "many"}, "answer 'many' of kind 'count' must be a whole number"),
    ],
)
def test_names_what_is_wrong(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        an_item(**changes)


@pytest.mark.parametrize(
    ("kind", "answer", "options"),
    [
        ("yes_no", "yes", ()),
        ("count", "-1", ()),
        ("count", "2.5", ()),
        ("metres", "12.5", ()),
        ("metres", "far", ()),
        ("choice", "C", ("A. x.", "B. y.")),
        ("choice", "x.", ("A. x.", "B. y.")),
        ("choice", "A", ("x", "y")),
        ("choice", "A", ("B. x.", "A. y.")),
        ("choice", "A", ("A. x.",)),
        ("choice", "A", ("A. x.", "A. x.")),
        ("box", "[1, 2, 3, 4]", ()),
        ("box", '{"bbox": [1, 2, 3], "format": "xyxy"}', ()),
        ("box", '{"bbox": [1, 2, 3, "4"], "format": "xyxy"}', ()),
        ("box", '{"bbox": [3, 2, 1, 4], "format": "xyxy"}', ()),
        ("box", '{"bbox": [1, 2, 3, 4]}', ()),
        ("box", '{"bbox": [1, 2, 3, NaN], "format": "xyxy"}', ()),
        ("box", "none", ()),
        ("order", '["A", "B"]', ("A", "B", "C")),
        ("order", '["A", "A"]', ("A", "B")),
        ("order", "A, B", ("A", "B")),
    ],
)
def test_refuses_answers_that_are_none(kind: str, answer: str, options: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="item x: "):
        check_answer("x", kind, answer, options)


@pytest.mark.parametrize(
    ("kind", "answer", "options"),
    [
        ("yes_no", "No", ()),
        ("count", "0", ()),
        ("metres", "17.78 m", ()),
        ("choice", "B", ("A. x.", "B. y.")),
        ("choice", "B. y.", ("A. x.", "B. y.")),
        ("box", '{"bbox": [0, 0.5, 3, 4], "format": "xyxy"}', ()),
        ("order", '["B", "A"]', ("A", "B")),
        ("text", "I am stopping.", ()),
    ],
)
def test_accepts_answers_as_the_release_writes_them(kind: str, answer: str, options: tuple[str, ...]) -> None:
    check_answer("x", kind, answer, options)


def test_an_order_item_names_its_images_by_label() -> None:
    with pytest.raises(DataError, match=r"labels .* and views .* differ"):
        an_item("r3_2", views=("t0", "t1", "t2", "t3"))


def test_truth_decodes_boxes_and_orders_only() -> None:
    assert truth("box", '{"bbox": [1, 2, 3, 4], "format": "xyxy"}') == {"bbox": [1, 2, 3, 4], "format": "xyxy"}
    assert truth("order", '["B", "A"]') == ["B", "A"]
    assert truth("metres", "17.78 m") == "17.78 m"


def test_references_are_listed_once_and_the_answer_first() -> None:
    assert references("a", {"references": ["b", "a"]}) == ["a", "b"]
    assert references("a", {}) == ["a"]


def test_both_ways_of_storing_a_choice_name_the_same_option() -> None:
    options = ("A. moving.", "B. parked.", "C. stopped.")
    for index, option in enumerate(options):
        assert option_index(option[0], options) == option_index(option, options) == index
        assert option_letter(option[0], options) == option_letter(option, options) == letter_at(index) == "ABC"[index]


def test_a_row_holds_every_column_in_order() -> None:
    for file in QUESTION_FILES:
        stored = row(tiny_edition.item(file, 1))
        assert list(stored) == SCHEMA.names == list(FEATURES)
        assert json.loads(stored["meta"])["category"]


def test_arrow_schema_and_dataset_features_say_the_same() -> None:
    features = datasets.Features.from_dict(FEATURES)
    assert features.arrow_schema.equals(SCHEMA, check_metadata=False)
