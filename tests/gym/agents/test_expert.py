from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import drivehierarchy_gym  # noqa: F401 - registers the environment
from drivehierarchy_gym.agents import make_agent
from drivehierarchy_gym.agents.protocol import EpisodeContext
from drivehierarchy_gym.agents.reference import ReferenceLine, speed_profile

ROAD = "256366927"
"""Two lanes one way, 370 m, limit 70 km/h."""
SCENARIO = """\
id: case
family: 02_obstacle_avoidance
description: made for a test
ego: {{start: {{edge: "{road}", lane: 0, pos: 40}}, edges: ["{road}"], goal: {{edge: "{road}", lane: 0, pos: 180}},
  lanes: {{"{road}": 0}}, start_speed: {speed}}}
actors: [{actors}]
"""


@pytest.fixture
def drive(tmp_path):
    """Drive a scenario with the expert; gives the termination reason and arrays of time, y offset and speed."""

    def run(actors="", speed=8, agent="expert"):
        (tmp_path / "case.yaml").write_text(SCENARIO.format(road=ROAD, actors=actors, speed=speed))
        env = gymnasium.make("DriveHierarchy-R4", suite=str(tmp_path), observation="state").unwrapped
        try:
            observation, info = env.reset(seed=3)
            driver = make_agent(agent)
            context = EpisodeContext(env.plan, 3, env.snapshot())
            driver.reset(context, info)
            rows = []
            while True:
                context.snapshot = env.snapshot()
                ego = context.snapshot.ego
                arc, offset = env.plan.lane_route.project(ego.x, ego.y)
                rows.append((info["time"], arc, offset, ego.speed))
                observation, _, terminated, truncated, info = env.step(driver.act(observation, info))
                if terminated or truncated:
                    return info["termination_reason"], np.array(rows)
        finally:
            env.close()

    return run


def stand(name, model, route_m, left_m=0.0):
    place = f"{{route_m: {route_m}, left_m: {left_m}}}"
    return f"{{id: {name}, model: {model}, motion: {{type: stand, place: {place}}}}}"


def test_empty_road_is_driven_at_its_speed(drive):
    for agent in ("expert", "follower"):
        reason, rows = drive(agent=agent)
        assert reason == "destination_reached"
        assert np.abs(rows[:, 2]).max() < 0.3
        assert rows[:, 3].max() > 14


def test_parked_car_is_passed_on_the_free_lane(drive):
    reason, rows = drive(stand("parked", "car", 80))
    assert reason == "destination_reached"
    beside = rows[(rows[:, 1] > 76) & (rows[:, 1] < 84)]
    assert np.all(beside[:, 2] > 1.9)
    assert abs(rows[-1, 2]) < 1.0


def test_closed_road_is_waited_at(drive):
    barriers = ", ".join(stand(f"b{n}", "barrier", 80, left) for n, left in enumerate((-2, 0, 2, 4, 6)))
    reason, rows = drive(barriers)
    assert reason in ("blocked_timeout", "scenario_timeout")
    assert 60 < rows[-1, 1] < 78


def test_pedestrian_who_steps_out_is_let_pass(drive):
    walker = (
        "{id: walker, model: pedestrian, motion: {type: path, speed: 1.4, "
        "points: [{route_m: 90, left_m: -4}, {route_m: 90, left_m: 9}], "
        "when: {type: ego_arrives_in, route_m: 90, seconds: 2.5}}}"
    )
    assert drive(walker)[0] == "destination_reached"
    assert drive(walker, agent="follower")[0] == "collision_pedestrian"


def test_slow_leader_is_followed_at_a_distance(drive):
    leader = (
        '{id: leader, model: car, motion: {type: traffic, start: {edge: "256366927", lane: 0, pos: 70}, '
        "speed: 5, max_speed: 5}}"
    )
    reason, rows = drive(leader)
    assert reason == "destination_reached"
    late = rows[(rows[:, 0] > 10) & (rows[:, 0] < 25)]
    assert late[:, 3].mean() == pytest.approx(5.0, abs=0.5)


def test_speed_profile_slows_before_bends_and_keeps_limits():
    curvature = np.zeros(100)
    curvature[60:70] = 0.1
    profile = speed_profile(curvature, np.full(100, 14.0))
    assert profile[65] == pytest.approx(np.sqrt(2.2 / 0.1))
    assert profile[0] == 14.0
    assert np.all(np.diff(profile[:60] ** 2) >= -2 * 2.0 - 1e-9)


def test_reference_line_knows_limits_signals_and_right_of_way():
    from drivehierarchy_gym.road.network import load_network
    from drivehierarchy_gym.scenarios.suites import load_suite

    suite = load_suite("open")
    plan = suite.plan("intersection_01", 0)
    line = ReferenceLine(plan, load_network(plan.network_file))
    (stop,) = line.stops
    assert 0 < stop.station < plan.lane_route.length
    assert np.all((line.limit > 3) & (line.limit < 40))
    plan = suite.plan("t_intersection_01", 0)
    assert ReferenceLine(plan, load_network(plan.network_file)).yields
