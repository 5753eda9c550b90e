import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_drivehierarchy.statistics.bootstrap import standard_errors
from lm_eval_drivehierarchy.statistics.scenes import SceneSums


def test_sums_counts_and_means_by_hand() -> None:
    sums = SceneSums.of_items(["a", "a", "b", "a"], ["s1", "s2", "s2", "s1"], [100, 50, 20, 0])
    assert sums.tasks == ("a", "b")
    assert sums.scenes == ("s1", "s2")
    assert sums.counts.tolist() == [[2, 0], [1, 1]]
    assert sums.sums.tolist() == [[100, 0], [50, 20]]
    assert sums.squares.tolist() == [[10000, 0], [2500, 400]]
    assert sums.means.tolist() == [50, 20]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.floats(0, 100)), min_size=1))
@settings(max_examples=50, deadline=None)
def test_means_are_item_means_and_influence_sums_to_zero(items: list[tuple[str, str, float]]) -> None:
    tasks, scenes, scores = zip(*items, strict=True)
    sums = SceneSums.of_items(tasks, scenes, scores)
    for column, task in enumerate(sums.tasks):
        assert sums.means[column] == pytest.approx(np.mean([s for t, _, s in items if t == task]))
    assert np.allclose(sums.influence.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_is_refused_naming_the_item(bad: float) -> None:
    with pytest.raises(ValueError, match=r"item 1 of r1_3 \(scene s2\)"):
        SceneSums.of_items(["r1_3", "r1_3"], ["s1", "s2"], [1.0, bad])


def test_unequal_lengths_and_empty_input_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths must agree"):
        SceneSums.of_items(["a"], ["s"], [1.0, 2.0])
    with pytest.raises(ValueError, match="no item"):
        SceneSums.of_items([], [], [])


def test_a_task_without_items_is_refused() -> None:
    ones = np.ones((2, 1))
    with pytest.raises(ValueError, match="no item at all for b"):
        SceneSums(("s1", "s2"), ("a", "b"), np.hstack([ones, 0 * ones]), np.zeros((2, 2)), np.zeros((2, 2)))


def test_tasks_that_share_scenes_through_others_form_one_stratum() -> None:
    tasks = ["a", "a", "b", "b", "c", "d", "d"]
    scenes = ["s1", "s2", "s2", "s3", "s3", "t1", "t2"]
    sums = SceneSums.of_items(tasks, scenes, np.zeros(7))
    strata = dict(zip(sums.scenes, sums.strata.tolist(), strict=True))
    assert strata["s1"] == strata["s2"] == strata["s3"]
    assert strata["t1"] == strata["t2"] != strata["s1"]


def test_intra_scene_correlation_is_recovered() -> None:
    rng = np.random.default_rng(1)
    scene = rng.normal(0, 3, 4000).repeat(5)
    scores = scene + rng.normal(0, 4, scene.size)
    names = np.arange(4000).repeat(5).astype(str).tolist()
    variance, correlation = SceneSums.of_items(["a"] * scene.size, names, scores).variance_within
    assert variance[0] == pytest.approx(25, rel=0.03)
    assert correlation[0] == pytest.approx(9 / 25, abs=0.02)


def test_standard_error_with_one_item_a_scene_is_the_textbook_one() -> None:
    scores = np.array([3.0, 8.0, 1.0, 9.0, 4.0])
    sums = SceneSums.of_items(["a"] * 5, list("vwxyz"), scores)
    stderr, degrees, _ = standard_errors(sums, np.ones((1, 1)))
    assert stderr[0] == pytest.approx(scores.std(ddof=1) / np.sqrt(5))
    assert degrees[0] == pytest.approx(4)


def test_standard_error_of_whole_scenes_that_agree_is_that_of_the_scenes() -> None:
    """Ten copies of each of five answers carry no more information than the five."""
    scores = np.array([0.0, 100.0, 100.0, 0.0, 100.0])
    copies = SceneSums.of_items(["a"] * 50, list("vwxyz") * 10, np.tile(scores, 10))
    stderr, degrees, _ = standard_errors(copies, np.ones((1, 1)))
    assert stderr[0] == pytest.approx(scores.std(ddof=1) / np.sqrt(5))
    assert degrees[0] == pytest.approx(4)


def test_few_large_scenes_count_as_few() -> None:
    rng = np.random.default_rng(2)
    names = ["big"] * 200 + [f"s{n}" for n in range(20)]
    scores = np.concatenate([rng.normal(60, 1, 200), rng.normal(50, 10, 20)])
    _, degrees, _ = standard_errors(SceneSums.of_items(["a"] * 220, names, scores), np.ones((1, 1)))
    assert degrees[0] < 5
