"""Words for what the simulator draws: nouns and colours, and None where no word is certain."""

from __future__ import annotations

import colorsys

NOUNS = {
    "car": "car",
    "suv": "car",
    "charger": "car",
    "van": "van",
    "bus": "bus",
    "truck": "truck",
    "ambulance": "ambulance",
    "motorcycle": "motorcycle",
    "bicycle": "cyclist",
    "pedestrian": "pedestrian",
    "cone": "traffic cone",
    "barrier": "barrier",
}
"""Model of the catalogue -> noun; models that look alike share one."""

_HUES = ((15, "red"), (40, "orange"), (65, "yellow"), (165, "green"), (250, "blue"), (300, "purple"), (345, "pink"))
"""Upper end of each hue (degrees); beyond the last it is red again."""


def colour_word(rgb: tuple[int, int, int]) -> str | None:
    """Colour of a livery in one word; None for light and dark greys, which light and shade turn into one another."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(channel / 255 for channel in rgb))
    if saturation < 0.15:
        if value > 0.86:
            return "white"
        if value < 0.16:
            return "black"
        return "grey" if 0.42 < value < 0.56 else None
    degrees = hue * 360
    if value < 0.45 and degrees < 40:
        return "brown"
    return next((word for end, word in _HUES if degrees < end), "red")
