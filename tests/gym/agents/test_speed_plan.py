from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.agents.prediction import LAYER, LAYERS
from drivehierarchy_gym.agents.speed_plan import FREE, HIT, NEAR, STEP, path_time, plan_speeds
from drivehierarchy_gym.geometry import boxes_overlap

N = 120
LINE = (np.arange(N, dtype=float), np.zeros(N), np.zeros(N))
WISHED = np.full(N, 12.0)
HALF_LENGTH, HALF_WIDTH = 2.45, 0.92


def boxes(x, y, yaw=0.0, half_length=2.3, half_width=0.9, kind=HIT):
    """Boxes of one body at `x(t)`, `y(t)` in every layer."""
    times = np.arange(LAYERS) * LAYER
    rows = np.zeros((LAYERS, 7))
    rows[:, 0], rows[:, 1], rows[:, 2] = x(times), y(times), yaw
    rows[:, 3], rows[:, 4], rows[:, 5], rows[:, 6] = half_length, half_width, np.arange(LAYERS), kind
    return rows


def diagram(*bodies):
    return path_time(LINE, HALF_LENGTH, HALF_WIDTH, np.concatenate([*bodies, np.empty((0, 7))]), LAYERS)


def places(plan):
    """Metres travelled at every step of a plan."""
    return np.concatenate(([0.0], np.cumsum((plan.speeds[1:] + plan.speeds[:-1]) / 2 * STEP)))


def stand(x, y=0.0, **kwargs):
    return boxes(lambda t: np.full_like(t, x), lambda t: np.full_like(t, y), **kwargs)


@given(
    x=st.floats(-5, 60), y=st.floats(-8, 8), yaw=st.floats(-3.2, 3.2), length=st.floats(0.1, 6), width=st.floats(0.1, 3)
)
@settings(max_examples=60, deadline=None)
def test_diagram_agrees_with_the_overlap_of_boxes(x, y, yaw, length, width):
    cells = path_time(
        tuple(v[:60] for v in LINE), HALF_LENGTH, HALF_WIDTH, np.array([[x, y, yaw, length, width, 0, HIT]]), 1
    )
    for i in range(60):
        # The kernel steps over stations by whole metres, so it may not look nearer than a rounding error.
        loose, tight = (
            boxes_overlap(i, 0, 0, 4.9 + e, 1.84 + e, x, y, yaw, 2 * length + e, 2 * width + e) for e in (1e-6, -1e-6)
        )
        assert tight <= (cells[0, i] == HIT) <= loose


def test_free_road_is_driven_at_the_wished_speed():
    plan = plan_speeds(diagram(), WISHED, 12.0, 3.0, 0.7)
    assert not plan.contact
    np.testing.assert_allclose(plan.speeds, 12.0, atol=0.5)
    assert plan_speeds(diagram(), WISHED, 0.0, 3.0, 0.7).speeds[8] > 6


def test_stops_before_who_stands_and_keeps_room():
    plan = plan_speeds(diagram(stand(50.0)), WISHED, 10.0, 3.0, 0.7)
    assert not plan.contact
    assert 30 < places(plan)[-1] < 50 - 2.45 - 2.3
    assert plan.speeds[-1] <= 2.0
    assert np.diff(plan.speeds).min() >= -2.0  # no emergency for what was seen in time


def test_brakes_as_hard_as_it_must():
    gentle, hard = (plan_speeds(diagram(stand(x)), WISHED, 12.0, 3.0, 0.7) for x in (60.0, 19.0))
    assert not hard.contact
    assert np.diff(hard.speeds).min() < np.diff(gentle.speeds).min()
    assert plan_speeds(diagram(stand(8.0)), WISHED, 12.0, 3.0, 0.7).contact


def test_follows_a_leader_with_headway():
    lead = boxes(lambda t: 20.0 + 6.0 * t, lambda t: np.zeros_like(t))
    plan = plan_speeds(diagram(lead), WISHED, 10.0, 3.0, 0.7)
    assert not plan.contact
    assert plan.speeds[-1] == pytest.approx(6.0, abs=1.0)
    gap = 20.0 + 6.0 * 8.0 - places(plan)[-1] - 4.75
    assert gap > 4.0


def test_goes_before_or_after_who_crosses():
    early = plan_speeds(
        diagram(boxes(lambda t: np.full_like(t, 30.0), lambda t: -40 + 5 * t, yaw=np.pi / 2)), WISHED, 10.0, 3.0, 0.7
    )
    assert places(early)[10] > 38  # gone before it arrives, after about 7 s
    late = plan_speeds(
        diagram(boxes(lambda t: np.full_like(t, 30.0), lambda t: -14 + 5 * t, yaw=np.pi / 2)), WISHED, 10.0, 3.0, 0.7
    )
    assert places(late)[6] < 26  # it is in the way after about 3 s
    assert not early.contact
    assert not late.contact


def test_nearness_costs_but_does_not_stop():
    near = stand(40.0, kind=NEAR)
    free, close = (plan_speeds(d, WISHED, 10.0, 3.0, 0.7) for d in (diagram(), diagram(near)))
    assert close.cost > free.cost
    assert not close.contact
    assert places(close)[-1] > 60


def test_what_can_be_done_now_is_not_put_off():
    cells = diagram(stand(12.0))
    plan = plan_speeds(cells, WISHED, 0.0, 0.2, 0.7)
    assert plan.speeds[1] > 0


def test_wishes_are_kept_where_they_change():
    wished = np.full(N, 12.0)
    wished[30:50] = 4.0
    plan = plan_speeds(np.full((LAYERS, N), FREE, np.uint8), wished, 8.0, 3.0, 0.7)
    travelled = places(plan)
    inside = (travelled > 31) & (travelled < 49)
    assert inside.any()
    assert plan.speeds[inside].max() <= 4.5
