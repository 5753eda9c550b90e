"""The privileged expert: it knows the whole world state and drives every scenario that can be driven safely.

Each decision: foresee everybody (`prediction`), choose a line around what stands in the way (`evasion`), fill the
path-time diagram of that line, and take the cheapest speeds through it (`speed_plan`): distance to the leading vehicle,
gaps at junctions, right of way and persons are all cells of that diagram.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.agents.evasion import BLOCKED, EDGE, OPEN, PASSING_HIT, SHIFTS, mark_body, plan_shift
from drivehierarchy_gym.agents.last_look import stays_clear
from drivehierarchy_gym.agents.prediction import LAYER, LAYERS, STANDING, Body, Predictor
from drivehierarchy_gym.agents.protocol import EpisodeContext
from drivehierarchy_gym.agents.reference import AMBER, ReferenceLine, headings, speed_profile
from drivehierarchy_gym.agents.speed_plan import BESIDE, HIT, NEAR, STEP, SpeedPlan, path_time, plan_speeds
from drivehierarchy_gym.agents.tracking import DECISION_SECONDS, pursue, target_for
from drivehierarchy_gym.backends.protocol import TICK_SECONDS
from drivehierarchy_gym.bridge import STEER_STEP
from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.geometry import box_corners, wrap_angle
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.state import ActorState, EgoState, Snapshot

SIGHT = 120.0
"""m; who is farther away is not considered."""
BEHIND = 4
"""Stations of the line kept behind the car, for steering."""
EVASION_AHEAD = 70
"""Stations for which the shift is planned."""

# Room kept around bodies (m): along and across, for a certain contact and for uncomfortable nearness.
VEHICLE_HIT, VEHICLE_NEAR = (0.4, 0.25), (1.5, 0.6)
PERSON_HIT, PERSON_NEAR = (0.5, 0.5), (1.2, 1.2)
WALKING_ALONG_HIT, WALKING_ALONG_NEAR = (0.4, 0.2), (0.8, 0.5)
"""The same for who walks along the road, on its edge: the sidewalk may be that near."""
STATIC_HIT, STATIC_NEAR = (0.3, 0.06), (0.3, 0.3)
BESIDE_ROOM = (3.0, 1.9)
"""The same for driving beside somebody on the next lane, where one can be overlooked."""
SLOWEST_BESIDE = 2.0
"""m/s; slower neighbours do not come over."""
POSSIBLE_SECONDS = 3.0
"""What somebody may do, but is not likely to, matters in full for this long, and little after: there is time to see."""
GROWTH = 0.12
"""Metres that the box of a moving vehicle grows at either end for every second it is foreseen."""
MAX_GROWTH = 0.8
TIGHT_SCALE = 0.15
"""What is left of that room where it cannot be kept: then only a touch counts as contact."""

PASSING_CLOSE, PERSON_PASSING_CLOSE = 0.7, 1.3
"""m beside a standing body, and a person, that are less than comfortable."""
WAITING_GAP = 6.0
"""m before an obstacle at which to wait, so that there is room to steer around it."""
FOLLOWING_GAP, HEADWAY = 4.5, 0.7
"""m, and seconds of way, to keep free in front of the car."""
ARRIVAL_GAP, ARRIVAL_REACH, ARRIVAL_MARGIN = 0.2, 12.0, 0.1
"""m: the gap for the last metres to the goal, how many those are, and how far inside its circle counts as there."""
LINE_GAP = 1.0
"""m between the car's front and a stop line."""
IMPATIENCE, JUNCTION_IMPATIENCE = 3.5, 10.0
"""Seconds after which a standing vehicle is an obstacle: one that waits for nothing visible, one at a junction."""

CAUTIOUS_BRAKING, CAUTIOUS_REACTION = 4.5, 0.4
"""m/s² and s: the stop that must be possible before somebody who may step out."""
AMBER_BRAKING = 3.5
"""m/s² up to which the car stops for an amber light."""

CREEP_BEFORE = 1.25
"""Seconds before standing counts as blocked (facts §3.9) at which the car rolls a little."""
CREEP_SPEED = 1.0
CREEP_LINE_GAP = 0.4
"""m before a red light's line within which it does not."""
ROLLING = 1.0 / 3.6
"""m/s; slower counts as standing."""


@dataclass(frozen=True)
class _Course:
    """A line to drive, from `BEHIND` stations behind the car on, and the best speeds along it."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    plan: SpeedPlan
    room: float
    """Metres free ahead of the car for the next second."""


class ExpertAgent:
    """Drives with full knowledge of the present, the road and the scripted paths; see the module."""

    action_mode = "target_speed"
    observation = "state"
    privileged = True

    def __init__(self) -> None:
        self._context: EpisodeContext | None = None

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        self._context = context
        self._line = ReferenceLine(context.plan, context.network)
        self._predictor = Predictor(context.plan, context.network)
        self._arrival_arc = _arrival_arc(self._line, context.plan)
        self._arc = 0.0
        self._stood = 0.0
        self._steer = 0.0
        self._evading = False
        self._drivable: dict[int, NDArray[np.uint8]] = {}

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> NDArray[np.float32]:
        assert self._context is not None
        snapshot = self._context.snapshot
        ego = snapshot.ego
        self._arc, offset = self._line.line.project(ego.x, ego.y, (self._arc - 10.0, self._arc + 40.0))
        self._stood = self._stood + DECISION_SECONDS if ego.speed < ROLLING else 0.0
        bodies = self._predictor.update(snapshot, SIGHT)
        course = self._choose_course(snapshot, bodies, offset)
        steer = pursue(ego, course.x, course.y)
        acceleration = (float(course.plan.speeds[1]) - ego.speed) / STEP
        target = target_for(acceleration, ego.speed)
        patience = self._context.plan.blocked_ticks * TICK_SECONDS - CREEP_BEFORE
        if self._stood >= patience and target < CREEP_SPEED and course.room > 0.0 and not self._at_red_line(snapshot):
            target = CREEP_SPEED
        after = max(ego.speed + DECISION_SECONDS * acceleration, target if target == CREEP_SPEED else 0.0)
        standing = [body.state for body in bodies if body.state.speed <= STANDING and not _follows(ego, body)]
        if target > 0.0 and not stays_clear(ego, steer, self._steer, after, standing):
            target = 0.0
        self._steer = min(max(steer, self._steer - STEER_STEP), self._steer + STEER_STEP)
        return np.array([steer, target], dtype=np.float32)

    def close(self) -> None:
        pass

    # --- the line ----------------------------------------------------------------------------------------------------

    def _choose_course(self, snapshot: Snapshot, bodies: Sequence[Body], offset: float) -> _Course:
        obstacles = [body for body in bodies if self._is_obstacle(body, snapshot)]
        cells = self._evasion_cells(obstacles)
        ego = snapshot.ego
        slope = math.tan(min(max(wrap_angle(ego.yaw - self._line.line.at(self._arc).yaw), -0.8), 0.8))
        evasion = plan_shift(cells, offset, slope)
        around = None if evasion.blocked else self._course(snapshot, bodies, evasion.shift, ())
        if np.abs(evasion.shift[BEHIND:]).max(initial=0.0) < abs(offset) + 0.3 and around is not None:
            self._evading = False
            return around
        # Something stands in the way: go around it, or wait before it for the way around to become free.
        keep = plan_shift(np.zeros_like(cells), offset, slope)
        wait = self._course(snapshot, bodies, keep.shift, obstacles)
        bonus = 10.0 if self._evading else 0.0
        if around is not None and not around.plan.contact and around.plan.cost - bonus <= wait.plan.cost:
            self._evading = True
            return around
        self._evading = False
        return wait

    def _walks_along(self, body: Body) -> bool:
        """Whether the body is a person who walks along the line, beside it."""
        if ACTOR_MODELS[body.state.model].contact != "pedestrian" or body.state.speed <= STANDING:
            return False
        arc, offset = self._line.line.project(body.state.x, body.state.y, (self._arc - 10, self._arc + SIGHT))
        across = abs(math.sin(wrap_angle(body.state.yaw - self._line.line.at(arc).yaw)))
        return across < math.sin(math.radians(20)) and abs(offset) > EGO_WIDTH / 2

    def _is_obstacle(self, body: Body, snapshot: Snapshot) -> bool:
        if self._walks_along(body):
            return True
        if body.state.speed > STANDING:
            return False
        if body.parked or body.may_start or ACTOR_MODELS[body.state.model].contact == "pedestrian":
            return True
        if body.standing_seconds < IMPATIENCE:
            return False
        arc = self._line.line.project(body.state.x, body.state.y, (self._arc, self._arc + SIGHT)).arc
        waits_at_signal = any(arc < stop.station < arc + 60 and not stop.is_open(snapshot) for stop in self._line.stops)
        patient = body.standing_seconds < JUNCTION_IMPATIENCE
        waits_at_junction = patient and any(arc < station < arc + 15 for station in self._line.yields)
        return not waits_at_signal and not waits_at_junction

    def _evasion_cells(self, obstacles: Sequence[Body]) -> NDArray[np.uint8]:
        """Cells (stations, shifts) from the car's station on, for `plan_shift`."""
        here = int(self._arc)
        count = min(EVASION_AHEAD, len(self._line) - here)
        stations = np.arange(here, here + count)
        cells = np.zeros((count, len(SHIFTS)), dtype=np.uint8)
        nearby = []
        for body in obstacles:
            arc, offset = self._line.line.project(body.state.x, body.state.y, (self._arc - 10, self._arc + count + 10))
            if abs(offset) < 8.0 and self._arc - 8 < arc < self._arc + count:
                nearby.append((body, arc))
        if not nearby:
            return cells
        for row, station in zip(cells, stations, strict=True):
            row[:] = self._drivable_at(int(station))
        line = self._line
        for body, arc in nearby:
            close = PERSON_PASSING_CLOSE if ACTOR_MODELS[body.state.model].contact == "pedestrian" else PASSING_CLOSE
            begin, end = max(int(arc) - here - 14, 0), min(int(arc) - here + 15, count)
            part = slice(here + begin, here + end)
            mark_body(cells[begin:end], (line.x[part], line.y[part], line.yaw[part]), _outline(body.state), close)
        return cells

    def _drivable_at(self, station: int) -> NDArray[np.uint8]:
        """Cells (shifts,) of the drivable area at a station of the line."""
        if station not in self._drivable:
            assert self._context is not None
            network = self._context.network
            yaw = float(self._line.yaw[station])
            across = np.arange(len(SHIFTS) + 8) - 4  # a metre more on either side
            step = float(SHIFTS[1] - SHIFTS[0])
            lefts = SHIFTS[0] + across * step
            on = np.array(
                [
                    network.on_road(
                        float(self._line.x[station]) - math.sin(yaw) * left,
                        float(self._line.y[station]) + math.cos(yaw) * left,
                    )
                    for left in lefts
                ]
            )
            centre, right, left_side = on[4:-4], on[:-8], on[8:]
            row = np.where(centre, np.where(right & left_side, OPEN, EDGE), BLOCKED).astype(np.uint8)
            row[np.abs(SHIFTS) < 0.3] = np.minimum(row[np.abs(SHIFTS) < 0.3], EDGE)  # the line itself is a road
            self._drivable[station] = row
        return self._drivable[station]

    # --- speeds along a line -----------------------------------------------------------------------------------------

    def _course(
        self, snapshot: Snapshot, bodies: Sequence[Body], shift: NDArray[np.float64], walls: Sequence[Body]
    ) -> _Course:
        ego = snapshot.ego
        ahead = int(min(max(ego.speed * 8.0 + 45.0, 70.0), 280.0))
        arcs = self._arc + np.arange(-BEHIND, ahead, dtype=np.float64)
        line = self._line
        stations = np.arange(len(line), dtype=np.float64)
        shifts = np.interp(arcs, int(self._arc) + np.arange(len(shift)), shift)
        yaw = np.interp(arcs, stations, line.yaw)
        x = np.interp(arcs, stations, line.x) - np.sin(yaw) * shifts
        y = np.interp(arcs, stations, line.y) + np.cos(yaw) * shifts
        x, y = _extend(arcs, x, y, len(line) - 1)
        yaw, curvature = headings(x, y)
        wished = speed_profile(curvature, np.interp(arcs, stations, line.limit))[BEHIND:]
        part = x[BEHIND:], y[BEHIND:], yaw[BEHIND:]
        self._be_cautious(wished, part, bodies)
        gap = ARRIVAL_GAP if self._to_go() < ARRIVAL_REACH else FOLLOWING_GAP
        for scale in (1.0, TIGHT_SCALE):
            boxes = self._boxes(ego, bodies, scale)
            cells = path_time(part, EGO_LENGTH / 2, EGO_WIDTH / 2, boxes, LAYERS)
            self._close_signals(cells, snapshot)
            self._close_walls(cells, part, walls)
            plan = plan_speeds(cells, wished, max(ego.speed, 0.0), gap, HEADWAY)
            if not plan.contact:
                break
        soon = np.flatnonzero((cells[: round(1.0 / LAYER) + 1] == HIT).any(axis=0))
        return _Course(x, y, plan, float(soon[0]) if len(soon) else math.inf)

    def _to_go(self) -> float:
        """Metres ahead of the car at which it has arrived."""
        return max(self._arrival_arc - self._arc, 0.0)

    def _boxes(self, ego: EgoState, bodies: Sequence[Body], scale: float) -> NDArray[np.float64]:
        """Boxes (M, 7) of all predictions, as `path_time` takes them; `scale` shrinks the room kept around them."""
        layers = np.arange(LAYERS)
        rows = []
        for body in bodies:
            if _follows(ego, body):
                continue
            state = body.state
            contact = ACTOR_MODELS[state.model].contact
            standing = state.speed <= STANDING
            if contact == "pedestrian":
                along = self._walks_along(body)
                hit, near = (WALKING_ALONG_HIT, WALKING_ALONG_NEAR) if along else (PERSON_HIT, PERSON_NEAR)
            elif standing:
                hit, near = STATIC_HIT, STATIC_NEAR
            else:
                hit, near = VEHICLE_HIT, VEHICLE_NEAR
            grown = np.zeros(LAYERS) if standing else np.minimum(layers * LAYER * GROWTH, MAX_GROWTH)
            for track in body.tracks:
                possible = np.where(layers * LAYER <= POSSIBLE_SECONDS, NEAR, BESIDE)
                kinds: list[tuple[Any, tuple[float, float]]]
                kinds = [(NEAR, near), (HIT, hit)] if track.likely else [(possible, hit)]
                if track.likely and contact == "vehicle" and state.speed > SLOWEST_BESIDE and _same_way(ego, body):
                    kinds.append((BESIDE, BESIDE_ROOM))
                for kind, room in kinds:
                    box = np.empty((LAYERS, 7))
                    box[:, 0], box[:, 1], box[:, 2] = track.x, track.y, track.yaw
                    box[:, 3] = state.length / 2 + scale * (room[0] + grown)
                    box[:, 4] = state.width / 2 + scale * room[1]
                    box[:, 5], box[:, 6] = layers, kind
                    rows.append(box)
        return np.concatenate(rows) if rows else np.empty((0, 7))

    def _close_signals(self, cells: NDArray[np.uint8], snapshot: Snapshot) -> None:
        for stop in self._line.stops:
            room = stop.station - self._arc - EGO_LENGTH / 2 - LINE_GAP
            if room < -LINE_GAP or room >= cells.shape[1] or stop.is_open(snapshot):
                continue
            needed = snapshot.ego.speed**2 / (2 * max(room, 0.1))
            if stop.shown(snapshot) in AMBER and needed > AMBER_BRAKING:
                continue
            cells[:, max(int(room), 1) :] = HIT

    def _at_red_line(self, snapshot: Snapshot) -> bool:
        front = self._arc + EGO_LENGTH / 2
        near = (stop for stop in self._line.stops if 0.0 < stop.station - front + 1.0 < 1.0 + CREEP_LINE_GAP)
        return any(not stop.is_open(snapshot) for stop in near)

    def _close_walls(
        self, cells: NDArray[np.uint8], line: tuple[NDArray[np.float64], ...], walls: Sequence[Body]
    ) -> None:
        """Nothing is free from `WAITING_GAP` before those of `walls` that stand on the line, except up to the goal."""
        arrival = self._to_go()
        for body in walls:
            distance = np.hypot(line[0] - body.state.x, line[1] - body.state.y)
            i = int(np.argmin(distance))
            half = body.state.length / 2 + EGO_LENGTH / 2
            if distance[i] < EGO_WIDTH / 2 + body.state.width / 2 + PASSING_HIT:
                wall = max(int(i - half - WAITING_GAP), 1)
                if wall <= arrival < i - half:
                    wall = int(arrival) + 1
                cells[:, wall:] = HIT

    def _be_cautious(
        self, wished: NDArray[np.float64], line: tuple[NDArray[np.float64], ...], bodies: Sequence[Body]
    ) -> None:
        """Lower `wished` so that who may step out can be let pass: either the car can stop before, or it is through."""
        for body in bodies:
            if not body.may_start or body.path is None:
                continue
            path = body.path
            samples = [path.at(arc) for arc in np.arange(0.0, path.length, 0.5)]
            for n, sample in enumerate(samples):
                distance = np.hypot(line[0] - sample.x, line[1] - sample.y)
                i = int(np.argmin(distance))
                if distance[i] > EGO_WIDTH / 2 + body.state.width / 2 + 0.3 or i == 0:
                    continue
                seconds = max(0.5 * n / _script_speed(body), 0.5)
                gap = np.maximum(i - np.arange(i + 1) - EGO_LENGTH / 2 - 1.0, 0.0)
                pull = CAUTIOUS_BRAKING * CAUTIOUS_REACTION
                stopping = np.sqrt(pull**2 + 2 * CAUTIOUS_BRAKING * gap) - pull
                passing = (gap + EGO_LENGTH + 2.0) / seconds
                wished[: i + 1] = np.minimum(wished[: i + 1], np.maximum(stopping, passing))
                break


def _outline(state: ActorState) -> NDArray[np.float64]:
    """Points (N, 2) along the sides of a body's box, a hand's breadth apart."""
    corners = box_corners(state.x, state.y, state.yaw, state.length, state.width)
    shares = np.linspace(0.0, 1.0, 2 + round(max(state.length, state.width) / 0.2), endpoint=False)[:, None]
    return np.concatenate([a + shares * (b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)])


def _arrival_arc(line: ReferenceLine, plan: EpisodePlan) -> float:
    """Arc length of the line at which the car is inside the goal's circle; the end of the route where it never is."""
    arcs = np.arange(0.0, line.line.length, 0.1)
    x = np.interp(arcs, line.line.arcs, line.line.points[:, 0])
    y = np.interp(arcs, line.line.arcs, line.line.points[:, 1])
    inside = np.hypot(x - plan.goal[0], y - plan.goal[1]) < plan.goal_radius - ARRIVAL_MARGIN
    return float(arcs[int(np.argmax(inside))]) if inside.any() else line.goal_arc


def _script_speed(body: Body) -> float:
    assert body.plan is not None
    return float(max(getattr(body.plan.drive, "speeds", (1.0,))))


def _follows(ego: EgoState, body: Body) -> bool:
    """Whether the body is behind the car on its own way: keeping the distance is then its business."""
    c, s = math.cos(ego.yaw), math.sin(ego.yaw)
    dx, dy = body.state.x - ego.x, body.state.y - ego.y
    forward, left = c * dx + s * dy, c * dy - s * dx
    apart = -forward - EGO_LENGTH / 2 - body.state.length / 2
    return apart > -0.5 and abs(left) < (EGO_WIDTH + body.state.width) / 2 + 0.4 and _same_way(ego, body)


def _same_way(ego: EgoState, body: Body) -> bool:
    return abs(wrap_angle(body.state.yaw - ego.yaw)) < math.radians(60)


def _extend(
    arcs: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64], last: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Continue a line straight beyond the arc `last`, where interpolation would repeat its end, and before 0."""
    inside = np.flatnonzero((arcs >= 0.0) & (arcs <= last))
    a, b = int(inside[0]), int(inside[-1])
    for i in range(b + 1, len(arcs)):
        x[i], y[i] = 2 * x[i - 1] - x[i - 2], 2 * y[i - 1] - y[i - 2]
    for i in range(a - 1, -1, -1):
        x[i], y[i] = 2 * x[i + 1] - x[i + 2], 2 * y[i + 1] - y[i + 2]
    return x, y
