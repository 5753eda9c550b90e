"""r2_3: the release's rule, and no option that an eye might take for the true one."""

from __future__ import annotations

import pytest

from drivehierarchy_data.builders.relations import RELATIONS, relation, relation_drafts
from tests.data.toy_scene import body, clip, frame


@pytest.mark.parametrize(
    ("forward", "left", "expected"),
    [
        (5, 0.05, "Front"),
        (-5, 0.04, "Rear"),
        (5, 0.17, "Front-Left"),
        (5, -3, "Front-Right"),
        (-2, 3, "Rear-Left"),
        (-2, -3, "Rear-Right"),
        (0.0, 4, "Left"),
        (0.09, -4, "Right"),
        (0.0, 0.0, ""),
    ],
)
def test_signs_with_a_dead_zone(forward: float, left: float, expected: str) -> None:
    assert relation(forward, left) == expected


def test_both_orders_are_asked_in_the_ego_frame() -> None:
    drafts = {d.key: d for d in relation_drafts(clip(frame(body("a", 20, 3), body("b", 30, -4), at=2.0)))}
    assert drafts["0:a:b"].truth == "Rear-Left."
    assert drafts["0:b:a"].truth == "Front-Right."
    assert drafts["0:a:b"].meta["subject_ego_xy"] == [18, 3]


def test_small_differences_are_not_asked_about() -> None:
    assert not list(relation_drafts(clip(frame(body("a", 20, 3), body("b", 20.5, -4)))))
    assert {d.truth for d in relation_drafts(clip(frame(body("a", 20, 3), body("b", 20.02, -4))))} == {
        "Left.",
        "Right.",
    }


def test_options_are_of_one_set() -> None:
    drafts = list(relation_drafts(clip(frame(body("a", 20, 3), body("b", 30, -4), body("c", 20.02, -9)))))
    for draft in drafts:
        assert {draft.truth, *draft.wrong} == {f"{name}." for name in RELATIONS[draft.group]}
    assert {draft.group for draft in drafts} == {"axis", "diagonal"}
