"""Samples: the messages that evaluation sends, and answers that evaluation would give full marks."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from drivehierarchy_data.editions import SAMPLE, Edition, open_edition
from lm_eval_drivehierarchy import harness
from lm_eval_drivehierarchy.baselines import correct_reply
from lm_eval_drivehierarchy.chat_model import image_part, interleave
from lm_eval_drivehierarchy.sft.errors import SftError
from lm_eval_drivehierarchy.sft.samples import label_problems, sample_of
from lm_eval_drivehierarchy.tasks import TASKS

TASK_IDS = [task.id for task in TASKS]


def sent_by_eval(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Parts of the user message as `drivehierarchy eval` sends them."""
    parts = [image_part(location) for location in harness.images(row).locations]
    return interleave(harness.text(row), parts)


@pytest.mark.parametrize("task", TASK_IDS)
def test_a_sample_shows_what_evaluation_sends(task: str) -> None:
    sample_edition = open_edition(SAMPLE)
    rows = harness.load(task=task, edition=str(SAMPLE), image_placeholders=True)["test"]
    for document, row in zip(sample_edition.documents(task), rows, strict=True):
        sample = sample_of(document)
        assert sample.system == row["system"]
        images = iter(sample.images)
        shown = [
            {"type": "image_url", "image_url": {"url": _url(next(images)), "detail": "auto"}}
            if part["type"] == "image"
            else dict(part)
            for part in sample.parts
        ]
        assert shown == sent_by_eval(row)
        assert next(images, None) is None


def _url(location: Any) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(location.read()).decode()}"


@pytest.mark.parametrize(
    ("kind", "answer", "options", "text"),
    [
        ("yes_no", "Yes", (), "yes"),
        ("count", "7", (), "7"),
        ("metres", "17.80 m", (), "17.8"),
        ("choice", "B", ("A. moving.", "B. parked."), "B"),
        ("choice", "B. parked.", ("A. moving.", "B. parked."), "B"),
        ("box", '{"bbox": [1, 2.5, 30, 40], "format": "xyxy"}', (), "[1, 2.5, 30, 40]"),
        ("order", '["B", "A"]', ("A", "B"), '["B", "A"]'),
        ("text", "I stop.", (), "I stop."),
    ],
)
def test_answers_are_taught_in_the_requested_form(kind: Any, answer: str, options: tuple[str, ...], text: str) -> None:
    assert correct_reply({"answer_kind": kind, "answer": answer, "options": options}) == text


@pytest.mark.parametrize("task", TASK_IDS)
def test_a_wrong_label_is_noticed(task: str, train_edition: Edition) -> None:
    first, second = train_edition.documents(task, "train")[:2]
    own, other = map(correct_reply, (first, second))
    assert own != other
    assert label_problems(first, own) == []
    assert label_problems(first, other)
    assert any("form" in problem for problem in label_problems(first, f"The answer is\n{own}.\n")) or task == "r1_4"


def test_a_box_outside_its_image_is_refused(train_edition: Edition) -> None:
    document = train_edition.documents("r1_3", "train")[0]
    document["answer"] = json.dumps({"bbox": [1, 2, 400, 20], "format": "xyxy"})
    with pytest.raises(
        SftError, match=r"r1_3-train-0050: .* does not lie in the image of 96x54 pixels.*leave task r1_3"
    ):
        sample_of(document)


def test_an_answer_of_another_kind_is_refused(train_edition: Edition) -> None:
    document = train_edition.documents("r1_1_b", "train")[0] | {"answer_kind": "text"}
    with pytest.raises(SftError, match="its kind is text, but the task's is count"):
        sample_of(document)
