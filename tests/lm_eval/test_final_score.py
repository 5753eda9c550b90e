"""final_score.json: the release's fields and ours, from the same replies; nothing unscored gets a number."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from drivehierarchy_data.editions import Edition
from lm_eval_drivehierarchy.final_score import (
    NO_REPLY,
    TASK_VERSION,
    final_score,
    result_of,
    score_replies,
)
from lm_eval_drivehierarchy.judge import JudgeQuestion, JudgeRule, LingoJudge, NoJudge
from lm_eval_drivehierarchy.outputs import write_json
from lm_eval_drivehierarchy.replies import BOX_METRICS, Reply, outcomes
from lm_eval_drivehierarchy.reply_files import ReplySet, TaskReplies
from lm_eval_drivehierarchy.scoring import box_conventions
from lm_eval_drivehierarchy.tasks import TASKS
from lm_eval_drivehierarchy.tasks import task as task_named

OFF = NoJudge("switched off")
PATH = Path("run/evaluation/final_score.json")
SUMMARY = {"n", "parse_fail", "mean", "p50", "p90"}


class WordJudge(LingoJudge):
    """Stands in for the model: half a point for each reference that shares a word with the reply."""

    def __init__(self) -> None:
        self.name = "words"
        self.asked: list[tuple[str, JudgeQuestion]] = []

    def probabilities(self, questions: Sequence[JudgeQuestion], rule: JudgeRule) -> list[float]:
        self.asked += [(rule, question) for question in questions]
        return [0.5 * sum(bool({*r.split()} & {*q.reply.split()}) for r in q.references) for q in questions]


def replies(task: str, answers: Sequence[tuple[Any, str | None]], **known: Any) -> TaskReplies:
    """Replies to invented items: (truth, text) each."""
    made = [
        Reply(f"{task}-{index}", task, text, truth, question="q", scene=f"s{index}", **known)
        for index, (truth, text) in enumerate(answers)
    ]
    return TaskReplies(task_named(task), [], made, expected=len(made))


def reply_set(*entries: TaskReplies) -> ReplySet:
    return ReplySet(Path("run"), "m", {entry.task.id: entry for entry in entries}, edition="sim", edition_hash="h")


COUNTS = replies("r1_1_b", [("2", "2"), ("4", "There are 2 cars, no, 4."), ("3", "blue"), ("1", None)])


def test_both_rules_are_scored_and_missing_replies_only_lower_n() -> None:
    result = score_replies(reply_set(COUNTS), OFF)
    task = result.tasks["r1_1_b"]
    assert (task.n, task.expected, task.version) == (3, 4, TASK_VERSION)
    assert [item.scores["flexible"] for item in task.items][::2] == [100.0, 0.0]
    half = 100 * math.exp(-(0.5 - 0.05) / (0.15 / math.log(2)))
    assert task.items[1].scores["official"] == pytest.approx(half)
    assert task.rules["official"].score == pytest.approx((100 + half) / 3)
    assert task.rules["official"].parse_fail == pytest.approx(1 / 3)
    assert task.rules["official"].strict == pytest.approx(1 / 3)
    scores = [item.scores["official"] for item in task.items]
    assert task.rules["official"].stderr == pytest.approx(statistics.stdev(scores) / math.sqrt(3))
    assert result.notes == ("r1_1_b: 1 item has no reply; it is left out, run the evaluation again",)
    assert task.partial


def test_one_item_has_no_standard_error() -> None:
    result = score_replies(reply_set(replies("r1_1_a", [("Yes", "yes")])), OFF)
    assert result.tasks["r1_1_a"].rules["official"].stderr is None


def test_a_task_without_a_reply_has_no_score() -> None:
    result = score_replies(reply_set(replies("r1_1_a", [("Yes", None)])), OFF)
    assert result.tasks == {}
    assert result.absent == {"r1_1_a": NO_REPLY}


class TestDescriptions:
    """r1_4: judged, or absent with a reason."""

    ANSWERS = ((["I stop.", "Stopping now."], "I wait."), (["I go.", "I Go ahead."], ""), (["a"], "<think>never ends"))

    def test_the_judge_decides_with_one_or_all_references(self) -> None:
        judge = WordJudge()
        result = score_replies(reply_set(replies("r1_4", self.ANSWERS)), judge)
        task = result.tasks["r1_4"]
        assert [item.scores["official"] for item in task.items] == [50.0, 0.0, 0.0]
        assert [item.scores["flexible"] for item in task.items] == [50.0, 0.0, 0.0]
        assert [(rule, len(question.references)) for rule, question in judge.asked] == [
            ("official", 1),
            ("official", 1),
            ("flexible", 2),
        ]
        assert task.rules["official"].parse_fail == pytest.approx(1 / 3)
        assert task.rules["flexible"].parse_fail == pytest.approx(2 / 3)

    def test_without_a_judge_there_is_a_reason_instead(self) -> None:
        result = score_replies(reply_set(COUNTS, replies("r1_4", self.ANSWERS)), OFF)
        assert list(result.tasks) == ["r1_1_b"]
        assert result.absent == {"r1_4": "switched off"}
        assert result.open_loop("flexible").open.value is None

    def test_what_was_judged_during_the_run_stands(self) -> None:
        entry = replies("r1_4", self.ANSWERS)
        entry.logged = {("r1_4-0", "official"): 12.5, ("r1_4-0", "flexible"): 25.0, ("r1_4-2", "official"): 7.0}
        result = score_replies(reply_set(entry), OFF)
        assert [item.scores["official"] for item in result.tasks["r1_4"].items] == [12.5, 0.0, 7.0]
        assert [item.scores["flexible"] for item in result.tasks["r1_4"].items] == [25.0, 0.0, 0.0]
        entry.logged["r1_4-0", "official"] = math.nan
        assert score_replies(reply_set(entry), OFF).absent == {"r1_4": "switched off"}


def test_boxes_are_shown_under_every_convention() -> None:
    truth = {"bbox": [100, 50, 300, 150], "format": "xyxy"}
    texts = ["[100, 50, 300, 150]", "[0.1, 0.1, 0.3, 0.3]", "[100, 100, 300, 300]", "nothing"]
    entry = replies("r1_3", [(truth, text) for text in texts], image_size=(1000, 500))
    boxes = score_replies(reply_set(entry), OFF).tasks["r1_3"].boxes
    assert boxes is not None
    assert set(boxes) == set(BOX_METRICS) == set(box_conventions(truth, texts[0], (1000, 500)))
    assert boxes["pixels"] == pytest.approx((100 + 0 + _iou(truth["bbox"], [100, 100, 300, 300]) + 0) / 4)
    assert boxes["fractions"] == pytest.approx(25.0)
    assert boxes["thousandths"] == pytest.approx((_iou(truth["bbox"], [100, 25, 300, 75]) + 100.0) / 4)
    unknown = replies("r1_3", [(truth, texts[0])])
    assert score_replies(reply_set(unknown), OFF).tasks["r1_3"].boxes is None


def _iou(a: Any, b: Any) -> float:
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return 100 * width * height / union


class TestFile:
    """The file itself."""

    @pytest.fixture
    def everything(self) -> ReplySet:
        """Replies of middling quality to every task."""
        answers: dict[str, list[tuple[Any, str | None]]] = {
            "yes_no": [("Yes", "yes"), ("No", "Yes.")],
            "count": [("2", "2"), ("4", "3")],
            "metres": [("10.00 m", "12"), ("5 m", "5 m")],
            "choice": [("A", "A"), ("B", "C")],
            "box": [({"bbox": [0, 0, 10, 10], "format": "xyxy"}, "[0, 0, 10, 5]")],
            "order": [(["B", "A", "C"], '["A", "B", "C"]')],
            "text": [(["I stop."], "I stop."), (["I go."], "No words in common")],
        }
        return reply_set(*(replies(task.id, answers[task.kind]) for task in TASKS))

    def test_the_releases_fields_count_every_record_alike(self, everything: ReplySet) -> None:
        result = score_replies(everything, WordJudge())
        content = final_score(everything, result, PATH, WordJudge())
        scores = [item.scores["official"] for task in result.tasks.values() for item in task.items]
        assert set(content["overall"]) == SUMMARY
        assert content["overall"]["n"] == len(scores)
        assert content["overall"]["mean"] == pytest.approx(statistics.mean(scores))
        assert content["overall"]["p50"] == pytest.approx(statistics.median(scores))
        assert [entry["task_type"] for entry in content["per_task"]] == [
            "bbox",
            "multi_choice",
            "numeric_count",
            "numeric_distance",
            "sequence_order",
            "text_lingo_judge",
            "yes_no",
        ]
        assert all(set(entry) == SUMMARY | {"task_type"} for entry in content["per_task"])
        assert content["per_task"][1]["n"] == 8
        assert sum(entry["n"] for entry in content["per_task"]) == len(scores)
        assert content["scored_files"] == len(TASKS)
        assert content["skipped_files"] == []

    def test_files_are_named_and_described_as_in_the_release(self, everything: ReplySet) -> None:
        per_file = final_score(everything, score_replies(everything, WordJudge()), PATH, WordJudge())["per_file"]
        names = [entry["source_file"] for entry in per_file]
        assert names == sorted(f"{task.release.stem}_pred.jsonl" for task in TASKS)
        assert per_file[0] == {
            "source_file": "R1_1_A_Existence_pred.jsonl",
            "task_type": "yes_no",
            "metric": "em_yes_no",
            "n": 2,
            "parse_fail": 0,
            "mean": 50.0,
            "p50": 50.0,
            "p90": pytest.approx(90.0),
        }
        assert {entry["metric"] for entry in per_file} == {
            "em_yes_no",
            "em_multi_choice",
            "count_exp_decay",
            "distance_log_ratio_exp_decay",
            "bbox_iou",
            "sequence_kendall",
            "lingo_judge_probability",
        }
        (text,) = (entry for entry in per_file if "pass_rate" in entry)
        assert (text["task_type"], text["mean"], text["pass_rate"]) == ("text_lingo_judge", 25.0, 0.5)

    def test_what_the_scores_were_made_with_is_recorded(self, everything: ReplySet) -> None:
        content = final_score(everything, score_replies(everything, WordJudge()), PATH, WordJudge())
        assert (content["result_dir"], content["output_file"]) == ("run", str(PATH))
        assert content["config"] == {
            "count_c": 1.0,
            "count_tau": 0.05,
            "count_sigma": pytest.approx(0.15 / math.log(2)),
            "distance_epsilon": 0.1,
            "distance_tau": 0.0,
            "distance_sigma": 1.0,
            "l1_4": {"enabled": True, "skip_reason": None, "model_name": "words", "device": "auto", "threshold": 0.5},
        }

    def test_a_file_without_scores_is_skipped_with_its_reason(self, everything: ReplySet) -> None:
        content = final_score(everything, score_replies(everything, OFF), PATH, OFF)
        assert content["scored_files"] == len(TASKS) - 1
        assert content["skipped_files"] == [
            {"source_file": "R1_4_Situation_Description_pred.jsonl", "reason": "switched off"}
        ]
        judged = content["config"]["l1_4"]
        assert (judged["enabled"], judged["skip_reason"], judged["model_name"]) == (False, "switched off", None)
        counted = reply_set(COUNTS)
        judged = final_score(counted, score_replies(counted, OFF), PATH, OFF)["config"]["l1_4"]
        assert judged["skip_reason"] == "l1_4_result_file_missing"

    def test_the_date_is_that_of_the_newest_replies(self, tmp_path: Path) -> None:
        entries = [replies("r1_1_a", [("Yes", "yes")]), replies("r1_1_b", [("2", "2")])]
        for number, entry in enumerate(entries):
            path = tmp_path / entry.task.release.prediction_file
            path.write_text("{}")
            os.utime(path, (86400 * number, 86400 * number))
            entry.files.append(path)
        found = reply_set(*entries)
        content = final_score(found, score_replies(found, OFF), PATH, OFF)
        assert content["created_at"] == "1970-01-02T00:00:00+00:00"

    def test_our_fields_hold_both_rules_ranks_and_s_open(self, everything: ReplySet) -> None:
        result = score_replies(everything, WordJudge())
        estimates = final_score(everything, result, PATH, WordJudge())["drivehierarchy"]["estimates"]
        for rule in ("official", "flexible"):
            scores = result.scores(rule)
            weighted = sum(task.weight * scores[task.id] for task in TASKS)
            assert estimates[rule]["open"]["value"] == pytest.approx(weighted)
            first = [scores[task.id] for task in TASKS if task.rank == 1]
            assert estimates[rule]["ranks"]["R1"]["value"] == pytest.approx(statistics.mean(first))
            assert estimates[rule]["tasks"]["r1_1_a"]["n"] == 2

    def test_written_and_read_back(self, everything: ReplySet, tmp_path: Path) -> None:
        result = score_replies(everything, WordJudge())
        path = tmp_path / "evaluation" / "final_score.json"
        write_json(path, final_score(everything, result, path, WordJudge()))
        assert result_of(json.loads(path.read_text())) == result
        first = path.read_bytes()
        write_json(path, final_score(everything, result, path, WordJudge()))
        assert path.read_bytes() == first

    def test_nothing_scored_is_no_zero(self) -> None:
        found = reply_set(replies("r1_1_a", [("Yes", None)]))
        content = final_score(found, score_replies(found, OFF), PATH, OFF)
        assert content["overall"] == {"n": 0, "parse_fail": 0, "mean": None, "p50": None, "p90": None}
        assert content["per_task"] == content["per_file"] == []
        assert content["skipped_files"] == [{"source_file": "R1_1_A_Existence_pred.jsonl", "reason": NO_REPLY}]


class TestOutcomes:
    """What lm-eval averages."""

    def test_open_is_fourteen_times_the_weighted_score(self) -> None:
        task = task_named("r3_1")
        (outcome,) = outcomes(replies("r3_1", [("A", "A")]).replies, "official", None)
        metrics = outcome.metrics(task)
        assert metrics == {
            "score": 100.0,
            "open": pytest.approx(14 * 0.233 * 100),
            "parse_fail": 0.0,
            "strict": 1.0,
        }

    def test_a_missing_reply_counts_only_as_missing(self) -> None:
        task = task_named("r1_1_b")
        found = [outcome.metrics(task) for outcome in outcomes(COUNTS.replies, "flexible", None)]
        assert found[3] == {"missing": 1.0}
        assert [metrics["missing"] for metrics in found[:3]] == [0.0] * 3

    def test_an_unjudged_description_is_nan_and_shows_common_words(self) -> None:
        (outcome,) = outcomes(replies("r1_4", [(["I stop."], "I wait.")]).replies, "flexible", None)
        metrics = outcome.metrics(task_named("r1_4"))
        assert math.isnan(metrics["score"])
        assert math.isnan(metrics["open"])
        assert metrics["lexical"] == pytest.approx(50.0)
        assert str(outcome) == "I wait."


def test_a_perfect_model_scores_100_on_every_task_of_an_edition(edition: Edition) -> None:
    from lm_eval_drivehierarchy.baselines import baseline
    from lm_eval_drivehierarchy.reply_files import questions_of_edition

    answer = baseline("oracle", edition)
    questions = questions_of_edition(edition)
    for task in TASKS:
        if task.kind == "text":
            continue
        entry = TaskReplies(task, [])
        for document in edition.documents(task.id):
            known = questions[document["id"]]
            entry.replies.append(
                Reply(document["id"], task.id, answer(document), known.truth, document["question"], known.options)
            )
        result = score_replies(reply_set(entry), OFF).tasks[task.id]
        for rule in ("official", "flexible"):
            assert (result.rules[rule].score, result.rules[rule].strict) == (100.0, 1.0)
