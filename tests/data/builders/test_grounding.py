"""r1_3: boxes, and descriptions that fit one object only."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drivehierarchy_data.builders.grounding import grounding_drafts, unique_description
from drivehierarchy_data.scene import FRONT_CAMERA, Object
from tests.data.toy_scene import WIDTH, body, clip, frame


def described(target: Object, *others: Object, colours: bool = True) -> str | None:
    seen = [target, *others]
    return unique_description(frame(*seen), target, seen, WIDTH, colours)


def test_the_box_is_that_of_the_visible_pixels() -> None:
    (draft,) = grounding_drafts(clip(frame(body("a", 20, 0))))
    assert json.loads(draft.truth)["bbox"] == list(body("a", 20, 0).sights[FRONT_CAMERA].box)
    assert '"the red car"' in draft.question


def test_colour_then_state_then_side_then_distance() -> None:
    target = body("t", 20, 0, state="moving")
    assert described(target, body("b", 22, 4, colour="blue")) == "the red car"
    assert described(target, body("b", 22, 4, state="parked")) == "the red car that is moving"
    assert described(target, body("b", 20, 4, state="moving")) == "the rightmost red car"
    assert described(target, body("b", 20, -4, state="moving")) == "the leftmost red car"
    assert described(target, body("b", 40, 0, state="moving")) == "the nearest red car"


def test_no_description_where_nothing_tells_the_two_apart() -> None:
    target = body("t", 20, 0, state="moving")
    assert described(target, body("b", 22, 0.2, state="moving")) is None


def test_an_uncertain_colour_or_state_tells_nothing() -> None:
    target = body("t", 20, 0, state="moving")
    assert described(target, body("b", 20.5, 0.2, colour=None, state="moving")) is None
    assert described(target, body("b", 20.5, 0.2, state=None)) is None
    assert described(target, body("b", 20.5, 0.2, colour="blue", state="moving"), colours=False) is None


def test_words_of_each_kind() -> None:
    assert described(body("p", 20, 0, "Pedestrian")) == "the pedestrian in red"
    assert described(body("c", 20, 0, "Traffic Cone")) == "the traffic cone"
    assert described(body("v", 20, 0), colours=False) == "the car"


@pytest.mark.parametrize("box", [(0, 400, 200, 600), (1500, 400, 1600, 600), (800, 450, 808, 458)])
def test_cut_off_and_tiny_objects_are_not_asked_for(box: tuple[int, int, int, int]) -> None:
    entry = body("a", 20, 0)
    seen = replace(entry.sights[FRONT_CAMERA], box=box, extent=tuple(map(float, box)))
    assert not list(grounding_drafts(clip(frame(replace(entry, sights={FRONT_CAMERA: seen})))))


def test_half_hidden_objects_are_not_asked_for() -> None:
    entry = body("a", 20, 0)
    seen = entry.sights[FRONT_CAMERA]
    x1, y1, x2, y2 = seen.box
    half = replace(seen, box=(x1, y1, (x1 + x2) // 2, y2))
    assert not list(grounding_drafts(clip(frame(replace(entry, sights={FRONT_CAMERA: half})))))
