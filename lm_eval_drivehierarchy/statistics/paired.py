"""Is one model better than another? Paired tests on the items that both answered, scene by scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np
from scipy.stats import norm

from lm_eval_drivehierarchy.statistics.bootstrap import CELLS, REPLICATES, weighted_estimates
from lm_eval_drivehierarchy.statistics.estimates import LEVEL, Estimate
from lm_eval_drivehierarchy.statistics.scenes import Floats, SceneSums

Verdict = Literal["better", "worse", "tie", "undecided"]
"""`undecided`: with so few scenes no difference could have passed the test, or there is no interval; not a tie."""
PERMUTATIONS = 9_999
_EXACT_SCENES = 14
"""Up to this many scenes all 2^scenes label swaps are enumerated."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Second model minus first. `p_value` is two-sided, `p_adjusted` the same after Holm's correction over the family
    of comparisons made together. A difference that does not pass both the interval and the test is a tie, unless none
    could have passed (`undecided`)."""

    difference: Estimate
    p_value: float
    p_adjusted: float
    verdict: Verdict


def compare(
    tasks: Sequence[str],
    scenes: Sequence[str],
    differences: Sequence[float],
    weights: Mapping[str, Mapping[str, float]],
    *,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Compare two models on weighted sums of tasks; one entry of the first three arguments per common item.

    `differences` are second minus first on the 0-100 scale, `weights` as for `weighted_estimates`; its entries form
    one family for Holm's correction. The interval is the scene bootstrap of the differences, the test swaps the two
    models' labels scene by scene (all swaps up to 14 scenes, else `permutations` random ones). A comparison is
    `undecided` where the adjusted p-value would not pass even if its difference had one sign in every scene.
    """
    sums = SceneSums.of_items(tasks, scenes, differences)
    estimates = weighted_estimates(sums, weights, bounds=(-100.0, 100.0), level=level, replicates=replicates, seed=seed)
    mixing = np.array([[mix.get(task, 0.0) for mix in weights.values()] for task in sums.tasks])
    p_values = swap_test(sums.sums / sums.totals @ mixing, permutations=permutations, seed=seed)
    adjusted = holm(p_values)
    results: dict[str, Comparison] = {}
    for name, p_value, p_adjusted in zip(weights, p_values, adjusted, strict=True):
        estimate = estimates[name]
        if estimate.stderr == 0 and estimate.value == 0:
            estimate = Estimate(
                0.0, 0.0, 0.0, stderr=0.0, n=estimate.n, clusters=estimate.clusters, level=level,
                reason="the two models score the same in every scene",
            )  # fmt: skip
        column = len(results)
        attainable = p_values.copy()
        attainable[column] = min(p_value, least_p(estimate.clusters, permutations))
        verdict: Verdict = "tie"
        if estimate.low is None or holm(attainable)[column] >= 1 - level:
            verdict = "undecided"
        elif estimate.excludes_zero and estimate.value is not None and p_adjusted < 1 - level:
            verdict = "better" if estimate.value > 0 else "worse"
        results[name] = Comparison(estimate, float(p_value), float(p_adjusted), verdict)
    return results


def swap_test(parts: Floats, *, permutations: int = PERMUTATIONS, seed: int = 0) -> Floats:
    """Two-sided p-values, (K,), of the hypothesis that within each scene the two models are exchangeable.

    `parts` (G, K) holds each scene's contribution to K differences, whose column sums are the statistics. Up to 14
    scenes the p-value is exact; beyond, it is (1 + hits) / (1 + permutations), which is valid for any number of them.
    """
    scenes, columns = parts.shape
    observed = np.abs(parts.sum(axis=0))
    # Sums of the same numbers in another order differ in the last bits; they must count as equal.
    threshold = observed - 1e-9 * np.maximum(observed, 1e-300)
    if scenes <= _EXACT_SCENES:
        codes = np.arange(2**scenes)[:, None]
        signs = 1.0 - 2.0 * ((codes >> np.arange(scenes)) & 1)
        return np.asarray((np.abs(signs @ parts) >= threshold).mean(axis=0))
    rng = np.random.default_rng(seed)
    hits = np.zeros(columns)
    rows = max(1, CELLS // scenes)
    for start in range(0, permutations, rows):
        size = min(rows, permutations - start)
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(size, scenes))
        hits += (np.abs(signs @ parts) >= threshold).sum(axis=0)
    return (1 + hits) / (1 + permutations)


def least_p(scenes: int, permutations: int = PERMUTATIONS) -> float:
    """Smallest two-sided p-value that the swap test can give: of a difference with one sign in all `scenes`."""
    return float(max(2.0 ** (1 - scenes), 1 / (1 + permutations)))


def holm(p_values: Floats) -> Floats:
    """Holm's step-down adjustment of a family of p-values, in the order given."""
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * (len(p_values) - np.arange(len(p_values)))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def unpaired_verdict(difference: Estimate) -> Verdict | None:
    """Verdict on a difference by its interval alone; None where it has none, so that nothing was tested.

    `undecided` where a rank test of two samples of this many scenes (items where those are unknown) could not pass
    either, however far apart they were.
    """
    if difference.value is None or difference.low is None:
        return None
    size = difference.clusters or difference.n
    if size and 2 / comb(2 * size, size) >= 1 - difference.level:
        return "undecided"
    return "tie" if not difference.excludes_zero else "better" if difference.value > 0 else "worse"


def unpaired(first: Estimate, second: Estimate) -> Estimate:
    """Second minus first from two independent estimates (no common items known), normal approximation.

    Undefined, with the reason, where a standard error is missing.
    """
    if first.value is None or second.value is None:
        return Estimate(None, reason=first.reason or second.reason or "one of the two scores is undefined")
    difference = second.value - first.value
    if first.stderr is None or second.stderr is None:
        return Estimate(difference, reason="one of the two scores has no standard error")
    stderr = float(np.hypot(first.stderr, second.stderr))
    level = min(first.level, second.level)
    margin = float(norm.ppf((1 + level) / 2)) * stderr
    return Estimate(
        difference, difference - margin, difference + margin, stderr=stderr,
        n=min(first.n, second.n), clusters=min(first.clusters, second.clusters), level=level,
    )  # fmt: skip
