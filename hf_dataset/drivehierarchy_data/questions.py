"""What the fourteen tasks are called and how they ask.

The templates of this project's questions are for builders to fill in with `str.format`.

Each asks for the same thing as the release's question of that task, in words of our own. Where a task has several, an
item uses one of them. Names in braces: `category` and `categories` (singular and plural), `camera`, `width` and
`height` of the image in pixels, `u` and `v` of a pixel, `subject` and `reference` (singular, two objects of a relation)
with their pixels `subject_u` … `reference_v`, `bucket` and `bucket_range`, `expression` and `caption` (a description of
an object), `seconds`, `region`, and the corners `x1` … `y2` of a box.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

TITLES: Final = MappingProxyType(
    {
        "r1_1_a": "existence",
        "r1_1_b": "counting",
        "r1_1_c": "state of the nearest object",
        "r1_2_a": "distance of the nearest object",
        "r1_2_b": "distance of the object at a pixel",
        "r1_2_c": "count in a distance range",
        "r1_3": "localisation by description",
        "r1_4": "situation description",
        "r2_1": "unique count over six cameras",
        "r2_2_a": "unique count over a clip",
        "r2_2_b": "state change over a clip",
        "r2_3": "relative position",
        "r3_1": "outcome prediction",
        "r3_2": "frame ordering",
    }
)
"""Task id -> what card, reports and lm-eval call the task; short, for it stands in tables."""

QUESTIONS: Final = MappingProxyType(
    {
        "r1_1_a": ("Can any {category} be seen in the {camera} image?",),
        "r1_1_b": ("How many {categories} can be seen in the {camera} image?",),
        "r1_1_c": ("Which state is the nearest {category} in the {camera} image in?",),
        "r1_2_a": (
            "How far away, in metres, is the nearest {category} in the {camera} image ({width}x{height} pixels)?",
        ),
        "r1_2_b": (
            "How far away, in metres, is the {category} at pixel [{u}, {v}] of the {camera} image "
            "({width}x{height} pixels)?",
        ),
        "r1_2_c": ("How many {categories} in the {camera} image are in the {bucket} range ({bucket_range})?",),
        "r1_3": (
            'Which part of the image ({width}x{height} pixels) shows the object described as "{expression}"? '
            "Give its bounding box as [xmin, ymin, xmax, ymax].",
        ),
        "r1_4": (
            "What are you doing now as the driver of this car, and why?",
            "Which action are you taking at the moment, and what makes you take it?",
        ),
        "r2_1": (
            "The six images show the surroundings at one moment, in the order front, front-left, front-right, back, "
            "back-left, back-right. How many different vehicles do they show, counting one seen by several cameras "
            "once?",
        ),
        "r2_2_a": (
            "The images show the {camera} view over {seconds} seconds, the first frame included. How many different "
            "vehicles appear in them?",
        ),
        "r2_2_b": (
            "Follow the {category} at pixel [{u}, {v}] of the first image ({width}x{height} pixels; {region} region). "
            "How does its state change from t = 0 s to t = {seconds} s?",
        ),
        "r2_3": (
            "In the {camera} image ({width}x{height} pixels), where is the {subject} at pixel "
            "[{subject_u}, {subject_v}] relative to the {reference} at pixel [{reference_u}, {reference_v}], along the "
            "axes of the ego vehicle?",
        ),
        "r3_1": ("What will the {caption} at [{x1}, {y1}, {x2}, {y2}] in the {camera} image do next?",),
        "r3_2": (
            "These images come from one drive and were shuffled. In which order were they taken, the earliest first?",
        ),
    }
)
"""Task id -> templates."""
