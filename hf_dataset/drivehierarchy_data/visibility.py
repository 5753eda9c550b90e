"""When an object counts as visible, and when the question whether it is must not be asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from .scene import Category, Frame, Object

Visibility = Literal["visible", "unclear", "hidden"]

VISIBLE_PIXELS = 100
"""Pixels, of an image of 1600x900, from which on an object is plain to see: a person 50 m away has 250."""
HIDDEN_PIXELS = 14
"""Fewer than so many are a speck that nobody can name."""
VISIBLE_CONTRAST, HIDDEN_CONTRAST = 0.20, 0.04
"""The same for the share of an object's own colour that haze leaves."""
_REFERENCE_AREA = 1600 * 900


def visibility(frame: Frame, body: Object, camera: str) -> Visibility:
    """Whether `camera` shows the object plainly, hardly, or not at all.

    Nothing is asked whose answer hangs on an object that is hardly shown.
    """
    sight = body.sights.get(camera)
    if sight is None:
        return "hidden"
    image = frame.images[camera]
    pixels = sight.pixels * _REFERENCE_AREA / (image.width * image.height)
    if pixels >= VISIBLE_PIXELS and sight.contrast >= VISIBLE_CONTRAST:
        return "visible"
    return "hidden" if pixels < HIDDEN_PIXELS or sight.contrast < HIDDEN_CONTRAST else "unclear"


def visible(frame: Frame, camera: str, category: Category) -> list[Object] | None:
    """Objects of a category that `camera` shows plainly; None when it hardly shows another one."""
    shown = []
    for body in frame.objects:
        if body.category == category:
            how = visibility(frame, body, camera)
            if how == "unclear":
                return None
            if how == "visible":
                shown.append(body)
    return shown


def unique_visible(views: Iterable[tuple[Frame, str]], category: Category) -> dict[str, list[int]] | None:
    """Ids of the objects of a category that at least one of the views (frame, camera) shows plainly, with the indices
    of those views; None when another one is hardly shown by some view and plainly by none."""
    plain: dict[str, list[int]] = {}
    hardly: set[str] = set()
    for index, (frame, camera) in enumerate(views):
        for body in frame.objects:
            if body.category == category:
                how = visibility(frame, body, camera)
                if how == "visible":
                    plain.setdefault(body.id, []).append(index)
                elif how == "unclear":
                    hardly.add(body.id)
    return None if hardly - plain.keys() else plain
