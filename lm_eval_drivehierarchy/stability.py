"""How far calibrated weights, and the ranking that they give, hang on choices that nobody measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lm_eval_drivehierarchy.calibration import (
    MIN_MODELS,
    PAPER_SCHEME,
    Calibration,
    CalibrationError,
    Floats,
    Scheme,
    Scores,
    WeighedTasks,
    calibrate,
    is_number,
    redundancy_load,
    score_matrix,
    spearman,
    weights_from_load,
)
from lm_eval_drivehierarchy.statistics.estimates import LEVEL, Estimate

OTHER_BUDGETS = ((1 / 3, 1 / 3, 1 / 3), (0.4, 0.3, 0.3), (0.3, 0.4, 0.3), (0.25, 0.25, 0.5), (0.4, 0.4, 0.2))
"""Shares of R1, R2 and R3 that somebody else might have chosen."""
_UNDEFINED_SHARE = 0.05
"""Resampled pools that may have no weights before the bootstrap is refused (reached below six models)."""


@dataclass(frozen=True)
class Alternative:
    """The pool ranked under other weights."""

    name: str
    weights: dict[str, float]
    open_scores: dict[str, float]
    places: dict[str, float]
    """Place of each model, 1 the best, ties averaged."""
    kendall_tau: float | None
    """Agreement with the reference ranking; None where it is undefined."""
    moved: dict[str, tuple[float, float]]
    """Models whose place differs: (reference, here)."""


@dataclass(frozen=True)
class Stability:
    """How weights and ranking depend on choices that nobody measured."""

    reference: Alternative
    alternatives: tuple[Alternative, ...]
    leave_one_out: dict[str, dict[str, float]]
    """Model left out -> weights of the remaining pool; absent where they are undefined."""
    bootstrap: dict[str, Estimate]
    """Weight of each task with its percentile interval when the pool's models are resampled."""
    undefined_replicates: int
    """Resampled pools without weights: fewer than three distinct models, or a task constant in them."""
    place_range: dict[str, tuple[float, float]]
    """Best and worst place of each model over all alternatives."""
    bootstrap_places: dict[str, tuple[float, float]]
    """Central 95 % of each model's place when weights come from resampled pools; empty where these are refused."""


def stability(
    scores: Scores,
    tasks: WeighedTasks,
    *,
    scheme: Scheme = PAPER_SCHEME,
    reference: Mapping[str, float] | None = None,
    replicates: int = 1000,
    seed: int = 0,
    level: float = LEVEL,
) -> Stability:
    """Re-rank the pool under other pools, budgets and penalties.

    `reference` are the weights to compare with (default: those of `scheme` on the whole pool). The bootstrap redraws
    the models, so it speaks of the choice of the pool, not of the noise in each score. Raises CalibrationError as
    `calibrate`, and for a reference without a finite weight of every task.
    """
    calibration = calibrate(scores, tasks, scheme)
    matrix = score_matrix(scores, calibration.tasks)
    start = reference or calibration.weights
    for task in calibration.tasks:
        if not is_number(start.get(task)):
            raise CalibrationError(f"reference weight of {task} is {start.get(task)!r}, not a finite number")
    base = _alternative("reference", {task: start[task] for task in calibration.tasks}, matrix, calibration, None)
    left_out = _leave_one_out(calibration, matrix)
    choices = [("calibrated on this pool", calibration.weights)] if reference else []
    choices += [(name, _by_task(calibration, weights)) for name, weights in _other_choices(calibration)]
    choices += [(f"pool without {model}", weights) for model, weights in left_out.items()]
    alternatives = [_alternative(name, weights, matrix, calibration, base) for name, weights in choices]
    drawn, undefined = _resampled_weights(calibration, matrix, replicates, seed)
    bootstrap, places = _bootstrap(calibration, matrix, drawn, undefined, level)
    every = [base, *alternatives]
    return Stability(
        reference=base,
        alternatives=tuple(alternatives),
        leave_one_out=left_out,
        bootstrap=bootstrap,
        undefined_replicates=undefined,
        place_range={
            model: (min(a.places[model] for a in every), max(a.places[model] for a in every))
            for model in calibration.models
        },
        bootstrap_places=places,
    )


def _ranks(calibration: Calibration) -> NDArray[np.int64]:
    return np.array(calibration.ranks)


def _by_task(calibration: Calibration, weights: Floats) -> dict[str, float]:
    return dict(zip(calibration.tasks, weights.tolist(), strict=True))


def _other_choices(calibration: Calibration) -> Iterator[tuple[str, Floats]]:
    """(name, weights (T,)) of the same pool under equal weights, other budgets and other penalties."""
    ranks, scheme = _ranks(calibration), calibration.scheme
    yield "equal tasks", np.full(len(ranks), 1 / len(ranks))
    counts = np.array([(ranks == rank).sum() for rank in ranks])
    present = np.unique(ranks)
    yield "equal ranks, equal tasks within (mean of Eq. 14)", 1 / (len(present) * counts)
    for budgets in OTHER_BUDGETS:
        other = replace(scheme, budgets=dict(zip((1, 2, 3), budgets, strict=True)))
        if set(present.tolist()) <= set(other.budgets):
            label = ":".join(f"{share:.2g}" for share in budgets)
            yield f"budgets {label}", weights_from_load(calibration.load, ranks, other)
    for label, other in (
        ("no penalty across ranks", replace(scheme, cross=0.0)),
        ("full penalty across ranks", replace(scheme, cross=scheme.same)),
        ("no redundancy penalty", replace(scheme, same=0.0, cross=0.0)),
        ("gamma 1", replace(scheme, gamma=1.0)),
    ):
        yield label, weights_from_load(redundancy_load(calibration.correlations, ranks, other), ranks, other)


def _leave_one_out(calibration: Calibration, matrix: Floats) -> dict[str, dict[str, float]]:
    """Model -> weights of the pool without it, where there are any."""
    found: dict[str, dict[str, float]] = {}
    if len(matrix) <= MIN_MODELS:
        return found
    ranks, scheme = _ranks(calibration), calibration.scheme
    for row, model in enumerate(calibration.models):
        rest = spearman(np.delete(matrix, row, axis=0))
        if np.isfinite(rest).all():
            weights = weights_from_load(redundancy_load(rest, ranks, scheme), ranks, scheme)
            found[model] = _by_task(calibration, weights)
    return found


def _resampled_weights(calibration: Calibration, matrix: Floats, replicates: int, seed: int) -> tuple[Floats, int]:
    """Weights (R, T) of the resampled pools that have any, and how many have none."""
    ranks, scheme = _ranks(calibration), calibration.scheme
    redrawn = np.random.default_rng(seed).integers(0, len(matrix), size=(replicates, len(matrix)))
    pools = spearman(matrix[redrawn])
    distinct = 1 + (np.diff(np.sort(redrawn, axis=1), axis=1) > 0).sum(axis=1)
    usable = (distinct >= MIN_MODELS) & np.isfinite(pools).all(axis=(1, 2))
    drawn = weights_from_load(redundancy_load(pools[usable], ranks, scheme), ranks, scheme)
    return drawn, int((~usable).sum())


def _bootstrap(
    calibration: Calibration, matrix: Floats, drawn: Floats, undefined: int, level: float
) -> tuple[dict[str, Estimate], dict[str, tuple[float, float]]]:
    """Interval of each task's weight and of each model's place; no interval where too many pools have no weights."""
    replicates = len(drawn) + undefined
    if len(drawn) / replicates < 1 - _UNDEFINED_SHARE:
        reason = f"{undefined} of {replicates} resampled pools have no weights: too few models"
        weights = calibration.weights
        return {task: Estimate(weights[task], n=len(matrix), reason=reason) for task in calibration.tasks}, {}
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.quantile(drawn, tails, axis=0)
    estimates = {
        task: Estimate(
            calibration.weights[task],
            float(ends[0, column]),
            float(ends[1, column]),
            float(drawn[:, column].std(ddof=1)),
            n=len(matrix),
            level=level,
        )
        for column, task in enumerate(calibration.tasks)
    }
    places = {}
    ranked = stats.rankdata(-(matrix @ drawn.T), axis=0)
    for row, model in enumerate(calibration.models):
        best, worst = np.quantile(ranked[row], tails, method="closest_observation")
        places[model] = (float(best), float(worst))
    return estimates, places


def _alternative(
    name: str, weights: dict[str, float], matrix: Floats, calibration: Calibration, reference: Alternative | None
) -> Alternative:
    models = calibration.models
    totals = matrix @ np.array(list(weights.values()))
    # Equal scores must tie whatever the order of the sum.
    places = dict(zip(models, stats.rankdata(-np.round(totals, 9)).tolist(), strict=True))
    tau, moved = None, {}
    if reference is not None:
        statistic = stats.kendalltau([reference.places[m] for m in models], [places[m] for m in models]).statistic
        tau = float(statistic) if np.isfinite(statistic) else None
        moved = {m: (reference.places[m], places[m]) for m in models if reference.places[m] != places[m]}
    return Alternative(name, weights, dict(zip(models, totals.tolist(), strict=True)), places, tau, moved)
