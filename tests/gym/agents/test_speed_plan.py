from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.agents import speed_plan as sp
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


def plainly(cells, wished, start_speed, gap, headway):
    """The plan found state by state: every way that is cheaper than the ones before it is kept."""
    steps, stations = (len(cells) - 1) // 2, cells.shape[1]
    first = round(start_speed / sp.SPEED_STEP)
    fastest = wished.max()
    top = max(int(np.ceil(fastest / sp.SPEED_STEP)), first) + 2
    states = {(0, first): (0.0, False, ())}
    for k in range(steps):
        eager = sp.EAGER + (sp.PATIENT - sp.EAGER) * k / steps
        following = {}
        for (p, v), (cost, hit, way) in sorted(states.items()):
            for change in sp.CHANGES:
                w = max(v + int(change), 0)
                q = p + v + w
                if (v == 0 and change < 0) or w > top or q >= stations * 8:
                    continue
                speed, middle, station = 0.5 * w, (p + (3 * v + w) // 4) // 8, q // 8
                price = cost + sp.ACCELERATION_COST * (w - v) ** 2
                price += sp.EMERGENCY_COST if w - v < -4 else 0.0
                price += sp.SLOWNESS_COST * eager * (fastest - speed)
                price += sp.HASTE_COST * max(speed - wished[station], 0.0) ** 2
                kinds = cells[2 * k + 1, middle], cells[2 * k + 2, station]
                for kind in kinds:
                    price += {
                        sp.FREE: 0.0,
                        sp.BESIDE: sp.BESIDE_COST,
                        sp.NEAR: sp.NEAR_COST + sp.NEAR_SPEED_COST * speed,
                        sp.HIT: sp.CONTACT_COST + sp.CONTACT_SPEED_COST * speed,
                    }[kind]
                hits = np.flatnonzero(cells[2 * k + 2, station:] == HIT)
                room, keep = float(hits[0]) if len(hits) else np.inf, gap + headway * speed
                if 0.0 < room < keep:
                    price += sp.HEADWAY_COST * (1.0 - room / keep) ** 2
                lacking = speed * speed / (2 * sp.TERMINAL_BRAKING) - room
                if k == steps - 1 and lacking > 0.0:
                    price += sp.TERMINAL_COST + sp.TERMINAL_METRE_COST * lacking
                if price < following.get((q, w), (np.inf,))[0]:
                    following[q, w] = price, hit or HIT in kinds, (*way, 0.5 * w)
        states = following
    cost, contact, way = min((states[key] for key in sorted(states)), key=lambda state: state[0])
    return (start_speed, *way), cost, contact


@given(data=st.data(), seed=st.integers(0, 10**6), start=st.floats(0, 9), crowd=st.sampled_from([0.0, 0.02, 0.2]))
@settings(max_examples=40, deadline=None)
def test_the_plan_is_the_cheapest_of_all(data, seed, start, crowd):
    rng = np.random.default_rng(seed)
    layers, stations = 2 * data.draw(st.integers(1, 4)) + 1, data.draw(st.integers(12, 60))
    kinds = rng.integers(1, 4, (layers, stations))
    cells = np.where(rng.random((layers, stations)) < crowd, kinds, FREE).astype(np.uint8)
    wished = rng.uniform(1.0, 8.0, stations)
    speeds, cost, contact = plainly(cells, wished, start, 4.5, 0.7)
    plan = plan_speeds(cells, wished, start, 4.5, 0.7)
    assert plan.cost == pytest.approx(cost, rel=1e-12)
    assert (*plan.speeds,) == speeds
    assert plan.contact == contact


@pytest.mark.parametrize(("stations", "start"), [(1, 7.0), (2, 7.0), (1, 60.0), (2, 20.0), (11, 20.0), (100, 60.0)])
def test_a_diagram_that_no_plan_fits_is_refused(stations, start):
    """Who cannot stop within it has no plan; who can has one."""
    cells, wished = np.zeros((LAYERS, stations), np.uint8), np.full(stations, 5.0)
    with pytest.raises(ValueError, match=rf"at {start:g} m/s no plan of 16 decisions ends within the {stations} stat"):
        plan_speeds(cells, wished, start, 4.5, 0.7)
    assert places(plan_speeds(cells, wished, 0.0, 4.5, 0.7))[-1] < stations
