"""Which drives the sim edition is made of: scenarios of the open suite, each time in another light and with other
things beside the road, and free drives through town.

A drive is a pure function of seed, split and number. Splits share no drive, no scenario and no road to start on.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_LENGTH
from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import Polyline, Pose, box_corners
from drivehierarchy_gym.plan import ActorPlan, Drive, EpisodePlan, PathDrive, StandDrive, TrafficDrive
from drivehierarchy_gym.road.default_map import default_network_path
from drivehierarchy_gym.road.elements import Edge
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.scenarios.background import background_traffic
from drivehierarchy_gym.scenarios.resolve import FALLBACK_REFERENCE_SPEED, GOAL_RADIUS
from drivehierarchy_gym.scenarios.schema import BackgroundTraffic, BrakeHard, EgoArrivesIn, EgoPasses, Reaction, Weather
from drivehierarchy_gym.scenarios.suites import load_suite

from ..items import SPLITS, Split

WEATHERS: tuple[tuple[Weather, int], ...] = (
    (Weather(sky="clear", sun_altitude_deg=60), 4),
    (Weather(sky="clear", sun_altitude_deg=35), 4),
    (Weather(sky="clear", sun_altitude_deg=18), 3),
    (Weather(sky="clear", sun_altitude_deg=2), 2),
    (Weather(sky="clear", sun_altitude_deg=-9), 1),
    (Weather(sky="overcast", sun_altitude_deg=40), 4),
    (Weather(sky="overcast", sun_altitude_deg=3), 1),
    (Weather(sky="rain", sun_altitude_deg=35), 3),
    (Weather(sky="fog", sun_altitude_deg=30), 1),
)
"""Looks of the world with their weights: day, low sun, dusk, night, and grey, wet and foggy days."""
SUN_SPREAD = 0.15
"""Share by which the sun stands higher or lower than that, so that no two drives have the same light."""

SCENARIO_SHARE = 0.3
"""Share of the drives that are scenarios of the open suite; the others are free."""
SPLIT_SHARES: dict[Split, int] = {"test": 7, "train": 2, "validation": 1}
"""Of ten scenarios of a family, and of ten roads to start on, so many belong to a split."""

CROSSING_IN_THE_PLANE = (1763.0, 2346.0)
"""Here a motorway bridge crosses a road on this flat map, and traffic drives through traffic."""
KEEP_AWAY = 170.0
"""Metres that routes keep from there."""

ROUTE_LENGTH = (330.0, 520.0)
"""A free drive's route is at least the first and ends soon after the second length (m)."""
START_POSITION = 8.0
"""Metres along its first lane at which the ego's box centre starts."""
START_SPEED_SHARE, FASTEST_START = 0.6, 9.0
"""Speed at the start: this share of the limit, at most this (m/s)."""
FASTEST_ROAD = 20.0
"""m/s; free drives stay off the motorway, where there is nobody to ask about."""
NO_PATIENCE = 1_000_000
"""Ticks of standing before a drive counts as blocked: never, a drive for pictures may wait."""

PARKED, STANDING_PERSONS, CROSSING_PERSONS, STROLLERS = (0, 14), (0, 8), (0, 4), (1, 6)
CYCLISTS, CONE_ROWS = (0, 4), (0, 5)
"""Least and largest number of bodies beside and on the road of a free drive."""
PARKED_MODELS = ("car", "car", "suv", "charger", "van", "truck")
LEADER_SHARE = 0.45
"""Share of the free drives with a car ahead that brakes on the way."""
_ATTEMPTS = 200


@dataclass(frozen=True, slots=True)
class DriveRecipe:
    """One drive: its scene id, and what it is made from. `scenario` is None for a free drive."""

    scene_id: str
    split: Split
    seed: str
    scenario: str | None

    def plan(self) -> EpisodePlan:
        """The episode. Raises ScenarioError when the road network allows none."""
        rng = random.Random(self.seed)
        plan = _scenario_plan(self.scenario, rng) if self.scenario else _free_plan(self.split, rng)
        weather = rng.choices([w for w, _ in WEATHERS], [n for _, n in WEATHERS])[0]
        sun = round(weather.sun_altitude_deg * rng.uniform(1 - SUN_SPREAD, 1 + SUN_SPREAD), 2)
        weather = Weather(sky=weather.sky, sun_altitude_deg=sun)
        return replace(plan, scenario_id=self.scene_id, weather=weather, blocked_ticks=NO_PATIENCE)


def recipe(seed: int, split: Split, number: int) -> DriveRecipe:
    """Drive `number` of a split."""
    key = f"drive:{seed}:{split}:{number}"
    rng = random.Random(key)
    scenarios = [name for name, owner in _scenario_splits().items() if owner == split]
    scenario = rng.choice(scenarios) if scenarios and rng.random() < SCENARIO_SHARE else None
    return DriveRecipe(f"{split}-{number:05d}-{scenario or 'free'}", split, key, scenario)


@lru_cache(maxsize=1)
def _scenario_splits() -> dict[str, Split]:
    """Scenario of the open suite -> split, by its place in its family."""
    places: dict[str, int] = {}
    splits = {}
    for entry in load_suite("open").entries.values():
        place = places[entry.group] = places.get(entry.group, -1) + 1
        splits[entry.id] = _split_at(place)
    return splits


def road_split(road: str) -> Split:
    """Split of the drives that may start on a road; the same on every machine."""
    return _split_at(int(hashlib.sha256(road.encode()).hexdigest(), 16))


def _split_at(place: int) -> Split:
    place %= sum(SPLIT_SHARES.values())
    for split in SPLITS:
        place -= SPLIT_SHARES[split]
        if place < 0:
            break
    return split


def _scenario_plan(scenario: str, rng: random.Random) -> EpisodePlan:
    """A scenario of the open suite, with other traffic, and with bodies beside the road where it has none."""
    plan = load_suite("open").plan(scenario, rng.getrandbits(31))
    network = load_network(plan.network_file)
    places = _Places(plan.start)
    for actor in plan.actors:
        places.take(actor.pose.x, actor.pose.y, ACTOR_MODELS[actor.model].length / 2 + 0.6)
        if isinstance(actor.drive, PathDrive):
            path = actor.drive.path
            for arc in np.arange(0.0, path.length, 1.0):
                places.take(*path.at(float(arc))[:2], 1.0)
    beside = (
        *_parked(network, plan.route, rng, places),
        *_cones(network, plan.route, rng, places),
        *_standing_persons(network, plan.route, rng, places),
        *_strollers(network, plan.route, rng),
    )
    actors = (*plan.actors, *(replace(body, id=f"beside_{body.id}") for body in beside))
    return replace(plan, actors=actors)


# --- free drives -----------------------------------------------------------------------------------------------------


def _free_plan(split: Split, rng: random.Random) -> EpisodePlan:
    path = default_network_path()
    network = load_network(path)
    roads = [edge for edge in _roads(network) if road_split(road_name(edge.id)) == split]
    for _ in range(_ATTEMPTS):
        edges = _random_route(network, rng.choice(roads), rng)
        if edges is None:
            continue
        first = network.edge(edges[0])
        lane = next(lane for lane in first.lanes if lane.allows("passenger"))
        start = network.lane_pose(lane.id, START_POSITION)
        last = network.edge(edges[-1])
        end_lane = next(lane for lane in last.lanes if lane.allows("passenger"))
        end = network.lane_pose(end_lane.id, end_lane.length)
        try:
            route = network.route_polyline(edges, (start.x, start.y), (end.x, end.y))
        except ScenarioError:  # no lane change fits on a short road: another route
            continue
        if route.length >= ROUTE_LENGTH[0]:
            break
    else:
        raise ScenarioError(f"no free route of {ROUTE_LENGTH[0]:g} m was found on the roads of split {split!r}")
    begin = route.at(0.0)
    placed = tuple(_bodies(network, route, edges, rng))
    traffic = BackgroundTraffic(vehicles=rng.randint(20, 64), pedestrians=rng.randint(12, 50), radius_m=110)
    traffic_seed = rng.getrandbits(31)
    actors = (*placed, *background_traffic(network, begin, route, traffic, traffic_seed, placed))
    speed = min(lane.speed * START_SPEED_SHARE, FASTEST_START)
    reference = route.length / FALLBACK_REFERENCE_SPEED
    goal = route.at(route.length)
    return EpisodePlan(
        scenario_id="free",
        family="free",
        network_file=path,
        start=begin,
        start_speed=round(speed, 2),
        route=route,
        lane_route=route,
        route_edges=tuple(edges),
        route_source="route_edges",
        goal=(goal.x, goal.y),
        goal_radius=GOAL_RADIUS,
        scenario_duration=reference,
        reference_duration=reference,
        blocked_ticks=NO_PATIENCE,
        weather=Weather(),
        seed=traffic_seed,
        actors=actors,
    )


def road_name(edge_id: str) -> str:
    """The road an edge is a part of: both directions and all pieces have the same."""
    return edge_id.lstrip("-").partition("#")[0]


@lru_cache(maxsize=4)
def _roads(network: RoadNetwork) -> tuple[Edge, ...]:
    """Roads that free drives may use."""
    x, y = CROSSING_IN_THE_PLANE
    roads = []
    for edge in network.edges.values():
        if edge.kind != "normal" or not edge.allows("passenger"):
            continue
        lane = next(lane for lane in edge.lanes if lane.allows("passenger"))
        away = float(np.hypot(*(lane.shape.points - (x, y)).T).min())
        _, offset = lane.shape.project(x, y)
        if lane.speed <= FASTEST_ROAD and min(away, abs(offset)) > KEEP_AWAY and edge.length > START_POSITION + 6:
            roads.append(edge)
    return tuple(roads)


def _random_route(network: RoadNetwork, start: Edge, rng: random.Random) -> list[str] | None:
    allowed = {edge.id for edge in _roads(network)}
    successors = network.successors()
    edges = [start]
    length = start.length
    while length < ROUTE_LENGTH[1]:
        back = (edges[-1].to_node, edges[-1].from_node)
        options = [
            edge
            for edge in sorted(successors[edges[-1].id])
            if edge in allowed and (network.edge(edge).from_node, network.edge(edge).to_node) != back
        ]
        options = [edge for edge in options if network.edge(edge) not in edges]
        if not options:
            break
        edges.append(network.edge(rng.choice(options)))
        length += edges[-1].length
    return [edge.id for edge in edges] if length >= ROUTE_LENGTH[0] else None


# --- bodies beside and on the road -----------------------------------------------------------------------------------


class _Places:
    """Where something already stands: circles in the plane."""

    def __init__(self, start: Pose) -> None:
        self._taken = [(start.x, start.y, EGO_LENGTH)]

    def take(self, x: float, y: float, radius: float) -> bool:
        """Whether the place was free; then it is taken."""
        if any(math.hypot(x - ox, y - oy) < radius + other for ox, oy, other in self._taken):
            return False
        self._taken.append((x, y, radius))
        return True


def _bodies(network: RoadNetwork, route: Polyline, edges: Sequence[str], rng: random.Random) -> Iterator[ActorPlan]:
    places = _Places(route.at(0.0))
    yield from _leader(network, route, edges, rng, places)
    yield from _parked(network, route, rng, places)
    yield from _cones(network, route, rng, places)
    yield from _standing_persons(network, route, rng, places)
    yield from _crossing_persons(network, route, rng)
    yield from _strollers(network, route, rng)
    yield from _cyclists(route, rng, places)


def _leader(
    network: RoadNetwork, route: Polyline, edges: Sequence[str], rng: random.Random, places: _Places
) -> Iterator[ActorPlan]:
    """A car ahead of the ego in its lane that brakes hard on the way."""
    ahead, brakes_at = rng.uniform(18, 30), rng.uniform(60, 220)
    model = ACTOR_MODELS[rng.choice(("car", "suv", "van", "charger"))]
    hold, colour, decel = rng.uniform(1, 5), rng.choice(model.colours), rng.uniform(3, 7)
    lane = next(lane for lane in network.edge(edges[0]).lanes if lane.allows("passenger"))
    pos = START_POSITION + ahead + model.length / 2
    if rng.random() > LEADER_SHARE or pos > lane.length - 5 or not lane.allows(model.sumo_class or ""):
        return
    front = network.lane_pose(lane.id, pos)
    x, y = front.to_world(-model.length / 2, 0.0)
    places.take(x, y, model.length / 2 + 1)
    drive = TrafficDrive(tuple(edges), lane.index, round(pos, 2), round(min(lane.speed * 0.6, 8.0), 2))
    braking = BrakeHard(decel=decel, to_speed=0.0 if rng.random() < 0.7 else 2.0, hold_seconds=hold)
    reaction = Reaction(when=EgoPasses(route_m=min(brakes_at, route.length)), do=braking)
    yield ActorPlan("leader", model.name, Pose(x, y, front.yaw), drive, colour, (reaction,))


def _parked(network: RoadNetwork, route: Polyline, rng: random.Random, places: _Places) -> Iterator[ActorPlan]:
    """Vehicles that stand at the right or left edge of the road."""
    for number in range(rng.randint(*PARKED)):
        model = ACTOR_MODELS[rng.choice(PARKED_MODELS)]
        colour = rng.choice(model.colours)
        spot = _beside(network, route, rng.uniform(20, route.length - 5), rng.choice((-1, -1, 1)), model.width)
        if spot is None:
            continue
        pose, side = spot
        turned = pose.yaw if side < 0 else pose.yaw + math.pi
        corners = box_corners(pose.x, pose.y, turned, model.length, model.width)
        if any(network.on_road(float(x), float(y)) for x, y in corners):
            continue
        if places.take(pose.x, pose.y, model.length / 2 + 0.6):
            yield _standing(f"parked_{number}", model.name, Pose(pose.x, pose.y, turned), colour)


def _cones(network: RoadNetwork, route: Polyline, rng: random.Random, places: _Places) -> Iterator[ActorPlan]:
    """Rows of traffic cones along the edge of the road."""
    cone = ACTOR_MODELS["cone"]
    for row in range(rng.randint(*CONE_ROWS)):
        begin, count, step = rng.uniform(25, route.length - 20), rng.randint(1, 7), rng.uniform(2.5, 6.0)
        side = rng.choice((-1, -1, 1))
        for number in range(count):
            arc = begin + number * step
            spot = _beside(network, route, arc, side, cone.width) if arc < route.length else None
            if spot is not None and places.take(spot[0].x, spot[0].y, 0.4):
                yield _standing(f"cone_{row}_{number}", "cone", spot[0], cone.colours[0])


def _standing_persons(
    network: RoadNetwork, route: Polyline, rng: random.Random, places: _Places
) -> Iterator[ActorPlan]:
    """Persons who stand on the pavement or the verge."""
    model = ACTOR_MODELS["pedestrian"]
    for number in range(rng.randint(*STANDING_PERSONS)):
        colour, turn, back = rng.choice(model.colours), rng.uniform(-math.pi, math.pi), rng.uniform(0.3, 2.2)
        spot = _beside(network, route, rng.uniform(15, route.length - 5), rng.choice((-1, 1)), model.width)
        if spot is None:
            continue
        pose, side = spot
        x, y = pose.to_world(0.0, side * back)
        if not network.on_road(x, y) and places.take(x, y, 0.5):
            yield _standing(f"standing_{number}", "pedestrian", Pose(x, y, turn), colour)


def _crossing_persons(network: RoadNetwork, route: Polyline, rng: random.Random) -> Iterator[ActorPlan]:
    """Persons who step onto the road when the ego comes near."""
    model = ACTOR_MODELS["pedestrian"]
    for number in range(rng.randint(*CROSSING_PERSONS)):
        arc, side = rng.uniform(45, route.length - 10), rng.choice((-1, 1))
        colour, pace, seconds = rng.choice(model.colours), rng.uniform(1.1, 1.8), rng.uniform(2.8, 5.0)
        near = _beside(network, route, arc, side, model.width)
        far = _beside(network, route, arc, -side, model.width)
        if near is None or far is None:
            continue
        path = Polyline.through([near[0][:2], far[0][:2]])
        drive = PathDrive(path, (round(pace, 2),), EgoArrivesIn(route_m=round(arc, 2), seconds=round(seconds, 2)))
        yield ActorPlan(f"crossing_{number}", "pedestrian", path.at(0.0), drive, colour)


def _strollers(network: RoadNetwork, route: Polyline, rng: random.Random) -> Iterator[ActorPlan]:
    """Persons beside the road who set off when the ego comes near, and stop again after a few steps."""
    model = ACTOR_MODELS["pedestrian"]
    for number in range(rng.randint(*STROLLERS)):
        arc, side, length = rng.uniform(40, route.length - 25), rng.choice((-1, 1)), rng.uniform(2.0, 9.0)
        colour, pace, seconds = rng.choice(model.colours), rng.uniform(1.0, 1.7), rng.uniform(2.5, 6.0)
        towards, back = rng.choice((-1, 1)), rng.uniform(0.2, 1.5)
        spots = [_beside(network, route, arc + towards * step, side, model.width) for step in (0.0, length)]
        if spots[0] is None or spots[1] is None:
            continue
        path = Polyline.through([spot[0].to_world(0.0, side * back) for spot in spots if spot is not None])
        if any(network.on_road(float(x), float(y)) for x, y in path.points):
            continue
        drive = PathDrive(path, (round(pace, 2),), EgoArrivesIn(route_m=round(arc, 2), seconds=round(seconds, 2)))
        yield ActorPlan(f"stroller_{number}", "pedestrian", path.at(0.0), drive, colour)


def _cyclists(route: Polyline, rng: random.Random, places: _Places) -> Iterator[ActorPlan]:
    """Cyclists who ride along the right side of the ego's lane, or come the other way beside it."""
    model = ACTOR_MODELS["bicycle"]
    for number in range(rng.randint(*CYCLISTS)):
        begin, pace = rng.uniform(30, route.length - 60), rng.uniform(3.0, 5.0)
        colour, oncoming = rng.choice(model.colours), rng.random() < 0.5
        left = 3.0 if oncoming else -1.45
        line = route.cut(begin, min(begin + 220.0, route.length))
        arcs = np.arange(0.0, line.length, 2.0)
        points = [line.at(float(arc)).to_world(0.0, left) for arc in arcs]
        path = Polyline.through(points[::-1] if oncoming else points)
        at = path.at(0.0)
        drive: Drive = PathDrive(path, (round(pace, 2),) * (len(path.points) - 1))
        if places.take(at.x, at.y, 1.5):
            yield ActorPlan(f"cyclist_{number}", "bicycle", at, drive, colour)


def _standing(name: str, model: str, pose: Pose, colour: tuple[int, int, int]) -> ActorPlan:
    return ActorPlan(name, model, pose, StandDrive(), colour)


def _beside(network: RoadNetwork, route: Polyline, arc: float, side: int, width: float) -> tuple[Pose, int] | None:
    """Pose just off the road at a place of the route, right (-1) or left (1) of it, and the side; None where the road
    is too wide, as in junctions."""
    base = route.at(arc)
    for step in range(4, 60):
        left = side * step * 0.25
        if not network.on_road(*base.to_world(0.0, left)):
            x, y = base.to_world(0.0, left + side * (width / 2 + 0.25))
            return (Pose(x, y, base.yaw), side) if not network.on_road(x, y) else None
    return None
