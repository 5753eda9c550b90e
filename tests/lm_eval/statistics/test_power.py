import itertools

import numpy as np
import pytest

from lm_eval_drivehierarchy.statistics.power import Spread, detectable_difference, items_needed, power_of
from lm_eval_drivehierarchy.statistics.scenes import SceneSums

INDEPENDENT = Spread(item_sd=1.0, design_effect=1.0, items_per_scene=1.0)


@pytest.mark.parametrize(("effect", "items"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_textbook_sample_sizes_of_a_paired_t_test(effect: float, items: int) -> None:
    """80 % power at 5 %, two-sided (Cohen 1988)."""
    assert items_needed(effect, INDEPENDENT) == items
    assert power_of(items, effect, INDEPENDENT) >= 0.8 > power_of(items - 1, effect, INDEPENDENT)


def test_detectable_difference_is_the_inverse() -> None:
    spread = Spread(item_sd=45.0, design_effect=1.8, items_per_scene=4.0)
    items = items_needed(1.0, spread)
    assert detectable_difference(items, spread) == pytest.approx(1.0, rel=1e-3)
    assert items == pytest.approx(1.8 * (2.8016 * 45) ** 2, rel=0.002)


def test_power_is_what_simulation_finds_with_clustered_items() -> None:
    rng = np.random.default_rng(0)
    scenes, size, sd_scene, sd_item, difference = 60, 5, 6.0, 12.0, 3.0
    spread = Spread(
        float(np.hypot(sd_scene, sd_item)), 1 + (size - 1) * sd_scene**2 / (sd_scene**2 + sd_item**2), float(size)
    )
    means = (
        difference + rng.normal(0, sd_scene, (4000, scenes)) + rng.normal(0, sd_item / np.sqrt(size), (4000, scenes))
    )
    statistic = means.mean(axis=1) / (means.std(axis=1, ddof=1) / np.sqrt(scenes))
    found = np.mean(np.abs(statistic) > 2.0010)
    assert power_of(scenes * size, difference, spread) == pytest.approx(found, abs=0.025)


def test_spread_is_measured_from_scores() -> None:
    rng = np.random.default_rng(1)
    scene = rng.normal(0, 3, 3000).repeat(4)
    sums = SceneSums.of_items(
        ["a"] * scene.size, np.arange(3000).repeat(4).astype(str).tolist(), scene + rng.normal(0, 4, scene.size)
    )
    spread = Spread.of(sums, "a")
    assert spread.item_sd == pytest.approx(5, rel=0.02)
    assert spread.design_effect == pytest.approx(1 + 3 * 9 / 25, rel=0.04)
    assert spread.items_per_scene == 4
    assert spread.unpaired().item_sd == pytest.approx(5 * np.sqrt(2), rel=0.02)


def test_a_difference_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="never be detected"):
        items_needed(0.0, INDEPENDENT)


@pytest.mark.parametrize("items", [4, 10, 50, 400, 14_000])
@pytest.mark.parametrize("scene", [1.0, 2.0])
def test_power_is_a_probability_that_grows_with_the_difference(items: int, scene: float) -> None:
    spread = Spread(item_sd=30.0, design_effect=1.3, items_per_scene=scene)
    found = [power_of(items, difference, spread) for difference in np.geomspace(0.01, 1000, 60)]
    assert all(0 <= value <= 1 for value in found)
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(found))
    assert found[0] == pytest.approx(0.05, abs=0.01)
    assert power_of(items, detectable_difference(items, spread), spread) == pytest.approx(0.8, abs=1e-3)
