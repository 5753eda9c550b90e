"""Where the others will be in the next seconds: along their scripted paths, along lanes, or straight on.

The predictions are a privileged driver's: it knows the road network and the scripted paths, but not what triggers
somebody, nor where a vehicle of the traffic turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.compiled import compiled
from drivehierarchy_gym.geometry import Polyline, wrap_angle
from drivehierarchy_gym.plan import ActorPlan, EpisodePlan, PathDrive, StandDrive, TrafficDrive
from drivehierarchy_gym.road.elements import Lane
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.state import ActorState, Snapshot

LAYER = 0.25
"""Seconds between the instants of a prediction."""
LAYERS = 33
"""Instants, the present one included: 8 seconds."""
PERSON_SECONDS = 5.0
"""A person is not foreseen beyond this."""
STANDING = 0.15
"""m/s; slower is standing."""
SETTING_OFF = 1.5
"""m/s² with which a vehicle may speed up to its lane's limit."""
BRAKING, HARDEST_BRAKING = 1.0, 8.0
"""m/s²: who slows down by more than the first is foreseen to go on doing so, by at most the second."""
MAX_BRANCHES = 4
"""Ways through the junctions ahead that are considered for one vehicle."""


@dataclass(frozen=True)
class Track:
    """One way a body may move: box centres and headings (LAYERS,), NaN where nothing is foreseen."""

    actor: ActorState
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    yaw: NDArray[np.float64]
    likely: bool
    """False for what is merely possible: a turn it may take, a speed it may reach."""


@dataclass(frozen=True)
class Body:
    """One body as the driver understands it."""

    state: ActorState
    plan: ActorPlan | None
    tracks: tuple[Track, ...]
    standing_seconds: float
    parked: bool
    """It is not going to move on its own: an obstacle, not a queue."""
    may_start: bool
    """A script moves it once something happens; it stands until then."""
    path: Polyline | None
    """Its scripted path, where it has one."""


class Predictor:
    """Follows all bodies of one episode over time. `update` once per decision."""

    def __init__(self, plan: EpisodePlan, network: RoadNetwork) -> None:
        self._network = network
        self._plans = {actor.id: actor for actor in plan.actors}
        self._previous: dict[str, ActorState] = {}
        self._stood_since: dict[str, float] = {}
        self._previous_time: float | None = None
        self._ways: dict[tuple[str, int, tuple[str, ...]], list[_Way]] = {}

    def update(self, snapshot: Snapshot, reach: float) -> list[Body]:
        """Bodies within `reach` metres of the ego, with their tracks from `snapshot.time` on."""
        bodies = []
        elapsed = 0.0 if self._previous_time is None else snapshot.time - self._previous_time
        current: dict[str, ActorState] = {}
        for actor in snapshot.actors:
            current[actor.id] = actor
            if actor.speed > STANDING or actor.id not in self._stood_since:
                self._stood_since[actor.id] = snapshot.time
            if math.hypot(actor.x - snapshot.ego.x, actor.y - snapshot.ego.y) <= reach:
                bodies.append(self._body(actor, snapshot.time, elapsed))
        self._previous, self._previous_time = current, snapshot.time
        return bodies

    def _body(self, actor: ActorState, time: float, elapsed: float) -> Body:
        plan = self._plans.get(actor.id)
        drive = None if plan is None else plan.drive
        stood = time - self._stood_since[actor.id]
        path = drive.path if isinstance(drive, PathDrive) else None
        parked = ACTOR_MODELS[actor.model].contact == "static" or isinstance(drive, StandDrive)
        may_start = False
        tracks: tuple[Track, ...]
        if isinstance(drive, PathDrive):
            arc = drive.path.project(actor.x, actor.y).arc
            parked = arc >= drive.path.length - 0.3
            may_start = not parked and actor.speed <= STANDING
            tracks = (_hold(actor),) if actor.speed <= STANDING else (_along_script(actor, drive, arc),)
        elif actor.speed <= STANDING:
            if isinstance(drive, TrafficDrive) and drive.at_route_end == "stop":
                parked = self._on_edge(actor, drive.edges[-1])
            tracks = (_hold(actor),)
        elif ACTOR_MODELS[actor.model].contact == "vehicle":
            tracks = self._along_lanes(actor, drive if isinstance(drive, TrafficDrive) else None, elapsed)
        else:
            tracks = (_straight(actor, until=PERSON_SECONDS),)
        return Body(actor, plan, tracks, stood, parked, may_start, path)

    def _on_edge(self, actor: ActorState, edge_id: str) -> bool:
        lane = self._lane_of(actor)
        return lane is not None and lane[0].edge_id == edge_id

    def _lane_of(self, actor: ActorState) -> tuple[Lane, float, float] | None:
        """Lane a vehicle drives on, its arc length there and its offset to the left; None away from all lanes."""
        vclass = ACTOR_MODELS[actor.model].sumo_class or "passenger"
        best: tuple[float, Lane, float, float] | None = None
        for hit in self._network.nearest_lanes(actor.x, actor.y, 2.5, vclass, internal=True):
            arc, offset = hit.lane.shape.project(actor.x, actor.y)
            turn = abs(wrap_angle(hit.lane.shape.at(arc).yaw - actor.yaw))
            if turn < math.radians(50) and (best is None or hit.distance + 2.0 * turn < best[0]):
                best = hit.distance + 2.0 * turn, hit.lane, arc, offset
        return None if best is None else best[1:]

    def _along_lanes(self, actor: ActorState, drive: TrafficDrive | None, elapsed: float) -> tuple[Track, ...]:
        found = self._lane_of(actor)
        if found is None:
            return (_straight(actor),)
        lane, arc, offset = found
        sideways = braking = 0.0
        before = self._previous.get(actor.id)
        if before is not None and elapsed > 0:
            braking = (before.speed - actor.speed) / elapsed
            past = lane.shape.project(before.x, before.y)
            if abs(past.offset) < 5 and lane.kind == "normal":
                sideways = float(np.clip((offset - past.offset) / elapsed, -2.0, 2.0))
        braking = min(braking, HARDEST_BRAKING) if braking > BRAKING else 0.0
        reach = arc + actor.speed * LAYER * LAYERS + 50.0
        ways = self._ways_from(lane, reach, () if drive is None else drive.edges)
        tracks = []
        for i, way in enumerate(ways):
            for speeding_up in (False, True):
                arcs = way.advance(arc, actor.speed, SETTING_OFF if speeding_up else -braking)
                pose = way.poses(arcs, offset, sideways)
                tracks.append(Track(actor, *pose, likely=not speeding_up and (i == 0 or len(ways) <= 2)))
        return tuple(tracks)

    def _ways_from(self, lane: Lane, reach: float, wanted: tuple[str, ...]) -> list[_Way]:
        rounded = math.ceil(reach / 50.0) * 50
        key = (lane.id, rounded, wanted)
        if key not in self._ways:
            self._ways[key] = [_Way(lanes) for lanes in _ways(self._network, lane, rounded, frozenset(wanted))]
        return self._ways[key]


class _Way:
    """Lanes one after the other as one line, with their speed limits."""

    def __init__(self, lanes: tuple[Lane, ...]) -> None:
        self.line = Polyline.through(np.concatenate([lane.shape.points for lane in lanes]))
        self._ends = np.cumsum([lane.shape.length for lane in lanes])
        self._limits = np.array([lane.speed for lane in lanes])

    def advance(self, arc: float, speed: float, acceleration: float) -> NDArray[np.float64]:
        """Arc lengths (LAYERS,) with an acceleration up to the limit or down to standstill; slower where it turns."""
        arcs: NDArray[np.float64] = _advance(self._ends, self._limits, arc, speed, acceleration)
        return arcs

    def poses(
        self, arcs: NDArray[np.float64], offset: float, sideways: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """x, y, yaw (LAYERS,) at `arcs`, `offset` to the left and drifting at `sideways` m/s for up to 2 s."""
        line = self.line
        i = np.clip(np.searchsorted(line.arcs, arcs, side="right") - 1, 0, len(line.points) - 2)
        d = line.points[i + 1] - line.points[i]
        yaw = np.arctan2(d[:, 1], d[:, 0])
        length = np.hypot(d[:, 0], d[:, 1])
        along = (arcs - line.arcs[i]) / length  # beyond 1 on the last segment: straight on
        times = np.minimum(np.arange(LAYERS) * LAYER, 2.0)
        left = offset + (sideways * times if abs(sideways) > 0.25 else 0.0)
        x = line.points[i, 0] + along * d[:, 0] - np.sin(yaw) * left
        y = line.points[i, 1] + along * d[:, 1] + np.cos(yaw) * left
        return x, y, yaw


@compiled
def _advance(ends, limits, arc, speed, acceleration):  # type: ignore[no-untyped-def]
    arcs = np.empty(LAYERS)
    for k in range(LAYERS):
        arcs[k] = arc
        i = 0
        while i < len(ends) - 1 and ends[i] <= arc:
            i += 1
        limit = limits[i]
        if acceleration > 0.0:
            speed = min(speed + acceleration * LAYER, max(limit, speed))
        elif acceleration < 0.0:
            speed = max(speed + acceleration * LAYER, 0.0)
        arc += (limit if i > 0 and limit < speed else speed) * LAYER
    return arcs


def _ways(network: RoadNetwork, lane: Lane, reach: float, wanted: frozenset[str]) -> list[tuple[Lane, ...]]:
    """Lane sequences from `lane` that are at least `reach` long or end, at most MAX_BRANCHES, straight ones first."""
    finished: list[tuple[Lane, ...]] = []
    open_ways: list[tuple[tuple[Lane, ...], float]] = [((lane,), lane.shape.length)]
    while open_ways and len(finished) < MAX_BRANCHES:
        way, length = open_ways.pop(0)
        connections = [] if length >= reach else list(network.connections_from(way[-1].id))
        on_route = [c for c in connections if network.lane(c.to_lane).edge_id in wanted]
        connections = sorted(on_route or connections, key=lambda c: c.direction != "s")
        if not connections:
            finished.append(way)
        for connection in connections:
            via = () if connection.via is None else (network.lane(connection.via),)
            following = via or (network.lane(connection.to_lane),)
            open_ways.append(((*way, *following), length + sum(part.shape.length for part in following)))
    return finished or [(lane,)]


def _hold(actor: ActorState) -> Track:
    ones = np.ones(LAYERS)
    return Track(actor, actor.x * ones, actor.y * ones, actor.yaw * ones, likely=True)


def _straight(actor: ActorState, until: float = math.inf) -> Track:
    times: NDArray[np.float64] = np.arange(LAYERS, dtype=np.float64) * LAYER
    times[times > until] = np.nan
    x = actor.x + math.cos(actor.yaw) * actor.speed * times
    y = actor.y + math.sin(actor.yaw) * actor.speed * times
    return Track(actor, x, y, np.full(LAYERS, actor.yaw), likely=True)


def _along_script(actor: ActorState, drive: PathDrive, arc: float) -> Track:
    path = drive.path
    arcs = np.empty(LAYERS)
    speed = actor.speed
    for k in range(LAYERS):
        arcs[k] = arc
        segment = min(int(np.searchsorted(path.arcs, arc, side="right")) - 1, len(drive.speeds) - 1)
        wanted = drive.speeds[segment]
        if drive.acceleration is None:
            speed = wanted
        else:
            change = drive.acceleration * LAYER
            speed = min(max(wanted, speed - change), speed + change)
        arc = min(arc + speed * LAYER, path.length)
    poses = np.array([path.at(a) for a in arcs])
    return Track(actor, poses[:, 0], poses[:, 1], poses[:, 2], likely=True)
