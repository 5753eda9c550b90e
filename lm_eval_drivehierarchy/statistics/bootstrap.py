"""Confidence intervals of task means and of weighted sums of them, from a bootstrap that resamples whole scenes.

The interval is BCa (Efron 1987) with Hesterberg's expansion for few clusters (The American Statistician 69:371, 2015):
the normal quantile becomes t times sqrt(n/(n-1)), because resampling n scenes reproduces only (n-1)/n of their
variance and a normal quantile ignores that it was estimated. The degrees of freedom follow from the scenes' sizes and
the intra-scene correlation, so that a few large scenes count as few. It respects the bounds of the score and its skew
near 0 and 100, where intervals of the form "mean +- 2 standard errors" do not. Below eight scenes a bootstrap cannot
reach far enough (two scenes have three resamples), so the interval is there the wider of it and the t-interval.

Of right-or-wrong items, one a scene, the mean moves in steps of 100/n and the interval ends on a step: it is then about
as wide as the exact binomial one and covers more than it says (97 to 100 % below 30 scenes, in simulations). With five
items a scene it covers 95 to 98 % from eight scenes on. Graded scores that are mostly near zero and sometimes high, as
IoU is, are covered less: the few scenes at hand seldom hold a high one. For one item a scene with a Beta(.1, .9)
distribution that is 70 % with five scenes, 86 % with ten and 91 % with twenty. A score without any spread has no
resamples to go by; see `flawless_loss`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr, ndtri

from lm_eval_drivehierarchy.statistics.estimates import LEVEL, Estimate
from lm_eval_drivehierarchy.statistics.scenes import Floats, SceneSums

REPLICATES = 2000
CELLS = 4_000_000
"""Counts or signs of resampled scenes held in memory at once (32 MB)."""
_FEW = 7
"""Scenes minus strata below which the t-interval is consulted too."""
_EMPTY_SHARE = 0.01
"""Replicates that may miss a task altogether before its interval is refused."""


def resample(strata: NDArray[np.int64], replicates: int, rng: np.random.Generator) -> Floats:
    """How often each scene is drawn in each replicate, (replicates, scenes), drawn within strata."""
    drawn = np.empty((replicates, strata.size))
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        picks = rng.integers(0, members.size, size=(replicates, members.size))
        picks += members.size * np.arange(replicates)[:, None]
        counts = np.bincount(picks.ravel(), minlength=replicates * members.size)
        drawn[:, members] = counts.reshape(replicates, members.size)
    return drawn


def replicate_means(sums: SceneSums, replicates: int, rng: np.random.Generator) -> Floats:
    """Task means of the resampled data, (replicates, T); NaN where a replicate drew no scene with that task."""
    blocks = []
    rows = max(1, CELLS // max(1, len(sums.scenes)))
    for start in range(0, replicates, rows):
        drawn = resample(sums.strata, min(rows, replicates - start), rng)
        items = drawn @ sums.counts
        blocks.append(np.divide(drawn @ sums.sums, items, out=np.full_like(items, np.nan), where=items > 0))
    return np.concatenate(blocks)


def weighted_estimates(
    sums: SceneSums,
    weights: Mapping[str, Mapping[str, float]],
    *,
    bounds: tuple[float, float] = (0.0, 100.0),
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimates of named weighted sums of task means, for example S_open (Eq. 15) or a rank (Eq. 14).

    `weights` maps a name to {task: weight}. Only scenes that hold an item of a task in the sum are resampled. Raises
    KeyError for a task without items: an incomplete sum must be dealt with (and marked) by the caller.
    """
    index = {task: column for column, task in enumerate(sums.tasks)}
    masks: dict[str, NDArray[np.bool_]] = {}
    for name, mix in weights.items():
        missing = [task for task in mix if task not in index]
        if missing:
            raise KeyError(f"{name}: no item of {', '.join(missing)}")
        masks[name] = np.asarray((sums.counts[:, [index[task] for task in mix]] > 0).any(axis=1))
    results: dict[str, Estimate] = {}
    for names in _resampled_together(sums.strata, masks):
        mask = np.logical_or.reduce([masks[name] for name in names])
        tasks = sorted({task for name in names for task in weights[name]}, key=index.__getitem__)
        part = sums.keep(mask, tasks)
        mixing = np.array([[weights[name].get(task, 0.0) for name in names] for task in tasks])
        results.update(_group(part, names, mixing, bounds, level, replicates, np.random.default_rng(seed)))
    return {name: results[name] for name in weights}


def _resampled_together(strata: NDArray[np.int64], masks: Mapping[str, NDArray[np.bool_]]) -> list[list[str]]:
    """Names of sums that can share their resamples: all that use whole strata, and any that use the same scenes."""
    groups: dict[bytes, list[str]] = {}
    for name, mask in masks.items():
        whole = not np.intersect1d(strata[mask], strata[~mask]).size
        groups.setdefault(b"" if whole else mask.tobytes(), []).append(name)
    return list(groups.values())


def standard_errors(sums: SceneSums, mixing: Floats) -> tuple[Floats, Floats, Floats]:
    """Scene-clustered standard error, its degrees of freedom and the skewness term a of BCa for each column of
    `mixing` (T, K); every result is (K,).

    Linearised (Taylor) variance of a ratio mean with the n/(n-1) correction per stratum. Degrees of freedom by
    Satterthwaite from a working model with exchangeable items within a scene.
    """
    moved = sums.influence @ mixing
    variance, correlation = sums.variance_within
    working = (sums.counts * (1 + (np.maximum(sums.counts, 1) - 1) * correlation) * variance / sums.totals**2) @ (
        mixing**2
    )
    total = np.zeros(mixing.shape[1])
    free, cubes, plain = np.zeros_like(total), np.zeros_like(total), np.zeros_like(total)
    expected = np.zeros_like(total)
    for stratum in np.unique(sums.strata):
        rows = sums.strata == stratum
        size = int(rows.sum())
        centred = moved[rows] - moved[rows].mean(axis=0)
        plain += (centred**2).sum(axis=0)
        cubes += (centred**3).sum(axis=0)
        if size < 2:
            continue
        total += size / (size - 1) * (centred**2).sum(axis=0)
        share, second = working[rows].sum(axis=0), (working[rows] ** 2).sum(axis=0)
        own = np.maximum(np.divide(share**2, second, out=np.full_like(share, size), where=second > 0) - 1, 1.0)
        expected += share
        free += share**2 / own
    degrees = np.divide(expected**2, free, out=np.full_like(free, max(len(sums.scenes) - 1, 1)), where=free > 0)
    skew = np.divide(cubes, 6 * plain**1.5, out=np.zeros_like(cubes), where=plain > 0)
    return np.sqrt(total), degrees, skew


def _group(
    sums: SceneSums,
    names: list[str],
    mixing: Floats,
    bounds: tuple[float, float],
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """Estimates of the columns of `mixing` (T, K), each of which draws on whole strata of `sums`."""
    values = sums.means @ mixing
    stderr, degrees, skew = standard_errors(sums, mixing)
    used = mixing != 0
    items = (sums.totals[:, None] * used).sum(axis=0).astype(int)
    drawn_on = (sums.counts > 0).astype(float) @ used > 0
    sizes = np.bincount(sums.strata)
    lonely = {
        task
        for column, task in enumerate(sums.tasks)
        if sizes[sums.strata[np.flatnonzero(sums.counts[:, column] > 0)[0]]] == 1
    }
    means = replicate_means(sums, replicates, rng) if len(sums.scenes) > 1 else np.empty((0, len(sums.tasks)))
    absent = np.isnan(means)
    drawn = np.nan_to_num(means) @ mixing
    expansion = np.sqrt(_expansion(sums, mixing))
    results = {}
    low: float | None
    high: float | None
    for k, name in enumerate(names):
        value = float(values[k])
        scenes = int(drawn_on[:, k].sum())
        few = scenes - len(np.unique(sums.strata[drawn_on[:, k]])) < _FEW
        shape: dict[str, Any] = {"n": int(items[k]), "clusters": scenes, "level": level}
        alone = sorted(lonely.intersection(task for task, yes in zip(sums.tasks, used[:, k], strict=True) if yes))
        usable = ~absent[:, used[:, k]].any(axis=1)
        flat = bool(stderr[k] < 1e-12 * max(1.0, abs(value)))
        if alone:
            reason = f"all items of {', '.join(alone)} come from one scene, so nothing says how scenes differ"
            results[name] = Estimate(value, reason=reason, **shape)
        elif flat:
            low, high, note = _no_variation(sums, mixing[:, k], value, bounds, level)
            results[name] = Estimate(value, low, high, stderr=float(stderr[k]), reason=note, **shape)
        elif usable.mean() < 1 - _EMPTY_SHARE:
            reason = "a task of it has items in too few of the scenes to be resampled"
            results[name] = Estimate(value, stderr=float(stderr[k]), reason=reason, **shape)
        else:
            quantile = float(stats.t.ppf((1 + level) / 2, degrees[k]))
            low, high = _bca(drawn[usable, k], value, float(skew[k]), quantile * float(expansion[k]))
            if few:
                low = max(bounds[0], min(low, value - quantile * float(stderr[k])))
                high = min(bounds[1], max(high, value + quantile * float(stderr[k])))
            results[name] = Estimate(value, low, high, stderr=float(stderr[k]), **shape)
    return results


def _expansion(sums: SceneSums, mixing: Floats) -> Floats:
    """Unbiased over bootstrap variance, (K,): n/(n-1) for one stratum."""
    moved = sums.influence @ mixing
    unbiased, resampled = np.zeros(mixing.shape[1]), np.zeros(mixing.shape[1])
    for stratum in np.unique(sums.strata):
        rows = sums.strata == stratum
        size = int(rows.sum())
        spread = ((moved[rows] - moved[rows].mean(axis=0)) ** 2).sum(axis=0)
        resampled += spread
        unbiased += spread * (size / (size - 1) if size > 1 else 1.0)
    return np.divide(unbiased, resampled, out=np.ones_like(unbiased), where=resampled > 0)


def _bca(drawn: Floats, value: float, skew: float, tail: float) -> tuple[float, float]:
    """Ends of the bias-corrected and accelerated interval at +-`tail` standard deviations."""
    below = (np.count_nonzero(drawn < value) + 0.5 * np.count_nonzero(drawn == value)) / drawn.size
    bias = ndtri(np.clip(below, 1 / drawn.size, 1 - 1 / drawn.size))
    ends = []
    for side in (-tail, tail):
        shifted = bias + side
        # Past its pole the correction would turn around; it is reached only for extreme skew in very few scenes.
        slope = max(1 - skew * shifted, 1e-3)
        ends.append(ndtr(bias + shifted / slope))
    low, high = np.quantile(drawn, ends, method="weibull")
    return float(low), float(high)


def _no_variation(
    sums: SceneSums, mix: Floats, value: float, bounds: tuple[float, float], level: float
) -> tuple[float | None, float | None, str | None]:
    """Interval when every scene gave the same score: at a bound of the score from `flawless_loss`, else none.

    `mix` (T,) has the weight of each task; a sum of positive weights that lies at a bound has all its items there.
    """
    low, high = bounds
    shares = (sums.counts / sums.totals) @ mix
    reach = float(mix.sum())
    for bound, side in ((high, -1.0), (low, 1.0)):
        if (mix >= 0).all() and np.isclose(value, bound * reach):
            end = value + side * (high - low) * flawless_loss(shares[shares > 0], level)
            return min(value, end), max(value, end), None
    return None, None, f"every scene scored exactly {value:g}, so nothing says how scenes differ"


def flawless_loss(shares: Floats, level: float = LEVEL) -> float:
    """Greatest expected loss at which a result without one flaw still has the probability (1 - level)/2.

    Scene i carries the share `shares[i]` of the score, fails with a probability q_i of its own and independently, and
    loses all of its share when it fails: the maximum of sum s_i q_i under prod (1 - q_i) >= (1 - level)/2, which is
    reached at 1 - q_i = min(1, lambda/s_i). For n equal shares it is the end of the exact binomial interval with
    scenes as trials, 1 - ((1 - level)/2)^(1/n), about 3.7/n.
    """
    falling = np.sort(shares)[::-1]
    logs, places = np.cumsum(np.log(falling)), np.arange(1, falling.size + 1)
    # lambda if the first k scenes may fail; k is right where the k-th share is above it and the next one is not.
    cut = np.exp((logs + np.log((1 - level) / 2)) / places)
    k = int(np.flatnonzero(falling > cut)[-1])
    return float((falling[: k + 1] - cut[k]).sum())
