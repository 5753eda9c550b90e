"""r2_1, r2_2_a, r2_2_b: each vehicle once, and one object through a clip."""

from __future__ import annotations

import pytest

from drivehierarchy_data.builders.memory import (
    region,
    state_change_drafts,
    surround_count_drafts,
    temporal_count_drafts,
)
from drivehierarchy_data.scene import CAMERA_ORDER, Frame
from tests.data.toy_scene import body, clip, frame, surround


def test_surround_count_needs_a_vehicle_seen_twice() -> None:
    twice = body("a", 10, 4, cameras=("CAM_FRONT", "CAM_FRONT_LEFT"))
    once = body("b", 20, 0, cameras=("CAM_BACK",))
    (draft,) = surround_count_drafts(clip(surround(twice, once)))
    assert draft.truth == "2"
    assert draft.meta["overlapping_instances"] == ["a"]
    assert draft.meta["camera_breakdown"] == {
        "CAM_FRONT": 1,
        "CAM_FRONT_LEFT": 1,
        "CAM_FRONT_RIGHT": 0,
        "CAM_BACK": 1,
        "CAM_BACK_LEFT": 0,
        "CAM_BACK_RIGHT": 0,
    }
    assert [camera for _, camera in draft.views] == list(CAMERA_ORDER)
    assert not list(surround_count_drafts(clip(surround(once))))


def test_surround_count_leaves_out_persons_and_unclear_views() -> None:
    twice = body("a", 10, 4, cameras=("CAM_FRONT", "CAM_FRONT_LEFT"))
    person = body("p", 10, 1, "Pedestrian", cameras=("CAM_FRONT",))
    assert next(surround_count_drafts(clip(surround(twice, person)))).truth == "1"
    speck = body("s", 99, 0, cameras=("CAM_BACK",), share=0.1)
    assert not list(surround_count_drafts(clip(surround(twice, speck))))


def test_temporal_count_counts_each_vehicle_once_and_clips_do_not_overlap() -> None:
    frames = [frame(body("a", 20, 0), *([body("b", 30, 3)] if index == 4 else [])) for index in range(25)]
    first, second = temporal_count_drafts(clip(*frames))
    assert (first.truth, second.truth) == ("2", "1")
    assert [index for index, _ in first.views] == list(range(10))
    assert [index for index, _ in second.views] == list(range(10, 20))
    assert first.meta["actual_span_sec"] == 4.5


def test_a_clip_without_vehicles_counts_zero() -> None:
    (draft,) = temporal_count_drafts(clip(*[frame() for _ in range(10)]))
    assert draft.truth == "0"


def states(*names: str | None) -> list[Frame]:
    return [frame(body("a", 20, 0, state=name)) for name in names]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("moving", "moving", None, "stopped", "stopped"), "It transitions from moving to stopped."),
        (("stopped", "stopped", "stopped", None, "moving"), "It transitions from stopped to moving."),
        (("parked",) * 5, "No Change (It remains parked)."),
        (("moving",) * 5, "No Change (It remains moving)."),
    ],
)
def test_state_changes(names: tuple[str | None, ...], expected: str) -> None:
    (draft,) = state_change_drafts(clip(*states(*names)))
    assert draft.truth == expected
    assert expected not in draft.wrong
    assert len(draft.wrong) == 4
    assert draft.meta["duration_sec"] == 2.0
    assert "to t = 2.0 s" in draft.question


@pytest.mark.parametrize(
    "names",
    [
        ("moving", "stopped", "moving", "moving", "moving"),
        (None, "moving", "moving", "moving", "moving"),
        ("moving", "moving", "moving", "moving", None),
        ("parked", "parked", "moving", "moving", "moving"),
    ],
)
def test_unclear_changes_are_not_asked(names: tuple[str | None, ...]) -> None:
    assert not list(state_change_drafts(clip(*states(*names))))


def test_the_object_must_be_seen_all_the_time() -> None:
    frames = states("moving", "moving", "moving", "moving", "moving")
    frames[2] = frame(body("a", 20, 0, state="moving", cameras=()))
    assert not list(state_change_drafts(clip(*frames)))
    frames[2] = frame()
    assert not list(state_change_drafts(clip(*frames)))


def test_regions_are_thirds() -> None:
    assert region(0, 0, 1600, 900) == "upper-left"
    assert region(800, 450, 1600, 900) == "middle-center"
    assert region(1599, 899, 1600, 900) == "lower-right"
