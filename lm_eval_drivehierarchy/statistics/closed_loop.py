"""Intervals of the R4 score, over scenarios and over repeats apart: they answer different questions.

Over scenarios: how would the model do on other scenarios of these families? Over repeats: would the same scenarios,
run again, give the same number? A benchmark with a single deterministic run (the paper's) knows only the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from lm_eval_drivehierarchy.statistics.bootstrap import REPLICATES, weighted_estimates
from lm_eval_drivehierarchy.statistics.estimates import LEVEL, Estimate
from lm_eval_drivehierarchy.statistics.paired import Comparison, compare
from lm_eval_drivehierarchy.statistics.scenes import SceneSums
from lm_eval_drivehierarchy.wording import agreeing, counted


@dataclass(frozen=True, slots=True)
class ClosedLoopEstimates:
    """R4 scores, 0-100. `overall` is the plain mean of the family means, as in the last column of Table 2."""

    overall: Estimate
    """Interval over scenarios (stratified by family), repeats averaged."""
    families: dict[str, Estimate]
    overall_repeats: Estimate
    """The same number with its interval over repeats of these very scenarios."""
    repeat_sd: float | None
    """Standard deviation of one scenario's score between its repeats, pooled; None with a single repeat."""


def closed_loop_estimates(
    scenarios: Sequence[str],
    families: Sequence[str],
    scores: Sequence[float],
    *,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> ClosedLoopEstimates:
    """Estimates from parallel sequences with one entry per scored episode (void episodes excluded beforehand)."""
    values = np.asarray(scores, dtype=float)
    if not len(scenarios) == len(families) == values.size:
        raise ValueError("scenarios, families and scores must have one entry per episode each")
    if values.size == 0:
        raise ValueError("no scored episode at all")
    if not np.isfinite(values).all():
        raise ValueError("NaN or infinite episode score: void episodes must be excluded first")
    repeats: dict[tuple[str, str], list[float]] = {}
    for scenario, family, value in zip(scenarios, families, values.tolist(), strict=True):
        repeats.setdefault((family, scenario), []).append(value)
    by_family: dict[str, list[list[float]]] = {}
    for (family, _), episodes in sorted(repeats.items()):
        by_family.setdefault(family, []).append(episodes)

    means = _scenario_means(list(zip(families, scenarios, values.tolist(), strict=True)))
    keys = sorted(means)
    sums = SceneSums.of_items(
        [family for family, _ in keys], [f"{family}/{scenario}" for family, scenario in keys], [means[k] for k in keys]
    )
    mixes = {family: {family: 1.0} for family in by_family}
    everything = {"overall": {family: 1 / len(by_family) for family in by_family}}
    shape: dict[str, Any] = {"level": level, "replicates": replicates, "seed": seed}
    estimates = weighted_estimates(sums, mixes | everything, **shape)
    overall = estimates.pop("overall")
    if all(len(runs) == 1 for runs in by_family.values()):
        # One scenario a family: the scenarios themselves are the sample, and their plain mean is the family mean.
        merged = SceneSums.of_items(["r4"] * len(keys), [scenario for _, scenario in keys], [means[k] for k in keys])
        overall = weighted_estimates(merged, {"overall": {"r4": 1.0}}, **shape)["overall"]
    return ClosedLoopEstimates(
        _count_episodes(overall, values.size),
        {family: _count_episodes(estimates[family], sum(map(len, runs))) for family, runs in by_family.items()},
        *_over_repeats(by_family, overall.value, values.size, level),
    )


def compare_closed_loop(
    first: Sequence[tuple[str, str, float]],
    second: Sequence[tuple[str, str, float]],
    *,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Second model minus first on the scenarios that both drove: {"R4": …}, and each family that allows it.

    Arguments are (family, scenario, score) of every scored episode; repeats are averaged before scenarios are paired.
    Empty when no scenario is common.
    """
    before, after = _scenario_means(first), _scenario_means(second)
    common = sorted(before.keys() & after.keys())
    if not common:
        return {}
    families = [family for family, _ in common]
    scenarios = [f"{family}/{scenario}" for family, scenario in common]
    differences = [after[key] - before[key] for key in common]
    shape: dict[str, Any] = {"level": level, "replicates": replicates, "seed": seed}
    names = sorted(set(families))
    if len(names) == len(common):
        return _of_scenarios(compare(["R4"] * len(common), scenarios, differences, {"R4": {"R4": 1.0}}, **shape))
    found = compare(families, scenarios, differences, {"R4": {name: 1 / len(names) for name in names}}, **shape)
    found |= compare(families, scenarios, differences, {name: {name: 1.0} for name in names}, **shape)
    return _of_scenarios(found)


def _scenario_means(episodes: Sequence[tuple[str, str, float]]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for family, scenario, score in episodes:
        found.setdefault((family, scenario), []).append(score)
    return {key: float(np.mean(scores)) for key, scores in found.items()}


def _count_episodes(estimate: Estimate, episodes: int) -> Estimate:
    return Estimate(
        estimate.value, estimate.low, estimate.high, estimate.stderr, episodes, estimate.clusters, estimate.level,
        _in_scenarios(estimate.reason),
    )  # fmt: skip


def _of_scenarios(found: dict[str, Comparison]) -> dict[str, Comparison]:
    return {
        name: replace(each, difference=replace(each.difference, reason=_in_scenarios(each.difference.reason)))
        for name, each in found.items()
    }


def _in_scenarios(reason: str | None) -> str | None:
    """A reason of the statistics, whose scenes are here scenarios."""
    return reason.replace("scene", "scenario") if reason else None


def _over_repeats(
    by_family: dict[str, list[list[float]]], value: float | None, episodes: int, level: float
) -> tuple[Estimate, float | None]:
    runs = [(1 / (len(by_family) * len(group)), scores) for group in by_family.values() for scores in group]
    shape: dict[str, Any] = {"n": episodes, "clusters": len(runs), "level": level}
    single = sum(len(scores) == 1 for _, scores in runs)
    if single:
        were = agreeing(single, "was", "were")
        reason = (
            f"{single} of {counted(len(runs), 'scenario')} {were} run once, so nothing says how a repeat would differ"
        )
        return Estimate(value, reason=reason, **shape), None
    spreads = np.array([np.var(scores, ddof=1) for _, scores in runs])
    counts = np.array([len(scores) for _, scores in runs])
    parts = np.array([share for share, _ in runs]) ** 2 * spreads / counts
    pooled = float(np.sqrt((spreads * (counts - 1)).sum() / (counts - 1).sum()))
    if parts.sum() == 0:
        return Estimate(value, value, value, stderr=0.0, reason="all repeats are identical", **shape), pooled
    stderr = float(np.sqrt(parts.sum()))
    degrees = parts.sum() ** 2 / (parts**2 / (counts - 1)).sum()
    margin = float(stats.t.ppf((1 + level) / 2, degrees)) * stderr
    low, high = max(0.0, float(value or 0.0) - margin), min(100.0, float(value or 0.0) + margin)
    return Estimate(value, low, high, stderr=stderr, **shape), pooled
