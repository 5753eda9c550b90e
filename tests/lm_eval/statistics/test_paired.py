import numpy as np
import pytest
from scipy import stats

from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.paired import compare, holm, least_p, swap_test, unpaired, unpaired_verdict

ALONE = {"t": {"t": 1.0}}


def test_standard_error_gives_scipy_paired_t_with_independent_items() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(50, 20, 30), rng.normal(55, 20, 30)
    found = compare(["t"] * 30, [f"s{n}" for n in range(30)], second - first, ALONE)["t"]
    reference = stats.ttest_rel(second, first)
    assert found.difference.value / found.difference.stderr == pytest.approx(reference.statistic)
    interval = reference.confidence_interval()
    assert found.difference.low == pytest.approx(interval.low, abs=0.08 * found.difference.stderr * 4)
    assert found.difference.high == pytest.approx(interval.high, abs=0.08 * found.difference.stderr * 4)


@pytest.mark.parametrize("scenes", [5, 10])
def test_exact_swap_test_equals_scipy(scenes: int) -> None:
    rng = np.random.default_rng(scenes)
    first, second = rng.integers(0, 101, scenes) * 1.0, rng.integers(0, 101, scenes) * 1.0
    ours = swap_test(((second - first) / scenes)[:, None])[0]
    reference = stats.permutation_test(
        (second, first), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
        n_resamples=np.inf, vectorized=True,
    )  # fmt: skip
    assert ours == pytest.approx(reference.pvalue)


def test_sampled_swap_test_approaches_scipy() -> None:
    rng = np.random.default_rng(7)
    difference = rng.normal(3, 10, 40)
    ours = swap_test((difference / 40)[:, None], permutations=20_000)[0]
    reference = stats.permutation_test(
        (difference, np.zeros(40)), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
        n_resamples=20_000, vectorized=True, rng=np.random.default_rng(1),
    )  # fmt: skip
    assert ours == pytest.approx(reference.pvalue, abs=0.01)


def test_sampled_p_value_is_never_zero() -> None:
    assert swap_test(np.full((50, 1), 2.0), permutations=99)[0] == pytest.approx(0.01)


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.6, 0.9])).tolist() == [1.0, 1.0]


def test_a_clear_gain_is_better_a_clear_loss_worse_and_noise_a_tie() -> None:
    rng = np.random.default_rng(3)
    scenes = [f"s{n}" for n in range(60)]
    tasks = ["gain"] * 60 + ["loss"] * 60 + ["noise"] * 60
    differences = np.concatenate([rng.normal(10, 8, 60), rng.normal(-10, 8, 60), rng.normal(0.3, 8, 60)])
    found = compare(tasks, scenes * 3, differences, {name: {name: 1.0} for name in ("gain", "loss", "noise")})
    assert [found[name].verdict for name in ("gain", "loss", "noise")] == ["better", "worse", "tie"]


def test_adjustment_turns_a_lucky_task_among_many_into_a_tie() -> None:
    rng = np.random.default_rng(11)
    scenes, tasks, differences = [], [], []
    for task in range(14):
        shift = 2.4 * 10 / np.sqrt(50) if task == 0 else 0.0
        noise = rng.normal(0, 10, 50)
        differences.append(noise - noise.mean() + shift)
        tasks += [f"t{task}"] * 50
        scenes += [f"s{task}-{n}" for n in range(50)]
    mixes = {f"t{task}": {f"t{task}": 1.0} for task in range(14)}
    found = compare(tasks, scenes, np.concatenate(differences), mixes)["t0"]
    assert found.p_value < 0.05 < found.p_adjusted
    assert found.difference.excludes_zero
    assert found.verdict == "tie"


def test_identical_models_tie_and_say_so() -> None:
    found = compare(["t"] * 12, list("abcdefghijkl"), [0.0] * 12, ALONE)["t"]
    assert found.verdict == "tie"
    assert found.p_value == 1
    assert (found.difference.low, found.difference.high) == (0, 0)
    assert "same in every scene" in found.difference.reason


class TestTooFewScenesToDecide:
    @pytest.mark.parametrize(
        ("scenes", "verdict"), [(1, "undecided"), (2, "undecided"), (3, "undecided"), (5, "undecided"), (6, "better")]
    )
    def test_a_gain_in_every_scene_counts_from_six_on(self, scenes: int, verdict: str) -> None:
        """2^(1 - 5) = .0625 is not below .05, 2^(1 - 6) = .031 is."""
        found = compare(["t"] * scenes, [f"s{n}" for n in range(scenes)], [40.0 + n for n in range(scenes)], ALONE)["t"]
        assert found.p_value == pytest.approx(2.0 ** (1 - scenes)) == least_p(scenes)
        assert found.verdict == verdict

    @pytest.mark.parametrize(("scenes", "verdict"), [(3, "undecided"), (5, "undecided"), (6, "tie"), (20, "tie")])
    def test_no_difference_is_a_tie_only_where_one_could_have_been_seen(self, scenes: int, verdict: str) -> None:
        for differences in ([0.0] * scenes, [(-1.0) ** n * (9 + n) for n in range(scenes)]):
            found = compare(["t"] * scenes, [f"s{n}" for n in range(scenes)], differences, ALONE)["t"]
            assert found.verdict == verdict

    def test_holm_counts(self) -> None:
        """Eight scenes show a difference of one task (p = .008), not of one among fourteen (14 x .008 = .11)."""
        names = [f"t{n}" for n in range(14)]
        tasks, scenes = np.repeat(names, 8).tolist(), [f"s{n}" for n in range(8)] * 14
        found = compare(tasks, scenes, [50.0 + n % 8 for n in range(112)], {name: {name: 1.0} for name in names})
        assert {comparison.verdict for comparison in found.values()} == {"undecided"}

    def test_a_constant_difference_has_no_interval_and_is_no_tie(self) -> None:
        found = compare(["t"] * 20, [f"s{n}" for n in range(20)], [5.0] * 20, ALONE)["t"]
        assert (found.difference.low, found.verdict) == (None, "undecided")

    def test_many_scenes_are_limited_by_the_permutations(self) -> None:
        assert least_p(40) == pytest.approx(1e-4)

    @pytest.mark.parametrize(("scenes", "verdict"), [(2, "undecided"), (3, "undecided"), (4, "better")])
    def test_unpaired(self, scenes: int, verdict: str) -> None:
        """Of two samples of three, the greatest separation has p = 2/20."""
        low, high = (Estimate(v, v - 4, v + 4, stderr=2.0, n=9, clusters=scenes) for v in (40.0, 60.0))
        assert unpaired_verdict(unpaired(low, high)) == verdict


def test_unpaired_difference_by_hand_and_without_standard_error() -> None:
    first = Estimate(50.0, 44.0, 56.0, stderr=3.0, n=100, clusters=50)
    second = Estimate(60.0, 52.0, 68.0, stderr=4.0, n=80, clusters=40)
    found = unpaired(first, second)
    assert (found.value, found.stderr, found.n) == (10.0, 5.0, 80)
    assert found.low == pytest.approx(10 - 1.959964 * 5)
    published = Estimate(60.0, reason="printed without an interval")
    assert unpaired(first, published).low is None
    assert "no standard error" in unpaired(first, published).reason
    assert unpaired(first, Estimate(None, reason="no judge")).value is None
