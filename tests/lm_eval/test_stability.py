"""How weights and ranking move under other pools, budgets and penalties."""

from __future__ import annotations

import numpy as np
import pytest

from lm_eval_drivehierarchy.calibration import CalibrationError, weights_from_scores
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.stability import stability
from lm_eval_drivehierarchy.tasks import TASKS

SCORES = paper_tables().open_scores()


def test_a_reference_weight_must_be_a_number() -> None:
    frozen = {task.id: task.weight for task in TASKS}
    with pytest.raises(CalibrationError, match="reference weight of r3_1 is nan"):
        stability(SCORES, TASKS, reference=frozen | {"r3_1": float("nan")}, replicates=20)


class TestStability:
    frozen = {task.id: task.weight for task in TASKS}  # noqa: RUF012
    found = stability(SCORES, TASKS, reference=frozen, replicates=400)

    def test_uniform_weights_reorder_the_paper_models(self) -> None:
        equal = next(a for a in self.found.alternatives if a.name == "equal tasks")
        means = {model: np.mean(list(scores.values())) for model, scores in SCORES.items()}
        assert sorted(equal.places, key=equal.places.__getitem__) == sorted(means, key=means.__getitem__, reverse=True)
        assert equal.kendall_tau == pytest.approx(0.695, abs=0.001)
        assert equal.moved["ReasonDrive(7B)"] == (12, 15)

    def test_leaving_a_model_out_equals_calibrating_without_it(self) -> None:
        rest = {model: scores for model, scores in SCORES.items() if model != "ReasonDrive(7B)"}
        assert self.found.leave_one_out["ReasonDrive(7B)"] == pytest.approx(weights_from_scores(rest, TASKS))
        assert set(self.found.leave_one_out) == set(SCORES)

    def test_bootstrap_brackets_the_weights_and_is_reproducible(self) -> None:
        for task, estimate in self.found.bootstrap.items():
            assert estimate.low < self.frozen[task] < estimate.high
        again = stability(SCORES, TASKS, reference=self.frozen, replicates=400)
        assert again.bootstrap == self.found.bootstrap

    def test_place_ranges_cover_all_alternatives(self) -> None:
        assert self.found.place_range["Qwen2.5-VL(72B)"] == (1, 1)
        best, worst = self.found.place_range["ReasonDrive(7B)"]
        assert (best, worst) == (7, 15)

    def test_a_tiny_pool_has_no_bootstrap_and_says_so(self) -> None:
        three = {model: SCORES[model] for model in list(SCORES)[:3]}
        found = stability(three, TASKS, replicates=200)
        assert found.undefined_replicates > 100
        assert all(estimate.low is None for estimate in found.bootstrap.values())
        assert found.leave_one_out == {}
