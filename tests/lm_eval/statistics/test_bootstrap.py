import numpy as np
import pytest
from scipy import optimize, stats

from lm_eval_drivehierarchy.statistics import bootstrap
from lm_eval_drivehierarchy.statistics.bootstrap import replicate_means, weighted_estimates
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.scenes import SceneSums


def skewed(n: int = 40) -> np.ndarray:
    return 100 * np.random.default_rng(4).beta(0.5, 4, n)


def estimate_of_a(sums: SceneSums, seed: int = 0) -> Estimate:
    return weighted_estimates(sums, {"a": {"a": 1.0}}, seed=seed)["a"]


def test_replicates_have_the_mean_and_spread_of_resampled_means() -> None:
    scores = skewed()
    sums = SceneSums.of_items(["a"] * 40, [f"s{n}" for n in range(40)], scores)
    drawn = replicate_means(sums, 20_000, np.random.default_rng(0))[:, 0]
    assert drawn.mean() == pytest.approx(scores.mean(), rel=0.01)
    assert drawn.std() == pytest.approx(scores.std() / np.sqrt(40), rel=0.02)


def test_bca_equals_scipy_with_independent_items_and_a_normal_quantile() -> None:
    scores = skewed()
    sums = SceneSums.of_items(["a"] * 40, [f"s{n}" for n in range(40)], scores)
    drawn = replicate_means(sums, 40_000, np.random.default_rng(0))[:, 0]
    _, _, skew = bootstrap.standard_errors(sums, np.ones((1, 1)))
    low, high = bootstrap._bca(drawn, float(scores.mean()), float(skew[0]), float(stats.norm.ppf(0.975)))
    reference = stats.bootstrap((scores,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(1))
    assert low == pytest.approx(reference.confidence_interval.low, rel=0.015)
    assert high == pytest.approx(reference.confidence_interval.high, rel=0.015)


def test_the_interval_is_wider_than_plain_bca_with_few_scenes() -> None:
    scores = skewed(8)
    sums = SceneSums.of_items(["a"] * 8, [f"s{n}" for n in range(8)], scores)
    ours = estimate_of_a(sums)
    plain = stats.bootstrap((scores,), np.mean, n_resamples=9999, method="BCa", rng=np.random.default_rng(1))
    assert ours.high - ours.low > plain.confidence_interval.high - plain.confidence_interval.low


def test_same_seed_same_interval_and_another_seed_moves_it_little() -> None:
    sums = SceneSums.of_items(["a"] * 40, [f"s{n}" for n in range(40)], skewed())
    first, again, other = (estimate_of_a(sums, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert other.low == pytest.approx(first.low, rel=0.1)


def test_blocks_do_not_change_the_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = SceneSums.of_items(["a"] * 40, [f"s{n}" for n in range(40)], skewed())
    whole = replicate_means(sums, 500, np.random.default_rng(0))
    monkeypatch.setattr(bootstrap, "CELLS", 40 * 7)
    assert np.allclose(replicate_means(sums, 500, np.random.default_rng(0)), whole, rtol=1e-12)


def test_weighted_sum_of_shared_scenes_uses_their_covariance() -> None:
    """Two tasks that always err together: their mean is as uncertain as one of them, not less by sqrt(2)."""
    rng = np.random.default_rng(0)
    scene = 100 * rng.random(50)
    names = [f"s{n}" for n in range(50)]
    both = SceneSums.of_items(["a"] * 50 + ["b"] * 50, names * 2, np.concatenate([scene, scene]))
    found = weighted_estimates(both, {"a": {"a": 1.0}, "mean": {"a": 0.5, "b": 0.5}})
    assert found["mean"].stderr == pytest.approx(found["a"].stderr)
    apart = SceneSums.of_items(
        ["a"] * 50 + ["b"] * 50, names + [f"t{n}" for n in range(50)], np.concatenate([scene, scene])
    )
    independent = weighted_estimates(apart, {"mean": {"a": 0.5, "b": 0.5}})["mean"]
    assert independent.stderr == pytest.approx(found["a"].stderr / np.sqrt(2))


@pytest.mark.parametrize(("score", "low", "high"), [(100.0, 69.15, 100.0), (0.0, 0.0, 30.85)])
def test_all_right_or_all_wrong_is_bounded_exactly_with_scenes_as_trials(score: float, low: float, high: float) -> None:
    sums = SceneSums.of_items(["a"] * 30, [f"s{n % 10}" for n in range(30)], [score] * 30)
    found = estimate_of_a(sums)
    exact = stats.binomtest(10 if score else 0, 10).proportion_ci(method="exact")
    assert found.low == pytest.approx(100 * exact.low)
    assert found.high == pytest.approx(100 * exact.high)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_a_flawless_sum_has_an_interval_though_its_tasks_share_few_scenes() -> None:
    """The mini size of the sim edition: 20 items of each of four tasks, in scenes of their own but for a few."""
    tasks = [f"t{task}" for task in range(4) for _ in range(20)]
    scenes = [f"s{17 * task + item}" for task in range(4) for item in range(20)]
    sums = SceneSums.of_items(tasks, scenes, [100.0] * 80)
    found = weighted_estimates(sums, {"rank": {f"t{task}": 0.25 for task in range(4)}})["rank"]
    assert (found.value, found.high) == (100, 100)
    assert found.reason is None
    union = stats.binomtest(found.clusters, found.clusters).proportion_ci(method="exact")
    one = stats.binomtest(20, 20).proportion_ci(method="exact")
    assert 100 * one.low < found.low < 100 * union.low
    wrong = weighted_estimates(SceneSums.of_items(tasks, scenes, [0.0] * 80), {"r": {f"t{t}": 0.25 for t in range(4)}})
    assert wrong["r"].high == pytest.approx(100 - found.low)
    assert wrong["r"].low == 0


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5], [0.9, 0.1], [0.4, 0.3, 0.2, 0.1], [0.97, 0.01, 0.01, 0.01]])
def test_the_loss_of_a_flawless_result_is_the_worst_that_its_chance_allows(shares: list[float]) -> None:
    """Against a general optimiser: rates of failure with prod (1 - q) = .025 and the greatest sum of share x rate."""
    given = np.array(shares)
    limit = np.log(0.025)

    def loss(logs: np.ndarray) -> float:
        return -float(given @ (1 - np.exp(logs)))

    starts = [np.full(given.size, limit / given.size), limit * given, limit * np.eye(given.size)[0]]
    best = max(
        -optimize.minimize(
            loss, start, bounds=[(limit, 0)] * given.size, constraints={"type": "eq", "fun": lambda x: x.sum() - limit}
        ).fun
        for start in starts
    )
    assert bootstrap.flawless_loss(given, 0.95) == pytest.approx(best, abs=1e-5)


def test_a_flawless_result_is_covered_whatever_the_scenes_sizes() -> None:
    """The end is where the true score may lie: with it, a flawless result has the chance of 2.5 % and not more."""
    sizes = np.array([1, 2, 5, 5, 20])
    shares = sizes / sizes.sum()
    loss = bootstrap.flawless_loss(shares, 0.95)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        rates = rng.random(sizes.size) ** rng.uniform(0.2, 4)
        if shares @ rates > loss:
            assert np.prod(1 - rates) < 0.025


def test_undefined_intervals_say_why() -> None:
    one = estimate_of_a(SceneSums.of_items(["a"] * 3, ["s"] * 3, [0, 50, 100]))
    assert one.value == 50
    assert one.low is None
    assert "come from one scene" in one.reason
    flat = estimate_of_a(SceneSums.of_items(["a"] * 3, list("xyz"), [50, 50, 50]))
    assert flat.low is None
    assert "every scene scored exactly 50" in flat.reason


def test_a_lonely_source_spoils_only_the_sums_it_enters() -> None:
    tasks = ["a", "a", "a", "b", "b"]
    scenes = ["s1", "s2", "s3", "only", "only"]
    sums = SceneSums.of_items(tasks, scenes, [10, 40, 90, 0, 100])
    found = weighted_estimates(sums, {"a": {"a": 1.0}, "both": {"a": 0.5, "b": 0.5}})
    assert found["a"].low is not None
    assert found["both"].low is None
    assert "all items of b" in found["both"].reason


def test_a_task_in_few_of_many_shared_scenes_is_resampled_alone_but_refused_in_a_sum() -> None:
    scenes = [f"s{n}" for n in range(60)]
    tasks = ["a"] * 60 + ["b"] * 2
    scores = np.concatenate([100 * np.random.default_rng(0).random(60), [20.0, 80.0]])
    found = weighted_estimates(
        SceneSums.of_items(tasks, scenes + scenes[:2], scores), {"b": {"b": 1.0}, "both": {"a": 0.5, "b": 0.5}}
    )
    assert found["b"].clusters == 2
    assert found["b"].low is not None
    assert found["both"].low is None
    assert "too few of the scenes" in found["both"].reason


def test_a_weight_on_a_task_without_items_is_an_error() -> None:
    sums = SceneSums.of_items(["a", "a"], ["x", "y"], [1, 2])
    with pytest.raises(KeyError, match="open: no item of r3_2"):
        weighted_estimates(sums, {"open": {"a": 0.5, "r3_2": 0.5}})
