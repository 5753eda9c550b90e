"""How many items it takes to see a difference, and which difference the present items can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from lm_eval_drivehierarchy.statistics.estimates import LEVEL
from lm_eval_drivehierarchy.statistics.scenes import SceneSums

POWER = 0.8


@dataclass(frozen=True, slots=True)
class Spread:
    """What governs power: standard deviation of an item, design effect of the scenes, items per scene."""

    item_sd: float
    design_effect: float
    items_per_scene: float

    @classmethod
    def of(cls, sums: SceneSums, task: str) -> Spread:
        """Measured on one task. Sums of paired differences give the spread of a paired comparison.

        The design effect is 1 + (m - 1) rho (Kish) with m the size of the scene that an average item lies in.
        """
        column = sums.tasks.index(task)
        variance, correlation = sums.variance_within
        counts = sums.counts[:, column]
        typical = float((counts**2).sum() / counts.sum())
        return cls(
            item_sd=float(np.sqrt(variance[column])),
            design_effect=float(1 + (typical - 1) * correlation[column]),
            items_per_scene=float(counts.sum() / np.count_nonzero(counts)),
        )

    def unpaired(self) -> Spread:
        """Spread of the difference between two models of this spread whose answers are unrelated (the worst case)."""
        return Spread(self.item_sd * np.sqrt(2.0), self.design_effect, self.items_per_scene)


def power_of(items: float, difference: float, spread: Spread, *, level: float = LEVEL) -> float:
    """Probability that a two-sided test on `items` items detects a true `difference` (score points)."""
    if spread.item_sd == 0:
        return 1.0 if difference != 0 else 1 - level
    scenes = items / spread.items_per_scene
    degrees = max(scenes - 1, 1.0)
    shift = abs(difference) / (spread.item_sd * np.sqrt(spread.design_effect / items))
    critical = stats.t.ppf((1 + level) / 2, degrees)
    if degrees > 1000:
        return float(stats.norm.sf(critical - shift) + stats.norm.cdf(-critical - shift))
    # The other side's chance is below 1e-6 from a shift of 4 on, where scipy begins to lose the tail (NaN).
    wrong_side = stats.nct.cdf(-critical, degrees, shift) if shift < 4 else 0.0
    return float(stats.nct.sf(critical, degrees, shift) + wrong_side)


def items_needed(difference: float, spread: Spread, *, level: float = LEVEL, power: float = POWER) -> int:
    """Items at which a true `difference` (score points, non-zero) is seen with probability `power`."""
    if difference == 0:
        raise ValueError("a difference of 0 points can never be detected: give the smallest one that matters")
    if spread.item_sd == 0:
        return int(np.ceil(2 * spread.items_per_scene))
    normal = stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power)
    guess = spread.design_effect * (normal * spread.item_sd / difference) ** 2
    low, high = 2 * spread.items_per_scene, max(4 * spread.items_per_scene, 4 * guess)
    while power_of(high, difference, spread, level=level) < power:
        high *= 2
    if power_of(low, difference, spread, level=level) >= power:
        return int(np.ceil(low))
    return int(np.ceil(optimize.brentq(lambda n: power_of(n, difference, spread, level=level) - power, low, high)))


def detectable_difference(items: int, spread: Spread, *, level: float = LEVEL, power: float = POWER) -> float:
    """Smallest true difference (score points) that `items` items show with probability `power`."""
    if spread.item_sd == 0:
        return 0.0
    stderr = spread.item_sd * np.sqrt(spread.design_effect / items)
    high = 4 * stderr
    while power_of(items, high, spread, level=level) < power:
        high *= 2
    return float(optimize.brentq(lambda d: power_of(items, d, spread, level=level) - power, 0.0, high))
