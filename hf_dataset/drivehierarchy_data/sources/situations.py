"""Why the ego does what it does, read from the world around it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from drivehierarchy_gym.agents.reference import GREEN, RED, ReferenceLine, SignalStop
from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.geometry import wrap_angle
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.state import ActorState, Snapshot

from ..scene import Action, Situation

STANDING, ROLLING = 0.15, 1.0
"""m/s: slower is standing, faster is driving."""
PAST, FUTURE = 1.0, 1.0
"""Seconds before and after a frame over which the ego's motion is judged."""
SLOWING, STEADY = 1.3, 0.5
"""m/s lost over these seconds by who slows down, and the most that changes for who keeps its speed."""
TURNING, STRAIGHT = math.radians(22), math.radians(4)
"""Change of heading over these seconds of who turns, and the most of who drives straight on."""

SIGNAL_RANGE, STANDING_SIGNAL_RANGE = 45.0, 14.0
"""m before the stop line within which a red light is what one brakes, or waits, for."""
PERSON_RANGE, PERSON_SIDE = 28.0, 4.0
"""m ahead and to either side of the line within which a person who comes towards it is a reason."""
COMING = 0.4
"""m/s towards the line of who comes."""
LEAST_ROOM = 0.6
"""m beside the ego that must be free: who is closer to the line is in the way."""
DISTINCT = 5.0
"""m by which the nearest reason must be nearer than the next one; else it is not certain which one counts."""
STANDING_GAP = 9.0
FOLLOWING_SECONDS = 3.2
"""m and s: closer than that to the vehicle ahead, it is the reason for standing or slowing down."""
FOLLOWING_DIFFERENCE = 1.0
"""m/s by which the speeds of two who follow each other differ at most."""
FREE_SECONDS = 5.0
"""Nothing within so many seconds ahead: the road is clear."""
LEAST_FREE, FREE_SIDE = 30.0, 2.5
"""m ahead, at least, and to either side of the line where nobody may be for it."""

_TURNED: Final[dict[bool, Action]] = {True: "turn_left", False: "turn_right"}


@dataclass(frozen=True, slots=True)
class Motion:
    """Ego speeds (m/s) and headings (rad) `PAST` seconds before, at, and `FUTURE` seconds after a frame."""

    speeds: tuple[float, float, float]
    headings: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A body near the line ahead: metres from bumper to bumper, metres to the left of the line."""

    body: ActorState
    gap: float
    left: float
    coming: float
    """m/s towards the line."""


class SituationReader:
    """Situations along one drive."""

    def __init__(self, plan: EpisodePlan, network: RoadNetwork) -> None:
        self._line = ReferenceLine(plan, network)
        self._arc = 0.0

    def read(self, snapshot: Snapshot, motion: Motion) -> Situation | None:
        """What the ego does and why; None where either is not certain."""
        action = _action(motion)
        ego = snapshot.ego
        self._arc, _ = self._line.line.project(ego.x, ego.y, (self._arc - 10.0, self._arc + 60.0))
        ahead = [entry for body in snapshot.actors if (entry := self._ahead(body)) is not None]
        stop = next((s for s in self._line.stops if s.station - self._arc > EGO_LENGTH / 2 - 1.0), None)
        if action == "stand":
            return self._stand(ahead, stop, snapshot)
        if action == "slow_down":
            return self._slow(ahead, stop, snapshot, motion.speeds[1])
        if action in ("turn_left", "turn_right"):
            return Situation(action, "route")
        if action == "start":
            return self._start(ahead, stop, snapshot)
        if action in ("keep_speed", "speed_up") and self._is_clear(ahead, stop, snapshot, motion.speeds[1]):
            return Situation(action, "clear_road")
        if action == "keep_speed":
            return self._follow(ahead, motion.speeds[1])
        return None

    def _ahead(self, body: ActorState) -> _Ahead | None:
        ego_front = self._arc + EGO_LENGTH / 2
        arc, left = self._line.line.project(body.x, body.y, (self._arc - 5.0, self._arc + 90.0))
        at = self._line.line.at(arc)
        if math.hypot(body.x - at.x, body.y - at.y) > abs(left) + 0.5 or arc <= self._arc:
            return None
        turn = body.yaw - at.yaw
        half = (abs(math.cos(turn)) * body.length + abs(math.sin(turn)) * body.width) / 2
        aside = body.speed * math.sin(turn)
        return _Ahead(body, arc - half - ego_front, left, -math.copysign(aside, aside * left))

    def _blocker(self, ahead: list[_Ahead]) -> _Ahead | None:
        """The nearest vehicle, rider or person on the line."""
        on_line = [
            entry
            for entry in ahead
            if _is_in_the_way(entry) and ACTOR_MODELS[entry.body.model].contact != "static" and entry.gap > -1.0
        ]
        return min(on_line, key=lambda entry: entry.gap, default=None)

    def _person(self, ahead: list[_Ahead]) -> _Ahead | None:
        """The nearest person on, or walking onto, the line."""
        persons = [
            entry
            for entry in ahead
            if entry.body.model == "pedestrian"
            and -1.0 < entry.gap < PERSON_RANGE
            and (_is_in_the_way(entry) or (abs(entry.left) < PERSON_SIDE and entry.coming > COMING))
        ]
        return min(persons, key=lambda entry: entry.gap, default=None)

    def _stand(self, ahead: list[_Ahead], stop: SignalStop | None, snapshot: Snapshot) -> Situation | None:
        blocker, person = self._blocker(ahead), self._person(ahead)
        if person is not None and person.gap < 12.0 and (blocker is None or blocker.gap >= person.gap):
            return Situation("stand", "person_ahead", person.body.id)
        if blocker is not None and blocker.gap < STANDING_GAP:
            return _because_of("stand", blocker.body) if blocker.body.speed < ROLLING else None
        if self._is_red(stop, snapshot, STANDING_SIGNAL_RANGE):
            return Situation("stand", "red_light")
        return None

    def _slow(self, ahead: list[_Ahead], stop: SignalStop | None, snapshot: Snapshot, speed: float) -> Situation | None:
        blocker = self._blocker([entry for entry in ahead if entry.body.model != "pedestrian"])
        person = self._person(ahead)
        reasons = []
        if person is not None:
            reasons.append((person.gap, Situation("slow_down", "person_ahead", person.body.id)))
        if blocker is not None:
            close = blocker.gap < max(FOLLOWING_SECONDS * speed, STANDING_GAP)
            if close and blocker.body.speed < speed + 0.3:
                reasons.append((blocker.gap, _because_of("slow_down", blocker.body)))
        if self._is_red(stop, snapshot, SIGNAL_RANGE) and stop is not None:
            reasons.append((stop.station - self._arc, Situation("slow_down", "red_light")))
        if reasons:
            nearest, *others = sorted(reasons, key=lambda reason: reason[0])
            return None if others and others[0][0] < nearest[0] + DISTINCT else nearest[1]
        bend = max((abs(c) for c in self._line.curvature[int(self._arc) : int(self._arc) + 22]), default=0.0)
        return Situation("slow_down", "route") if bend > 1 / 25 else None

    def _start(self, ahead: list[_Ahead], stop: SignalStop | None, snapshot: Snapshot) -> Situation | None:
        blocker = self._blocker(ahead)
        if blocker is not None and blocker.gap < 15.0:
            return _because_of("start", blocker.body) if blocker.body.speed > ROLLING else None
        if stop is not None and stop.station - self._arc < STANDING_SIGNAL_RANGE:
            return Situation("start", "green_light") if stop.shown(snapshot) in GREEN else None
        return Situation("start", "clear_road")

    def _follow(self, ahead: list[_Ahead], speed: float) -> Situation | None:
        blocker = self._blocker(ahead)
        if blocker is None or self._person(ahead) is not None or blocker.gap > FOLLOWING_SECONDS * speed:
            return None
        return _because_of("follow", blocker.body) if abs(blocker.body.speed - speed) < FOLLOWING_DIFFERENCE else None

    def _is_clear(self, ahead: list[_Ahead], stop: SignalStop | None, snapshot: Snapshot, speed: float) -> bool:
        reach = max(FREE_SECONDS * speed, LEAST_FREE)
        if any(abs(entry.left) < FREE_SIDE and -1.0 < entry.gap < reach for entry in ahead):
            return False
        return self._person(ahead) is None and not self._is_red(stop, snapshot, 2 * SIGNAL_RANGE)

    def _is_red(self, stop: SignalStop | None, snapshot: Snapshot, reach: float) -> bool:
        if stop is None or stop.station - self._arc - EGO_LENGTH / 2 > reach:
            return False
        return stop.shown(snapshot) in RED


def _is_in_the_way(entry: _Ahead) -> bool:
    return abs(entry.left) - entry.body.width / 2 - EGO_WIDTH / 2 < LEAST_ROOM


def _action(motion: Motion) -> Action | None:
    before, now, after = motion.speeds
    turned = wrap_angle(motion.headings[2] - motion.headings[0])
    if max(before, now) < STANDING and after < STANDING:
        return "stand"
    if before < STANDING and now > STANDING and after > ROLLING + 1.0:
        return "start"
    if abs(turned) > TURNING and min(motion.speeds) > ROLLING:
        return _TURNED[turned > 0]
    if now - after > SLOWING / 2 and before - after > SLOWING:
        return "slow_down"
    if now - before > SLOWING / 2 and after - before > SLOWING and before > ROLLING and abs(turned) < TURNING / 2:
        return "speed_up"
    steady = max(motion.speeds) - min(motion.speeds) < STEADY
    return "keep_speed" if steady and now > 3.0 and abs(turned) < STRAIGHT else None


def _because_of(action: Action, body: ActorState) -> Situation:
    if body.model == "pedestrian":
        return Situation(action, "person_ahead", body.id)
    return Situation(action, "cyclist_ahead" if body.model == "bicycle" else "vehicle_ahead", body.id)
