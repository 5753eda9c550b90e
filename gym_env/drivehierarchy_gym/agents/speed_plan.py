"""Speeds along a line that keep clear of everybody's predicted way: dynamic programming over time, place and speed.

The path-time diagram of every station of the line is filled with the predicted boxes; the plan is the cheapest sequence
of accelerations through it (as in the EM planner of Apollo, Fan et al. 2018, without its quadratic programme).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

STEP = 0.5
"""Seconds between two decisions of the plan: two layers of the diagram."""
SPEED_STEP = 0.5
"""m/s between neighbouring speeds."""
PLACE_STEP = 0.125
"""m between neighbouring places: what one speed step makes of half a step's time."""
CHANGES = np.array([2, 1, 0, -1, -2, -3, -4], dtype=np.int64)
"""Speed changes of one decision in speed steps: +2 to -4 m/s²; harder braking is the emergency's."""
EMERGENCY_CHANGES = np.array([-6, -8], dtype=np.int64)
"""-6 and -8 m/s²: dear, for when nothing else avoids a contact."""
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


@njit(cache=True)
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
    """
    free = _free_ahead(cells)
    changes = np.concatenate([CHANGES, EMERGENCY_CHANGES])
    speeds, cost, contact = _search(cells, free, wished, start_speed, changes, gap, headway)
    return SpeedPlan(speeds, float(cost), bool(contact))


@njit(cache=True)
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


@njit(cache=True)
def _search(cells, free, wished, start_speed, changes, gap, headway):  # type: ignore[no-untyped-def]
    steps = (cells.shape[0] - 1) // 2
    per_station = round(1.0 / PLACE_STEP)
    places = cells.shape[1] * per_station
    first = round(start_speed / SPEED_STEP)
    fastest = wished.max()
    top = max(int(np.ceil(fastest / SPEED_STEP)), first) + 2
    cost = np.full((places, top + 1), np.inf)
    hit = np.zeros((places, top + 1), dtype=np.bool_)
    came = np.zeros((steps, places, top + 1), dtype=np.int16)
    cost[0, first] = 0.0
    low, high = 0, 0
    for k in range(steps):
        eager = EAGER + (PATIENT - EAGER) * k / steps
        following = np.full((places, top + 1), np.inf)
        following_hit = np.zeros((places, top + 1), dtype=np.bool_)
        new_low, new_high = places, -1
        for p in range(low, high + 1):
            for v in range(top + 1):
                if cost[p, v] == np.inf:
                    continue
                for change in changes:
                    if v == 0 and change < 0:
                        continue
                    w = max(v + change, 0)
                    # (v + w) / 2 speed steps of 0.5 m/s, held for 0.5 s, are v + w places of 0.125 m.
                    q = p + v + w
                    if w > top or q >= places:
                        continue
                    stations = (p + (3 * v + w) // 4) // per_station, q // per_station
                    speed = SPEED_STEP * w
                    wish = wished[stations[1]]
                    price = cost[p, v] + ACCELERATION_COST * (w - v) ** 2
                    if w - v < CHANGES[-1]:
                        price += EMERGENCY_COST
                    # Against the fastest wish of all: against the place's own, standing in a slow place would pay.
                    price += SLOWNESS_COST * eager * (fastest - speed)
                    if speed > wish:
                        price += HASTE_COST * (speed - wish) ** 2
                    bump = False
                    for n in range(2):
                        kind = cells[2 * k + 1 + n, stations[n]]
                        if kind == HIT:
                            bump = True
                            price += CONTACT_COST + CONTACT_SPEED_COST * speed
                        elif kind == NEAR:
                            price += NEAR_COST + NEAR_SPEED_COST * speed
                        elif kind == BESIDE:
                            price += BESIDE_COST
                    room = free[2 * k + 2, stations[1]]
                    keep = gap + headway * speed
                    if 0.0 < room < keep:
                        price += HEADWAY_COST * (1.0 - room / keep) ** 2
                    if k == steps - 1:
                        lacking = speed * speed / (2.0 * TERMINAL_BRAKING) - room
                        if lacking > 0.0:
                            price += TERMINAL_COST + TERMINAL_METRE_COST * lacking
                    if price < following[q, w]:
                        following[q, w] = price
                        following_hit[q, w] = hit[p, v] or bump
                        came[k, q, w] = v
                        new_low, new_high = min(new_low, q), max(new_high, q)
        cost, hit = following, following_hit
        low, high = new_low, new_high
    best, place, last = np.inf, 0, 0
    for p in range(low, high + 1):
        for v in range(top + 1):
            if cost[p, v] < best:
                best, place, last = cost[p, v], p, v
    contact = hit[place, last]
    speeds = np.empty(steps + 1)
    for k in range(steps - 1, -1, -1):
        speeds[k + 1] = SPEED_STEP * last
        before = came[k, place, last]
        place, last = place - before - last, before
    speeds[0] = start_speed
    return speeds, best, contact
