"""r1_4: two references from what the ego does and why."""

from __future__ import annotations

import pytest

from drivehierarchy_data.builders.description import description_drafts
from drivehierarchy_data.scene import Action, Cause, Situation
from tests.data.toy_scene import body, clip, frame


def test_two_wordings_name_the_cause() -> None:
    lead = body("lead", 15, 0, noun="van", colour="white")
    last = frame(lead, situation=Situation("slow_down", "vehicle_ahead", "lead"))
    (draft,) = description_drafts(clip(*[frame() for _ in range(8)], last))
    assert draft.truth == "I am slowing down because the white van ahead of me is slower."
    assert draft.meta["references"] == [draft.truth, "I am braking to keep a safe distance to the white van in front."]
    assert [index for index, _ in draft.views] == [0, 2, 4, 6, 8]


def test_a_cause_that_cannot_be_seen_is_not_asked_about() -> None:
    hidden = body("lead", 15, 0, cameras=())
    last = frame(hidden, situation=Situation("slow_down", "vehicle_ahead", "lead"))
    assert not list(description_drafts(clip(*[frame() for _ in range(8)], last)))


@pytest.mark.parametrize(
    ("action", "cause"), [("stand", "red_light"), ("turn_left", "route"), ("keep_speed", "clear_road")]
)
def test_causes_without_a_body(action: Action, cause: Cause) -> None:
    (draft,) = description_drafts(clip(*[frame() for _ in range(8)], frame(situation=Situation(action, cause))))
    assert len(set(draft.meta["references"])) == 2
    assert draft.label == f"{action} {cause}"


def test_nothing_is_asked_before_five_seconds_or_without_a_situation() -> None:
    assert not list(description_drafts(clip(*[frame() for _ in range(20)])))
    early = [frame(situation=Situation("stand", "red_light")) for _ in range(8)]
    assert not list(description_drafts(clip(*early)))
