"""When an episode ends, and whether that is a termination or a truncation (facts §3.1, §3.2, §3.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.state import Contact, TickState

TerminationReason = Literal[
    "destination_reached",
    "collision_pedestrian",
    "collision_vehicle",
    "collision_static",
    "offroad_timeout",
    "scenario_timeout",
    "blocked_timeout",
]
"""The release's words for how an episode ends by itself."""

DURATION_SCALE = 2.0
"""The time limit is this many scenario durations."""
OFFROAD_GRACE = 1.5
"""Seconds off the road without a break that end an episode."""
BLOCKED_SPEED = 1.0 / 3.6
"""m/s; a slower ego counts as standing."""
_CLOCK_TOLERANCE = 1e-6
"""Seconds; far below a tick, far above what adding ticks up can lose."""
_WORST_FIRST = ("pedestrian", "vehicle", "static")


@dataclass(frozen=True)
class Ending:
    """How an episode ended, and the facts of it that the score's event keeps."""

    reason: TerminationReason
    time: float
    contacts: tuple[Contact, ...] = ()
    """What the ego hit, the gravest first; only for collisions."""
    offroad_duration: float = 0.0
    blocked_ticks: int = 0
    speed: float = 0.0
    """m/s, of the ego at the end."""

    @property
    def terminated(self) -> bool:
        """Reached, crashed or off the road. Running out of time and standing still are truncations."""
        return self.reason not in ("scenario_timeout", "blocked_timeout")


class EndingRules:
    """Watches one episode tick by tick. The order of the tests is the release's: the first that holds decides."""

    def __init__(self, plan: EpisodePlan) -> None:
        self.time_limit = DURATION_SCALE * plan.scenario_duration
        self._goal = plan.goal
        self._goal_radius = plan.goal_radius
        self._blocked_limit = plan.blocked_ticks
        self._offroad_since: float | None = None
        self._blocked = 0

    def before_tick(self, time: float) -> Ending | None:
        """Whether time is up at `time` (s), before another tick is run."""
        return Ending("scenario_timeout", time) if time >= self.time_limit - _CLOCK_TOLERANCE else None

    def after_tick(self, tick: TickState) -> Ending | None:
        """Whether the state after a tick ends the episode: collision, off the road, arrived, blocked."""
        ego, time = tick.ego, tick.time
        if tick.contacts:
            contacts = tuple(sorted(tick.contacts, key=lambda contact: _WORST_FIRST.index(contact.kind)))
            return Ending(_COLLISIONS[contacts[0].kind], time, contacts=contacts, speed=ego.speed)
        if tick.on_road:
            self._offroad_since = None
        elif self._offroad_since is None:
            self._offroad_since = time
        elif time - self._offroad_since >= OFFROAD_GRACE - _CLOCK_TOLERANCE:
            return Ending("offroad_timeout", time, offroad_duration=time - self._offroad_since, speed=ego.speed)
        dx, dy = ego.x - self._goal[0], ego.y - self._goal[1]
        if dx * dx + dy * dy <= self._goal_radius * self._goal_radius:
            return Ending("destination_reached", time, speed=ego.speed)
        self._blocked = self._blocked + 1 if abs(ego.speed) < BLOCKED_SPEED else 0
        if self._blocked > self._blocked_limit:
            return Ending("blocked_timeout", time, blocked_ticks=self._blocked, speed=ego.speed)
        return None


_COLLISIONS: dict[str, TerminationReason] = {
    "pedestrian": "collision_pedestrian",
    "vehicle": "collision_vehicle",
    "static": "collision_static",
}
