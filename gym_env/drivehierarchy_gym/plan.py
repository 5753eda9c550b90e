"""A scenario resolved on its road network: what a backend needs to build one episode, free of files and lookups.

`scenarios.resolve` makes plans; backends only read them. Plans pickle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.scenarios.schema import Reaction, Trigger, Weather


@dataclass(frozen=True)
class TrafficDrive:
    """Driven by the traffic simulator along `edges`; front bumper at `lane_pos` (m), `speed` (m/s) at the start."""

    edges: tuple[str, ...]
    lane_index: int
    lane_pos: float
    speed: float
    max_speed: float | None = None
    """Own top speed (m/s); None leaves the class default of the traffic simulator."""
    at_route_end: Literal["stop", "continue", "leave"] = "leave"
    """`stop` and `continue` are the release's two modes (facts §3.10); `leave` removes the vehicle there."""


@dataclass(frozen=True)
class PathDrive:
    """Moved along `path` exactly: `speeds[i]` (m/s) holds on the way to point i + 1; stands still at its end.

    `start` delays the motion until the trigger fires; the body stands at the first point until then.
    """

    path: Polyline
    speeds: tuple[float, ...]
    start: Trigger | None = None
    acceleration: float | None = None
    """Limit of speed changes (m/s²); None changes speed at once."""


@dataclass(frozen=True)
class WalkDrive:
    """A background pedestrian that the traffic simulator walks along `edges` (sidewalks and crossings)."""

    edges: tuple[str, ...]
    lane_pos: float


@dataclass(frozen=True)
class StandDrive:
    """Stays where it is."""


Drive = TrafficDrive | PathDrive | WalkDrive | StandDrive


@dataclass(frozen=True)
class ActorPlan:
    """One body: where it starts, how it moves, and what it does when something happens."""

    id: str
    model: str
    """Key of `catalog.ACTOR_MODELS`."""
    pose: Pose
    """Box centre and heading at its start."""
    drive: Drive
    colour: tuple[int, int, int]
    reactions: tuple[Reaction, ...] = ()
    depart_time: float = 0.0
    """Seconds; only background traffic enters later than 0."""
    background: bool = False
    """Background bodies may enter late or not at all; all others must stand in the world after `reset`."""
    seen_by_traffic: bool = True
    """Whether traffic brakes for a body on a path or a standing one; the release hides its walkers (facts §3.10)."""


@dataclass(frozen=True)
class EpisodePlan:
    """One episode. Distances in metres, times in seconds, poses in the world frame."""

    scenario_id: str
    family: str
    network_file: Path
    """The SUMO net; `road.network.load_network(network_file)` is cached per process."""
    start: Pose
    """Ego box centre and heading."""
    start_speed: float
    route: Polyline
    """Reference route from the start to the goal, used by score, prompt and cameras."""
    lane_route: Polyline
    """What a good driver follows along the same edges: lane centres and junction lanes. For privileged agents."""
    route_edges: tuple[str, ...]
    route_source: str
    """`route_edges`, `reference_points` or `via_points_destination` (facts §3.7)."""
    goal: tuple[float, float]
    goal_radius: float
    scenario_duration: float
    """Longest actor duration; twice this is the time limit (facts §3.9)."""
    reference_duration: float
    """Ego's reference time of the efficiency term (facts §4)."""
    blocked_ticks: int
    """Consecutive ticks below 1 km/h that are still allowed (100 in the release)."""
    weather: Weather
    seed: int
    actors: tuple[ActorPlan, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """Warnings of the import or of the resolution, shown to the user and kept with the result."""
