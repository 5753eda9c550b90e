"""Which tasks to train on: deficits against the best known result, and the groups that follow (paper, §4.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from drivehierarchy_gym.errors import DriveHierarchyError
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.tasks import TASKS, TASKS_BY_ID

THRESHOLD = -0.25
"""At or below it a task is a target: the cut that reproduces the paper's six."""

CONVENTION_TASK = "r1_3"
CONVENTION_CAVEAT = (
    "a box score near zero can be an answer in another coordinate convention; look at the IoU under the 0-1 and 0-1000 "
    "conventions before training on localisation"
)
NEAR_ZERO = 10.0
"""Box score below which boxes in another convention are a likely cause: read in the wrong one, they rarely overlap."""
CONTROLS = (
    "the same number of training samples in every run, drawn from the same scenes",
    "a run on as many tasks chosen at random among the targets",
    "a run on as many tasks chosen at random among the tasks that are not targets",
    "at least two training seeds, and a second base model before a general claim",
)
"""Controls without which a transfer result stays a case study (the paper trained one base model once per group)."""


class ThresholdError(DriveHierarchyError, ValueError):
    """A relative deficit that no task behind the best known can have."""


@dataclass(frozen=True, slots=True)
class BestKnown:
    """Best score of a task in a pool, and the model that reached it."""

    score: float
    model: str


@dataclass(frozen=True, slots=True)
class Deficit:
    """How far a task lies behind the best known result."""

    task: str
    score: float
    best: BestKnown
    relative: float | None
    """(score - best) / best, negative when behind; None when the best known score is 0."""
    caveat: str | None = None


def best_known(pool: Mapping[str, Mapping[str, float]] | None = None, *, paper: bool = True) -> dict[str, BestKnown]:
    """Best score per task over `pool` (model -> task -> score) and, unless `paper` is off, the paper's 15 models.

    The paper's scores belong to the release edition; leave them out for results on another one. Of equal scores the
    first model named counts, the paper's first.
    """
    published = paper_tables().open_scores() if paper else {}
    best: dict[str, BestKnown] = {}
    for model, scores in [*published.items(), *(pool or {}).items()]:
        for task in TASKS_BY_ID:
            score = scores.get(task)
            if score is not None and (task not in best or score > best[task].score):
                best[task] = BestKnown(score, model)
    return best


def deficits(scores: Mapping[str, float], best: Mapping[str, BestKnown] | None = None) -> dict[str, Deficit]:
    """Deficit of every task in `scores` (task -> 0-100) that `best` knows, in the order of the task table."""
    known = best if best is not None else best_known()
    found = {}
    for task in TASKS:
        if task.id not in scores or task.id not in known:
            continue
        score, top = scores[task.id], known[task.id]
        relative = (score - top.score) / top.score if top.score > 0 else None
        behind = relative is not None and relative <= THRESHOLD
        near_zero = task.id == CONVENTION_TASK and score < NEAR_ZERO
        caveat = CONVENTION_CAVEAT if near_zero and behind else None
        found[task.id] = Deficit(task.id, score, top, relative, caveat)
    return found


def targets(found: Mapping[str, Deficit], threshold: float = THRESHOLD) -> tuple[str, ...]:
    """Tasks at or below the relative deficit `threshold`, in the order of the task table.

    Raises ThresholdError for one outside [-1, 0).
    """
    if not -1 <= threshold < 0:
        raise ThresholdError(
            f"threshold {threshold:g} must lie in [-1, 0): -0.25 means a quarter behind the best known"
        )
    return tuple(t for t, d in found.items() if d.relative is not None and d.relative <= threshold)


def target_groups(chosen: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Training groups as the paper forms them: one per rank that has a target ("R1", "R2", "R3"), and "ALL"."""
    wanted = set(chosen)
    groups = {}
    for rank in sorted({TASKS_BY_ID[task].rank for task in wanted}):
        groups[f"R{rank}"] = tuple(task.id for task in TASKS if task.rank == rank and task.id in wanted)
    if wanted:
        groups["ALL"] = tuple(task.id for task in TASKS if task.id in wanted)
    return groups
