"""From a scenario to the plan of one episode: places become poses, edges a route, the seed traffic."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from drivehierarchy_gym.catalog import ACTOR_MODELS, ActorModel
from drivehierarchy_gym.errors import ScenarioError, unknown_name
from drivehierarchy_gym.geometry import Polyline, Pose, boxes_overlap, wrap_angle
from drivehierarchy_gym.plan import ActorPlan, Drive, EpisodePlan, PathDrive, StandDrive, TrafficDrive
from drivehierarchy_gym.road.default_map import default_network_path
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.scenarios import schema
from drivehierarchy_gym.scenarios.background import background_traffic
from drivehierarchy_gym.scenarios.schema import LanePlace, Place, RoutePlace, Scenario, Trigger, WorldPlace
from drivehierarchy_gym.scoring import FALLBACK_REFERENCE_SPEED

GOAL_RADIUS = 8.0
"""Metres around the goal that count as arrived (paper Appendix E, facts §3.9)."""
OVERLAP_TOLERANCE = 0.1
"""Metres that two bodies may share at the start, since a vehicle on a bend lies on its chord."""
SPARE_SECONDS = 10.0
"""Added to the reference duration when a scenario states no duration of its own."""


def network_file(scenario: Scenario, folder: Path | None = None) -> Path:
    """SUMO net of a scenario: "a10kw" is the packaged one, anything else a path, relative to `folder`."""
    if scenario.network == "a10kw":
        return default_network_path()
    path = (folder or Path.cwd()) / scenario.network
    if not path.is_file():
        raise ScenarioError(
            f"{scenario.id}: network: no file {str(path)!r}; give 'a10kw' or the path of a SUMO .net.xml file"
        )
    return path


def resolve(scenario: Scenario, seed: int, folder: Path | None = None) -> EpisodePlan:
    """Plan of one episode of `scenario`.

    Args:
        scenario: validated scenario.
        seed: draws colours and background traffic; the same seed gives an equal plan.
        folder: where relative network paths start.

    Raises:
        ScenarioError: a place, edge or model does not exist, or the route has no way through; names actor and field.
    """
    path = network_file(scenario, folder)
    network = load_network(path)
    where = f"{scenario.id}: ego"
    if isinstance(scenario.ego.start, RoutePlace):
        raise ScenarioError(f"{where}.start: the ego cannot start relative to its own route; use edge/lane/pos or x/y")
    if isinstance(scenario.ego.goal, RoutePlace):
        raise ScenarioError(f"{where}.goal: the goal cannot be relative to the route it ends; use edge/lane/pos or x/y")
    start = _pose(network, scenario.ego.start, None, f"{where}.start")
    if not network.on_road(start.x, start.y):
        raise ScenarioError(f"{where}.start: ({start.x:.1f}, {start.y:.1f}) is not on a road; give a place on a lane")
    edges = _fill_edges(network, scenario.ego.edges, "passenger", f"{where}.edges")
    _check_lanes(network, scenario.ego.lanes, f"{where}.lanes")
    if scenario.ego.goal is None:
        end = network.edge(edges[-1])
        open_lanes = (lane for lane in end.lanes if lane.allows("passenger"))
        end_lane = end.lanes[scenario.ego.lanes[end.id]] if end.id in scenario.ego.lanes else next(open_lanes)
        goal = network.lane_pose(end_lane.id, end_lane.length)
    else:
        goal = _pose(network, scenario.ego.goal, None, f"{where}.goal")
    ends = start[:2], goal[:2]
    if math.dist(*ends) <= GOAL_RADIUS:
        raise ScenarioError(
            f"{where}.goal: lies within {GOAL_RADIUS:g} m of the start, where the ego has arrived already"
        )
    try:
        lane_route = network.route_polyline(edges, *ends, scenario.ego.lanes)
        route = lane_route if scenario.ego.reference_line == "lanes" else network.edge_polyline(edges, *ends)
    except ScenarioError as error:
        raise ScenarioError(f"{where}.edges: {error}") from error

    reference = scenario.reference_duration or route.length / FALLBACK_REFERENCE_SPEED
    ids = {actor.id for actor in scenario.actors}
    actors = tuple(_actor(network, route, actor, ids, scenario.id, seed) for actor in scenario.actors)
    _check_apart(actors, scenario.id)
    _check_starts(scenario)
    actors += background_traffic(network, start, route, scenario.traffic, seed, actors)
    return EpisodePlan(
        scenario_id=scenario.id,
        family=scenario.family,
        network_file=path,
        start=start,
        start_speed=scenario.ego.start_speed,
        route=route,
        lane_route=lane_route,
        route_edges=edges,
        route_source="route_edges",
        goal=(goal.x, goal.y),
        goal_radius=GOAL_RADIUS,
        scenario_duration=scenario.duration or reference + SPARE_SECONDS,
        reference_duration=reference,
        blocked_ticks=scenario.blocked_ticks,
        weather=scenario.weather,
        seed=seed,
        actors=actors,
    )


def _pose(network: RoadNetwork, place: Place, route: Polyline | None, where: str) -> Pose:
    if isinstance(place, WorldPlace):
        return Pose(place.x, place.y, math.radians(place.heading_deg))
    if isinstance(place, RoutePlace):
        assert route is not None
        if place.route_m > route.length:
            raise ScenarioError(f"{where}: route_m {place.route_m:g} is beyond the route's {route.length:.1f} m")
        base = route.at(place.route_m)
        x, y = base.to_world(0.0, place.left_m)
        return Pose(x, y, wrap_angle(base.yaw + math.radians(place.turn_deg)))
    base = network.lane_pose(_lane_id(network, place, where), place.pos, place.left_m)
    return Pose(base.x, base.y, wrap_angle(base.yaw + math.radians(place.turn_deg)))


def _lane_id(network: RoadNetwork, place: LanePlace, where: str) -> str:
    if place.edge not in network.edges:
        raise ScenarioError(f"{where}: {unknown_name('edge', place.edge, network.edges)}")
    lanes = network.edge(place.edge).lanes
    if place.lane >= len(lanes):
        raise ScenarioError(f"{where}: edge {place.edge!r} has lanes 0 to {len(lanes) - 1}, found lane {place.lane}")
    lane = lanes[place.lane]
    if not -lane.length <= place.pos <= lane.length:
        raise ScenarioError(f"{where}: pos {place.pos:g} is not on lane {lane.id!r}, which is {lane.length:.1f} m long")
    return lane.id


def _fill_edges(network: RoadNetwork, edges: tuple[str, ...], vclass: str, where: str) -> tuple[str, ...]:
    """`edges` with the shortest way put between each two that do not follow each other."""
    for edge in edges:
        if edge not in network.edges:
            raise ScenarioError(f"{where}: {unknown_name('edge', edge, network.edges)}")
    filled = list(edges[:1])
    for edge in edges[1:]:
        if edge == filled[-1]:
            continue
        way = network.shortest_path(filled[-1], edge, vclass)
        if way is None:
            raise ScenarioError(f"{where}: a {vclass} cannot get from edge {filled[-1]!r} to {edge!r}")
        filled += way[1:]
    if not filled:
        raise ScenarioError(f"{where}: no edge given")
    return tuple(filled)


def _check_lanes(network: RoadNetwork, lanes: Mapping[str, int], where: str) -> None:
    for edge, index in lanes.items():
        if edge not in network.edges:
            raise ScenarioError(f"{where}: {unknown_name('edge', edge, network.edges)}")
        count = len(network.edge(edge).lanes)
        if not 0 <= index < count:
            raise ScenarioError(f"{where}: edge {edge!r} has lanes 0 to {count - 1}, found lane {index}")


def _check_apart(actors: Sequence[ActorPlan], scenario_id: str) -> None:
    """No two vehicles or objects of the script stand in one another at the start; people may stand close."""
    boxes: list[tuple[str, tuple[float, float, float, float, float]]] = []
    for actor in actors:
        model = ACTOR_MODELS[actor.model]
        if model.contact == "pedestrian":
            continue
        box = (*actor.pose, model.length - OVERLAP_TOLERANCE, model.width - OVERLAP_TOLERANCE)
        for other, taken in boxes:
            if boxes_overlap(*box, *taken):
                raise ScenarioError(
                    f"{scenario_id}: actors {other!r} and {actor.id!r} stand in one another at "
                    f"({actor.pose.x:.1f}, {actor.pose.y:.1f}); move one of them"
                )
        boxes.append((actor.id, box))


def _check_starts(scenario: Scenario) -> None:
    """No actor waits for its own start, directly or over others."""
    waits_for = {}
    for actor in scenario.actors:
        when = getattr(actor.motion, "when", None)
        triggers = when.triggers if isinstance(when, schema.AllOf) else (when,)
        waits_for[actor.id] = [t.actor for t in triggers if isinstance(t, schema.OtherActor) and t.started]
    for first in waits_for:
        seen, queue = {first}, list(waits_for[first])
        while queue:
            name = queue.pop()
            if name == first:
                raise ScenarioError(
                    f"{scenario.id}: actor {first!r}.motion.when: waits for its own start, so never begins"
                )
            if name not in seen:
                seen.add(name)
                queue += waits_for.get(name, [])


def _actor(
    network: RoadNetwork, route: Polyline, actor: schema.Actor, ids: set[str], scenario_id: str, seed: int
) -> ActorPlan:
    where = f"{scenario_id}: actor {actor.id!r}"
    if actor.model not in ACTOR_MODELS:
        raise ScenarioError(f"{where}: {unknown_name('model', actor.model, ACTOR_MODELS)}")
    model = ACTOR_MODELS[actor.model]
    pose, drive = _motion(network, route, actor, model, ids, where)
    colour = actor.colour or random.Random(f"{seed}:{scenario_id}:{actor.id}").choice(model.colours)
    reactions = tuple(
        schema.Reaction(
            when=_trigger(network, route, pose, reaction.when, ids, f"{where}.reactions[{i}]"), do=reaction.do
        )
        for i, reaction in enumerate(actor.reactions)
    )
    return ActorPlan(actor.id, actor.model, pose, drive, colour, reactions, seen_by_traffic=actor.seen_by_traffic)


def _motion(
    network: RoadNetwork, route: Polyline, actor: schema.Actor, model: ActorModel, ids: set[str], where: str
) -> tuple[Pose, Drive]:
    motion = actor.motion
    if isinstance(motion, schema.Traffic):
        if model.contact != "vehicle" or model.sumo_class is None:
            raise ScenarioError(
                f"{where}.motion: a {model.name} cannot be driven by traffic; use type 'path' or 'stand'"
            )
        lane = network.lane(_lane_id(network, motion.start, f"{where}.motion.start"))
        if not lane.allows(model.sumo_class):
            raise ScenarioError(
                f"{where}.motion.start: lane {lane.id!r} does not allow a {model.name} ({model.sumo_class})"
            )
        if motion.start.left_m or motion.start.turn_deg:
            raise ScenarioError(f"{where}.motion.start: a vehicle of the traffic starts in the middle of its lane")
        pos = motion.start.pos if motion.start.pos >= 0 else lane.length + motion.start.pos
        front = network.lane_pose(lane.id, pos)
        x, y = front.to_world(-model.length / 2, 0.0)
        edges = _fill_edges(network, (motion.start.edge, *motion.edges), model.sumo_class, f"{where}.motion.edges")
        drive: Drive = TrafficDrive(edges, lane.index, pos, motion.speed, motion.max_speed, motion.at_route_end)
        return Pose(x, y, front.yaw), drive
    if isinstance(motion, schema.Stand):
        return _pose(network, motion.place, route, f"{where}.motion.place"), StandDrive()
    if isinstance(motion, schema.Drive):
        path = _lane_path(network, motion, model, f"{where}.motion")
        speeds: tuple[float, ...] = (motion.speed,) * (len(path.points) - 1)
    else:
        poses = [_pose(network, p, route, f"{where}.motion.points[{i}]") for i, p in enumerate(motion.points)]
        try:
            path = Polyline.through([(p.x, p.y) for p in poses])
        except ValueError as error:
            raise ScenarioError(f"{where}.motion.points: {error}") from error
        segments = len(path.points) - 1
        speeds = motion.speed if isinstance(motion.speed, tuple) else (motion.speed,) * segments
        if len(speeds) != segments:
            raise ScenarioError(
                f"{where}.motion.speed: needs one speed for each of {segments} segments, found {list(speeds)}"
            )
    trigger = motion.when and _trigger(network, route, path.at(0.0), motion.when, ids, f"{where}.motion.when")
    return path.at(0.0), PathDrive(path, speeds, trigger, motion.acceleration)


def _lane_path(network: RoadNetwork, motion: schema.Drive, model: ActorModel, where: str) -> Polyline:
    """Centre line of the lanes that a body is moved along, from its start to its goal."""
    vclass = model.sumo_class or "passenger"
    start = _pose(network, motion.start, None, f"{where}.start")
    edges = _fill_edges(network, (motion.start.edge, *motion.edges), vclass, f"{where}.edges")
    _check_lanes(network, motion.lanes, f"{where}.lanes")
    lanes = {motion.start.edge: motion.start.lane, **motion.lanes}
    goal = None
    if motion.goal is not None:
        goal = _pose(network, motion.goal, None, f"{where}.goal")
        lanes[motion.goal.edge] = motion.goal.lane
    try:
        return network.route_polyline(edges, start[:2], goal and goal[:2], lanes, vclass)
    except ScenarioError as error:
        raise ScenarioError(f"{where}.edges: {error}") from error


def _trigger(network: RoadNetwork, route: Polyline, pose: Pose, trigger: Trigger, ids: set[str], where: str) -> Trigger:
    """The trigger with its place as plain coordinates, after a check of the actor it names."""
    if isinstance(trigger, schema.AllOf):
        return schema.AllOf(triggers=tuple(_trigger(network, route, pose, t, ids, where) for t in trigger.triggers))
    if isinstance(trigger, schema.EgoWithin) and trigger.place is not None:
        at = _pose(network, trigger.place, route, f"{where}.place")
        return schema.EgoWithin(meters=trigger.meters, place=WorldPlace(x=at.x, y=at.y))
    if isinstance(trigger, schema.OtherActor) and trigger.actor not in ids:
        raise ScenarioError(f"{where}.actor: {unknown_name('actor', trigger.actor, ids)}")
    route_m = getattr(trigger, "route_m", 0.0)
    if route_m > route.length:
        raise ScenarioError(f"{where}.route_m: {route_m:g} is beyond the route's {route.length:.1f} m")
    return trigger
