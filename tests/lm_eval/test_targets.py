import pytest

from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.targets import BestKnown, ThresholdError, best_known, deficits, target_groups, targets
from lm_eval_drivehierarchy.tasks import TASKS

BASE = paper_tables().table3.baseline.tasks


def test_the_six_targets_of_the_paper() -> None:
    assert targets(deficits(BASE)) == ("r1_2_a", "r1_2_b", "r1_3", "r2_1", "r2_3", "r3_1")


def test_groups_are_the_supervision_sets_of_table_3() -> None:
    groups = target_groups(targets(deficits(BASE)))
    assert groups == {
        "R1": ("r1_2_a", "r1_2_b", "r1_3"),
        "R2": ("r2_1", "r2_3"),
        "R3": ("r3_1",),
        "ALL": ("r1_2_a", "r1_2_b", "r1_3", "r2_1", "r2_3", "r3_1"),
    }
    supervised = {run.supervised for run in paper_tables().table3.runs}
    assert set(groups.values()) <= supervised


def test_a_model_of_the_pool_can_raise_the_best_known() -> None:
    assert best_known()["r1_3"] == BestKnown(67.26, "Qwen2.5-VL(72B)")
    assert best_known({"new": {"r1_3": 80.0}})["r1_3"] == BestKnown(80.0, "new")
    assert best_known({"new": {"r1_3": 67.26}})["r1_3"].model == "Qwen2.5-VL(72B)"


def test_deficits_by_hand_also_for_a_partial_result_and_a_new_best() -> None:
    found = deficits({"r1_1_a": 90.0, "r2_1": 0.0}, {"r1_1_a": BestKnown(60.0, "m"), "r2_1": BestKnown(0.0, "m")})
    assert list(found) == ["r1_1_a", "r2_1"]
    assert found["r1_1_a"].relative == pytest.approx(0.5)
    assert found["r2_1"].relative is None
    assert targets(found) == ()


def test_a_localisation_target_warns_of_the_coordinate_convention() -> None:
    found = deficits(BASE)
    assert "convention" in found["r1_3"].caveat
    assert [task.id for task in TASKS if found[task.id].caveat] == ["r1_3"]


def test_a_box_score_that_is_not_near_zero_shows_its_convention_is_right() -> None:
    assert deficits({"r1_3": 9.9}, {"r1_3": BestKnown(90.0, "m")})["r1_3"].caveat
    found = deficits({"r1_3": 59.4}, {"r1_3": BestKnown(90.0, "m")})
    assert targets(found) == ("r1_3",)
    assert found["r1_3"].caveat is None


@pytest.mark.parametrize("threshold", [0.0, 0.25, -1.5])
def test_a_threshold_that_is_no_deficit_is_refused(threshold: float) -> None:
    with pytest.raises(ThresholdError, match="quarter behind"):
        targets(deficits(BASE), threshold)


def test_no_targets_no_groups() -> None:
    assert target_groups(()) == {}
