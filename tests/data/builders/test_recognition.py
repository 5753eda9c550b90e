"""r1_1_a to r1_1_c on frames whose content is known."""

from __future__ import annotations

from drivehierarchy_data.builders.recognition import counting_drafts, existence_drafts, state_drafts
from tests.data.toy_scene import body, clip, frame


def test_existence_says_yes_and_no() -> None:
    drafts = {d.group: d for d in existence_drafts(clip(frame(body("a", 20, 0), body("b", 30, 2))))}
    assert {group: draft.truth for group, draft in drafts.items()} == {
        "Vehicle": "Yes",
        "Pedestrian": "No",
        "Bicycle": "No",
        "Traffic Cone": "No",
    }
    assert drafts["Vehicle"].meta["object_ids"] == ["a", "b"]
    assert drafts["Vehicle"].question == "Can any vehicle be seen in the CAM_FRONT image?"
    assert drafts["Vehicle"].views == ((0, "CAM_FRONT"),)


def test_nothing_is_asked_about_an_unclear_category() -> None:
    speck = body("a", 99, 0, share=0.1)
    assert "Vehicle" not in {d.group for d in existence_drafts(clip(frame(speck)))}
    assert not list(counting_drafts(clip(frame(speck, body("b", 20, 0)))))


def test_counts_each_category() -> None:
    view = frame(body("a", 20, 0), body("b", 30, 3), body("p", 15, -3, "Pedestrian"))
    assert {d.group: d.truth for d in counting_drafts(clip(view))} == {"Vehicle": "2", "Pedestrian": "1"}


def test_state_is_that_of_the_nearest_one() -> None:
    near, far = body("a", 15, 0, state="stopped"), body("b", 30, 3, state="moving")
    (draft,) = state_drafts(clip(frame(far, near)))
    assert (draft.truth, set(draft.wrong)) == ("stopped.", {"moving.", "parked."})
    assert draft.meta["target_object_id"] == "a"


def test_no_state_without_a_clear_nearest_one_or_a_certain_state() -> None:
    assert not list(state_drafts(clip(frame(body("a", 20, 0, state="moving"), body("b", 20.5, 3, state="parked")))))
    assert not list(state_drafts(clip(frame(body("a", 20, 0, state=None)))))
    assert not list(state_drafts(clip(frame(body("a", 20, 0, "Bicycle", state="with_rider")))))
