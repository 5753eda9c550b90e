"""Speeds along a line that keep clear of everybody's predicted way: dynamic programming over time, place and speed.

The path-time diagram of every station of the line is filled with the predicted boxes; the plan is the cheapest sequence
of accelerations through it (as in the EM planner of Apollo, Fan et al. 2018, without its quadratic programme).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.compiled import compiled

STEP = 0.5
"""Seconds between two decisions of the plan: two layers of the diagram."""
SPEED_STEP = 0.5
"""m/s between neighbouring speeds."""
PLACE_STEP = 0.125
"""m between neighbouring places: what one speed step makes of half a step's time."""
PLACES = round(1.0 / PLACE_STEP)
"""Places of one station."""
CHANGES = np.array([2, 1, 0, -1, -2, -3, -4, -6, -8], dtype=np.int64)
"""Speed changes of one decision in speed steps, from +2 to -8 m/s²."""
ORDINARY = -4
"""Changes below this are the emergency's: dear, for when nothing else avoids a contact."""
TERMINAL_BRAKING = 4.0
"""m/s² with which the car must be able to stop before what is ahead at the end of the plan."""

# Prices of one decision of the plan; only their proportions matter.
SLOWNESS_COST, HASTE_COST = 0.5, 2.0
EAGER, PATIENT = 1.2, 0.8
"""Weight of slowness now and at the end of the plan: what can be done now is not put off for ever."""
ACCELERATION_COST, EMERGENCY_COST = 0.12, 6.0
BESIDE_COST = 0.6
NEAR_COST, NEAR_SPEED_COST = 2.0, 0.3
CONTACT_COST, CONTACT_SPEED_COST = 150.0, 30.0
HEADWAY_COST = 12.0
TERMINAL_COST, TERMINAL_METRE_COST = 20.0, 5.0

FREE, BESIDE, NEAR, HIT = 0, 1, 2, 3
"""Cells of the diagram: free, beside somebody who may come over, uncomfortably near somebody, contact."""


@dataclass(frozen=True)
class SpeedPlan:
    """Speeds (m/s) after every `STEP`, the present one first, and what the plan costs; `contact` if it has to hit."""

    speeds: NDArray[np.float64]
    cost: float
    contact: bool


def path_time(
    line: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    half_length: float,
    half_width: float,
    boxes: NDArray[np.float64],
    layers: int,
) -> NDArray[np.uint8]:
    """Path-time diagram (layers, stations) of the ego's box on the stations of `line` (x, y, yaw).

    `boxes` (M, 7): x, y, yaw, half length, half width, layer, kind of cell (BESIDE, NEAR or HIT).
    """
    x, y, yaw = (np.ascontiguousarray(values, dtype=np.float64) for values in line)
    cells = np.zeros((layers, len(x)), dtype=np.uint8)
    _fill(
        cells, x, y, np.cos(yaw), np.sin(yaw), half_length, half_width, boxes, np.cos(boxes[:, 2]), np.sin(boxes[:, 2])
    )
    return cells


@compiled
def _fill(cells, x, y, cos, sin, half_length, half_width, boxes, box_cos, box_sin):  # type: ignore[no-untyped-def]
    stations = len(x)
    for m in range(boxes.shape[0]):
        bx, by = boxes[m, 0], boxes[m, 1]
        if np.isnan(bx):
            continue
        bl, bw = boxes[m, 3], boxes[m, 4]
        layer, kind = int(boxes[m, 5]), int(boxes[m, 6])
        reach = np.hypot(half_length, half_width) + np.hypot(bl, bw)
        i = 0
        while i < stations:
            dx, dy = bx - x[i], by - y[i]
            distance = np.hypot(dx, dy)
            if distance > reach:
                i += max(1, int(distance - reach))  # stations are about a metre apart
                continue
            if cells[layer, i] < kind:
                ca, sa, cb, sb = cos[i], sin[i], box_cos[m], box_sin[m]
                cos_ab = abs(ca * cb + sa * sb)
                sin_ab = abs(ca * sb - sa * cb)
                if (
                    abs(ca * dx + sa * dy) <= half_length + bl * cos_ab + bw * sin_ab
                    and abs(ca * dy - sa * dx) <= half_width + bl * sin_ab + bw * cos_ab
                    and abs(cb * dx + sb * dy) <= bl + half_length * cos_ab + half_width * sin_ab
                    and abs(cb * dy - sb * dx) <= bw + half_length * sin_ab + half_width * cos_ab
                ):
                    cells[layer, i] = kind
            i += 1


def plan_speeds(
    cells: NDArray[np.uint8], wished: NDArray[np.float64], start_speed: float, gap: float, headway: float
) -> SpeedPlan:
    """Cheapest plan from station 0 at `start_speed` through the diagram `cells` (2 K + 1, N).

    Args:
        cells: path-time diagram, layers half a `STEP` apart.
        wished: speed profile (N,) in m/s, not to be exceeded.
        start_speed: m/s.
        gap, headway: metres, and seconds of way, to keep free in front of the car.

    Raises:
        ValueError: the diagram is so short that even the hardest braking leads beyond its last station.
    """
    speeds, cost, contact = _search(cells, _free_ahead(cells), wished, start_speed, gap, headway)
    if math.isinf(cost):
        raise ValueError(
            f"at {start_speed:g} m/s no plan of {(len(cells) - 1) // 2} decisions ends within the {cells.shape[1]} "
            "stations of the diagram; give it more stations"
        )
    return SpeedPlan(speeds, float(cost), bool(contact))


@compiled
def _free_ahead(cells):  # type: ignore[no-untyped-def]
    """Stations to the next contact cell ahead, per layer and station; a large number where there is none."""
    layers, stations = cells.shape
    free = np.empty((layers, stations), dtype=np.float64)
    for k in range(layers):
        ahead = 1e6
        for i in range(stations - 1, -1, -1):
            ahead = 0.0 if cells[k, i] == HIT else ahead + 1.0
            free[k, i] = ahead
    return free


@compiled
def _search(cells, free, wished, start_speed, gap, headway):  # type: ignore[no-untyped-def]
    """Cheapest way through the diagram: rows of places by speed, so that all places of one change are one loop."""
    steps = (cells.shape[0] - 1) // 2
    places = cells.shape[1] * PLACES
    first = round(start_speed / SPEED_STEP)
    fastest = wished.max()
    top = max(int(np.ceil(fastest / SPEED_STEP)), first) + 2
    leads = np.zeros((top + 1, top + 1), dtype=np.bool_)
    for v in range(top + 1):
        for change in CHANGES:
            w = max(v + change, 0)
            if w <= top and (v > 0 or change >= 0):
                leads[v, w] = True
    cost, following = np.full((top + 1, places), np.inf), np.empty((top + 1, places))
    hit, following_hit = np.zeros((top + 1, places), dtype=np.bool_), np.zeros((top + 1, places), dtype=np.bool_)
    # Places, by speed, between which the cost is known.
    low, high = np.full(top + 1, places), np.full(top + 1, -1)
    following_low, following_high = low.copy(), high.copy()
    came = np.empty((steps, top + 1, places), dtype=np.int16)
    source = np.empty(places, dtype=np.int64)
    prices = np.empty((5, places))
    cost[first, 0] = 0.0
    low[first] = high[first] = 0
    for k in range(steps):
        eager = EAGER + (PATIENT - EAGER) * k / steps
        between, after, room = cells[2 * k + 1], cells[2 * k + 2], free[2 * k + 2]
        for w in range(top + 1):
            # (v + w) / 2 speed steps of 0.5 m/s, held for 0.5 s, are v + w places of 0.125 m.
            begin, end = places, 0
            for v in range(top + 1):
                if leads[v, w] and low[v] <= high[v]:
                    begin, end = min(begin, low[v] + v + w), max(end, min(high[v] + v + w + 1, places))
            following_low[w], following_high[w] = begin, end - 1
            if begin >= end:
                continue
            speed = SPEED_STEP * w
            # Against the fastest wish of all: against the place's own, standing in a slow place would pay.
            slowness = SLOWNESS_COST * eager * (fastest - speed)
            _price(prices, begin, end, speed, between, after, room, wished, gap + headway * speed, k == steps - 1)
            best = following[w]
            best[begin:end] = np.inf
            # From the highest speed down, which came from farthest behind: of equal ways that one is kept.
            for v in range(top, -1, -1):
                p, stop = low[v], min(high[v] + 1, places - v - w)
                if not leads[v, w] or p >= stop:
                    continue
                change = ACCELERATION_COST * ((w - v) * (w - v))
                emergency = EMERGENCY_COST if w - v < ORDINARY else 0.0
                q, middle = p + v + w, p + (3 * v + w) // 4
                _relax(best, source, v, q, cost[v, p:stop], change, emergency, slowness, prices, middle)
            for q in range(begin, end):
                if best[q] < np.inf:
                    v = source[q]
                    p = q - v - w
                    contact = between[(p + (3 * v + w) // 4) // PLACES] == HIT or after[q // PLACES] == HIT
                    following_hit[w, q] = hit[v, p] or contact
                    came[k, w, q] = v
        cost, following = following, cost
        hit, following_hit = following_hit, hit
        low, following_low = following_low, low
        high, following_high = following_high, high
    least, place, last = np.inf, places, 0
    for v in range(top + 1):
        for p in range(low[v], high[v] + 1):
            if cost[v, p] < least or (cost[v, p] == least and p < place):
                least, place, last = cost[v, p], p, v
    speeds = np.empty(steps + 1)
    if least == np.inf:
        return speeds, least, False
    contact = hit[last, place]
    for k in range(steps - 1, -1, -1):
        speeds[k + 1] = SPEED_STEP * last
        before = came[k, last, place]
        place, last = place - before - last, before
    speeds[0] = start_speed
    return speeds, least, contact


@compiled
def _price(prices, begin, end, speed, between, after, room, wished, keep, ends):  # type: ignore[no-untyped-def]
    """What it costs to come to the places `begin` to `end` at `speed`; rows of `prices`: haste, the cell on the way
    (for the places before, too, from which one comes), the cell there, the room ahead, the end of the plan."""
    contact, near = CONTACT_COST + CONTACT_SPEED_COST * speed, NEAR_COST + NEAR_SPEED_COST * speed
    by_kind = np.zeros(4)
    by_kind[BESIDE], by_kind[NEAR], by_kind[HIT] = BESIDE_COST, near, contact
    longest = 2 * round(speed / SPEED_STEP) - CHANGES[-1]
    for station in range(max(begin - longest, 0) // PLACES, (end - 1) // PLACES + 1):
        too_fast = speed - wished[station]
        haste = HASTE_COST * (too_fast * too_fast) if too_fast > 0.0 else 0.0
        ahead = room[station]
        share = 1.0 - ahead / keep
        headway = HEADWAY_COST * (share * share) if 0.0 < ahead < keep else 0.0
        beyond = speed * speed / (2.0 * TERMINAL_BRAKING) - ahead
        terminal = TERMINAL_COST + TERMINAL_METRE_COST * beyond if ends and beyond > 0.0 else 0.0
        for place in range(station * PLACES, (station + 1) * PLACES):
            prices[0, place] = haste
            prices[1, place] = by_kind[between[station]]
            prices[2, place] = by_kind[after[station]]
            prices[3, place] = headway
            prices[4, place] = terminal


@compiled
def _relax(best, source, v, q, cost, change, emergency, slowness, prices, middle):  # type: ignore[no-untyped-def]
    """Lower `best` from place `q` on to what it costs from speed `v`, and note it in `source`, place by place."""
    best, source = best[q:], source[q:]
    haste, between, after, headway, terminal = (
        prices[0, q:],
        prices[1, middle:],
        prices[2, q:],
        prices[3, q:],
        prices[4, q:],
    )
    for i in range(len(cost)):
        price = cost[i] + change + emergency + slowness + haste[i] + between[i] + after[i] + headway[i] + terminal[i]
        better = price < best[i]
        best[i] = price if better else best[i]
        source[i] = v if better else source[i]
