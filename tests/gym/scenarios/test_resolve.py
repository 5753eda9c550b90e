"""Places, routes and actors of a scenario become poses and lines on the real road network."""

from __future__ import annotations

import math
from typing import Any

import pytest

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import wrap_angle
from drivehierarchy_gym.plan import PathDrive, StandDrive, TrafficDrive
from drivehierarchy_gym.road.default_map import default_network_path
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.scenarios.resolve import resolve
from drivehierarchy_gym.scenarios.schema import Scenario
from drivehierarchy_gym.scenarios.suites import load_suite

ROAD = "360414561"
"""A straight road of two lanes, 565 m, northwards."""


def scenario(*actors: dict[str, Any], **fields: Any) -> Scenario:
    content: dict[str, Any] = {
        "id": "try_1",
        "family": "07_sudden_braking",
        "description": "",
        "ego": {"start": {"edge": ROAD, "pos": 30}, "edges": [ROAD], "goal": {"edge": ROAD, "pos": 230}},
        "actors": actors,
        **fields,
    }
    return Scenario.model_validate(content)


def actor(motion: dict[str, Any], model: str = "car", **fields: Any) -> dict[str, Any]:
    return {"id": "other", "model": model, "motion": motion, **fields}


def test_route_and_defaults() -> None:
    plan = resolve(scenario(), seed=0)
    assert plan.route.length == pytest.approx(200, abs=0.5)
    assert plan.reference_duration == pytest.approx(plan.route.length / 5.56)
    assert plan.scenario_duration == pytest.approx(plan.reference_duration + 10)
    assert plan.goal_radius == 8.0
    assert plan.start.yaw == pytest.approx(math.pi / 2, abs=0.05)


def test_gaps_of_the_route_are_filled_with_the_shortest_way() -> None:
    plan = resolve(
        scenario(ego={"start": {"edge": ROAD, "pos": 500}, "edges": [ROAD, "256366925"]}),
        seed=0,
    )
    assert plan.route_edges[0] == ROAD
    assert plan.route_edges[-1] == "256366925"
    assert len(plan.route_edges) > 3


def test_traffic_starts_with_its_front_bumper_at_the_place() -> None:
    plan = resolve(scenario(actor({"type": "traffic", "start": {"edge": ROAD, "lane": 1, "pos": 80}, "speed": 9})), 0)
    (other,) = plan.actors
    assert isinstance(other.drive, TrafficDrive)
    front = load_network(default_network_path()).lane_pose(f"{ROAD}_1", 80)
    assert other.pose.to_world(4.60 / 2, 0.0) == pytest.approx(front[:2], abs=1e-6)
    assert other.drive.edges == (ROAD,)


def test_place_on_the_route_is_left_of_it() -> None:
    plan = resolve(scenario(actor({"type": "stand", "place": {"route_m": 50, "left_m": 3, "turn_deg": 90}}, "cone")), 0)
    (cone,) = plan.actors
    assert isinstance(cone.drive, StandDrive)
    arc, offset = plan.route.project(cone.pose.x, cone.pose.y)
    assert (arc, offset) == pytest.approx((50, 3), abs=0.05)
    assert wrap_angle(cone.pose.yaw - plan.route.at(50).yaw - math.pi / 2) == pytest.approx(0, abs=1e-6)


def test_drive_follows_lanes_through_junctions() -> None:
    motion = {
        "type": "drive",
        "start": {"edge": ROAD, "lane": 0, "pos": -20},
        "edges": ["256366928#0"],
        "speed": 8,
    }
    (other,) = resolve(scenario(actor(motion)), 0).actors
    assert isinstance(other.drive, PathDrive)
    network = load_network(default_network_path())
    path = other.drive.path
    assert set(other.drive.speeds) == {8.0}
    assert path.length > 200
    for k in range(0, int(path.length), 5):
        assert network.on_road(*path.at(k)[:2])


def test_background_traffic_depends_on_the_seed_alone() -> None:
    busy = scenario(traffic={"vehicles": 12, "pedestrians": 6})
    one, again, two = (resolve(busy, seed) for seed in (3, 3, 4))
    assert one.actors == again.actors
    assert [a.pose for a in one.actors] != [a.pose for a in two.actors]
    assert all(a.background for a in one.actors)


def standing(name: str, route_m: float, **place: Any) -> dict[str, Any]:
    return {"id": name, "model": "car", "motion": {"type": "stand", "place": {"route_m": route_m, **place}}}


def waiting(name: str, other: str, pos: float) -> dict[str, Any]:
    when = {"type": "actor_state", "actor": other, "started": True}
    start = {"edge": ROAD, "lane": 1, "pos": pos}
    return {"id": name, "model": "car", "motion": {"type": "drive", "start": start, "speed": 5, "when": when}}


FAULTS = [
    (lambda: scenario(ego={"start": {"x": 0, "y": 0}, "edges": [ROAD]}), r"ego.start: \(0.0, 0.0\) is not on a road"),
    (
        lambda: scenario(ego={"start": {"edge": ROAD, "pos": 30}, "edges": [ROAD], "goal": {"edge": ROAD, "pos": 36}}),
        "ego.goal: lies within 8 m of the start",
    ),
    (
        lambda: scenario(ego={"start": {"edge": ROAD}, "edges": [ROAD], "lanes": {ROAD: 9}}),
        "ego.lanes: edge '360414561' has lanes 0 to 1, found lane 9",
    ),
    (
        lambda: scenario(ego={"start": {"edge": ROAD}, "edges": [ROAD], "lanes": {"36041456": 0}}),
        "ego.lanes: unknown edge '36041456'; did you mean",
    ),
    (lambda: scenario(standing("a", 50), standing("b", 53)), "actors 'a' and 'b' stand in one another"),
    (lambda: scenario(waiting("a", "b", 80), waiting("b", "a", 120)), "actor 'a'.motion.when: waits for its own start"),
    (lambda: scenario(waiting("a", "a", 80)), "actor 'a'.motion.when: waits for its own start"),
    (lambda: scenario(ego={"start": {"edge": "36041456"}, "edges": [ROAD]}), "ego.start: .*did you mean '360414561'"),
    (lambda: scenario(ego={"start": {"edge": ROAD, "lane": 7}, "edges": [ROAD]}), "lanes 0 to 1, found lane 7"),
    (lambda: scenario(ego={"start": {"edge": ROAD, "pos": 9999}, "edges": [ROAD]}), "pos 9999 is not on lane"),
    (lambda: scenario(ego={"start": {"route_m": 3}, "edges": [ROAD]}), "cannot start relative to its own route"),
    (lambda: scenario(ego={"start": {"edge": ROAD, "pos": 10}, "edges": [ROAD, "264306385"]}), "cannot get from edge"),
    (lambda: scenario(network="nowhere.net.xml"), "network: no file"),
    (lambda: scenario(actor({"type": "stand", "place": {"route_m": 999}})), "'other'.motion.place: .*beyond the route"),
    (lambda: scenario(actor({"type": "stand", "place": {"route_m": 9}}, "cra")), "unknown model 'cra'; did you mean"),
    (
        lambda: scenario(actor({"type": "traffic", "start": {"edge": ROAD}}, "pedestrian")),
        "pedestrian cannot be driven by traffic",
    ),
    (
        lambda: scenario(actor({"type": "path", "points": [{"route_m": 9}, {"route_m": 9}], "speed": 1})),
        "motion.points: a polyline needs two distinct points",
    ),
    (
        lambda: scenario(actor({"type": "path", "points": [{"route_m": 9}, {"route_m": 19}], "speed": [1, 2]})),
        "one speed for each of 1 segments, found",
    ),
    (
        lambda: scenario(
            actor(
                {"type": "traffic", "start": {"edge": ROAD, "pos": 90}},
                reactions=[
                    {
                        "when": {"type": "actor_state", "actor": "othr", "speed_at_most": 1},
                        "do": {"type": "resume"},
                    }
                ],
            )
        ),
        "unknown actor 'othr'; did you mean 'other'",
    ),
    (
        lambda: scenario(
            actor(
                {"type": "traffic", "start": {"edge": ROAD, "pos": 90}},
                reactions=[{"when": {"type": "ego_passes", "route_m": 999}, "do": {"type": "resume"}}],
            )
        ),
        "route_m: 999 is beyond",
    ),
]


@pytest.mark.parametrize(("make", "message"), FAULTS)
def test_fault_names_scenario_field_and_value(make, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as error:
        resolve(make(), seed=0)
    assert str(error.value).startswith("try_1: ")


def test_open_suite_has_every_family_and_resolves() -> None:
    suite = load_suite("open")
    families = [suite.scenario(scenario_id).family for scenario_id in suite]
    assert len(set(families)) == 10
    for scenario_id in suite:
        plan = suite.plan(scenario_id, seed=1)
        assert 80 < plan.route.length < 600
        assert math.dist(plan.goal, plan.route.at(plan.route.length)[:2]) < plan.goal_radius


def test_suite_hash_changes_with_a_scenario() -> None:
    suite = load_suite("open")
    assert suite.hash == load_suite("open").hash
    rest = list(suite.entries.values())[1:]
    assert type(suite)("open", {entry.id: entry for entry in rest}).hash != suite.hash
