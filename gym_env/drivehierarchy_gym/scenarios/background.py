"""Background traffic: vehicles and walkers drawn from the episode's seed, around the ego's route.

A pure function of network, route and seed, so that every backend can be given the same traffic.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_LENGTH
from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.plan import ActorPlan, TrafficDrive, WalkDrive
from drivehierarchy_gym.road.elements import Edge, Lane
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.scenarios.schema import BACKGROUND_PREFIXES, BackgroundTraffic

MODEL_WEIGHTS = {"car": 46, "suv": 18, "van": 10, "truck": 6, "bus": 4, "motorcycle": 6, "bicycle": 10}
"""Mix of the vehicles."""
LARGE_MODELS = frozenset({"truck", "bus"})
LEAST_SPEED_OF_LARGE = 9.0
"""m/s; lorries and buses keep out of roads with a lower limit (30 km/h streets)."""
TOP_SPEED_BESIDE_BICYCLES = 17.0
"""m/s; cyclists keep out of roads with a higher limit."""
LATE_SHARE = 0.3
LATEST_ENTRY = 60.0
"""Share of the vehicles that enters after the start of the episode, up to this time (s)."""
ROUTE_LENGTH = 2500.0
WALK_LENGTH = 400.0
"""Routes end once they are this long (m), or where the roads end."""
CLEARANCE = 7.0
"""Free metres between two bodies at the start."""
COMFORTABLE_BRAKING = 2.0
"""m/s²; nobody starts faster than lets it stop like this before the next body or the end of its lane."""
SPEED_SHARES = (0.7, 0.95)
"""Starting speeds lie between these shares of the speed limit."""
ATTEMPTS = 30
"""Places tried for one body before it is left out."""
_ROUTE_SAMPLE = 25.0


def background_traffic(
    network: RoadNetwork,
    start: Pose,
    route: Polyline,
    traffic: BackgroundTraffic,
    seed: int,
    placed: Sequence[ActorPlan] = (),
) -> tuple[ActorPlan, ...]:
    """Vehicles and walkers within `traffic.radius_m` of the route, clear of the ego's start and of `placed` actors.

    Fewer than asked for where the roads have no room for more. Most vehicles stand at time 0, the others depart later.
    Equal arguments give equal plans.
    """
    rng = random.Random(f"background:{seed}")
    area = _Area(network, route, traffic.radius_m)
    taken = [(start.x, start.y, EGO_LENGTH / 2)]
    taken += [(actor.pose.x, actor.pose.y, ACTOR_MODELS[actor.model].length / 2) for actor in placed]
    vehicles = list(_vehicles(network, area, traffic.vehicles, rng, taken))
    walkers = _walkers(network, area, traffic.pedestrians, rng)
    return (*_with_speeds(network, vehicles, taken, rng), *walkers)


class _Area:
    """What lies within `radius` metres of the route; `lanes` are the normal lanes that come into it."""

    def __init__(self, network: RoadNetwork, route: Polyline, radius: float) -> None:
        arcs = np.arange(0.0, route.length + _ROUTE_SAMPLE, _ROUTE_SAMPLE)
        self._marks = np.array([route.at(arc)[:2] for arc in arcs])
        self._reach2 = (radius + _ROUTE_SAMPLE / 2) ** 2
        self.lanes = [
            lane
            for lane in network.lanes.values()
            if lane.kind == "normal" and (self._distances2(lane.shape.points) <= self._reach2).any()
        ]

    def contains(self, x: float, y: float) -> bool:
        return bool((self._distances2(np.array([(x, y)])) <= self._reach2).any())

    def _distances2(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.square(points[:, None, :] - self._marks[None, :, :]).sum(axis=2)


# --- vehicles --------------------------------------------------------------------------------------------------------


def _vehicles(
    network: RoadNetwork, area: _Area, count: int, rng: random.Random, taken: list[tuple[float, float, float]]
) -> Iterator[ActorPlan]:
    """Vehicles in free places, at speed 0; `taken` grows by those that stand at time 0."""
    roads = {name: _roads(area.lanes, name) for name in MODEL_WEIGHTS}
    names = [name for name in MODEL_WEIGHTS if roads[name][0]]
    if not names:
        return
    weights = [MODEL_WEIGHTS[name] for name in names]
    for number in range(count):
        name = rng.choices(names, weights)[0]
        late = rng.random() < LATE_SHARE
        departure = round(rng.uniform(1.0, LATEST_ENTRY), 2) if late else 0.0
        model = ACTOR_MODELS[name]
        colour = rng.choice(model.colours)
        lanes, lengths = roads[name]
        for _ in range(ATTEMPTS):
            lane = rng.choices(lanes, cum_weights=lengths)[0]
            pos = round(rng.uniform(model.length + 1.0, lane.length - 1.0), 2)
            front = network.lane_pose(lane.id, pos)
            x, y = front.to_world(-model.length / 2, 0.0)
            free = late or all(math.hypot(x - ox, y - oy) > CLEARANCE + model.length / 2 + o for ox, oy, o in taken)
            if free and area.contains(x, y):
                break
        else:
            continue
        if not late:
            taken.append((x, y, model.length / 2))
        assert model.sumo_class is not None
        edges = _random_route(network, lane, model.sumo_class, rng)
        yield ActorPlan(
            f"{BACKGROUND_PREFIXES[0]}{number:03d}",
            name,
            Pose(x, y, front.yaw),
            TrafficDrive(edges, lane.index, pos, 0.0),
            colour,
            depart_time=departure,
            background=True,
        )


def _roads(near: list[Lane], name: str) -> tuple[list[Lane], list[float]]:
    """Lanes for a model, and their summed lengths as cumulative weights."""
    model = ACTOR_MODELS[name]
    assert model.sumo_class is not None
    lanes = [
        lane
        for lane in near
        if lane.allows(model.sumo_class)
        and lane.length > model.length + 6.0
        and not (name in LARGE_MODELS and lane.speed < LEAST_SPEED_OF_LARGE)
        and not (name == "bicycle" and lane.speed > TOP_SPEED_BESIDE_BICYCLES)
    ]
    return lanes, list(accumulate(lane.length for lane in lanes))


def _random_route(network: RoadNetwork, lane: Lane, vclass: str, rng: random.Random) -> tuple[str, ...]:
    """Edges of a random drive that starts on `lane` and turns round only at dead ends."""
    successors = network.successors(vclass)
    from_lane = {network.lanes[c.to_lane].edge_id for c in network.connections_from(lane.id)}
    edges = [network.edge(lane.edge_id)]
    length = edges[0].length
    while length < ROUTE_LENGTH:
        options = sorted(successors[edges[-1].id])
        if len(edges) == 1:  # without a lane change in the first metres, where there is a choice
            options = [edge for edge in options if edge in from_lane] or options
        onward = [edge for edge in options if not _turns_back(edges[-1], network.edge(edge))] or options
        if not onward:
            break
        edges.append(network.edge(rng.choice(onward)))
        length += edges[-1].length
    return tuple(edge.id for edge in edges)


def _turns_back(one: Edge, other: Edge) -> bool:
    return one.from_node == other.to_node and one.to_node == other.from_node


def _with_speeds(
    network: RoadNetwork,
    vehicles: list[ActorPlan],
    taken: list[tuple[float, float, float]],
    rng: random.Random,
) -> Iterator[ActorPlan]:
    """The vehicles with starting speeds that let each stop before whatever stands nearest, or its lane ends."""
    for plan in vehicles:
        drive, half = plan.drive, ACTOR_MODELS[plan.model].length / 2
        assert isinstance(drive, TrafficDrive)
        lane = network.edge(drive.edges[0]).lanes[drive.lane_index]
        others = [(x, y, o) for x, y, o in taken if (x, y) != (plan.pose.x, plan.pose.y)]
        gaps = [math.hypot(x - plan.pose.x, y - plan.pose.y) - half - o for x, y, o in others]
        room = max(min([*gaps, lane.length - drive.lane_pos]) - 2.0, 0.0)
        speed = min(lane.speed * rng.uniform(*SPEED_SHARES), math.sqrt(2 * COMFORTABLE_BRAKING * room))
        if plan.model == "bicycle":
            speed = min(speed, 4.0)
        speed = round(speed, 2)
        yield ActorPlan(
            plan.id,
            plan.model,
            plan.pose,
            TrafficDrive(drive.edges, drive.lane_index, drive.lane_pos, speed),
            plan.colour,
            depart_time=plan.depart_time,
            background=True,
        )


# --- walkers ---------------------------------------------------------------------------------------------------------


def _walkers(network: RoadNetwork, area: _Area, count: int, rng: random.Random) -> Iterator[ActorPlan]:
    lanes = [lane for lane in area.lanes if lane.is_sidewalk and lane.length > 4.0]
    if not lanes:
        return
    neighbours = _footways(network)
    lengths = list(accumulate(lane.length for lane in lanes))
    for number in range(count):
        for _ in range(ATTEMPTS):
            lane = rng.choices(lanes, cum_weights=lengths)[0]
            pos = round(rng.uniform(1.0, lane.length - 1.0), 2)
            pose = network.lane_pose(lane.id, pos)
            if area.contains(pose.x, pose.y):
                break
        else:
            continue
        yield ActorPlan(
            f"{BACKGROUND_PREFIXES[1]}{number:03d}",
            "pedestrian",
            pose,
            WalkDrive(_random_walk(network, lane, neighbours, rng), pos),
            rng.choice(ACTOR_MODELS["pedestrian"].colours),
            background=True,
        )


def _footways(network: RoadNetwork) -> dict[str, list[str]]:
    """Neighbours of sidewalks, walking areas and crossings: people walk both ways."""
    foot = {lane.id for lane in (*network.sidewalks, *network.walking_areas, *network.crossings)}
    neighbours: dict[str, list[str]] = {lane: [] for lane in foot}
    for connection in network.connections:
        one, other = connection.from_lane, connection.to_lane
        if one in foot and other in foot:
            neighbours[one].append(other)
            neighbours[other].append(one)
    return neighbours


def _random_walk(
    network: RoadNetwork, lane: Lane, neighbours: dict[str, list[str]], rng: random.Random
) -> tuple[str, ...]:
    """Edges of a random walk over sidewalks, across at most one crossing at a time, never straight back."""
    walked = [lane]
    length = lane.length
    entered_by = ""
    while length < WALK_LENGTH:
        options = []
        for area in neighbours[walked[-1].id]:
            if area == entered_by:
                continue
            for way in neighbours[area]:
                beyond = [(way, area)]
                if network.lanes[way].kind == "crossing":
                    beyond = [(n, a) for a in neighbours[way] if a != area for n in neighbours[a]]
                options += [(n, a) for n, a in beyond if network.lanes[n].is_sidewalk and n != walked[-1].id]
        if not options:
            break
        following, entered_by = rng.choice(sorted(set(options)))
        walked.append(network.lanes[following])
        length += walked[-1].length
    return tuple(lane.edge_id for lane in walked)
