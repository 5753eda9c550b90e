"""Words that questions share."""

from __future__ import annotations

from ..scene import Category, Object

SINGULAR: dict[Category, str] = {
    "Vehicle": "vehicle",
    "Pedestrian": "pedestrian",
    "Bicycle": "bicycle",
    "Traffic Cone": "traffic cone",
}
PLURAL: dict[Category, str] = {category: f"{word}s" for category, word in SINGULAR.items()}


def caption(body: Object, colours_certain: bool) -> str:
    """Short description of an object: "red car", "pedestrian in blue", "traffic cone"."""
    if body.colour is None or not colours_certain or body.category == "Traffic Cone":
        return body.noun
    if body.category in ("Pedestrian", "Bicycle"):
        return f"{body.noun} in {body.colour}"
    return body.noun if body.noun == "ambulance" else f"{body.colour} {body.noun}"
