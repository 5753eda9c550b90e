from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from drivehierarchy_gym.errors import UnknownNameError
from lm_eval_drivehierarchy.calibration import (
    CalibrationError,
    Scheme,
    calibrate,
    score_matrix,
    spearman,
    weights_from_scores,
)
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.tasks import RANK_BUDGETS, TASKS, TASKS_BY_ID

SCORES = paper_tables().open_scores()
TWO_RANKS = {"a": 1, "b": 1, "c": 2}


def test_the_frozen_weights_follow_from_table_1() -> None:
    found = weights_from_scores(SCORES, TASKS)
    assert {task: round(weight, 3) for task, weight in found.items()} == {task.id: task.weight for task in TASKS}
    assert sum(found.values()) == pytest.approx(1)
    for rank, budget in RANK_BUDGETS.items():
        assert sum(found[task.id] for task in TASKS if task.rank == rank) == pytest.approx(budget)


def test_tasks_may_be_ids_entries_or_ranks() -> None:
    by_entry = weights_from_scores(SCORES, TASKS)
    assert weights_from_scores(SCORES, [task.id for task in TASKS]) == by_entry
    assert weights_from_scores(SCORES, {task.id: task.rank for task in TASKS}) == by_entry


def test_further_keys_are_ignored_and_the_order_of_models_does_not_matter() -> None:
    shuffled = {model: SCORES[model] | {"open": 1.0} for model in reversed(list(SCORES))}
    found, base = weights_from_scores(shuffled, TASKS), weights_from_scores(SCORES, TASKS)
    assert found == pytest.approx(base)


def test_loads_by_hand() -> None:
    """rho(a,b) = 1, rho(a,c) = rho(b,c) = -1: the negative ones count as zero."""
    scores = {"m1": {"a": 1, "b": 5, "c": 9}, "m2": {"a": 2, "b": 6, "c": 8}, "m3": {"a": 3, "b": 9, "c": 1}}
    found = calibrate(scores, TWO_RANKS, Scheme({1: 0.6, 2: 0.4}))
    assert found.load.tolist() == pytest.approx([2, 2, 1])
    assert found.uniqueness.tolist() == pytest.approx([0.5, 0.5, 1])
    assert found.weights == pytest.approx({"a": 0.3, "b": 0.3, "c": 0.4})


def test_cross_rank_penalty_by_hand() -> None:
    scores = {"m1": {"a": 1, "b": 9, "c": 1}, "m2": {"a": 2, "b": 8, "c": 2}, "m3": {"a": 3, "b": 1, "c": 3}}
    found = calibrate(scores, TWO_RANKS, Scheme({1: 0.5, 2: 0.5}, cross=0.35))
    assert found.load.tolist() == pytest.approx([1.35, 1.0, 1.35])
    assert found.weights["a"] == pytest.approx(0.5 * (1 / 1.35) / (1 / 1.35 + 1))


@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=3, max_size=12))
@settings(max_examples=60, deadline=None)
def test_spearman_equals_scipy_with_ties(rows: list[list[int]]) -> None:
    matrix = np.array(rows, dtype=float)
    found = spearman(matrix)
    for i in range(3):
        for j in range(3):
            if np.ptp(matrix[:, i]) == 0 or np.ptp(matrix[:, j]) == 0:
                assert np.isnan(found[i, j])
            else:
                reference = scipy_stats.spearmanr(matrix[:, i], matrix[:, j]).statistic
                assert found[i, j] == pytest.approx(reference, abs=1e-12)


def test_a_missing_rank_gives_its_budget_to_the_others() -> None:
    found = weights_from_scores(SCORES, [task for task in TASKS if task.rank < 3])
    assert sum(found.values()) == pytest.approx(1)
    assert sum(weight for task, weight in found.items() if TASKS_BY_ID[task].rank == 1) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m1": {"a": 1, "b": 1, "c": 1}}, "at least 3 needed"),
        ({"m1": {"a": 1, "b": 2}} | {m: {"a": 1, "b": 2, "c": 3} for m in ("m2", "m3")}, "'m1' has no score for c"),
        ({f"m{n}": {"a": n, "b": float("nan"), "c": n} for n in range(3)}, "'m0', task b: score nan"),
        ({f"m{n}": {"a": n, "b": 101 + n, "c": n} for n in range(3)}, "'m0', task b: score 101"),
        ({f"m{n}": {"a": n, "b": "n/a", "c": n} for n in range(3)}, "'m0', task b: score 'n/a'"),
        ({f"m{n}": {"a": n, "b": "50", "c": n} for n in range(3)}, "'m0', task b: score '50' is not a finite number"),
        ({f"m{n}": {"a": n, "b": True, "c": n} for n in range(3)}, "'m0', task b: score True is not a finite number"),
        ({f"m{n}": {"a": n, "b": np.inf, "c": n} for n in range(3)}, "'m0', task b: score inf is not a finite number"),
        ({f"m{n}": {"a": n, "b": 7, "c": n} for n in range(3)}, "all 3 models score 7 on b"),
    ],
)  # fmt: skip
def test_bad_pools_are_refused_naming_model_and_task(change: dict[str, dict[str, float]], message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        calibrate(change, TWO_RANKS, Scheme({1: 0.5, 2: 0.5}))


def test_a_pool_on_a_scale_of_0_to_1_is_refused() -> None:
    fractions = {model: {task: score / 100 for task, score in row.items()} for model, row in SCORES.items()}
    with pytest.raises(CalibrationError, match=r"15 models is above 1.*scale of 0-1; multiply them by 100"):
        calibrate(fractions, TASKS)
    assert calibrate({m: {"a": s, "b": 2 - s} for m, s in (("x", 0.0), ("y", 1.0), ("z", 1.1))}, {"a": 1, "b": 2})


def test_numbers_of_numpy_are_numbers() -> None:
    given = {model: {task: np.float32(score) for task, score in row.items()} for model, row in SCORES.items()}
    assert weights_from_scores(given, TASKS) == pytest.approx(weights_from_scores(SCORES, TASKS), abs=1e-6)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (["r1_1_a", "r2_1", "r1_1_a"], "task r1_1_a is named 2 times"),
        ([TASKS[0], TASKS[0].id], "task r1_1_a is named 2 times"),
        ("r1_1_a", "give a list of task ids"),
        ({"a": True, "b": 1}, "task a: rank True is not a whole number"),
        ({"a": "1", "b": 1}, "task a: rank '1' is not a whole number"),
        ({"a": float("nan"), "b": 1}, "task a: rank nan is not a whole number"),
        ({"a": 1.5, "b": 1}, "task a: rank 1.5 is not a whole number"),
    ],
)
def test_tasks_that_are_repeated_or_have_no_rank_are_refused(tasks: Any, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        weights_from_scores(SCORES, tasks)


def test_unknown_task_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'r2_2_a'"):
        weights_from_scores(SCORES, ["r1_1_a", "r2_2a"])


@pytest.mark.parametrize(
    "settings",
    [
        {"budgets": {1: 0.5, 2: 0.6}},
        {"budgets": {1: 1.2, 2: -0.2}},
        {"same": -1},
        {"gamma": 0},
        {"same": float("nan")},
        {"cross": True},
        {"gamma": "2"},
        {"budgets": {1: float("nan"), 2: 1.0}},
    ],
)
def test_impossible_schemes_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(CalibrationError):
        Scheme(**settings)


def test_a_rank_without_budget_is_refused() -> None:
    with pytest.raises(CalibrationError, match="no budget for rank 3"):
        weights_from_scores(SCORES, TASKS, Scheme({1: 0.5, 2: 0.5}))


def test_score_matrix_keeps_the_order_asked_for() -> None:
    matrix = score_matrix(SCORES, ["r3_1", "r1_1_a"])
    assert matrix[0].tolist() == [59.2, 68.8]
