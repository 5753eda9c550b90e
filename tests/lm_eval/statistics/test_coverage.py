"""Coverage of the 95 % intervals in 1,000 simulated evaluations whose items share scenes.

Each column of one SceneSums is one simulated evaluation, so a thousand of them go through the product's own code at
once. The true value is known by construction: scene sizes do not depend on the scores.
"""

import numpy as np
import pytest
from scipy.special import expit, ndtri

from lm_eval_drivehierarchy.statistics.bootstrap import weighted_estimates
from lm_eval_drivehierarchy.statistics.closed_loop import closed_loop_estimates
from lm_eval_drivehierarchy.statistics.correlation import rank_correlation
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.paired import swap_test
from lm_eval_drivehierarchy.statistics.scenes import SceneSums

EVALUATIONS = 1000


def logit_for(mean: float, scene_sd: float) -> float:
    """Intercept at which E[expit(intercept + N(0, scene_sd))] equals `mean`."""
    deviations = ndtri((np.arange(4000) + 0.5) / 4000) * scene_sd
    low, high = -15.0, 15.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + deviations).mean() < mean else (low, middle)
    return (low + high) / 2


def simulate(
    rng: np.random.Generator, scenes: int, size: float, mean: float, scene_sd: float, graded: bool, columns: int
) -> SceneSums:
    """Right/wrong (0 or 100) or graded scores with a random effect per scene and geometric scene sizes."""
    sizes = rng.geometric(1 / size, (scenes, columns))
    chance = expit(logit_for(mean, scene_sd) + rng.normal(0, scene_sd, (scenes, columns)))
    sums, squares = np.zeros(sizes.shape), np.zeros(sizes.shape)
    for place in range(sizes.max()):
        if graded:
            score = 100 * rng.beta(np.maximum(0.6 * chance, 1e-6), np.maximum(0.6 * (1 - chance), 1e-6))
        else:
            score = 100.0 * rng.binomial(1, chance)
        score = np.where(place < sizes, score, 0)
        sums += score
        squares += score**2
    names = tuple(f"{column:04d}" for column in range(columns))
    return SceneSums(tuple(map(str, range(scenes))), names, sizes.astype(float), sums, squares)


def of_every_evaluation(sums: SceneSums, bounds: tuple[float, float] = (0, 100)) -> list[Estimate]:
    alone = {column: {column: 1.0} for column in sums.tasks}
    return list(weighted_estimates(sums, alone, bounds=bounds, seed=1).values())


@pytest.mark.parametrize(
    ("scenes", "size", "mean", "scene_sd", "graded"),
    [
        (3, 5, 0.5, 1.0, True),
        (5, 5, 0.5, 1.0, True),
        (12, 5, 0.5, 1.0, True),
        (20, 5, 0.9, 1.0, False),
        (40, 10, 0.7, 1.0, False),
        (100, 10, 0.6, 1.0, False),
        (200, 5, 0.97, 1.0, False),
        (300, 3, 0.02, 1.0, False),
    ],
)
def test_task_intervals_cover(scenes: int, size: float, mean: float, scene_sd: float, graded: bool) -> None:
    rng = np.random.default_rng([scenes, int(100 * mean)])
    sums = simulate(rng, scenes, size, mean, scene_sd, graded, EVALUATIONS)
    estimates = of_every_evaluation(sums)
    covered = np.mean([e.low <= 100 * mean <= e.high for e in estimates])
    assert 0.93 <= covered <= 0.97
    assert all(0 <= e.low <= e.value <= e.high <= 100 for e in estimates)


def one_item_a_scene(scores: np.ndarray) -> SceneSums:
    """(scenes, evaluations) scores as sums."""
    scenes, columns = (tuple(f"{number:04d}" for number in range(size)) for size in scores.shape)
    return SceneSums(scenes, columns, np.ones(scores.shape), scores, scores**2)


@pytest.mark.parametrize(
    ("scenes", "graded", "least", "most"),
    [
        (5, True, 0.62, 0.75),
        (10, True, 0.80, 0.90),
        (20, True, 0.88, 0.94),
        (5, False, 0.95, 1.0),
        (10, False, 0.95, 1.0),
        (20, False, 0.95, 1.0),
    ],
)
def test_few_scenes_cover_as_the_report_says(scenes: int, graded: bool, least: float, most: float) -> None:
    """`caveats.FEW_SCENES`: more than 95 % for right-or-wrong items, less for graded ones that are mostly near zero."""
    rng = np.random.default_rng(scenes)
    shape = (scenes, EVALUATIONS)
    truth = 10.0 if graded else 80.0
    scores = 100 * rng.beta(0.1, 0.9, shape) if graded else 100.0 * rng.binomial(1, truth / 100, shape)
    found = of_every_evaluation(one_item_a_scene(scores))
    assert least <= np.mean([e.low is not None and e.low <= truth <= e.high for e in found]) <= most


def test_ignoring_the_scenes_would_not_cover() -> None:
    rng = np.random.default_rng(5)
    sums = simulate(rng, 40, 10, 0.7, 1.0, False, EVALUATIONS)
    naive = 1.96 * np.sqrt(sums.means * (100 - sums.means) / sums.totals)
    assert np.mean(np.abs(sums.means - 70) <= naive) < 0.90


def test_open_score_interval_covers() -> None:
    """Fourteen tasks in two data sources; inside a source all tasks share the scenes and their effects."""
    rng = np.random.default_rng(3)
    tasks = [f"t{number:02d}" for number in range(14)]
    weights = rng.dirichlet(np.full(14, 3.0))
    truth, covered = np.linspace(20, 90, 14), 0
    intercept = np.array([logit_for(mean / 100, 1.0) for mean in truth])
    scenes, alone = 45, 25
    rows = np.arange(scenes + alone)
    in_source = np.where((rows < scenes)[:, None], np.arange(14) < 11, np.arange(14) >= 11)
    for _ in range(EVALUATIONS):
        sizes = rng.poisson(3, in_source.shape) * in_source
        chance = expit(intercept + rng.normal(0, 1, (rows.size, 1)))
        right = rng.binomial(sizes, chance)
        sums = SceneSums(tuple(map(str, rows)), tuple(tasks), sizes * 1.0, right * 100.0, right * 1e4)
        mix = {"open": dict(zip(tasks, weights, strict=True))}
        estimate = weighted_estimates(sums, mix, replicates=400, seed=int(rng.integers(1 << 30)))["open"]
        covered += estimate.low <= truth @ weights <= estimate.high
    assert 0.93 <= covered / EVALUATIONS <= 0.97


def test_paired_differences_cover_and_the_test_holds_its_level() -> None:
    rng = np.random.default_rng(8)
    scenes, items, true_difference = 30, 6, 5.0
    names = [f"{column:04d}" for column in range(EVALUATIONS)]
    easy = rng.normal(0, 8, (EVALUATIONS, scenes, 1))
    differences = true_difference + easy + rng.normal(0, 20, (EVALUATIONS, scenes, items))
    sums = SceneSums(
        tuple(map(str, range(scenes))),
        tuple(names),
        np.full((scenes, EVALUATIONS), float(items)),
        differences.sum(axis=2).T,
        (differences**2).sum(axis=2).T,
    )
    found = of_every_evaluation(sums, bounds=(-100, 100))
    assert 0.93 <= np.mean([e.low <= true_difference <= e.high for e in found]) <= 0.97
    p_values = swap_test((differences - true_difference).mean(axis=2).T / scenes, permutations=1999)
    assert 0.03 <= np.mean(p_values < 0.05) <= 0.07


def test_closed_loop_interval_covers() -> None:
    """Ten families of ten scenarios, most scores near 0 and a few high, as the product score of R4 makes them."""
    rng = np.random.default_rng(13)
    families = np.repeat([f"f{number}" for number in range(10)], 10)
    scenarios = [f"s{number:03d}" for number in range(100)]
    finish = np.linspace(0.05, 0.6, 10).repeat(10)
    truth = float(np.mean(finish * 70 + (1 - finish) * 10))
    covered = 0
    for _ in range(EVALUATIONS):
        done = rng.binomial(1, finish)
        scores = done * 100 * rng.beta(7, 3, 100) + (1 - done) * 100 * rng.beta(1, 9, 100)
        options = {"replicates": 400, "seed": int(rng.integers(1 << 30))}
        overall = closed_loop_estimates(scenarios, families.tolist(), scores, **options).overall
        covered += overall.low <= truth <= overall.high
    assert 0.93 <= covered / EVALUATIONS <= 0.97


@pytest.mark.parametrize("n", [15, 40])
def test_rank_correlation_interval_covers(n: int) -> None:
    rng = np.random.default_rng(n)
    pearson = 0.7
    truth = 6 / np.pi * np.arcsin(pearson / 2)
    first = rng.normal(size=(EVALUATIONS, n))
    second = pearson * first + np.sqrt(1 - pearson**2) * rng.normal(size=first.shape)
    found = [rank_correlation(x, y) for x, y in zip(first, second, strict=True)]
    assert 0.93 <= np.mean([e.low <= truth <= e.high for e in found]) <= 0.97
