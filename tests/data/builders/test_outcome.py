"""r3_1: answers from what happens afterwards, and none where that is unclear."""

from __future__ import annotations

import math

import pytest

from drivehierarchy_data.builders.outcome import HORIZON_FRAMES, OUTCOMES, course_of, outcome_drafts
from drivehierarchy_data.scene import Category, Clip
from tests.data.toy_scene import body, clip, frame, turned


def driven(speeds: list[float], turn_deg: float = 0.0, category: Category = "Vehicle") -> Clip:
    """A clip in which one object moves ahead of the ego with these speeds, turning evenly."""
    x, y, yaw = 15.0, 0.0, 0.0
    frames = []
    for index, speed in enumerate(speeds):
        entry = body("a", x, y, category, speed=speed, cameras=("CAM_FRONT",) if index == 0 else ())
        cameras = ("CAM_FRONT",) if index == 0 else ()
        frames.append(frame(turned(entry, math.degrees(yaw)), cameras=cameras))
        yaw += math.radians(turn_deg) / (len(speeds) - 1)
        x += 0.5 * speed * math.cos(yaw)
        y += 0.5 * speed * math.sin(yaw)
    return clip(*frames)


@pytest.mark.parametrize(
    ("speeds", "turn", "expected"),
    [
        ([8.0] * 7, 0, "Keep going straight at the same speed."),
        ([0.0] * 7, 0, "Stay where it is."),
        ([5.0] * 7, 80, "Turn left."),
        ([5.0] * 7, -80, "Turn right."),
        ([8, 7, 5, 3, 1, 0, 0], 0, "Brake gently to a stop."),
        ([12, 11, 10, 9, 8, 7, 6], 0, "Decelerate gradually without stopping."),
        ([0, 0, 1, 2, 4, 5, 6], 0, "Accelerate and go ahead."),
    ],
)
def test_vehicles(speeds: list[float], turn: float, expected: str) -> None:
    (draft,) = outcome_drafts(driven(speeds, turn))
    assert draft.truth == expected
    assert set(draft.wrong) == set(OUTCOMES["Vehicle"]) - {expected}


@pytest.mark.parametrize(
    ("speeds", "expected"),
    [
        ([1.3] * 7, "Keep walking."),
        ([0.0] * 7, "Stand still."),
        ([0, 0, 1.3, 1.3, 1.3, 1.3, 1.3], "Start walking."),
        ([1.3, 1.3, 1.3, 0, 0, 0, 0], "Stop walking."),
    ],
)
def test_pedestrians(speeds: list[float], expected: str) -> None:
    (draft,) = outcome_drafts(driven(speeds, category="Pedestrian"))
    assert draft.truth == expected
    assert set(draft.wrong) == set(OUTCOMES["Pedestrian"]) - {expected}


@pytest.mark.parametrize(
    ("speeds", "turn", "category"),
    [
        ([8.0] * 7, 15, "Vehicle"),
        ([8, 7, 6, 5, 4, 3, 3], 80, "Vehicle"),
        ([8, 7, 6.5, 6, 6.5, 7, 8], 0, "Vehicle"),
        ([5, 5, 4, 4, 5, 4, 3.4], 0, "Vehicle"),
        ([0, 1.3, 0, 1.3, 1.3, 1.3, 1.3], 0, "Pedestrian"),
        ([0, 0, 0, 0, 0, 0, 1.3], 0, "Pedestrian"),
    ],
)
def test_unclear_courses_are_not_asked_about(speeds: list[float], turn: float, category: Category) -> None:
    assert not list(outcome_drafts(driven(speeds, turn, category)))


def test_an_object_that_leaves_has_no_course() -> None:
    assert course_of(driven([8.0] * HORIZON_FRAMES), 0, "a") is None
    assert course_of(driven([8.0] * (HORIZON_FRAMES + 1)), 0, "b") is None
