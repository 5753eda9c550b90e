"""How far to the side of the line to drive so as to pass what stands in the way, within the drivable area."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.compiled import compiled

SHIFT_STEP = 0.25
"""m between neighbouring shifts."""
MAX_SHIFT = 4.5
"""m to either side that are considered."""
SHIFTS = np.arange(-round(MAX_SHIFT / SHIFT_STEP), round(MAX_SHIFT / SHIFT_STEP) + 1) * SHIFT_STEP
"""Shifts (D,) to the left of the line (m)."""
STEEPEST = 3
"""Shift steps from one station to the next at most: 37 degrees, for pulling out from behind somebody."""

HERE = 4
"""Stations ahead, and shift steps to either side, that count as the place where the car is."""

# Prices of one station; only their proportions matter.
SHIFT_COST, SLOPE_COST, BEND_COST = 0.05, 0.15, 1.0
CLOSE_COST, EDGE_COST, TIGHT_COST, BLOCKED_COST = 3.0, 1.5, 20.0, 10000.0

OPEN, CLOSE, EDGE, TIGHT, BLOCKED = 0, 1, 2, 3, 4
"""Cells: free; nearer to an obstacle than is comfortable; a side of the car off the road; within a hand's breadth of an
obstacle; contact or off the road."""

PASSING_HIT, PASSING_TIGHT = 0.1, 0.25
"""m beside a body that is passed: less than these is a contact, tight."""
ALONGSIDE_HIT, ALONGSIDE_CLOSE = 0.5, 3.0
"""m before and behind the car within which these, and what is close, hold."""


@dataclass(frozen=True)
class Evasion:
    """Shift (N,) to the left of the line at every station (m); `blocked` stations cannot be passed."""

    shift: NDArray[np.float64]
    blocked: bool


def mark_body(
    cells: NDArray[np.uint8],
    line: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    outline: NDArray[np.float64],
    close: float,
) -> None:
    """Mark in `cells` (N, D) the shifts that come near a body, at the stations of `line` (x, y, yaw; N each).

    Args:
        cells: raised to CLOSE, TIGHT or BLOCKED.
        line: the stations.
        outline: points (P, 2) along the sides of the body.
        close: m beside it that are less than comfortable.
    """
    x, y, yaw = line
    _mark(cells, x, y, yaw, outline, close, EGO_LENGTH / 2, EGO_WIDTH / 2)


@compiled
def _mark(cells, x, y, yaw, outline, close, half_length, half_width):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        c, s = math.cos(yaw[i]), math.sin(yaw[i])
        # Sides of the part of the body that lies within the two distances before and behind the car.
        wide_right = narrow_right = np.inf
        wide_left = narrow_left = -np.inf
        for point in outline:
            dx, dy = point[0] - x[i], point[1] - y[i]
            gap = abs(c * dx + s * dy) - half_length
            left = c * dy - s * dx
            if gap <= ALONGSIDE_CLOSE:
                wide_right, wide_left = min(wide_right, left), max(wide_left, left)
            if gap <= ALONGSIDE_HIT:
                narrow_right, narrow_left = min(narrow_right, left), max(narrow_left, left)
        for d in range(len(SHIFTS)):
            kind = OPEN
            if max(SHIFTS[d] - wide_left, wide_right - SHIFTS[d]) - half_width < close:
                kind = CLOSE
            apart = max(SHIFTS[d] - narrow_left, narrow_right - SHIFTS[d]) - half_width
            if apart < PASSING_HIT:
                kind = BLOCKED
            elif apart < PASSING_TIGHT:
                kind = TIGHT
            cells[i, d] = max(cells[i, d], kind)


def plan_shift(cells: NDArray[np.uint8], start: float, slope: float) -> Evasion:
    """Cheapest shift along the stations of `cells` (N, D), from the shift `start` (m) and its `slope` (m/m)."""
    first = int(np.clip(round((start + MAX_SHIFT) / SHIFT_STEP), 0, len(SHIFTS) - 1))
    cells = cells.copy()
    around = cells[:HERE, max(first - HERE, 0) : first + HERE + 1]
    around[around == BLOCKED] = TIGHT  # the car is there and touches nobody: the cells are only coarse
    steepness = int(np.clip(round(slope / SHIFT_STEP), -STEEPEST, STEEPEST))
    indices, blocked = _search(cells, first, steepness + STEEPEST)
    shift = SHIFTS[indices]
    smooth = np.convolve(np.pad(shift, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    return Evasion(smooth, bool(blocked))


@compiled
def _search(cells, first, first_slope):  # type: ignore[no-untyped-def]
    stations, shifts = cells.shape
    slopes = 2 * STEEPEST + 1
    cost = np.full((shifts, slopes), np.inf)
    cost[first, first_slope] = 0.0
    came = np.zeros((stations, shifts, slopes), dtype=np.int8)
    for i in range(1, stations):
        following = np.full((shifts, slopes), np.inf)
        for d in range(shifts):
            for s in range(slopes):
                if cost[d, s] == np.inf:
                    continue
                for t in range(max(s - 1, 0), min(s + 2, slopes)):
                    slope = t - STEEPEST
                    e = d + slope
                    if e < 0 or e >= shifts:
                        continue
                    price = cost[d, s] + SHIFT_COST * SHIFTS[e] ** 2 + SLOPE_COST * slope * slope
                    if t != s:
                        price += BEND_COST
                    kind = cells[i, e]
                    if kind == CLOSE:
                        price += CLOSE_COST
                    elif kind == EDGE:
                        price += EDGE_COST
                    elif kind == TIGHT:
                        price += TIGHT_COST
                    elif kind == BLOCKED:
                        price += BLOCKED_COST
                    if price < following[e, t]:
                        following[e, t] = price
                        came[i, e, t] = s
        cost = following
    best, d, t = np.inf, 0, 0
    for e in range(shifts):
        for u in range(slopes):
            if cost[e, u] < best:
                best, d, t = cost[e, u], e, u
    indices = np.empty(stations, dtype=np.int64)
    for i in range(stations - 1, 0, -1):
        indices[i] = d
        d, t = d - (t - STEEPEST), came[i, d, t]
    indices[0] = first
    return indices, best >= BLOCKED_COST
