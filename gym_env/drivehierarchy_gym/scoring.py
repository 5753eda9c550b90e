"""The closed-loop score of one episode, computed as the release computes it (facts §4; paper Appendix E, Eq. 16-20)."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from drivehierarchy_gym.ending import DURATION_SCALE, Ending
from drivehierarchy_gym.geometry import Projection
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.state import TickState

Profile = Literal["release", "strict"]
PROFILES: tuple[Profile, ...] = ("release", "strict")

PENALTIES: Mapping[str, float] = {
    "collision_pedestrian": 0.0,
    "collision_vehicle": 0.2,
    "collision_static": 0.3,
    "scenario_timeout": 0.7,
    "blocked_timeout": 0.7,
    "route_deviation": 0.0,
}
"""Multiplier of the safety term for each kind of event; `route_deviation` is the release's name of the off-road end."""
RED_LIGHT_PENALTIES: Mapping[Profile, float] = {"release": 1.0, "strict": 0.7}
"""The release records no red lights; `release` notes them without effect, `strict` makes them cost."""

PROGRESS_REACH = 6.0
"""Metres from the route within which the ego makes progress on it."""
PROGRESS_STEP = 20.0
"""Metres beyond the best progress so far that one update may reach."""
DISTANCE_GRACE, TIME_GRACE = 1.10, 1.50
DISTANCE_WEIGHT, TIME_WEIGHT = 0.7, 0.3
FALLBACK_REFERENCE_SPEED = 5.56
"""m/s; reference duration of a plan that has none."""
_TINY = 1e-6

VoidReason = Literal["system_error", "manual_interrupt"]


class Components(NamedTuple):
    """The terms of the score so far: route and score in [0, 100], safety, efficiency and their product in [0, 1]."""

    route: float
    safety: float
    efficiency: float
    penalty: float
    composed: float


class ScoreTracker:
    """Keeps the sums of one episode and makes its record.

    Call `start` once, `update` after every tick, `before_tick` before every further one, `end` when the episode ends.

    Args:
        plan: the episode.
        profile: what red lights cost.
    """

    def __init__(self, plan: EpisodePlan, profile: Profile = "release") -> None:
        self._plan = plan
        self._red_light_penalty = RED_LIGHT_PENALTIES[profile]
        self._length = plan.route.length
        reference = plan.reference_duration
        self._reference = reference if reference > _TINY else self._length / FALLBACK_REFERENCE_SPEED
        self._begun = clock.monotonic()
        self.events: list[dict[str, Any]] = []
        self.duration = 0.0
        self.completed = 0.0
        self.travelled = 0.0
        self.offroad_time = 0.0
        self.arrived = False
        self.multiplier = 1.0
        self._reachable = 0.0
        self._route_distance: float | None = None
        self._was_offroad = False
        self._x, self._y = plan.start.x, plan.start.y
        self._ending: Ending | None = None

    def start(self, x: float, y: float, projection: Projection) -> None:
        """First update, at time 0: the ego stands at (x, y), on the road, and projects onto the route there."""
        self._x, self._y = x, y
        self._progress(x, y, True, projection)

    def before_tick(self) -> None:
        """The release's other update, just before a tick: nothing has moved, but progress may reach another 20 m on."""
        if self._reachable > self.completed:
            self.completed = min(self._reachable, self.completed + PROGRESS_STEP)

    def update(self, tick: TickState, projection: Projection) -> None:
        """Count a tick: `projection` is the ego's on the route."""
        x, y = tick.ego.x, tick.ego.y
        if self._was_offroad:
            self.offroad_time += max(0.0, tick.time - self.duration)
        self.duration = max(self.duration, tick.time)
        self.travelled += math.hypot(x - self._x, y - self._y)
        self._x, self._y = x, y
        self._was_offroad = not tick.on_road
        self._progress(x, y, tick.on_road, projection)
        if tick.ran_red_light is not None:
            self._event("red_light", tick.time, {"signal": tick.ran_red_light}, self._red_light_penalty)

    def _progress(self, x: float, y: float, on_road: bool, projection: Projection) -> None:
        self._reachable = 0.0
        if on_road:
            self._route_distance = abs(projection.offset)
            if self._route_distance <= PROGRESS_REACH:
                self._reachable = projection.arc
                self.completed = max(self.completed, min(projection.arc, self.completed + PROGRESS_STEP))
        dx, dy = x - self._plan.goal[0], y - self._plan.goal[1]
        if dx * dx + dy * dy <= self._plan.goal_radius * self._plan.goal_radius:
            self._arrive()

    def _arrive(self) -> None:
        self.arrived = True
        self.completed = max(self.completed, self._length)

    def end(self, ending: Ending) -> None:
        """Count how the episode ended; once, after the last `update`."""
        self._ending = ending
        reason = ending.reason
        details: dict[str, Any]
        if reason == "destination_reached":
            self._arrive()
            self._event(reason, ending.time, {"destination_radius": round(self._plan.goal_radius, 3)})
        elif reason == "scenario_timeout":
            limit = DURATION_SCALE * self._plan.scenario_duration
            self._event(reason, ending.time, {"max_sim_time": round(limit, 3)}, PENALTIES[reason])
        elif reason == "blocked_timeout":
            details = {
                "blocked_steps": ending.blocked_ticks,
                "speed_kmh": round(abs(ending.speed) * 3.6, 3),
                "speed_threshold_kmh": 1.0,
            }
            self._event(reason, ending.time, details, PENALTIES[reason])
        elif reason == "offroad_timeout":
            self.offroad_time = max(self.offroad_time, ending.offroad_duration)
            details = {"offroad_duration": round(ending.offroad_duration, 3)}
            self._event("route_deviation", ending.time, details, PENALTIES["route_deviation"])
        else:
            details = {
                "other_actor": ending.contacts[0].actor_id,
                "all_actors": [contact.actor_id for contact in ending.contacts],
                "ego_speed_mps": round(ending.speed, 3),
            }
            self._event(reason, ending.time, details, PENALTIES[reason])

    def _event(self, kind: str, time: float, details: Mapping[str, Any], penalty: float | None = None) -> None:
        event: dict[str, Any] = {"type": kind, "time": round(time, 3), **details}
        if penalty is not None:
            event["penalty_multiplier"] = penalty
            self.multiplier *= penalty
        self.events.append(event)

    # --- terms -------------------------------------------------------------------------------------------------------

    @property
    def offroad_ratio(self) -> float:
        """Share of the time so far spent off the road, in [0, 1]."""
        return min(1.0, self.offroad_time / self.duration) if self.duration > _TINY else 0.0

    @property
    def distance_efficiency(self) -> float:
        """Eq. 19 left: reference length over travelled length, in [0, 1]."""
        return _efficiency(DISTANCE_GRACE * self._length, self.travelled)

    @property
    def time_efficiency(self) -> float:
        """Eq. 19 right: reference duration over duration, in [0, 1]."""
        return _efficiency(TIME_GRACE * self._reference, self.duration)

    def components(self) -> Components:
        """The terms if the episode ended now, not rounded; after `end` they are final."""
        route = 100.0 if self.arrived else min(100.0, 100.0 * self.completed / self._length)
        safety = self.multiplier * (1.0 - self.offroad_ratio)
        efficiency = DISTANCE_WEIGHT * self.distance_efficiency + TIME_WEIGHT * self.time_efficiency
        penalty = safety * efficiency
        return Components(route, safety, efficiency, penalty, route * penalty)

    # --- record ------------------------------------------------------------------------------------------------------

    def record(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """The finished episode as `scene_score.json` has it, `extra` under `extra`.

        Raises:
            ValueError: the episode has not ended.
        """
        if self._ending is None:
            raise ValueError("the episode has not ended; a record before the end would pass for a score")
        terms = self.components()
        route, safety, efficiency = round(terms.route, 6), round(terms.safety, 6), round(terms.efficiency, 6)
        penalty = round(safety * efficiency, 6)
        reason = self._ending.reason
        status = "Failed"
        if route >= 100.0 and reason == "destination_reached":
            status = "Perfect" if safety >= 0.999999 and efficiency >= 0.999999 else "Completed"
        scores = {
            "score_route": route,
            "score_safety": safety,
            "score_efficiency": efficiency,
            "score_penalty": penalty,
            "score_composed": round(route * penalty, 6),
        }
        return self._record(status, reason, scores, {**extra, "void": False})

    def void_record(self, reason: VoidReason, extra: Mapping[str, Any], error: str = "") -> dict[str, Any]:
        """Record of an episode that says nothing about the agent: its scores are null, never 0, and it is to be re-run.

        The release scores such an episode 0 (facts §4).
        """
        event: dict[str, Any] = {"type": reason, "time": round(self.duration, 3)}
        if error:
            event["error"] = error
        self.events.append(event)
        scores = dict.fromkeys(
            ("score_route", "score_safety", "score_efficiency", "score_penalty", "score_composed"), None
        )
        return self._record("Failed", reason, scores, {**extra, "void": True})

    def _record(
        self, status: str, reason: str, scores: Mapping[str, float | None], extra: Mapping[str, Any]
    ) -> dict[str, Any]:
        distance = self._route_distance
        return {
            "scene_id": self._plan.scenario_id,
            "status": status,
            "termination_reason": reason,
            **scores,
            "events": [dict(event) for event in self.events],
            "meta": {
                "route_source": self._plan.route_source,
                "route_length_m": round(self._length, 3),
                "completed_distance_m": round(self.completed, 3),
                "travel_distance_m": round(self.travelled, 3),
                "offroad_time_s": round(self.offroad_time, 3),
                "offroad_ratio": round(self.offroad_ratio, 6),
                "lane_keep_penalty": round(1.0 - self.offroad_ratio, 6),
                "duration_game": round(self.duration, 3),
                "duration_system": round(clock.monotonic() - self._begun, 3),
                "reference_duration_s": round(self._reference, 3),
                "distance_efficiency": round(self.distance_efficiency, 6),
                "time_efficiency": round(self.time_efficiency, 6),
                "destination_radius": round(self._plan.goal_radius, 3),
                "last_route_distance_m": None if distance is None else round(distance, 3),
                "last_location": {"x": round(self._x, 3), "y": round(self._y, 3), "z": 0.0},
            },
            "extra": dict(extra),
        }


def _efficiency(reference: float, used: float) -> float:
    return 1.0 if used <= reference + _TINY else reference / used


# --- reading records back --------------------------------------------------------------------------------------------


def is_void(record: Mapping[str, Any]) -> bool:
    """Whether a record says nothing about the agent: ours are marked, the release's have such a termination reason."""
    extra = record.get("extra")
    marked = isinstance(extra, Mapping) and bool(extra.get("void"))
    return marked or record.get("termination_reason") in ("system_error", "manual_interrupt")


def recompute(record: Mapping[str, Any]) -> float:
    """Score of a record from its own columns, after checking that every column follows from the ones below it.

    Raises:
        ValueError: the record is void, or a column contradicts the others; names the column and both values.
    """
    if is_void(record):
        raise ValueError(f"{record.get('scene_id')}: a void record has no score ({record.get('termination_reason')})")
    meta, events = record["meta"], record["events"]
    multiplier = math.prod(event.get("penalty_multiplier", 1.0) for event in events)
    # Tolerances: the columns are rounded to 3 (metres) or 6 decimals, and errors add up along a product.
    metre = 100.0 * 0.0011 / max(meta["route_length_m"], 0.001)
    route = 100.0
    if record["score_route"] < 100.0:
        route = 100.0 * meta["completed_distance_m"] / meta["route_length_m"]
    penalty = round(record["score_safety"] * record["score_efficiency"], 6)
    efficiency = DISTANCE_WEIGHT * meta["distance_efficiency"] + TIME_WEIGHT * meta["time_efficiency"]
    score = round(record["score_route"] * penalty, 6)
    for column, expected, tolerance in (
        ("score_route", route, metre),
        ("score_safety", multiplier * meta["lane_keep_penalty"], 2e-6),
        ("score_efficiency", efficiency, 2e-6),
        ("score_penalty", penalty, 0.0),
        ("score_composed", score, 0.0),
    ):
        if not abs(record[column] - expected) <= tolerance:
            raise ValueError(
                f"{record.get('scene_id')}: {column} is {record[column]}, its columns give {expected:.6f}; the record "
                "was changed after it was written or comes from another evaluator"
            )
    return score
