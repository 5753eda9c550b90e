import numpy as np
import pytest

from lm_eval_drivehierarchy.statistics.open_loop import open_loop_estimates, weighted_sums
from lm_eval_drivehierarchy.tasks import TASKS, tasks_of_rank


def items(without: tuple[str, ...] = ()) -> tuple[list[str], list[str], list[float]]:
    rng = np.random.default_rng(0)
    tasks, scenes, scores = [], [], []
    for task in TASKS:
        if task.id in without:
            continue
        for scene in range(12):
            for _ in range(2):
                tasks.append(task.id)
                scenes.append(f"s{scene}")
                scores.append(float(rng.uniform(0, 100)))
    return tasks, scenes, scores


def test_values_are_eq_13_to_15() -> None:
    tasks, scenes, scores = items()
    found = open_loop_estimates(tasks, scenes, scores)
    means = {t.id: np.mean([s for name, s in zip(tasks, scores, strict=True) if name == t.id]) for t in TASKS}
    for task, mean in means.items():
        assert found.tasks[task].value == pytest.approx(mean)
        assert found.tasks[task].n == 24
    for rank, estimate in found.ranks.items():
        assert estimate.value == pytest.approx(np.mean([means[t.id] for t in tasks_of_rank(rank)]))
    assert found.open.value == pytest.approx(sum(t.weight * means[t.id] for t in TASKS))
    assert found.open.n == 14 * 24
    assert found.open.clusters == 12


def test_a_missing_task_leaves_its_rank_and_the_total_without_a_number() -> None:
    found = open_loop_estimates(*items(without=("r1_4",)))
    assert found.ranks[1].value is None
    assert found.ranks[1].reason == "incomplete: no score for r1_4"
    assert found.ranks[2].value is not None
    assert found.open.value is None
    assert "r1_4" not in found.tasks


def test_sums_of_an_incomplete_set() -> None:
    assert set(weighted_sums(["r3_1", "r3_2", "r2_1"])) == {"r3_1", "r3_2", "r2_1", "R3"}


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ValueError, match="r9_9"):
        open_loop_estimates(["r9_9", "r9_9"], ["a", "b"], [1, 2])
