"""The scores as an `evaluate` module, loaded by path and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import evaluate
import pytest

from lm_eval_drivehierarchy.tasks import TASKS

MODULE = Path(__file__).parents[2] / "metrics" / "drivehierarchy_score"


@pytest.fixture(scope="module")
def score(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", True)
        patch.setattr("evaluate.config.HF_MODULES_CACHE", str(tmp_path_factory.mktemp("modules")))
        return evaluate.load(str(MODULE), cache_dir=str(tmp_path_factory.mktemp("metrics")))


def test_mixed_kinds(score: Any) -> None:
    found = score.compute(
        predictions=["**Answer:** B", "19.9 m", "[100, 100, 200, 200]", "A -> C -> B", "not sure"],
        references=["B. parked.", "9.90 m", {"bbox": [100, 100, 200, 300], "format": "xyxy"}, ["A", "B", "C"], "Yes"],
        kinds=["choice", "metres", "box", "order", "yes_no"],
        options=[["A. moving.", "B. parked."], None, None, ["A", "B", "C"], None],
        image_sizes=[None, None, (1600, 900), None, None],
    )
    assert found["scores"] == [100.0, pytest.approx(50.0), pytest.approx(50.0), pytest.approx(200 / 3), 0.0]
    assert found["score"] == pytest.approx(sum(found["scores"]) / 5)
    assert (found["n"], found["parse_fail"], found["strict"]) == (5, 0.2, 0.2)


def test_the_rule_is_the_callers(score: Any) -> None:
    reply = {"predictions": ["There are 2 cars and 3 trucks, so 5 in total."], "references": ["5"], "kinds": "count"}
    assert score.compute(**reply)["score"] == 100.0
    assert score.compute(**reply, rule="official")["score"] == pytest.approx(100 * 2 ** (-0.55 / 0.15))


def test_one_reference_as_a_number(score: Any) -> None:
    assert score.compute(predictions=["6"], references=[5], kinds="count")["score"] == pytest.approx(50.0)


def test_tasks_give_ranks_and_what_is_missing(score: Any) -> None:
    found = score.compute(
        predictions=["C", "A, B", "B, A"],
        references=["C. Turn left.", ["A", "B"], ["A", "B"]],
        tasks=["r3_1", "r3_2", "r3_2"],
        options=[["A. Back up.", "B. Turn right.", "C. Turn left."], ["A", "B"], ["A", "B"]],
    )
    assert found["tasks"]["r3_2"] == {"score": 50.0, "stderr": 50.0, "n": 2}
    assert found["ranks"]["r3"] == {"score": 75.0, "stderr": None}
    assert found["ranks"]["r1"]["score"] is None
    assert found["open"]["score"] is None
    assert found["missing"] == [task.id for task in TASKS if task.rank < 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either kinds"),
        ({"kinds": "count", "tasks": "r1_1_b"}, "either kinds"),
        ({"kinds": ["count", "count"]}, "kinds has 2 entries for 1"),
        ({"tasks": "r1_4"}, "Lingo-Judge"),
        ({"kinds": "number"}, "unknown answer kind"),
        ({"tasks": "r9"}, "unknown task"),
    ],
)
def test_wrong_arguments_are_named(score: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score.compute(predictions=["5"], references=["5"], **arguments)
