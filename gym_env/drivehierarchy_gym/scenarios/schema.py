"""Typed schema of a scenario file. Metres, seconds, m/s, degrees in files; world frame as in `state`.

A place is written in one of three ways: on a lane, at plain coordinates, or relative to the ego's own route.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

BACKGROUND_PREFIXES = ("traffic_", "walker_")
"""Beginnings of the ids of background traffic, which scripted actors must not use."""

Family = Literal[
    "01_pedestrian_encounter",
    "02_obstacle_avoidance",
    "03_turning",
    "04_intersection",
    "05_t_intersection",
    "06_traffic_disturbance",
    "07_sudden_braking",
    "08_merging",
    "09_yielding",
    "10_roundabout",
]
"""The ten families of the paper, Appendix H, in its order."""

MAX_SPEED = 40.0
"""No actor of a scenario is faster than this (m/s)."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
"""Ids are names of folders and files as well."""

Coordinate = Annotated[float, Field(ge=-1e6, le=1e6)]
MovingSpeed = Annotated[float, Field(gt=0, le=MAX_SPEED)]
Channel = Annotated[int, Field(ge=0, le=255)]


class Strict(BaseModel):
    """Unknown keys are errors; instances are immutable and hash by identity of their content."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


# --- places ----------------------------------------------------------------------------------------------------------


class LanePlace(Strict):
    """`pos` metres along a lane (negative counts from its end), `left_m` to the left of its centre."""

    edge: str
    lane: int = Field(0, ge=0)
    pos: float = 0.0
    left_m: float = Field(0.0, ge=-20, le=20)
    turn_deg: float = Field(0.0, ge=-360, le=360)
    """Heading relative to the lane, counter-clockwise."""


class WorldPlace(Strict):
    """Plain coordinates of the road network; heading counter-clockwise from east."""

    x: Coordinate
    y: Coordinate
    heading_deg: float = Field(0.0, ge=-360, le=360)


class RoutePlace(Strict):
    """Relative to the ego's route: `route_m` along it, `left_m` to its left."""

    route_m: float = Field(ge=0)
    left_m: float = Field(0.0, ge=-60, le=60)
    turn_deg: float = Field(0.0, ge=-360, le=360)


def _place_kind(value: Any) -> str:
    """Tag of a place by the key that only its kind has, so that an error speaks of one kind and not of all three."""
    keys = value if isinstance(value, dict) else vars(value) if isinstance(value, BaseModel) else ()
    return "on route" if "route_m" in keys else "on lane" if "edge" in keys else "coordinates"


Place = Annotated[
    Annotated[LanePlace, Tag("on lane")]
    | Annotated[WorldPlace, Tag("coordinates")]
    | Annotated[RoutePlace, Tag("on route")],
    Discriminator(_place_kind),
]


# --- triggers --------------------------------------------------------------------------------------------------------


class AtTime(Strict):
    """True from `seconds` after the start of the episode."""

    type: Literal["at_time"] = "at_time"
    seconds: float = Field(ge=0)


class EgoWithin(Strict):
    """True once the ego's centre is within `meters` of the actor's own centre (or of `place`)."""

    type: Literal["ego_within"] = "ego_within"
    meters: float = Field(gt=0)
    place: Place | None = None


class EgoPasses(Strict):
    """True once the ego's progress along its route reaches `route_m`."""

    type: Literal["ego_passes"] = "ego_passes"
    route_m: float = Field(ge=0)


class EgoArrivesIn(Strict):
    """True once the ego, at its present speed (at least 1 m/s), would reach `route_m` within `seconds`.

    The way to time a conflict: it adapts to how fast the ego really drives.
    """

    type: Literal["ego_arrives_in"] = "ego_arrives_in"
    route_m: float = Field(ge=0)
    seconds: float = Field(gt=0)


class OtherActor(Strict):
    """True once another actor's speed is at most (or at least) a bound, or its own path has begun (`started`)."""

    type: Literal["actor_state"] = "actor_state"
    actor: str
    speed_at_most: float | None = Field(None, ge=0)
    speed_at_least: float | None = Field(None, ge=0)
    started: bool | None = None

    @model_validator(mode="after")
    def _one_condition(self) -> OtherActor:
        given = [v for v in (self.speed_at_most, self.speed_at_least, self.started) if v is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of speed_at_most, speed_at_least, started")
        return self


class AllOf(Strict):
    """True once every one of its triggers has fired."""

    type: Literal["all_of"] = "all_of"
    triggers: tuple[Trigger, ...] = Field(min_length=2)


Trigger = Annotated[AtTime | EgoWithin | EgoPasses | EgoArrivesIn | OtherActor | AllOf, Field(discriminator="type")]


# --- behaviours ------------------------------------------------------------------------------------------------------


class BrakeHard(Strict):
    """Brake to `to_speed` at `decel`, hold it for `hold_seconds`, then drive on (for ever when None)."""

    type: Literal["brake_hard"] = "brake_hard"
    decel: float = Field(7.0, gt=0, le=12)
    to_speed: float = Field(0.0, ge=0, le=MAX_SPEED)
    hold_seconds: float | None = Field(3.0, ge=0)


class SetSpeed(Strict):
    """Change to `speed` at `accel` m/s² and keep it, safe distances still respected unless `ignore_traffic`."""

    type: Literal["set_speed"] = "set_speed"
    speed: float = Field(ge=0, le=MAX_SPEED)
    accel: float = Field(2.5, gt=0, le=12)
    ignore_traffic: bool = False


class CutIn(Strict):
    """Move to the neighbouring lane within `seconds`, whoever is there."""

    type: Literal["cut_in"] = "cut_in"
    side: Literal["left", "right"]
    seconds: float = Field(2.0, gt=0, le=10)


class RunLight(Strict):
    """Ignore signals and right of way from now on."""

    type: Literal["run_light"] = "run_light"


class Wander(Strict):
    """Weave inside the lane: a sine of `amplitude` metres and `period` seconds."""

    type: Literal["wander"] = "wander"
    amplitude: float = Field(0.5, gt=0, le=1.5)
    period: float = Field(4.0, ge=1)


class Resume(Strict):
    """Give the vehicle back to the ordinary rules of traffic."""

    type: Literal["resume"] = "resume"


Behaviour = Annotated[BrakeHard | SetSpeed | CutIn | RunLight | Wander | Resume, Field(discriminator="type")]


class Reaction(Strict):
    """Do something once, when a trigger fires. Reactions of one actor fire in their order."""

    when: Trigger
    do: Behaviour


# --- motions ---------------------------------------------------------------------------------------------------------


class Traffic(Strict):
    """A vehicle that the traffic simulator drives. `start` is where its *front bumper* stands, as in SUMO."""

    type: Literal["traffic"] = "traffic"
    start: LanePlace
    edges: tuple[str, ...] = ()
    """Edges after the start's own; gaps are filled with the shortest way."""
    speed: float = Field(0.0, ge=0, le=MAX_SPEED)
    max_speed: float | None = Field(None, gt=0, le=MAX_SPEED)
    at_route_end: Literal["stop", "continue", "leave"] = "leave"


class Path(Strict):
    """Any body moved along points in straight lines, exactly: cross a road, walk away."""

    type: Literal["path"] = "path"
    points: tuple[Place, ...] = Field(min_length=2)
    speed: MovingSpeed | tuple[MovingSpeed, ...]
    """One speed, or one for every segment."""
    when: Trigger | None = None
    """It stands at the first point until this fires; at once when None."""
    acceleration: float | None = Field(None, gt=0, le=12)


class Drive(Strict):
    """A vehicle moved along the lanes of `edges`, exactly: it keeps its speed whoever is in the way."""

    type: Literal["drive"] = "drive"
    start: LanePlace
    edges: tuple[str, ...] = ()
    """Edges after the start's own; gaps are filled with the shortest way."""
    lanes: dict[str, int] = Field(default_factory=dict)
    """Lane index to take on an edge; default: the lane that continues the way."""
    goal: LanePlace | None = None
    """Where it stops; default: the end of the last edge."""
    speed: float = Field(gt=0, le=MAX_SPEED)
    when: Trigger | None = None
    """It stands at its start until this fires; at once when None."""
    acceleration: float | None = Field(None, gt=0, le=12)


class Stand(Strict):
    """A body that stays: a parked car, a cone, a barrier, somebody waiting."""

    type: Literal["stand"] = "stand"
    place: Place


class Actor(Strict):
    """One scripted body."""

    id: str = Field(pattern=NAME)
    model: str
    colour: tuple[Channel, Channel, Channel] | None = None
    motion: Annotated[Traffic | Drive | Path | Stand, Field(discriminator="type")]
    reactions: tuple[Reaction, ...] = ()
    seen_by_traffic: bool = True
    """Whether other traffic brakes for it and steers round it; a vehicle of the traffic is always seen."""

    @model_validator(mode="after")
    def _reactions_need_traffic(self) -> Actor:
        if self.reactions and not isinstance(self.motion, Traffic):
            raise ValueError(f"actor {self.id!r}: reactions need motion type 'traffic', found {self.motion.type!r}")
        return self


# --- scenario --------------------------------------------------------------------------------------------------------


class Weather(Strict):
    """Look of the world; it changes pictures, never physics."""

    sky: Literal["clear", "overcast", "rain", "fog"] = "clear"
    sun_altitude_deg: float = Field(45.0, ge=-20, le=90)
    """Below 5 degrees it is dusk, below 0 night."""


class BackgroundTraffic(Strict):
    """Random traffic around the route, drawn from the episode's seed."""

    vehicles: int = Field(0, ge=0, le=400)
    pedestrians: int = Field(0, ge=0, le=400)
    radius_m: float = Field(300.0, gt=0, le=10_000)


class Ego(Strict):
    """Where the ego starts, the roads it takes, and where it has to arrive."""

    start: Place
    edges: tuple[str, ...]
    """Edges of the route in order; gaps are filled with the shortest way."""
    goal: Place | None = None
    """Default: the end of the last edge."""
    lanes: dict[str, int] = Field(default_factory=dict)
    """Lane index to follow on an edge; default: the rightmost lane that continues the route."""
    start_speed: float = Field(0.0, ge=0, le=MAX_SPEED)
    reference_line: Literal["lanes", "edges"] = "lanes"
    """What progress is measured on: lane centres, or the middle of the whole edges as in the release (facts §3.7)."""


class Scenario(Strict):
    """One closed-loop scenario."""

    schema_version: Literal[1] = 1
    id: str = Field(pattern=NAME)
    family: Family
    description: str
    network: str = "a10kw"
    """Name of a network in the package, or a path to a SUMO net (relative to the scenario file)."""
    ego: Ego
    actors: tuple[Actor, ...] = ()
    traffic: BackgroundTraffic = BackgroundTraffic()
    weather: Weather = Weather()
    reference_duration: float | None = Field(None, gt=0)
    """Reference time of the efficiency term (s). Default: route length / 5.56 m/s, the release's fallback."""
    duration: float | None = Field(None, gt=0)
    """Scenario duration (s); the time limit is twice this. Default: the reference duration plus 10 s."""
    blocked_ticks: int = Field(100, ge=1)

    @model_validator(mode="after")
    def _unique_actors(self) -> Scenario:
        seen: set[str] = set()
        for actor in self.actors:
            if actor.id in seen or actor.id == "ego":
                raise ValueError(f"actor id {actor.id!r} is used twice (the ego's id is 'ego')")
            if actor.id.startswith(BACKGROUND_PREFIXES):
                raise ValueError(f"actor id {actor.id!r}: {' and '.join(BACKGROUND_PREFIXES)} begin background ids")
            seen.add(actor.id)
        return self


def explain(path: os.PathLike[str], error: ValidationError) -> str:
    """A line for every fault of a scenario read from `path`: the file, the field, what is wrong, what was found."""
    lines = []
    for fault in error.errors():
        where = ".".join(str(part) for part in fault["loc"]) or "scenario"
        text = repr(fault["input"])
        found = "" if fault["type"] == "missing" else f", found {text if len(text) <= 80 else text[:77] + '...'}"
        lines.append(f"{os.fspath(path)}: {where}: {fault['msg']}{found}")
    return "\n".join(lines)
