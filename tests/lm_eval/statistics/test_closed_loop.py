import numpy as np
import pytest

from lm_eval_drivehierarchy.statistics.closed_loop import closed_loop_estimates, compare_closed_loop

FAMILIES = [f"{number:02d}" for number in range(4)]


def episodes(per_family: int, repeats: int, noise: float, seed: int = 0) -> tuple[list[str], list[str], list[float]]:
    rng = np.random.default_rng(seed)
    scenarios, families, scores = [], [], []
    for family in FAMILIES:
        for number in range(per_family):
            level = 80 * rng.random()
            for _ in range(repeats):
                scenarios.append(f"{family}-{number}")
                families.append(family)
                scores.append(float(np.clip(level + noise * rng.normal(), 0, 100)))
    return scenarios, families, scores


def test_overall_is_the_mean_of_family_means_also_when_families_differ_in_size() -> None:
    found = closed_loop_estimates(["a1", "a2", "a3", "b1", "b2"], ["a", "a", "a", "b", "b"], [0, 0, 30, 50, 90])
    assert found.families["a"].value == pytest.approx(10)
    assert found.families["b"].value == pytest.approx(70)
    assert found.overall.value == pytest.approx(40)
    assert found.overall.n == 5
    assert found.overall.clusters == 5


def test_repeats_are_averaged_before_scenarios() -> None:
    found = closed_loop_estimates(["a1", "a1", "a1", "a2"], ["a"] * 4, [0, 0, 30, 50])
    assert found.overall.value == pytest.approx((10 + 50) / 2)
    assert found.overall.n == 4
    assert found.overall.clusters == 2


def test_family_differences_do_not_widen_the_stratified_interval() -> None:
    rng = np.random.default_rng(0)
    level = {"00": 5.0, "01": 35.0, "02": 65.0, "03": 90.0}
    scenarios = [f"{family}-{n}" for family in FAMILIES for n in range(10)]
    families = [family for family in FAMILIES for _ in range(10)]
    scores = [level[family] + rng.normal(0, 2) for family in families]
    found = closed_loop_estimates(scenarios, families, scores).overall
    assert found.high - found.low < 3


def test_one_scenario_a_family_takes_the_scenarios_as_the_sample() -> None:
    found = closed_loop_estimates(list("wxyz"), FAMILIES, [10, 20, 60, 90])
    assert found.overall.value == pytest.approx(45)
    assert found.overall.high - found.overall.low > 40
    assert found.families["00"].low is None
    assert "one scenario" in found.families["00"].reason


def test_repeat_interval_comes_from_the_repeats_alone() -> None:
    quiet = closed_loop_estimates(*episodes(10, 3, noise=0.5))
    loud = closed_loop_estimates(*episodes(10, 3, noise=5.0))
    assert quiet.repeat_sd == pytest.approx(0.5, rel=0.3)
    assert loud.repeat_sd == pytest.approx(5.0, rel=0.3)
    width = quiet.overall_repeats.high - quiet.overall_repeats.low
    assert width < 0.5 < quiet.overall.high - quiet.overall.low
    assert quiet.overall_repeats.stderr == pytest.approx(0.5 / np.sqrt(3 * 40), rel=0.3)


def test_a_single_run_and_identical_repeats_are_told_apart() -> None:
    single = closed_loop_estimates(*episodes(3, 1, noise=1.0))
    assert single.repeat_sd is None
    assert single.overall_repeats.low is None
    assert "run once" in single.overall_repeats.reason
    same = closed_loop_estimates(*episodes(3, 2, noise=0.0))
    assert same.repeat_sd == 0
    assert same.overall_repeats.low == same.overall_repeats.high == same.overall.value
    assert "identical" in same.overall_repeats.reason


def test_all_zero_scores_have_an_upper_bound() -> None:
    found = closed_loop_estimates([f"s{n}" for n in range(20)], ["a"] * 10 + ["b"] * 10, [0.0] * 20).overall
    assert found.low == 0
    assert 10 < found.high < 20


def test_nan_and_empty_input_are_refused() -> None:
    with pytest.raises(ValueError, match="void episodes"):
        closed_loop_estimates(["a"], ["f"], [float("nan")])
    with pytest.raises(ValueError, match="no scored episode"):
        closed_loop_estimates([], [], [])


def test_a_comparison_gives_its_reasons_in_scenarios() -> None:
    driven = [("a", "a1", 10.0), ("a", "a2", 20.0), ("b", "b1", 30.0)]
    better = [(family, scenario, score + 5) for family, scenario, score in driven]
    for pairs in ((driven, better), (driven[1:], better[1:])):
        found = compare_closed_loop(*pairs)
        reasons = [comparison.difference.reason for comparison in found.values()]
        assert all("scenario" in reason and "scene " not in reason for reason in reasons)
        assert {comparison.verdict for comparison in found.values()} == {"undecided"}
