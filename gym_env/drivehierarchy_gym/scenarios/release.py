"""Importer of the authors' 100 scenarios: `entity.json` of the release becomes a `Scenario` (release facts §3.9-§3.11).

The conversion follows the release's own: projection of the road network, lane matching, blueprint choice with seed 7,
durations. Its triggers, signals and obstacles are ignored there and so here. Where a folder also holds the release's
`entity_sumo.json`, which is what its runs used, that file's lanes, routes, blueprints and durations are taken.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_BLUEPRINT, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.errors import ReleaseNotFoundError, ScenarioError
from drivehierarchy_gym.geometry import boxes_overlap
from drivehierarchy_gym.road.matching import match_points
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.scenarios.schema import (
    Actor,
    Ego,
    Family,
    LanePlace,
    Scenario,
    Stand,
    Traffic,
    Weather,
    WorldPlace,
    explain,
)
from drivehierarchy_gym.scenarios.schema import (
    Path as PathMotion,
)

SCENARIO_FOLDER = Path("Close_Loop_Evaluation/Scenario_Onsite")
NETWORK_FILE = Path("Close_Loop_Evaluation/Carla_Simulation/Co-Simulation/Sumo/tongji/tongji.net.xml")
ENVIRONMENT_VARIABLE = "DRIVEHIERARCHY_RELEASE"

FAMILIES: dict[str, Family] = {
    "01_pedestrain_recognition": "01_pedestrian_encounter",
    "02_obstacles_avoid": "02_obstacle_avoidance",
    "03_right_turn": "03_turning",
    "04_intersection": "04_intersection",
    "05_T_intersection": "05_t_intersection",
    "06_traffic_flow": "06_traffic_disturbance",
    "07_sudden_brake": "07_sudden_braking",
    "08_merge_in_and_out": "08_merging",
    "09_yield_intersection": "09_yielding",
    "10_Roundabout": "10_roundabout",
}
"""Scenario folder of the release -> family of the paper."""

BLUEPRINT_WEIGHTS = (("charger", 0.6), ("van", 0.2), ("ambulance", 0.2))
"""Models of the release's background vehicles (charger_2020, t2_2021, ford.ambulance) and their odds (facts §3.11)."""
BLUEPRINT_SEED = 7
FALLBACK_SPEED = 20 / 3.6
"""m/s on a segment whose mean speed is below 0.1 m/s (facts §3.11)."""
WALKING_SPEED = 1.2
"""m/s of a pedestrian towards a point that states no speed (facts §3.10)."""
WEATHER = Weather(sky="clear", sun_altitude_deg=13.0)
"""The one weather of the release (facts §3.11)."""
WALKER_SEARCH_RADIUS = 30.0
FREE_PLACE_RADIUS = 20.0
FREE_PLACE_STEP = 0.5
FREE_PLACE_GAP = 0.3
"""Metres: how far from its point, in what steps and with what gap a free place is looked for."""

Box = tuple[float, float, float, float, float]
"""x, y, yaw, length, width."""


def find_release(folder: str | os.PathLike[str] | None = None) -> Path:
    """Folder of the authors' release: `folder`, else the environment variable DRIVEHIERARCHY_RELEASE.

    Raises:
        ReleaseNotFoundError: says what to download and where to put it.
    """
    given = folder or os.environ.get(ENVIRONMENT_VARIABLE)
    remedy = (
        "Download the DriveHierarchy release (github.com/PerfectXu88/DriveHierarchy, CC BY-NC-SA 4.0), then pass its "
        f"folder with --release DIR or set {ENVIRONMENT_VARIABLE}=DIR."
    )
    if not given:
        raise ReleaseNotFoundError(
            f"suite 'release' needs a folder of the authors' release, and none is given. {remedy}"
        )
    root = Path(given).expanduser().resolve()
    for part in (SCENARIO_FOLDER, NETWORK_FILE):
        if not (root / part).exists():
            raise ReleaseNotFoundError(
                f"{root} has no {part}, so it is not the folder of the authors' release. {remedy}"
            )
    return root


def scenario_files(root: Path) -> list[Path]:
    """The `entity.json` files of a release, by group and id."""
    files = sorted((root / SCENARIO_FOLDER).glob("*/*/entity.json"))
    if not files:
        raise ReleaseNotFoundError(f"{root / SCENARIO_FOLDER}: no <family>/<id>/entity.json in it; download it again")
    return files


@dataclass(frozen=True)
class Participant:
    """One row of `participantTrajectories`: points in the network's coordinates, speeds in m/s at the points."""

    id: str
    role: str
    points: tuple[tuple[float, float], ...]
    speeds: tuple[float, ...]

    @property
    def estimated_duration(self) -> float:
        """Seconds over the points: every segment at the mean of its end speeds (facts §3.11)."""
        total = 0.0
        for (a, b), (u, v) in zip(pairwise(self.points), pairwise(self.speeds), strict=True):
            mean = (u + v) / 2
            total += math.dist(a, b) / (mean if mean >= 0.1 else FALLBACK_SPEED)
        return total


@dataclass(frozen=True)
class Placement:
    """How the release puts a vehicle on the road: model, route and departure (front bumper at `lane_pos`)."""

    model: str
    edges: tuple[str, ...]
    lane_index: int
    lane_pos: float
    duration: float


def read_scenario(path: Path) -> Scenario:
    """Convert one `entity.json`.

    Raises:
        ScenarioError: names the file, the participant or field, and what is wrong with it.
    """
    try:
        return _convert(path)
    except ValidationError as error:
        raise ScenarioError(explain(path, error)) from error


def _convert(path: Path) -> Scenario:
    root = path.parents[len(SCENARIO_FOLDER.parts) + 2]
    net = root / NETWORK_FILE
    network = load_network(net)
    group = path.parent.parent.name
    if group not in FAMILIES:
        raise ScenarioError(f"{path}: folder {group!r} is not one of the release's families: {', '.join(FAMILIES)}")
    participants = _participants(path, network)
    recorded = _recorded(path.with_name("entity_sumo.json"), network)
    heroes = [p for p in participants if p.role == "main"]
    if len(heroes) != 1:
        raise ScenarioError(f"{path}: needs one participant of type 'main', found {len(heroes)}")
    hero = heroes[0]
    placed = recorded.get(hero.id) or _place(path, network, hero)
    start = network.lane_pose(f"{placed.edges[0]}_{placed.lane_index}", placed.lane_pos)
    taken: list[Box] = [(*start, EGO_LENGTH, EGO_WIDTH)]
    actors = []
    for participant in participants:
        if participant.role == "pedestrian":
            actors.append(_pedestrian(path, network, participant))
        elif participant is not hero:
            wanted = recorded.get(participant.id) or _place(path, network, participant)
            actors.append(_vehicle(participant, _free_place(path, network, participant, wanted, taken)))
    durations = [recorded[p.id].duration if p.id in recorded else p.estimated_duration for p in participants]
    return Scenario(
        id=path.parent.name,
        family=FAMILIES[group],
        description=f"Scenario {path.parent.name} of the authors' release ({group})",
        network=os.path.relpath(net, path.parent),
        ego=Ego(
            start=WorldPlace(x=start.x, y=start.y, heading_deg=math.degrees(start.yaw)),
            edges=placed.edges,
            goal=WorldPlace(x=hero.points[-1][0], y=hero.points[-1][1]),
            lanes={placed.edges[0]: placed.lane_index},
            reference_line="edges",
        ),
        actors=tuple(actors),
        weather=WEATHER,
        reference_duration=placed.duration,
        duration=max(durations),
    )


def _participants(path: Path, network: RoadNetwork) -> list[Participant]:
    try:
        entity = json.loads(path.read_text(encoding="utf-8"))
        info = entity["trajectoryInfo"]
        rows = (json.loads(info) if isinstance(info, str) else info)["participantTrajectories"]
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise TypeError("it is not a list of objects")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScenarioError(
            f"{path}: trajectoryInfo.participantTrajectories cannot be read ({type(error).__name__}: {error}); "
            "download the release again"
        ) from error
    return [_participant(path, network, row) for row in rows]


def _participant(path: Path, network: RoadNetwork, row: Mapping[str, Any]) -> Participant:
    name = row.get("id", "?")
    try:
        points, speeds = [], []
        for point in row["trajectory"]:
            lon, lat, speed = float(point["longitude"]), float(point["latitude"]), float(point["speed"])
            if not all(map(math.isfinite, (lon, lat, speed))) or speed < 0:
                raise ValueError(f"longitude {lon}, latitude {lat}, speed {speed}")
            points.append(network.lonlat_to_xy(lon, lat))
            speeds.append(speed / 3.6)
        if len(points) < 2:
            raise ValueError(f"{len(points)} points, needs two")
        return Participant(str(row["id"]), str(row["type"]), tuple(points), tuple(speeds))
    except (KeyError, TypeError, ValueError) as error:
        raise ScenarioError(f"{path}: participant {name!r}: trajectory: {type(error).__name__}: {error}") from error


def _model(participant: Participant) -> str:
    if participant.role == "main":
        return "car"
    names = [name for name, _ in BLUEPRINT_WEIGHTS]
    weights = [weight for _, weight in BLUEPRINT_WEIGHTS]
    rng = random.Random(f"{BLUEPRINT_SEED}:{participant.id}")
    return rng.choices(names, weights=weights)[0]


def _place(path: Path, network: RoadNetwork, participant: Participant) -> Placement:
    """Lanes and route by the release's matching rule."""
    model = _model(participant)
    vclass = ACTOR_MODELS[model].sumo_class
    assert vclass is not None
    matched = match_points(network, participant.points, vclass)
    if not matched.points:
        raise ScenarioError(
            f"{path}: participant {participant.id!r}: no lane for {vclass} within 30 m of any of its "
            f"{len(participant.points)} points; is {NETWORK_FILE.name} the network of this release?"
        )
    first = matched.points[0]
    lane_pos = min(max(first.lane_pos, 0.0), network.lane(first.lane_id).length)
    return Placement(model, tuple(matched.route_edges), first.lane_index, lane_pos, participant.estimated_duration)


def _recorded(path: Path, network: RoadNetwork) -> dict[str, Placement]:
    """Placements of the release's own conversion, by participant id; empty without the file."""
    if not path.is_file():
        return {}
    models = {model.carla_blueprint: model.name for model in ACTOR_MODELS.values()} | {EGO_BLUEPRINT: "car"}
    placements = {}
    try:
        scene = json.loads(path.read_text(encoding="utf-8"))
        for row in (scene["hero"], *scene["background_vehicles"]):
            if row["role"] == "pedestrian":
                continue
            edges = tuple(str(edge) for edge in row["route_edges"])
            unknown = [edge for edge in edges if edge not in network.edges]
            if unknown or not edges:
                raise ValueError(
                    f"actor {row['actor_id']!r}: route_edges: no edge {unknown or 'at all'} in the road network"
                )
            depart = row["depart"]
            placements[str(row["actor_id"])] = Placement(
                models[row["sumo_type_id"]],
                edges,
                int(depart["lane_index"]),
                float(depart["lane_pos"]),
                float(row["estimated_duration_seconds"]),
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScenarioError(
            f"{path}: {type(error).__name__}: {error}; delete the file to have entity.json converted anew"
        ) from error
    return placements


def _free_place(
    path: Path, network: RoadNetwork, participant: Participant, placed: Placement, taken: list[Box]
) -> Placement:
    """`placed`, or the nearest lane position from which its route can be driven and where nobody stands yet.

    The release puts several vehicles into one another; its traffic simulator then holds back all but the first until
    there is room, and its bridge drops those that CARLA cannot spawn. Here every one is in the world from the start.
    The box found is added to `taken`.
    """
    model = ACTOR_MODELS[placed.model]
    x, y = participant.points[0]
    for place in chain((placed,), _places_near(network, x, y, placed)):
        front = network.lane_pose(f"{place.edges[0]}_{place.lane_index}", place.lane_pos)
        centre = front.to_world(-model.length / 2, 0.0)
        grown = (*centre, front.yaw, model.length + 2 * FREE_PLACE_GAP, model.width)
        if not any(boxes_overlap(*grown, *other) for other in taken):
            taken.append((*centre, front.yaw, model.length, model.width))
            return place
    raise ScenarioError(
        f"{path}: participant {participant.id!r}: no free place for a {placed.model} within {FREE_PLACE_RADIUS:g} m of "
        f"({x:.1f}, {y:.1f})"
    )


def _places_near(network: RoadNetwork, x: float, y: float, placed: Placement) -> Iterator[Placement]:
    """Lane positions around (x, y) that look the same way and lead onto the route of `placed`, nearest first."""
    vclass = ACTOR_MODELS[placed.model].sumo_class
    assert vclass is not None
    wanted_yaw = network.lane_pose(f"{placed.edges[0]}_{placed.lane_index}", placed.lane_pos).yaw
    found = []
    for hit in network.nearest_lanes(x, y, FREE_PLACE_RADIUS, vclass):
        way = network.shortest_path(hit.lane.edge_id, placed.edges[-1], vclass)
        if way is None or len(way) > len(placed.edges) + 3:
            continue
        for step in range(int(hit.lane.length / FREE_PLACE_STEP) + 1):
            pos = step * FREE_PLACE_STEP
            pose = network.lane_pose(hit.lane.id, pos)
            if math.cos(pose.yaw - wanted_yaw) > 0.7:
                distance = math.dist(pose[:2], (x, y))
                found.append((distance, Placement(placed.model, tuple(way), hit.lane.index, pos, placed.duration)))
    return (place for _, place in sorted(found, key=lambda item: item[0]))


def _vehicle(participant: Participant, placed: Placement) -> Actor:
    return Actor(
        id=participant.id,
        model=placed.model,
        motion=Traffic(
            start=LanePlace(edge=placed.edges[0], lane=placed.lane_index, pos=placed.lane_pos),
            edges=placed.edges[1:],
            speed=participant.speeds[0],
            at_route_end="stop",
        ),
    )


def _pedestrian(path: Path, network: RoadNetwork, participant: Participant) -> Actor:
    """A walker from the nearest lane's centre, in straight lines, speed of the point it walks to, hidden from traffic
    (facts §3.10)."""
    x, y = participant.points[0]
    hits = [
        hit
        for vclass in ("passenger", "pedestrian")
        for hit in network.nearest_lanes(x, y, WALKER_SEARCH_RADIUS, vclass)[:1]
    ]
    if not hits:
        raise ScenarioError(
            f"{path}: pedestrian {participant.id!r}: no lane within {WALKER_SEARCH_RADIUS:g} m of ({x:.1f}, {y:.1f})"
        )
    hit = min(hits, key=lambda hit: hit.distance)
    start = network.lane_pose(hit.lane.id, hit.pos)
    points = [(start.x, start.y), *participant.points[1:]]
    speeds = [v if v > 0.1 else WALKING_SPEED for v in participant.speeds[1:]]
    kept, kept_speeds = _distinct(points, speeds)
    places = tuple(WorldPlace(x=px, y=py) for px, py in kept)
    motion = PathMotion(points=places, speed=tuple(kept_speeds)) if kept_speeds else Stand(place=places[0])
    return Actor(id=participant.id, model="pedestrian", motion=motion, seen_by_traffic=False)


def _distinct(
    points: Sequence[tuple[float, float]], speeds: Sequence[float]
) -> tuple[list[tuple[float, float]], list[float]]:
    """Points without repeats (closer than a millimetre), with the speeds of the segments that remain."""
    kept, kept_speeds = [points[0]], []
    for point, speed in zip(points[1:], speeds, strict=True):
        if math.dist(point, kept[-1]) > 1e-3:
            kept.append(point)
            kept_speeds.append(speed)
    return kept, kept_speeds
