"""What the ego does and why, on states put together for the purpose."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import pytest

from drivehierarchy_data.scene import Situation
from drivehierarchy_data.sources.situations import Motion, SituationReader
from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.scenarios.suites import load_suite
from drivehierarchy_gym.state import ActorState, EgoState, Snapshot

STRAIGHT, SIGNALS = "sudden_braking_01", "intersection_01"


@lru_cache(maxsize=2)
def plan_of(name: str) -> EpisodePlan:
    return load_suite("open").plan(name, 0)


def actor(
    name: str,
    ahead: float,
    left: float = 0.0,
    model: str = "car",
    speed: float = 0.0,
    at: float = 20,
    turn_deg: float = 0.0,
) -> ActorState:
    """A body on the route of the straight scenario, `ahead` metres before the ego's middle and `left` of the line."""
    pose = plan_of(STRAIGHT).lane_route.at(at + ahead)
    x, y = pose.to_world(0.0, left)
    kind = ACTOR_MODELS[model]
    yaw = pose.yaw + math.radians(turn_deg)
    return ActorState(name, model, x, y, yaw, speed, kind.length, kind.width, kind.height, (200, 30, 30))


def read(
    speeds: tuple[float, float, float],
    *actors: ActorState,
    turned_deg: float = 0.0,
    name: str = STRAIGHT,
    at: float = 20.0,
    light: str = "",
) -> Situation | None:
    plan = plan_of(name)
    network = load_network(plan.network_file)
    pose = plan.lane_route.at(at)
    signals = dict.fromkeys(network.signals, light * 80) if light else {}
    snapshot = Snapshot(5.0, EgoState(*pose, speeds[1]), actors, signals)
    headings = (0.0, math.radians(turned_deg) / 2, math.radians(turned_deg))
    return SituationReader(plan, network).read(snapshot, Motion(speeds, headings))


def stop_line(name: str = SIGNALS) -> float:
    plan = plan_of(name)
    return SituationReader(plan, load_network(plan.network_file))._line.stops[0].station


def test_slowing_down_for_who_is_ahead() -> None:
    assert read((9, 8, 6.5), actor("lead", 18, speed=4)) == Situation("slow_down", "vehicle_ahead", "lead")
    assert read((9, 8, 6.5), actor("b", 18, model="bicycle", speed=4)) == Situation("slow_down", "cyclist_ahead", "b")
    walker = actor("p", 18, 2.5, "pedestrian", speed=1.4, turn_deg=-90)
    assert read((9, 8, 6.5), walker) == Situation("slow_down", "person_ahead", "p")


def test_the_nearer_of_two_reasons_counts() -> None:
    lead, walker = actor("lead", 25, speed=4), actor("p", 15, 1.0, "pedestrian", speed=1.4)
    assert read((9, 8, 6.5), lead, walker) == Situation("slow_down", "person_ahead", "p")


def test_slowing_down_without_a_reason_is_not_explained() -> None:
    assert read((9, 8, 6.5)) is None
    assert read((9, 8, 6.5), actor("beside", 18, 3.4, speed=4)) is None
    assert read((9, 8, 6.5), actor("away", 18, speed=14)) is None
    assert read((9, 8, 6.5), actor("bystander", 18, 3.0, "pedestrian")) is None
    assert read((9, 8, 6.5), actor("along", 18, 3.0, "pedestrian", speed=1.4)) is None
    assert read((9, 8, 6.5), actor("leaving", 18, 3.0, "pedestrian", speed=1.4, turn_deg=90)) is None


def test_of_two_reasons_at_one_place_none_is_told() -> None:
    lead, walker = actor("lead", 20, speed=4), actor("p", 16, 1.0, "pedestrian", speed=1.4)
    assert read((9, 8, 6.5), lead, walker) is None


def test_a_cyclist_at_the_edge_of_the_lane_is_in_the_way() -> None:
    rider = actor("b", 14, -1.6, "bicycle", speed=4)
    assert read((9, 8, 6.5), rider) == Situation("slow_down", "cyclist_ahead", "b")
    assert read((9, 8, 6.5), actor("b", 14, -2.4, "bicycle", speed=4)) is None


def test_free_road() -> None:
    assert read((9, 9, 9)) == Situation("keep_speed", "clear_road")
    assert read((7, 8, 9)) == Situation("speed_up", "clear_road")
    assert read((9, 9, 9), actor("beside", 18, 3.4, speed=9)) == Situation("keep_speed", "clear_road")
    assert read((9, 9, 9), actor("half in the lane", 18, 2.0)) is None


def test_following() -> None:
    assert read((9, 9, 9), actor("lead", 22, speed=9)) == Situation("follow", "vehicle_ahead", "lead")
    assert read((9, 9, 9), actor("lead", 22, speed=12)) is None


def test_standing_behind_somebody() -> None:
    assert read((0, 0, 0), actor("lead", 9)) == Situation("stand", "vehicle_ahead", "lead")
    assert read((0, 0, 0), actor("p", 8, 0.3, "pedestrian", 1.0)) == Situation("stand", "person_ahead", "p")
    assert read((0, 0, 0)) is None


def test_setting_off() -> None:
    assert read((0, 0.5, 2.5)) == Situation("start", "clear_road")
    assert read((0, 0.5, 2.5), actor("lead", 11, speed=3)) == Situation("start", "vehicle_ahead", "lead")
    assert read((0, 0.5, 2.5), actor("lead", 11)) is None


@pytest.mark.parametrize(("degrees", "action"), [(40, "turn_left"), (-40, "turn_right")])
def test_turning(degrees: float, action: str) -> None:
    situation = read((6, 6, 6), turned_deg=degrees)
    assert situation is not None
    assert (situation.action, situation.cause) == (action, "route")


def test_lights() -> None:
    line = stop_line()
    assert read((9, 8, 6), name=SIGNALS, at=line - 30, light="r") == Situation("slow_down", "red_light")
    assert read((0, 0, 0), name=SIGNALS, at=line - 4, light="r") == Situation("stand", "red_light")
    assert read((0, 0.5, 2.5), name=SIGNALS, at=line - 4, light="G") == Situation("start", "green_light")
    assert read((0, 0, 0), name=SIGNALS, at=line - 4, light="G") is None
    assert read((9, 9, 9), name=SIGNALS, at=line - 30, light="r") is None


def test_a_queue_before_a_red_light_is_the_nearer_reason() -> None:
    line = stop_line()
    pose = plan_of(SIGNALS).lane_route.at(line - 3)
    kind = ACTOR_MODELS["van"]
    lead = ActorState("lead", "van", *pose, 0.0, kind.length, kind.width, kind.height, (1, 1, 1))
    found = read((0, 0, 0), replace(lead, speed=0.0), name=SIGNALS, at=line - 11, light="r")
    assert found == Situation("stand", "vehicle_ahead", "lead")
