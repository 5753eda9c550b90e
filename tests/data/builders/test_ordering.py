"""r3_2: frames between which the ego really moves."""

from __future__ import annotations

from itertools import pairwise

from drivehierarchy_data.builders.ordering import LEAST_SPEED, LEAST_STEP, ordering_drafts
from tests.data.toy_scene import clip, frame


def test_frames_are_in_order_and_apart() -> None:
    moving = clip(*[frame(speed=6.0, at=3.0 * index) for index in range(12)])
    drafts = list(ordering_drafts(moving))
    assert {d.label for d in drafts} == {"3", "4", "5"}
    for draft in drafts:
        indices = [index for index, _ in draft.views]
        strides = {b - a for a, b in pairwise(indices)}
        assert strides == {draft.meta["stride"]}
        assert 3.0 * draft.meta["stride"] >= LEAST_STEP


def test_a_standing_or_creeping_ego_gives_none() -> None:
    assert not list(ordering_drafts(clip(*[frame(speed=0.0) for _ in range(12)])))
    creeping = [frame(speed=LEAST_SPEED + 0.1, at=0.1 * index) for index in range(12)]
    assert not list(ordering_drafts(clip(*creeping)))


def test_one_stop_between_two_frames_spoils_them() -> None:
    frames = [frame(speed=0.0 if index == 6 else 6.0, at=3.0 * index) for index in range(13)]
    assert all(6 not in range(d.views[0][0], d.views[-1][0] + 1) for d in ordering_drafts(clip(*frames)))
