"""Plain, hardly and not visible; what hangs on a hardly visible object is not asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivehierarchy_data.scene import FRONT_CAMERA, Object, Sight
from drivehierarchy_data.visibility import HIDDEN_PIXELS, VISIBLE_PIXELS, unique_visible, visibility, visible
from tests.data.toy_scene import body, frame, image


def seen_with(pixels: int, contrast: float = 1.0, name: str = "a") -> Object:
    return replace(
        body(name, 20, 0), sights={FRONT_CAMERA: Sight(pixels, (0, 0, 9, 9), (0, 0, 9, 9), (4, 4), contrast)}
    )


@pytest.mark.parametrize(
    ("pixels", "contrast", "expected"),
    [
        (VISIBLE_PIXELS, 1.0, "visible"),
        (VISIBLE_PIXELS - 1, 1.0, "unclear"),
        (HIDDEN_PIXELS, 1.0, "unclear"),
        (HIDDEN_PIXELS - 1, 1.0, "hidden"),
        (5000, 0.1, "unclear"),
        (5000, 0.01, "hidden"),
    ],
)
def test_pixels_and_contrast_decide(pixels: int, contrast: float, expected: str) -> None:
    entry = seen_with(pixels, contrast)
    assert visibility(frame(entry), entry, FRONT_CAMERA) == expected


def test_an_object_that_no_pixel_shows_is_hidden() -> None:
    entry = body("a", 20, 0, cameras=())
    assert visibility(frame(entry), entry, FRONT_CAMERA) == "hidden"


def test_pixels_count_by_the_size_of_the_image() -> None:
    entry = seen_with(VISIBLE_PIXELS // 4)
    small = replace(frame(entry), images={FRONT_CAMERA: image(0, 800, 450)})
    assert visibility(small, entry, FRONT_CAMERA) == "visible"
    assert visibility(frame(entry), entry, FRONT_CAMERA) == "unclear"


def test_one_hardly_visible_object_spoils_its_category_only() -> None:
    person = body("p", 20, 1, "Pedestrian")
    view = frame(seen_with(5000, name="a"), seen_with(50, name="b"), person)
    assert visible(view, FRONT_CAMERA, "Vehicle") is None
    assert visible(view, FRONT_CAMERA, "Pedestrian") == [person]
    assert visible(view, FRONT_CAMERA, "Bicycle") == []


def test_an_object_counts_once_and_may_be_unclear_where_another_view_is_plain() -> None:
    first, second = frame(seen_with(5000)), frame(seen_with(50))
    assert unique_visible([(first, FRONT_CAMERA), (first, FRONT_CAMERA)], "Vehicle") == {"a": [0, 1]}
    assert unique_visible([(first, FRONT_CAMERA), (second, FRONT_CAMERA)], "Vehicle") == {"a": [0]}
    assert unique_visible([(second, FRONT_CAMERA)], "Vehicle") is None
