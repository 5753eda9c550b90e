"""Rank correlation with its interval and n, and "undefined" instead of a number where there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from lm_eval_drivehierarchy.statistics.estimates import LEVEL, Estimate
from lm_eval_drivehierarchy.wording import counted


def rank_correlation(first: ArrayLike, second: ArrayLike, *, level: float = LEVEL) -> Estimate:
    """Spearman's rho with average ranks for ties, `n` pairs in `n`.

    The interval is Fisher's z with the standard error sqrt((1 + rho^2/2) / (n - 3)) of Bonett and Wright
    (Psychometrika 65:23, 2000). Undefined, with the reason, for fewer than three pairs or a constant vector; the
    interval alone is undefined for three pairs and for perfect agreement. Raises ValueError on NaN.
    """
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"two vectors of one length are needed, found shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("NaN or infinite score: leave that model out of the correlation")
    n = x.size
    if n < 3:
        return Estimate(None, n=n, level=level, reason=f"only {counted(n, 'pair')}: a rank correlation needs three")
    for vector in (x, y):
        if np.ptp(vector) == 0:
            return Estimate(None, n=n, level=level, reason=f"all {n} values of one side equal {vector[0]:g}")
    ranks = stats.rankdata(np.stack([x, y]), axis=1)
    rho = float(np.clip(np.corrcoef(ranks)[0, 1], -1.0, 1.0))
    if n == 3:
        return Estimate(rho, n=n, level=level, reason="three pairs leave no degree of freedom for an interval")
    if 1 - abs(rho) < 1e-12:
        return Estimate(rho, n=n, level=level, reason="the ranks agree perfectly, so the interval is undefined")
    stderr = np.sqrt((1 + rho**2 / 2) / (n - 3))
    margin = stats.norm.ppf((1 + level) / 2) * stderr
    low, high = np.tanh(np.arctanh(rho) + np.array([-margin, margin]))
    return Estimate(rho, float(low), float(high), n=n, level=level)
