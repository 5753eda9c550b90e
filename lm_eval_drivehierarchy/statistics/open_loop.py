"""Task, rank and S_open scores of one model with intervals; an incomplete rank has none and says what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lm_eval_drivehierarchy.aggregation import open_weights, rank_weights
from lm_eval_drivehierarchy.statistics.bootstrap import REPLICATES, weighted_estimates
from lm_eval_drivehierarchy.statistics.estimates import INCOMPLETE, LEVEL, Estimate
from lm_eval_drivehierarchy.statistics.scenes import SceneSums
from lm_eval_drivehierarchy.tasks import RANKS, TASKS, tasks_of_rank

OPEN = "open"
"""Name of S_open among the weighted sums."""


@dataclass(frozen=True, slots=True)
class OpenLoopEstimates:
    """Scores 0-100. `ranks` are plain means of tasks (Eq. 14), `open` the weighted sum of all fourteen (Eq. 15)."""

    tasks: dict[str, Estimate]
    ranks: dict[int, Estimate]
    open: Estimate

    def as_record(self) -> dict[str, Any]:
        """Plain JSON types; ranks under "R1" to "R3"."""
        return {
            "tasks": {task: asdict(estimate) for task, estimate in self.tasks.items()},
            "ranks": {rank_name(rank): asdict(estimate) for rank, estimate in self.ranks.items()},
            "open": asdict(self.open),
        }


def rank_name(rank: int) -> str:
    """Name of a rank among the weighted sums: 1 -> "R1"."""
    return f"R{rank}"


def weighted_sums(present: Iterable[str]) -> dict[str, dict[str, float]]:
    """Every task, every complete rank and, when all fourteen tasks are present, S_open, as {name: {task: weight}}."""
    known = set(present)
    sums = {task.id: {task.id: 1.0} for task in TASKS if task.id in known}
    for rank in RANKS:
        if all(task.id in known for task in tasks_of_rank(rank)):
            sums[rank_name(rank)] = rank_weights(rank)
    if all(task.id in known for task in TASKS):
        sums[OPEN] = open_weights()
    return sums


def missing_reason(tasks: Sequence[str]) -> str:
    """Why a sum over tasks has no value."""
    return f"{INCOMPLETE}: no score for {', '.join(tasks)}"


def open_loop_estimates(
    tasks: Sequence[str],
    scenes: Sequence[str],
    scores: Sequence[float],
    *,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> OpenLoopEstimates:
    """Estimates from parallel sequences with one entry per scored item of the fourteen tasks."""
    sums = SceneSums.of_items(tasks, scenes, scores)
    unknown = sorted(set(sums.tasks) - {task.id for task in TASKS})
    if unknown:
        raise ValueError(f"no task of the open-loop table: {', '.join(unknown)}")
    found = weighted_estimates(sums, weighted_sums(sums.tasks), level=level, replicates=replicates, seed=seed)
    ranks = {}
    for rank in RANKS:
        absent = [task.id for task in tasks_of_rank(rank) if task.id not in sums.tasks]
        ranks[rank] = found.get(rank_name(rank)) or Estimate(None, level=level, reason=missing_reason(absent))
    absent = [task.id for task in TASKS if task.id not in sums.tasks]
    return OpenLoopEstimates(
        tasks={task.id: found[task.id] for task in TASKS if task.id in found},
        ranks=ranks,
        open=found.get(OPEN) or Estimate(None, level=level, reason=missing_reason(absent)),
    )
