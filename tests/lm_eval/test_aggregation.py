"""S_t, S_r and S_open against closed forms, the paper's Table 1 and lm-eval's own standard error."""

from __future__ import annotations

import math

import pytest
from lm_eval.api.metrics import mean_stderr

from lm_eval_drivehierarchy import paper
from lm_eval_drivehierarchy.aggregation import TaskScore, open_score, rank_score, standard_error, task_score
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.results import ModelResult, RuleScore, TaskResult
from lm_eval_drivehierarchy.scoring import Scored
from lm_eval_drivehierarchy.statistics.open_loop import open_loop_estimates
from lm_eval_drivehierarchy.tasks import RANKS, TASKS, tasks_of_rank


def _score(value: float, stderr: float | None = 1.0, n: int = 10, expected: int | None = 10) -> TaskScore:
    return TaskScore(value, stderr, n, expected, parse_fail=0.0, strict=1.0)


def test_a_task_score_is_the_mean_with_its_shares() -> None:
    scored = [
        Scored(100.0, "ok", 1),
        Scored(50.0, "recovered", 2),
        Scored(0.0, "unparseable", None),
        Scored(0.0, "ok", 9),
    ]
    found = task_score(scored, expected=5)
    assert found == TaskScore(37.5, pytest.approx(23.93567769), 4, 5, parse_fail=0.25, strict=0.5)  # type: ignore[arg-type]
    assert found is not None
    assert found.partial


def test_no_score_where_one_reply_has_none() -> None:
    assert task_score([Scored(100.0, "ok", "x"), Scored(None, "ok", "y", "no judge")]) is None
    assert task_score([]) is None


def test_an_item_counted_twice_raises() -> None:
    with pytest.raises(ValueError, match="twice"):
        task_score([Scored(1.0, "ok", 1)] * 3, expected=2)


def test_the_standard_error_is_that_of_lm_eval() -> None:
    values = [100.0, 50.0, 0.0, 13.5, 77.25, 100.0]
    assert standard_error(values) == pytest.approx(mean_stderr(values), rel=1e-12)
    assert standard_error([5.0]) is None
    assert standard_error([5.0, 5.0]) == 0.0


def test_a_rank_is_the_plain_mean_with_its_own_error() -> None:
    scores = {
        task.id: _score(10.0 * index, stderr=float(index)) for index, task in enumerate(tasks_of_rank(2), start=1)
    }
    found = rank_score(2, scores)
    assert found.value == pytest.approx(25.0)
    assert found.stderr == pytest.approx(math.sqrt(1 + 4 + 9 + 16) / 4)
    assert found.complete
    assert found.remark == ""


def test_the_open_score_is_weighted() -> None:
    scores = {task.id: _score(float(index), stderr=2.0) for index, task in enumerate(TASKS)}
    found = open_score(scores)
    assert found.value == pytest.approx(sum(index * task.weight for index, task in enumerate(TASKS)))
    assert found.stderr == pytest.approx(2.0 * math.sqrt(sum(task.weight**2 for task in TASKS)))


def test_all_fifteen_models_of_table_1() -> None:
    models = paper_tables().models
    assert len(models) == 15
    for row in models:
        found = open_score({name: _score(value, stderr=None) for name, value in row.tasks.items()})
        assert found.value == pytest.approx(row.open, abs=0.05), row.model
        assert found.stderr is None


def test_an_incomplete_rank_has_no_value_and_says_what_is_missing() -> None:
    scores = {task.id: _score(50.0) for task in TASKS if task.id not in ("r3_2", "r1_4")}
    assert rank_score(2, scores).complete
    third = rank_score(3, scores)
    assert (third.value, third.stderr, third.missing) == (None, None, ("r3_2",))
    assert third.remark == "incomplete: no score for r3_2"
    assert open_score(scores).missing == ("r1_4", "r3_2")


def test_a_partial_task_is_marked_wherever_it_counts() -> None:
    scores = {task.id: _score(50.0) for task in TASKS} | {"r3_1": _score(50.0, n=7, expected=1000)}
    found = rank_score(3, scores)
    assert found.value == 50.0
    assert not found.complete
    assert found.remark == "partial: r3_1 7 of 1000"
    assert open_score(scores).partial == (("r3_1", 7, 1000),)
    assert rank_score(1, scores).complete


def test_every_place_that_sums_tasks_gives_the_same_sums() -> None:
    row = paper_tables().models[0]
    scores = {task: _score(value, stderr=1.5) for task, value in row.tasks.items()}
    tasks = {
        task: TaskResult(task=task, n=10, rules={"official": RuleScore(score=value, stderr=1.5)})
        for task, value in row.tasks.items()
    }
    estimates = ModelResult(model=row.model, tasks=tasks).open_loop("official")
    whole = open_score(scores)
    assert (estimates.open.value, estimates.open.stderr) == (whole.value, whole.stderr)
    assert paper.open_score(row.tasks) == whole.value
    plain = paper.rank_scores({row.model: row.tasks}, weighted=False)
    bootstrap = open_loop_estimates(list(row.tasks), list(row.tasks), list(row.tasks.values()))
    assert bootstrap.open.value == pytest.approx(whole.value, abs=1e-9)
    for rank in RANKS:
        found = rank_score(rank, scores)
        assert (estimates.ranks[rank].value, estimates.ranks[rank].stderr) == (found.value, found.stderr)
        assert plain[rank] == [found.value]
        assert bootstrap.ranks[rank].value == pytest.approx(found.value, abs=1e-9)
