from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from drivehierarchy_gym.agents.prediction import LAYER, LAYERS, PERSON_SECONDS, Predictor, _Way
from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.plan import ActorPlan, PathDrive, StandDrive, TrafficDrive
from drivehierarchy_gym.road.default_map import default_network_path
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.scenarios.schema import AtTime
from drivehierarchy_gym.state import ActorState, EgoState, Snapshot

EDGE = "360414561"
TIMES = np.arange(LAYERS) * LAYER


@pytest.fixture(scope="module")
def network():
    return load_network(default_network_path())


def body(pose, speed, model="car", name="a"):
    m = ACTOR_MODELS[model]
    return ActorState(name, model, *pose, speed, m.length, m.width, m.height, (0, 0, 0))


def predict(network, states, drive, model="car"):
    """Body after `states` (one every 0.25 s), driven by `drive`."""
    plans = (ActorPlan("a", model, Pose(*states[0][0]), drive, (0, 0, 0)),) if drive is not None else ()
    predictor = Predictor(SimpleNamespace(actors=plans), network)
    for n, (pose, speed) in enumerate(states):
        ego = EgoState(pose[0], pose[1] + 20, 0.0, 0.0)
        (found,) = predictor.update(Snapshot(n * LAYER, ego, (body(pose, speed, model),)), 100.0)
    return found


def test_traffic_keeps_its_lane_and_speed(network):
    lane = network.lane(f"{EDGE}_0")
    found = predict(network, [(lane.shape.at(50.0), 10.0)], TrafficDrive((EDGE,), 0, 50.0, 10.0))
    likely = [track for track in found.tracks if track.likely]
    assert len(likely) == 1
    arcs = [lane.shape.project(x, y).arc for x, y in zip(likely[0].x, likely[0].y, strict=True)]
    np.testing.assert_allclose(arcs, 50.0 + 10.0 * TIMES, atol=0.1)
    assert not found.parked


def test_who_brakes_is_foreseen_to_stop(network):
    lane = network.lane(f"{EDGE}_0")
    states = [(lane.shape.at(50.0), 10.0), (lane.shape.at(52.3), 8.5)]
    track = next(t for t in predict(network, states, TrafficDrive((EDGE,), 0, 50.0, 10.0)).tracks if t.likely)
    travelled = np.hypot(track.x - track.x[0], track.y - track.y[0])
    assert travelled[-1] == pytest.approx(8.5**2 / (2 * 6.0), abs=1.2)


def test_limits_hold_from_where_a_lane_begins():
    """Speeding up to the limit; slower on the next lane, where less is allowed; and on for ever on the last one."""
    ends = (0.0, 20.0, 35.0)
    lines = [Polyline.through([(a, 0.0), (b, 0.0)]) for a, b in pairwise(ends)]
    way = _Way(tuple(SimpleNamespace(shape=line, speed=limit) for line, limit in zip(lines, (12.0, 4.0), strict=True)))
    arcs = way.advance(0.0, 8.0, 2.0)
    speeds = np.diff(arcs) / LAYER
    first = arcs[:-1] < 20.0
    assert first.any()
    np.testing.assert_allclose(speeds[first], np.minimum(8.0 + 0.5 * np.arange(1, first.sum() + 1), 12.0))
    np.testing.assert_allclose(speeds[~first], 4.0)
    assert arcs[-1] > 35.0
    assert np.all(np.diff(way.advance(20.0, 3.0, 0.0)) == 3.0 * LAYER)
    assert way.advance(5.0, 3.0, -2.0)[-1] == pytest.approx(5.0 + LAYER * sum(3.0 - 0.5 * k for k in range(1, 6)))


def test_who_drifts_sideways_is_foreseen_to_come_over(network):
    right, left = network.lane(f"{EDGE}_0"), network.lane(f"{EDGE}_1")
    away = abs(right.shape.project(*left.shape.at(50.0)[:2]).offset)
    start = left.shape.at(50.0)
    states = [(start, 10.0), (Pose(*left.shape.at(52.5).to_world(0.0, -0.25), start.yaw), 10.0)]
    track = next(t for t in predict(network, states, TrafficDrive((EDGE,), 1, 50.0, 10.0)).tracks if t.likely)
    assert abs(right.shape.project(track.x[8], track.y[8]).offset) == pytest.approx(away - 0.25 - 2.0, abs=0.1)


@pytest.mark.parametrize("acceleration", [None, 2.0])
def test_scripted_paths_are_followed_to_their_end(network, acceleration):
    path = Polyline.through([(0.0, 0.0), (10.0, 0.0), (10.0, 5.0)])
    drive = PathDrive(path, (2.0, 1.0), AtTime(seconds=0), acceleration)
    found = predict(network, [((0.0, 0.0, 0.0), 2.0)], drive, "pedestrian")
    (track,) = found.tracks
    np.testing.assert_allclose((track.x[4], track.y[4]), (2.0, 0.0), atol=0.01)
    assert track.x[-1] == pytest.approx(10.0)
    assert 2.0 < track.y[-1] <= 5.0
    assert not found.may_start
    assert not found.parked


def test_who_waits_for_a_trigger_may_start_and_who_has_arrived_is_parked(network):
    path = Polyline.through([(0.0, 0.0), (10.0, 0.0)])
    drive = PathDrive(path, (2.0,), AtTime(seconds=9))
    waiting = predict(network, [((0.0, 0.0, 0.0), 0.0)], drive, "pedestrian")
    assert (waiting.may_start, waiting.parked, waiting.path) == (True, False, path)
    arrived = predict(network, [((10.0, 0.0, 0.0), 0.0)], drive, "pedestrian")
    assert (arrived.may_start, arrived.parked) == (False, True)
    assert np.all(arrived.tracks[0].x == 10.0)


def test_the_releases_stopping_rule_parks_on_the_last_edge(network):
    lane = network.lane(f"{EDGE}_0")
    drive = TrafficDrive((EDGE,), 0, 50.0, 10.0, at_route_end="stop")
    states = [(lane.shape.at(50.0), 0.0)]
    assert predict(network, states, drive).parked
    assert not predict(network, states, replace(drive, at_route_end="leave")).parked


def test_things_and_stood_bodies_are_parked(network):
    assert predict(network, [((0.0, 0.0, 0.0), 0.0)], StandDrive(), "cone").parked
    assert predict(network, [((0.0, 0.0, 0.0), 0.0)], StandDrive(), "car").parked


def test_persons_go_straight_on_for_a_while(network):
    found = predict(network, [((5.0, 5.0, np.pi / 2), 1.5)], None, "pedestrian")
    (track,) = found.tracks
    foreseen = TIMES <= PERSON_SECONDS
    np.testing.assert_allclose(track.y[foreseen], 5.0 + 1.5 * TIMES[foreseen])
    assert np.isnan(track.x[~foreseen]).all()


def test_far_bodies_are_left_out(network):
    predictor = Predictor(SimpleNamespace(actors=()), network)
    snapshot = Snapshot(0.0, EgoState(0.0, 0.0, 0.0, 0.0), (body((200.0, 0.0, 0.0), 0.0),))
    assert predictor.update(snapshot, 100.0) == []
