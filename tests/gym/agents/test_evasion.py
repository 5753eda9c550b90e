from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.agents.evasion import (
    BLOCKED,
    CLOSE,
    EDGE,
    HERE,
    OPEN,
    SHIFT_STEP,
    SHIFTS,
    STEEPEST,
    TIGHT,
    mark_body,
    plan_shift,
)
from drivehierarchy_gym.catalog import EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.geometry import Pose

N = 60


def road(left=4.5, right=-4.5):
    """An open road from `right` to `left` of the line."""
    cells = np.zeros((N, len(SHIFTS)), dtype=np.uint8)
    cells[:, (left < SHIFTS) | (right > SHIFTS)] = BLOCKED
    return cells


def block(cells, stations, low, high, kind=BLOCKED):
    cells[stations, np.searchsorted(SHIFTS, low) : np.searchsorted(SHIFTS, high + 1e-9)] = kind
    return cells


def test_open_road_keeps_the_line():
    evasion = plan_shift(road(), 0.0, 0.0)
    assert not evasion.blocked
    assert np.all(evasion.shift == 0)


def test_returns_to_the_line_without_jumps():
    shift = plan_shift(road(), 2.0, 0.0).shift
    assert shift[0] == pytest.approx(2.0, abs=0.3)
    assert abs(shift[-1]) < 0.3
    assert np.abs(np.diff(shift)).max() <= STEEPEST * SHIFT_STEP + 1e-9


def test_passes_on_the_free_side_and_comes_back():
    cells = block(road(left=4.0, right=-1.0), slice(25, 35), -4.5, 1.5)
    evasion = plan_shift(cells, 0.0, 0.0)
    assert not evasion.blocked
    assert np.all(evasion.shift[26:34] > 1.5)
    assert evasion.shift.max() < 4.0
    assert abs(evasion.shift[-1]) < 0.6


def test_takes_the_shorter_way_around():
    right = plan_shift(block(road(), slice(25, 35), -1.0, 3.0), 0.0, 0.0).shift
    assert right[30] < -1.0


def test_a_closed_road_is_blocked():
    evasion = plan_shift(block(road(), slice(25, 35), -4.5, 4.5), 0.0, 0.0)
    assert evasion.blocked


def test_begins_with_the_slope_the_car_has():
    flat, turned = (plan_shift(road(), 0.0, slope).shift for slope in (0.0, 0.5))
    assert np.all(flat == 0)
    assert turned[2] > 0.15


def test_the_place_of_the_car_itself_does_not_block():
    cells = block(road(), slice(0, HERE), -1.0, 0.75)
    evasion = plan_shift(cells, 0.5, 0.0)
    assert not evasion.blocked


def test_room_is_taken_where_there_is_some():
    near = plan_shift(block(road(), slice(25, 35), -4.5, 0.5, CLOSE), 0.0, 0.0).shift
    assert near[30] > 0.5
    edge = plan_shift(block(road(), slice(0, N), 1.0, 4.5, EDGE), 0.0, 0.0).shift
    assert np.all(edge == 0)


@given(
    x=st.floats(-5, 25),
    y=st.floats(-8, 8),
    yaw=st.floats(-3.2, 3.2),
    close=st.floats(0.3, 2.0),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_cells_say_how_near_a_body_comes(x, y, yaw, close, seed):
    """Cell by cell: the room between the car's side and the part of the body that is beside it, or nearly so."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-2.0, 2.0, (9, 2)) + np.array((x, y))
    line = np.arange(20.0), rng.uniform(-0.5, 0.5, 20), np.full(20, yaw)
    drivable = rng.choice([OPEN, EDGE, BLOCKED], (20, len(SHIFTS))).astype(np.uint8)
    cells = drivable.copy()
    mark_body(cells, line, points, close)
    for i, shift in ((i, d) for i in range(20) for d in range(0, len(SHIFTS), 4)):
        seen = [Pose(line[0][i], line[1][i], yaw).to_local(*point) for point in points]

        def room(alongside, seen=seen, at=SHIFTS[shift]):
            lefts = [left for ahead, left in seen if abs(ahead) - EGO_LENGTH / 2 <= alongside]
            return max(at - max(lefts), min(lefts) - at) - EGO_WIDTH / 2 if lefts else np.inf

        near, touching = room(3.0), room(0.5)
        kind = BLOCKED if touching < 0.1 else TIGHT if touching < 0.25 else CLOSE if near < close else OPEN
        assert cells[i, shift] == max(kind, drivable[i, shift])
