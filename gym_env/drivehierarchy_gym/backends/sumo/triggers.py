"""Triggers at run time: each is looked at every tick and stays fired once it has been true."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.scenarios.schema import (
    AllOf,
    AtTime,
    EgoArrivesIn,
    EgoPasses,
    EgoWithin,
    OtherActor,
    Trigger,
    WorldPlace,
)

SLOWEST_ARRIVAL = 1.0
"""m/s; `ego_arrives_in` reckons with at least this speed of the ego."""


class BodyState(NamedTuple):
    """What triggers may know of an actor: centre (m), speed (m/s), and whether its own path has begun."""

    x: float
    y: float
    speed: float
    started: bool


class Scene(Protocol):
    """The world as triggers see it."""

    @property
    def time(self) -> float:
        """Seconds since the start of the episode."""

    @property
    def ego_x(self) -> float: ...
    @property
    def ego_y(self) -> float: ...
    @property
    def ego_speed(self) -> float: ...

    def ego_progress(self) -> float:
        """Metres along the ego's route, never decreasing."""
        ...

    def body(self, actor_id: str) -> BodyState | None:
        """An actor, or None when it is not (or no longer) in the world."""
        ...


class TriggerWatch:
    """One trigger of the actor `actor_id`.

    Raises:
        ScenarioError: a place is not given in plain coordinates, which `scenarios.resolve` makes of every place.
    """

    def __init__(self, trigger: Trigger, actor_id: str) -> None:
        self.fired = False
        self._trigger = trigger
        self._actor_id = actor_id
        self._parts = [TriggerWatch(part, actor_id) for part in trigger.triggers] if isinstance(trigger, AllOf) else []
        if isinstance(trigger, EgoWithin) and not isinstance(trigger.place, WorldPlace | None):
            raise ScenarioError(
                f"actor {actor_id!r}: trigger ego_within: place {trigger.place!r} is not resolved to x and y; "
                "make plans with scenarios.resolve"
            )

    def check(self, scene: Scene) -> bool:
        """Whether the trigger has fired, now or before."""
        if not self.fired:
            if self._parts:
                fired = [part.check(scene) for part in self._parts]  # every part, also behind one that has not fired
                self.fired = all(fired)
            else:
                self.fired = self._holds(scene)
        return self.fired

    def _holds(self, scene: Scene) -> bool:
        trigger = self._trigger
        if isinstance(trigger, AtTime):
            return scene.time >= trigger.seconds - 1e-9
        if isinstance(trigger, EgoPasses):
            return scene.ego_progress() >= trigger.route_m
        if isinstance(trigger, EgoArrivesIn):
            left = trigger.route_m - scene.ego_progress()
            return left <= trigger.seconds * max(scene.ego_speed, SLOWEST_ARRIVAL)
        if isinstance(trigger, EgoWithin):
            place = scene.body(self._actor_id) if trigger.place is None else trigger.place
            return (
                isinstance(place, BodyState | WorldPlace)
                and math.hypot(place.x - scene.ego_x, place.y - scene.ego_y) <= trigger.meters
            )
        assert isinstance(trigger, OtherActor)
        other = scene.body(trigger.actor)
        if other is None:
            return False
        if trigger.started is not None:
            return other.started is trigger.started
        if trigger.speed_at_most is not None:
            return other.speed <= trigger.speed_at_most
        assert trigger.speed_at_least is not None
        return other.speed >= trigger.speed_at_least


class RouteProgress:
    """How far the ego has come along its route: projection within a window that only moves forward.

    Args:
        points: corners of the route, (x, y) in metres, at least two.
        arcs: arc length at every corner (m).
    """

    BACK, AHEAD = 10.0, 30.0
    """Metres of route before and beyond the present progress that are searched, so that a route which comes back to
    the same road is not mistaken for its later part."""

    def __init__(self, points: list[tuple[float, float]], arcs: list[float]) -> None:
        self._points, self._arcs = points, arcs
        self._first = 0
        self.metres = 0.0

    def update(self, x: float, y: float) -> float:
        """Progress (m) with the ego at (x, y)."""
        arcs = self._arcs
        while self._first < len(arcs) - 2 and arcs[self._first + 1] < self.metres - self.BACK:
            self._first += 1
        best, best_arc = math.inf, self.metres
        for i in range(self._first, len(arcs) - 1):
            if arcs[i] > self.metres + self.AHEAD:
                break
            (ax, ay), (bx, by) = self._points[i], self._points[i + 1]
            dx, dy = bx - ax, by - ay
            length2 = dx * dx + dy * dy
            t = min(max(((x - ax) * dx + (y - ay) * dy) / length2, 0.0), 1.0)
            distance2 = (ax + t * dx - x) ** 2 + (ay + t * dy - y) ** 2
            if distance2 < best:
                best, best_arc = distance2, arcs[i] + t * math.sqrt(length2)
        self.metres = max(self.metres, best_arc)
        return self.metres
