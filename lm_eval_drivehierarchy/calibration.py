"""Task weights from the rank correlations of a pool of models (paper, Appendix F).

The frozen weights of the task table are these weights for the paper's 15 models. They are a modelling choice, not a
property of driving: they depend on the pool, on clipping negative correlations and on the rank budgets. Module
`stability` shows by how much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from drivehierarchy_gym.errors import DriveHierarchyError, unknown_name
from lm_eval_drivehierarchy.tasks import RANK_BUDGETS, TASKS_BY_ID, Task
from lm_eval_drivehierarchy.wording import counted

Floats = NDArray[np.float64]
Scores = Mapping[str, Mapping[str, float]]
"""model -> task -> score, 0-100."""
WeighedTasks = Iterable[str | Task] | Mapping[str, int]
"""The tasks to weigh: their ids, entries of the task table, or any ids mapped to rank numbers."""

MIN_MODELS = 3
FEW_MODELS = 5
"""Models below which weights are noise: with four, one swap of neighbours takes a correlation from 1 to .8."""


class CalibrationError(DriveHierarchyError, ValueError):
    """A pool of scores from which no weights follow."""


def is_number(value: Any) -> bool:
    """True for a finite real number; a truth value or a text that spells a number is none."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Scheme:
    """Constants of Eq. 21-25."""

    budgets: Mapping[int, float] = field(default_factory=lambda: dict(RANK_BUDGETS))
    """Share of S_open per rank, summing to 1."""
    same: float = 1.0
    """lambda_same: penalty on redundancy within a rank."""
    cross: float = 0.35
    """lambda_cross: penalty on redundancy across ranks."""
    gamma: float = 2.0
    """Exponent on the positive correlations."""

    def __post_init__(self) -> None:
        for name, value in (
            *((f"the budget of rank {rank}", share) for rank, share in self.budgets.items()),
            *((name, getattr(self, name)) for name in ("same", "cross", "gamma")),
        ):
            if not is_number(value):
                raise CalibrationError(f"{name} is {value!r}, not a finite number")
        shares = list(self.budgets.values())
        if min(shares, default=0) <= 0 or not np.isclose(sum(shares), 1):
            raise CalibrationError(f"rank budgets {dict(self.budgets)} must be positive and sum to 1")
        if self.same < 0 or self.cross < 0 or self.gamma <= 0:
            raise CalibrationError(
                f"same={self.same:g} and cross={self.cross:g} must not be negative, gamma={self.gamma:g} be positive"
            )


PAPER_SCHEME = Scheme()


@dataclass(frozen=True)
class Calibration:
    """Every step from scores to weights; arrays follow the order of `tasks`."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    ranks: tuple[int, ...]
    scheme: Scheme
    correlations: Floats
    """Spearman's rho with average ranks, (T, T)."""
    load: Floats
    """Redundancy load L_i (Eq. 22)."""
    uniqueness: Floats
    """u_i = 1 / L_i (Eq. 23)."""
    weights: dict[str, float]
    """w_i (Eq. 25), summing to 1."""


def weights_from_scores(scores: Scores, tasks: WeighedTasks, scheme: Scheme = PAPER_SCHEME) -> dict[str, float]:
    """Weight of each task by Appendix F. See `calibrate` for arguments and errors.

    Example: ``weights_from_scores(paper_tables().open_scores(), TASKS)["r3_1"]`` is 0.2327, printed as .233.
    """
    return calibrate(scores, tasks, scheme).weights


def calibrate(scores: Scores, tasks: WeighedTasks, scheme: Scheme = PAPER_SCHEME) -> Calibration:
    """Correlations, redundancy loads, uniqueness and weights of `tasks` on a pool of models.

    `scores` maps model -> task -> score (further keys are ignored). A mapping of `tasks` to rank numbers allows tasks
    outside the task table. A rank without a task gives its budget to the others in proportion. Raises
    CalibrationError, naming model and task, for fewer than three models, a missing score or one that is no number
    from 0 to 100, scores that are all at most 1, a task named twice, or one on which all models score the same (its
    correlations are undefined).
    """
    ranks = _ranks(tasks)
    names = tuple(ranks)
    matrix = score_matrix(scores, names)
    constant = np.ptp(matrix, axis=0) == 0
    if constant.any():
        task = names[int(np.flatnonzero(constant)[0])]
        raise CalibrationError(
            f"all {len(matrix)} models score {matrix[0, names.index(task)]:g} on {task}, so its rank correlations are "
            "undefined; leave the task out or add models that differ on it"
        )
    correlations = spearman(matrix)
    load = redundancy_load(correlations, np.array(list(ranks.values())), scheme)
    weights = weights_from_load(load, np.array(list(ranks.values())), scheme)
    return Calibration(
        models=tuple(scores),
        tasks=names,
        ranks=tuple(ranks.values()),
        scheme=scheme,
        correlations=correlations,
        load=load,
        uniqueness=1 / load,
        weights=dict(zip(names, weights.tolist(), strict=True)),
    )


def score_matrix(scores: Scores, tasks: Sequence[str]) -> Floats:
    """Scores as (models, tasks); raises CalibrationError where one is missing or no number between 0 and 100."""
    if len(scores) < MIN_MODELS:
        raise CalibrationError(
            f"a pool of {counted(len(scores), 'model')} has no rank correlation; at least {MIN_MODELS} needed"
        )
    matrix = np.empty((len(scores), len(tasks)))
    for row, (model, found) in enumerate(scores.items()):
        missing = [task for task in tasks if found.get(task) is None]
        if missing:
            raise CalibrationError(f"model {model!r} has no score for {', '.join(missing)}; run it or leave it out")
        for column, task in enumerate(tasks):
            value = found[task]
            if not is_number(value):
                raise CalibrationError(f"model {model!r}, task {task}: score {value!r} is not a finite number")
            if not 0 <= value <= 100:
                raise CalibrationError(f"model {model!r}, task {task}: score {value!r} is not between 0 and 100")
            matrix[row, column] = value
    if 0 < matrix.max(initial=0.0) <= 1:
        raise CalibrationError(
            f"no score of the pool's {len(scores)} models is above 1, so they are most likely on a scale of 0-1; "
            "multiply them by 100"
        )
    return matrix


def spearman(matrix: Floats) -> Floats:
    """Spearman's rho between the columns of (..., models, tasks) with average ranks for ties, (..., T, T).

    NaN in the rows and columns of a constant column.
    """
    ranks = stats.rankdata(matrix, axis=-2)
    centred = ranks - ranks.mean(axis=-2, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=-2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (np.swapaxes(centred, -1, -2) @ centred) / (norms[..., :, None] * norms[..., None, :])


def redundancy_load(correlations: Floats, ranks: NDArray[np.int64], scheme: Scheme) -> Floats:
    """L_i = 1 + sum over the other tasks of lambda max(rho, 0)^gamma (Eq. 22), (..., T)."""
    same_rank = ranks[:, None] == ranks[None, :]
    penalty = np.where(same_rank, scheme.same, scheme.cross)
    np.fill_diagonal(penalty, 0.0)
    return np.asarray(1 + (penalty * np.maximum(correlations, 0.0) ** scheme.gamma).sum(axis=-1))


def weights_from_load(load: Floats, ranks: NDArray[np.int64], scheme: Scheme) -> Floats:
    """Budget of the rank times the task's share of its rank's uniqueness (Eq. 24-25), (..., T).

    Raises CalibrationError for a rank without a budget.
    """
    uniqueness = 1 / load
    weights = np.zeros_like(uniqueness)
    present = np.unique(ranks)
    missing = [int(rank) for rank in present if int(rank) not in scheme.budgets]
    if missing:
        raise CalibrationError(f"no budget for rank {missing[0]}; the scheme has {sorted(scheme.budgets)}")
    total = sum(scheme.budgets[int(rank)] for rank in present)
    for rank in present:
        own = ranks == rank
        share = uniqueness[..., own] / uniqueness[..., own].sum(axis=-1, keepdims=True)
        weights[..., own] = scheme.budgets[int(rank)] / total * share
    return weights


def _ranks(tasks: WeighedTasks) -> dict[str, int]:
    """task id -> rank number."""
    if isinstance(tasks, str):
        raise CalibrationError(f"tasks is the text {tasks!r}; give a list of task ids")
    if isinstance(tasks, Mapping):
        for task, rank in tasks.items():
            if not is_number(rank) or rank != int(rank):
                raise CalibrationError(f"task {task}: rank {rank!r} is not a whole number")
        ranks = {task: int(rank) for task, rank in tasks.items()}
    else:
        ids = [entry.id if isinstance(entry, Task) else entry for entry in tasks]
        for task in ids:
            if task not in TASKS_BY_ID:
                raise unknown_name("task", task, TASKS_BY_ID)
            if ids.count(task) > 1:
                raise CalibrationError(f"task {task} is named {ids.count(task)} times; every task counts once")
        ranks = {task: TASKS_BY_ID[task].rank for task in ids}
    if not ranks:
        raise CalibrationError("no task to weigh")
    return ranks
