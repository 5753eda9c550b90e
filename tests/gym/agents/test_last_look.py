from __future__ import annotations

import pytest

from drivehierarchy_gym.agents.last_look import stays_clear
from drivehierarchy_gym.state import ActorState, EgoState


def car(x, y=0.0, yaw=0.0):
    return ActorState("a", "car", x, y, yaw, 0.0, 4.6, 1.82, 1.5, (0, 0, 0))


def ego(speed=0.0, yaw=0.0):
    return EgoState(0.0, 0.0, yaw, speed)


CONTACT = (4.89 + 4.6) / 2


@pytest.mark.parametrize(
    ("distance", "speed", "after", "clear"),
    [
        (CONTACT + 1.0, 0.0, 0.0, True),
        (CONTACT + 1.0, 0.0, 1.0, True),
        (CONTACT + 0.05, 0.0, 1.0, False),
        (CONTACT + 20.0, 10.0, 10.0, True),
        (CONTACT + 9.0, 10.0, 10.0, False),
        (CONTACT + 9.0, 8.0, 6.0, True),
    ],
)
def test_stopping_distance(distance, speed, after, clear):
    assert stays_clear(ego(speed), 0.0, 0.0, after, [car(distance)]) is clear


def test_steering_around_counts():
    standing = [car(CONTACT + 1.2, -1.2)]
    assert not stays_clear(ego(3.0), 0.0, 0.0, 3.0, standing)
    assert stays_clear(ego(3.0), -0.6, -0.5, 3.0, standing)


def test_the_wheel_turns_no_faster_than_it_can():
    standing = [car(CONTACT + 1.2, -1.2)]
    assert not stays_clear(ego(3.0), -0.6, 0.5, 3.0, standing)


def test_nobody_around():
    assert stays_clear(ego(20.0), 0.0, 0.0, 20.0, [])
