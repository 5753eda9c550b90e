from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.agents.tracking import DECISION_SECONDS, pursue, target_for
from drivehierarchy_gym.backends.protocol import TICK_SECONDS
from drivehierarchy_gym.backends.sumo.dynamics import EgoDynamics
from drivehierarchy_gym.bridge import ActuationBridge
from drivehierarchy_gym.geometry import Polyline, Pose

START = Pose(0.0, 0.0, 0.0)


def drive(steps, decide, pose=START, speed=0.0):
    """Drive the real dynamics through the real actuation law; `decide(state)` gives steer and target speed."""
    car, bridge, states = EgoDynamics(pose, speed), ActuationBridge(), []
    for _ in range(steps):
        state = car.state()
        states.append(state)
        control = bridge.follow(*decide(state), state.speed)
        for _ in range(round(DECISION_SECONDS / TICK_SECONDS)):
            car.tick(control, TICK_SECONDS)
    return [*states, car.state()]


@pytest.mark.parametrize("speed", [3.0, 8.0, 14.0])
@pytest.mark.parametrize("acceleration", [-6.0, -4.0, -2.0, -1.0, 1.0, 2.0, 3.0])
def test_accelerations_are_met(speed, acceleration):
    states = drive(3, lambda s: (0.0, target_for(acceleration, s.speed)), speed=speed)
    reached = (states[-1].speed - speed) / (3 * DECISION_SECONDS)
    if states[-1].speed > 0.1:  # stopped before: nothing to measure
        assert reached == pytest.approx(acceleration, abs=0.25 + 0.15 * abs(acceleration))


@pytest.mark.parametrize("speed", [2.0, 6.0, 12.0])
def test_a_speed_is_held(speed):
    states = drive(80, lambda s: (0.0, target_for((speed - s.speed) / 0.5, s.speed)), speed=speed)
    late = [s.speed for s in states[20:]]
    assert abs(np.mean(late) - speed) < 0.35
    assert np.ptp(late) < 0.6


def test_standing_still_is_possible():
    states = drive(20, lambda s: (0.0, target_for(0.0, s.speed)))
    assert max(s.speed for s in states) == 0.0


@given(acceleration=st.floats(-9, 5), speed=st.floats(0, 30))
def test_targets_are_speeds(acceleration, speed):
    assert 0.0 <= target_for(acceleration, speed) < 40.0


@pytest.mark.parametrize("offset", [-1.5, 0.0, 1.5])
def test_pursuit_settles_on_a_straight_line(offset):
    x = np.arange(-5, 300, 1.0)
    line = Polyline.through(np.stack([x, np.zeros_like(x)], 1))

    def decide(state):
        here = int(line.project(state.x, state.y).arc)
        return pursue(
            state, x[max(here - 3, 0) : here + 40], np.zeros(40 + min(here, 3))[: len(x[max(here - 3, 0) : here + 40])]
        ), 9.0

    states = drive(80, decide, Pose(0.0, offset, 0.0), 8.0)
    assert abs(states[-1].y) < 0.1
    assert max(abs(s.y) for s in states) < abs(offset) + 0.2


@pytest.mark.parametrize("radius", [8.0, 15.0, 40.0])
@pytest.mark.parametrize("side", [-1, 1])
def test_pursuit_takes_a_bend(radius, side):
    arc = np.arange(0, radius * math.pi / 2, 1.0) / radius
    points = np.concatenate(
        [
            np.stack([np.arange(-20.0, 0.0), np.zeros(20)], 1),
            np.stack([radius * np.sin(arc), side * radius * (1 - np.cos(arc))], 1),
            np.stack([np.full(40, radius), side * (radius + np.arange(0.0, 40.0))], 1),
        ]
    )
    line = Polyline.through(points)
    speed = min(math.sqrt(2.2 * radius), 10.0)

    def decide(state):
        here = int(line.project(state.x, state.y).arc)
        part = points[max(here - 3, 0) : here + 30]
        return pursue(state, part[:, 0], part[:, 1]), speed

    states = drive(int((radius * 1.5 + 35) / speed / DECISION_SECONDS), decide, Pose(-18.0, 0.0, 0.0), speed)
    assert max(abs(line.project(s.x, s.y).offset) for s in states) < 0.9
