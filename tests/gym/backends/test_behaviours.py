"""What scripted traffic does when its triggers fire, on the crossing of the fixtures."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest

from drivehierarchy_gym.backends.sumo.backend import SumoBackend
from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.plan import ActorPlan, PathDrive, TrafficDrive
from drivehierarchy_gym.scenarios.schema import (
    AtTime,
    Behaviour,
    BrakeHard,
    CutIn,
    EgoPasses,
    EgoWithin,
    OtherActor,
    Reaction,
    Resume,
    RunLight,
    SetSpeed,
    Wander,
)
from drivehierarchy_gym.state import ActorState, VehicleControl
from tests.gym.backends.actors import LANE_1, LANE_2, actor, car_on_wc
from tests.gym.backends.conftest import MakePlan

EAST = 0.0
STILL = VehicleControl(brake=1.0)
FAR_EGO = {
    "start": Pose(100.0, LANE_1, EAST),
    "route": ((100.0, LANE_1), (290.0, LANE_1)),
    "route_edges": ("CE",),
}
"""The ego out of the way, on CE."""


def _at(seconds: float, do: Behaviour) -> Reaction:
    return Reaction(when=AtTime(seconds=seconds), do=do)


def _record(backend: SumoBackend, seconds: float, name: str = "a", control: VehicleControl = STILL) -> list[ActorState]:
    """The actor after every tick; index i is the state at (i + 1) * 0.05 s."""
    states = []
    for _ in range(round(seconds / 0.05)):
        assert not backend.advance(control, 1)[0].contacts
        states.append(next(state for state in backend.snapshot().actors if state.id == name))
    return states


def _front_y(state: ActorState) -> float:
    """The front bumper leads sideways, the centre follows."""
    return state.y + math.sin(state.yaw) * state.length / 2


def _accelerations(states: list[ActorState]) -> list[float]:
    return [(b.speed - a.speed) / 0.05 for a, b in pairwise(states)]


def test_brake_hard_stops_holds_and_drives_on(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(
        make_plan(
            car_on_wc("a", -290.0, 13.0, reactions=(_at(1.0, BrakeHard(decel=8.0, hold_seconds=2.0)),)), **FAR_EGO
        )
    )
    states = _record(backend, 12.0)
    braking = [a for a in _accelerations(states) if a < -5.0]
    assert braking[:-1] == pytest.approx([-8.0] * (len(braking) - 1))
    assert all(state.braking for state in states[22:48])
    first_stop = next(i for i, state in enumerate(states) if state.speed == 0.0)
    assert first_stop * 0.05 == pytest.approx(1.0 + states[18].speed / 8.0, abs=0.1)
    standing = [state for state in states if state.speed == 0.0]
    assert len(standing) * 0.05 == pytest.approx(2.0, abs=0.1)
    assert states[-1].speed > 8.0


def test_brake_hard_to_a_lower_speed_for_ever(backend: SumoBackend, make_plan: MakePlan) -> None:
    reaction = _at(0.5, BrakeHard(decel=6.0, to_speed=4.0, hold_seconds=None))
    backend.reset(make_plan(car_on_wc("a", -290.0, 12.0, reactions=(reaction,)), **FAR_EGO))
    assert {state.speed for state in _record(backend, 8.0)[60:]} == {4.0}


def test_set_speed_beyond_the_limit_at_its_own_rate(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(
        make_plan(car_on_wc("a", -290.0, 10.0, reactions=(_at(0.0, SetSpeed(speed=20.0, accel=4.0)),)), **FAR_EGO)
    )
    states = _record(backend, 6.0)
    assert _accelerations(states)[5:40] == pytest.approx([4.0] * 35)
    assert {round(state.speed, 6) for state in states[60:]} == {20.0}


@pytest.mark.parametrize("ignore", [False, True])
def test_set_speed_respects_gaps_unless_told_otherwise(backend: SumoBackend, make_plan: MakePlan, ignore: bool) -> None:
    backend.reset(
        make_plan(
            car_on_wc("a", -250.0, 10.0, reactions=(_at(0.0, SetSpeed(speed=15.0, ignore_traffic=ignore)),)),
            car_on_wc("ahead", -225.0, 5.0, max_speed=5.0),
            car_on_wc("beside", -240.0, 5.0, lane=2, max_speed=5.0),
            **FAR_EGO,
        )
    )
    states = _record(backend, 5.0)
    ahead = next(state for state in backend.snapshot().actors if state.id == "ahead")
    assert (states[-1].speed == 15.0) is ignore
    assert (states[-1].x > ahead.x - 4.6) is ignore


@pytest.mark.parametrize(("side", "lane"), [("left", 1), ("right", 2)])
def test_cut_in_changes_lanes_in_the_given_time_whoever_is_there(
    backend: SumoBackend, make_plan: MakePlan, side: str, lane: int
) -> None:
    start, end = (LANE_1, LANE_2) if lane == 1 else (LANE_2, LANE_1)
    backend.reset(
        make_plan(
            car_on_wc("a", -250.0, 12.0, lane=lane, reactions=(_at(1.0, CutIn(side=side, seconds=2.0)),)),
            car_on_wc("beside", -252.0, 12.0, lane=3 - lane, edges=("WC", "CN" if lane == 1 else "CS")),
            **FAR_EGO,
        )
    )
    states = _record(backend, 5.0)
    assert {round(state.y, 2) for state in states[:19]} == {start}
    assert _front_y(states[39]) == pytest.approx((start + end) / 2, abs=0.15)
    assert {round(state.y, 2) for state in states[61:]} == {end}
    assert all(state.indicator == side for state in states[20:59])
    headings = [state.yaw for state in states]
    assert (max(headings) if side == "left" else -min(headings)) == pytest.approx(3.2 / 2 * 1.57 / 13.0, rel=0.15)
    steps = [abs(b.y - a.y) for a, b in pairwise(states)]
    assert max(steps) < 0.16  # no jump across the lane line
    travelled = [b.x - a.x for a, b in pairwise(states)]
    assert min(travelled) > 0.4
    assert max(travelled) < 0.9


def test_cut_in_waits_for_a_lane_to_cut_into(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(
        make_plan(car_on_wc("a", -290.0, 12.0, reactions=(_at(0.0, CutIn(side="right", seconds=1.0)),)), **FAR_EGO)
    )
    states = _record(backend, 5.0)
    assert {round(state.y, 2) for state in states} == {LANE_1}  # right of it is the sidewalk


@pytest.mark.parametrize("runs", [False, True])
def test_run_light(backend: SumoBackend, make_plan: MakePlan, lights: Path, runs: bool) -> None:
    reactions = (_at(0.0, RunLight()),) if runs else ()
    car = actor("a", Pose(-LANE_1, -82.3, 1.5707963), TrafficDrive(("SC", "CN"), 1, 220.0, 10.0), reactions=reactions)
    backend.reset(make_plan(car, net=lights, **FAR_EGO))
    states = _record(backend, 12.0)
    assert (states[-1].y > 10.0) is runs
    if not runs:
        assert states[-1].speed < 0.2


def test_wander_weaves_inside_the_lane(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(
        make_plan(car_on_wc("a", -290.0, 12.0, reactions=(_at(0.0, Wander(amplitude=0.5, period=4.0)),)), **FAR_EGO)
    )
    states = _record(backend, 8.0)
    offsets = [_front_y(state) - LANE_1 for state in states]
    assert max(offsets) == pytest.approx(0.5, abs=0.03)
    assert min(offsets) == pytest.approx(-0.5, abs=0.03)
    assert offsets[79] == pytest.approx(0.0, abs=0.06)
    assert max(abs(state.yaw) for state in states) > 0.04


def test_wander_never_leaves_the_lane(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(make_plan(car_on_wc("a", -290.0, 12.0, reactions=(_at(0.0, Wander(amplitude=1.5)),)), **FAR_EGO))
    assert max(abs(state.y - LANE_1) for state in _record(backend, 8.0)) <= (3.2 - 1.82) / 2 + 0.05


def test_resume_gives_the_car_back(backend: SumoBackend, make_plan: MakePlan) -> None:
    reactions = (
        _at(0.0, SetSpeed(speed=3.0, accel=8.0)),
        _at(0.0, Wander(amplitude=0.6)),
        _at(4.0, Resume()),
    )
    backend.reset(make_plan(car_on_wc("a", -290.0, 12.0, reactions=reactions), **FAR_EGO))
    states = _record(backend, 14.0)
    assert states[75].speed == 3.0
    assert states[-1].speed > 12.0
    assert states[-1].y == pytest.approx(LANE_1, abs=0.05)


def test_reactions_fire_in_their_order(backend: SumoBackend, make_plan: MakePlan) -> None:
    reactions = (
        _at(2.0, SetSpeed(speed=6.0, accel=12.0)),
        _at(1.0, SetSpeed(speed=9.0, accel=12.0)),  # its time has come, but not its turn
    )
    backend.reset(make_plan(car_on_wc("a", -290.0, 12.0, reactions=reactions), **FAR_EGO))
    states = _record(backend, 4.0)
    assert min(state.speed for state in states[:39]) > 11.5
    assert states[-1].speed == 9.0


def test_a_chain_of_triggers_over_several_actors(backend: SumoBackend, make_plan: MakePlan) -> None:
    """The ego passes 10 m -> a walker steps out -> a car brakes because the walker has started."""
    path = Polyline.through([(-20.0, -8.0), (-20.0, 8.0)])
    walker = ActorPlan("walker", "pedestrian", path.at(0), PathDrive(path, (1.4,), EgoPasses(route_m=10.0)), (9, 9, 9))
    brake = Reaction(when=OtherActor(actor="walker", started=True), do=BrakeHard(hold_seconds=None))
    backend.reset(make_plan(walker, car_on_wc("a", -230.0, 10.0, lane=2, reactions=(brake,))))
    started = stopped = None
    for _ in range(160):
        tick = backend.advance(VehicleControl(throttle=0.3), 1)[0]
        states = {state.id: state for state in backend.snapshot().actors}
        if started is None and states["walker"].speed > 0:
            started = tick.time
            assert 10.0 <= tick.ego.x + 100.0 < 10.0 + tick.ego.speed * 0.05
        if stopped is None and states["a"].speed == 0.0:
            stopped = tick.time
    assert started is not None
    assert stopped is not None
    assert started < stopped < started + 2.0


def test_a_walker_that_starts_when_the_ego_comes_near(backend: SumoBackend, make_plan: MakePlan) -> None:
    path = Polyline.through([(-60.0, -10.0), (-60.0, -7.0)])
    walker = ActorPlan("w", "pedestrian", path.at(0), PathDrive(path, (1.0,), EgoWithin(meters=25.0)), (9, 9, 9))
    backend.reset(make_plan(walker))
    for _ in range(140):
        tick = backend.advance(VehicleControl(throttle=0.3), 1)[0]
        moved = backend.snapshot().actors[0].y > -10.0
        if moved:
            break
    assert ((tick.ego.x + 60.0) ** 2 + (tick.ego.y + 10.0) ** 2) ** 0.5 == pytest.approx(25.0, abs=0.6)
