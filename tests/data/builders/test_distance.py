"""r1_2_a to r1_2_c: distances from the rear axle, the pixel's own object, the ranges and their edges."""

from __future__ import annotations

import math

import pytest

from drivehierarchy_data.builders.distance import bucket_drafts, distance_class, nearest_drafts, pixel_drafts
from tests.data.toy_scene import body, clip, frame


def test_nearest_distance() -> None:
    (draft,) = nearest_drafts(clip(frame(body("a", 30, 4), body("b", 12, -5))))
    assert draft.truth == "13.00 m"
    assert draft.meta["target_object_id"] == "b"
    assert draft.meta["ego_xy"] == [12, -5]
    assert draft.meta["true_distance_m"] == math.hypot(12, 5)


def test_distance_is_measured_from_where_the_ego_is() -> None:
    (draft,) = nearest_drafts(clip(frame(body("a", 30, 0), at=10.0)))
    assert draft.truth == "20.00 m"


def test_a_pixel_names_its_object() -> None:
    drafts = {d.meta["target_object_id"]: d for d in pixel_drafts(clip(frame(body("a", 20, 4), body("b", 40, -2))))}
    assert drafts["a"].truth == f"{math.hypot(20, 4):.2f} m"
    u, v = drafts["a"].meta["pixel_coords"]
    assert f"[{u}, {v}]" in drafts["a"].question
    assert u < 800 < drafts["b"].meta["pixel_coords"][0]


def test_no_pixel_on_an_object_that_is_mostly_hidden() -> None:
    assert not list(pixel_drafts(clip(frame(body("a", 20, 0, share=0.1)))))


def test_ranges_count_what_is_inside() -> None:
    drafts = bucket_drafts(clip(frame(body("a", 10, 0), body("b", 12, 5), body("c", 30, 0), body("d", 70, 0))))
    assert {d.group: d.truth for d in drafts} == {"Vehicle Near": "2", "Vehicle Mid": "1", "Vehicle Far": "1"}


@pytest.mark.parametrize("edge", [20.0, 50.0])
def test_nothing_is_asked_with_an_object_on_the_edge(edge: float) -> None:
    drafts = list(bucket_drafts(clip(frame(body("a", edge + 0.1, 0), body("b", 90, 0), body("c", 10, 0)))))
    assert len(drafts) == 1
    assert abs({"Near": 10.0, "Far": 90.0}[drafts[0].meta["bucket"]] - edge) > 30


def test_distance_classes_grow() -> None:
    assert [distance_class(d) for d in (5, 8, 12.9, 19, 40, 99)] == ["0", "1", "1", "2", "4", "5"]
