"""Placement, contacts, traffic's view of scripted bodies, red lights: on a crossing of two roads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from drivehierarchy_gym.backends.sumo import backend as backend_module
from drivehierarchy_gym.backends.sumo.backend import SumoBackend
from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import Polyline, Pose, boxes_overlap
from drivehierarchy_gym.plan import EpisodePlan, PathDrive, StandDrive, TrafficDrive, WalkDrive
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.road.surroundings import Building, Surroundings
from drivehierarchy_gym.scenarios.schema import AtTime, Reaction, RunLight, SetSpeed
from drivehierarchy_gym.state import ActorState, Contact, TickState, VehicleControl
from tests.gym.backends.actors import LANE_1, LANE_2, actor, car_on_wc
from tests.gym.backends.conftest import MakePlan

STILL = VehicleControl(brake=1.0)
GO = VehicleControl(throttle=0.5)
EAST, NORTH = 0.0, math.pi / 2


def _of(backend: SumoBackend, name: str) -> ActorState:
    return next(a for a in backend.snapshot().actors if a.id == name)


def _drive(backend: SumoBackend, control: VehicleControl, seconds: float) -> Iterator[TickState]:
    """Tick by tick until the time is over or something is touched."""
    for _ in range(round(seconds / 0.05)):
        tick = backend.advance(control, 1)[0]
        yield tick
        if tick.contacts:
            return


def _touches(tick: TickState, body: ActorState) -> bool:
    ego = tick.ego
    return boxes_overlap(ego.x, ego.y, ego.yaw, 4.89, 1.84, body.x, body.y, body.yaw, body.length, body.width)


# --- placement -------------------------------------------------------------------------------------------------------


def test_everybody_stands_in_the_planned_place_at_time_0(backend: SumoBackend, make_plan: MakePlan) -> None:
    path = Polyline.through([(-50, -8), (-50, 8)])
    plan = make_plan(
        car_on_wc("traffic", -150.0, 12.0),
        actor("bus", Pose(-200.0 - 5.75, LANE_1, EAST), TrafficDrive(("WC", "CE"), 1, 100.0, 8.0), "bus"),
        actor("walker", path.at(0), PathDrive(path, (1.0,)), "pedestrian"),
        actor("parked", Pose(-30.0, -9.5, 0.4), StandDrive(), "van"),
        actor("cone", Pose(-20.0, -6.0, EAST), StandDrive(), "cone"),
        start_speed=3.0,
    )
    snapshot = backend.reset(plan)
    assert snapshot.time == 0.0
    assert (snapshot.ego.x, snapshot.ego.y, snapshot.ego.yaw, snapshot.ego.speed) == (-100.0, LANE_1, 0.0, 3.0)
    assert [a.id for a in snapshot.actors] == ["traffic", "bus", "walker", "parked", "cone"]
    for state, planned in zip(snapshot.actors, plan.actors, strict=True):
        assert math.dist((state.x, state.y), planned.pose[:2]) < 0.01
        assert math.cos(state.yaw - planned.pose.yaw) > 0.9999
        assert (state.model, state.colour) == (planned.model, planned.colour)
    assert [a.speed for a in snapshot.actors] == [12.0, 8.0, 0.0, 0.0, 0.0]


def test_traffic_stands_nose_to_tail_where_the_scenario_says_so(backend: SumoBackend, make_plan: MakePlan) -> None:
    """SUMO on its own would delay the second car until the gap is safe."""
    snapshot = backend.reset(make_plan(car_on_wc("a", -150.0, 0.0), car_on_wc("b", -154.9, 13.0)))
    assert [round(a.x, 3) for a in snapshot.actors] == [-152.3, -157.2]


def test_a_car_departs_at_the_very_start_of_a_lane_facing_along_it(backend: SumoBackend, make_plan: MakePlan) -> None:
    plan = make_plan(actor("a", Pose(10.5 - 2.3, LANE_1, EAST), TrafficDrive(("CE",), 1, 0.1, 5.0)))
    backend.reset(plan)
    for _ in range(40):
        assert abs(_of(backend, "a").yaw) < 0.001  # SUMO alone says 0.33 rad
        assert abs(_of(backend, "a").y - LANE_1) < 0.001
        backend.advance(STILL, 1)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (actor("a", Pose(-250.0, LANE_1, EAST), TrafficDrive(("WC", "CE"), 1, 150.0, 5.0)), "away"),
        (actor("a", Pose(-250.0, LANE_1, EAST), TrafficDrive(("WC", "CE"), 5, 52.3, 5.0)), "departLane"),
        (
            actor("a", Pose(-250.0, LANE_1, EAST), TrafficDrive(("WC", "NC"), 1, 52.3, 5.0)),
            "no way along its route WC NC",
        ),
        (actor("a", Pose(-250.0, LANE_1, EAST), TrafficDrive(("nowhere",), 1, 52.3, 5.0)), "nowhere"),
        (actor("a", Pose(-250.0, LANE_1, EAST), TrafficDrive(("WC", "CE"), 1, 52.3, 90.0)), "too high"),
        (actor("a", Pose(-250.0, -8.0, EAST), TrafficDrive(("WC", "CE"), 0, 52.3, 5.0)), "SUMO"),
        (
            actor(
                "a", Pose(-50.0, -8.0, NORTH), PathDrive(Polyline.through([(-50, -9), (-50, 8)]), (1.0,)), "pedestrian"
            ),
            "its path begins elsewhere, 1.00 m away",
        ),
        (car_on_wc("a", -96.0, 0.0), "overlaps the ego"),
        (actor("a", Pose(-98.0, LANE_1 - 1.0, EAST), StandDrive(), "cone"), "overlaps the ego"),
    ],
)
def test_who_cannot_be_placed_is_named(backend: SumoBackend, make_plan: MakePlan, wrong: object, reason: str) -> None:
    with pytest.raises(ScenarioError, match=rf"(?s)test: actor 'a' cannot be placed at its planned pose .*{reason}"):
        backend.reset(make_plan(car_on_wc("fine", -200.0, 5.0), wrong))
    backend.reset(make_plan(car_on_wc("fine", -200.0, 5.0)))


@pytest.mark.parametrize("edges", [(), ("WC", "EC"), ("nowhere",)])
def test_the_ego_stands_in_its_place_also_where_sumo_cannot_drive_its_route(
    backend: SumoBackend, make_plan: MakePlan, edges: tuple[str, ...]
) -> None:
    backend.reset(make_plan(car_on_wc("behind", -140.0, 10.0, edges=("WC", "CS")), route_edges=edges))
    assert all(not tick.contacts for tick in _drive(backend, STILL, 10.0))


def test_background_that_sumo_refuses_is_left_out(backend: SumoBackend, make_plan: MakePlan) -> None:
    lost = TrafficDrive(("WC", "NC"), 1, 52.3, 5.0)
    pose = Pose(-250.0, LANE_1, EAST)
    snapshot = backend.reset(
        make_plan(
            actor("now", pose, lost, background=True),
            actor("later", pose, lost, background=True, depart_time=0.5),
            actor("walker", pose, WalkDrive(("nowhere",), 5.0), "pedestrian", background=True),
            car_on_wc("fine", -200.0, 5.0),
        )
    )
    assert [a.id for a in snapshot.actors] == ["fine"]
    backend.advance(STILL, 40)
    assert [a.id for a in backend.snapshot().actors] == ["fine"]


# --- the four kinds of contact ---------------------------------------------------------------------------------------


def _until_contact(backend: SumoBackend, plan: EpisodePlan, control: VehicleControl, seconds: float) -> TickState:
    """The tick of the first contact, which is also the first in which the boxes touch."""
    backend.reset(plan)
    for tick in _drive(backend, control, seconds):
        touched = {a.id for a in backend.snapshot().actors if _touches(tick, a)}
        assert touched == {contact.actor_id for contact in tick.contacts}
    return tick


def test_contact_with_a_stopped_car(backend: SumoBackend, make_plan: MakePlan) -> None:
    plan = make_plan(actor("stopped", Pose(-60.0, LANE_1 + 0.5, EAST), StandDrive()))
    tick = _until_contact(backend, plan, GO, 10.0)
    assert tick.contacts == (Contact("stopped", "vehicle"),)
    assert -60.0 - 2.3 <= tick.ego.x + 2.445 < -60.0 - 2.3 + tick.ego.speed * 0.05


def test_contact_with_a_pedestrian_on_the_carriageway(backend: SumoBackend, make_plan: MakePlan) -> None:
    path = Polyline.through([(-60.0, -8.0), (-60.0, 3.0)])
    plan = make_plan(actor("walker", path.at(0), PathDrive(path, (0.8,)), "pedestrian"), start_speed=8.0)
    tick = _until_contact(backend, plan, VehicleControl(throttle=0.2), 10.0)
    assert tick.contacts == (Contact("walker", "pedestrian"),)


def test_contact_with_a_crossing_car_inside_the_junction(backend: SumoBackend, make_plan: MakePlan) -> None:
    runner = actor(
        "crossing",
        Pose(-LANE_1, -42.3, NORTH),
        TrafficDrive(("SC", "CN"), 1, 260.0, 10.0),
        reactions=(
            Reaction(when=AtTime(seconds=0), do=RunLight()),
            Reaction(when=AtTime(seconds=0), do=SetSpeed(speed=10.0, ignore_traffic=True)),
        ),
    )
    plan = make_plan(runner, start=Pose(-37.0, LANE_1, EAST), start_speed=11.0, route=((-37, LANE_1), (290, LANE_1)))
    tick = _until_contact(backend, plan, VehicleControl(throttle=0.1), 10.0)
    assert tick.contacts == (Contact("crossing", "vehicle"),)
    assert abs(tick.ego.x) < 12.0
    assert abs(tick.ego.y - LANE_1) < 0.001


def test_contact_from_behind_while_standing(backend: SumoBackend, make_plan: MakePlan) -> None:
    rammer = car_on_wc(
        "rammer",
        -125.0,
        10.0,
        reactions=(Reaction(when=AtTime(seconds=0), do=SetSpeed(speed=10.0, ignore_traffic=True)),),
    )
    tick = _until_contact(backend, make_plan(rammer), STILL, 10.0)
    assert tick.contacts == (Contact("rammer", "vehicle"),)
    assert tick.time == pytest.approx((125.0 - 100.0 - 2.445) / 10.0, abs=0.1)


def test_contact_with_a_cone_and_a_barrier(backend: SumoBackend, make_plan: MakePlan) -> None:
    plan = make_plan(
        actor("cone", Pose(-90.0, LANE_1 + 0.8, EAST), StandDrive(), "cone"),
        actor("barrier", Pose(-90.1, LANE_1 - 0.9, EAST), StandDrive(), "barrier"),
    )
    tick = _until_contact(backend, plan, GO, 10.0)
    assert set(tick.contacts) == {Contact("cone", "static"), Contact("barrier", "static")}


def test_advance_stops_after_the_tick_of_a_contact_and_only_then(backend: SumoBackend, make_plan: MakePlan) -> None:
    plan = make_plan(actor("stopped", Pose(-60.0, LANE_1, EAST), StandDrive()))
    single = _until_contact(backend, plan, GO, 10.0)
    backend.reset(plan)
    ticks = backend.advance(GO, 200)
    assert ticks[-1] == single
    assert not any(tick.contacts for tick in ticks[:-1])
    assert [tick.time for tick in ticks] == [round(0.05 * (i + 1), 6) for i in range(len(ticks))]


def test_a_near_miss_is_no_contact(backend: SumoBackend, make_plan: MakePlan) -> None:
    gap = 0.06
    beside = LANE_1 + 1.84 / 2 + 1.82 / 2 + gap
    backend.reset(make_plan(actor("beside", Pose(-60.0, beside, EAST), StandDrive())))
    assert all(not tick.contacts for tick in _drive(backend, GO, 8.0))
    assert backend.snapshot().ego.x > -50.0


# --- what traffic sees -----------------------------------------------------------------------------------------------


def test_traffic_stops_behind_the_standing_ego(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(make_plan(car_on_wc("behind", -200.0, 13.0, edges=("WC", "CS")), car_on_wc("b", -190.0, 9.0, lane=2)))
    assert all(not tick.contacts for tick in _drive(backend, STILL, 30.0))


def test_crossing_traffic_gives_way_to_the_ego_on_the_priority_road(backend: SumoBackend, make_plan: MakePlan) -> None:
    crossing = actor("crossing", Pose(-LANE_1, -82.3, NORTH), TrafficDrive(("SC", "CN"), 1, 220.0, 12.0))
    plan = make_plan(crossing, start=Pose(-80.0, LANE_1, EAST), start_speed=12.0, route=((-80, LANE_1), (290, LANE_1)))
    backend.reset(plan)
    slowest = 12.0
    for tick in _drive(backend, VehicleControl(throttle=0.12), 8.0):
        if tick.ego.x < 8.0:
            slowest = min(slowest, _of(backend, "crossing").speed)
    assert not tick.contacts
    assert slowest < 5.0


def _passes_walker(backend: SumoBackend, plan: EpisodePlan) -> float:
    """Smallest distance between the boxes' centres of car and walker along the road while both are in lane 1."""
    backend.reset(plan)
    closest = math.inf
    for _ in range(200):
        backend.advance(STILL, 1)
        car, walker = _of(backend, "car"), _of(backend, "walker")
        if abs(car.y - walker.y) < 1.2:
            closest = min(closest, abs(car.x - walker.x))
    return closest


def test_traffic_yields_to_walkers_on_the_carriageway_unless_they_are_hidden(
    backend: SumoBackend, make_plan: MakePlan
) -> None:
    path = Polyline.through([(-200.0, -8.0), (-200.0, LANE_1), (-200.0, LANE_1 + 0.2)])
    drive = PathDrive(path, (1.5, 0.05))
    plans = [
        make_plan(
            car_on_wc("car", -250.0, 13.0, edges=("WC", "CS")),
            car_on_wc("blocker", -247.0, 13.0, lane=2),
            actor("walker", path.at(0), drive, "pedestrian", seen_by_traffic=seen),
        )
        for seen in (True, False)
    ]
    assert _passes_walker(backend, plans[0]) > 2.3
    assert _passes_walker(backend, plans[1]) < 1.0


def test_traffic_keeps_clear_of_cones_and_scripted_cars(backend: SumoBackend, make_plan: MakePlan) -> None:
    path = Polyline.through([(-220.0, LANE_2), (-20.0, LANE_2)])
    backend.reset(
        make_plan(
            car_on_wc("car", -250.0, 13.0),
            actor("cone", Pose(-200.0, LANE_1, EAST), StandDrive(), "cone"),
            actor("slow", path.at(0), PathDrive(path, (2.0,)), "van"),
            start=Pose(100.0, LANE_1, EAST),
            route=((100.0, LANE_1), (290.0, LANE_1)),
            route_edges=("CE",),
        )
    )
    for _ in range(400):
        backend.advance(STILL, 1)
        car = _of(backend, "car")
        for other in (_of(backend, "cone"), _of(backend, "slow")):
            assert not boxes_overlap(
                car.x, car.y, car.yaw, car.length, car.width, other.x, other.y, other.yaw, other.length, other.width
            )
    assert car.x > -240.0


def test_traffic_knows_how_fast_a_speeding_ego_is(backend: SumoBackend, make_plan: MakePlan) -> None:
    """A car ahead that has to give way judges the ego's arrival: at 25 m/s on a 13.9 m/s road it must not pull out."""
    crossing = actor("crossing", Pose(-LANE_1, -13.0 - 2.3, NORTH), TrafficDrive(("SC", "CN"), 1, 287.0, 0.0))
    plan = make_plan(crossing, start=Pose(-110.0, LANE_1, EAST), start_speed=26.0)
    backend.reset(plan)
    ticks = list(_drive(backend, VehicleControl(throttle=0.2), 5.0))
    assert not ticks[-1].contacts
    assert ticks[-1].ego.x > 10.0


def test_who_leaves_is_gone_and_who_stands_stays(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(
        make_plan(
            car_on_wc("leaver", -20.0, 13.0, edges=("WC",)),
            car_on_wc("stopper", -150.0, 8.0, edges=("WC",), at_route_end="stop"),
            actor("off the road", Pose(-30.0, -40.0, 1.0), StandDrive(), "suv"),
        )
    )
    backend.advance(STILL, 200)
    assert [a.id for a in backend.snapshot().actors] == ["stopper", "off the road"]
    stopper = _of(backend, "stopper")
    assert stopper.speed == 0.0
    assert stopper.x == pytest.approx(-152.3 + 8.0**2 / 2 / 4.5, abs=1.0)  # brakes at once, facts §3.10


def test_continue_extends_the_route_by_the_releases_choice(backend: SumoBackend, make_plan: MakePlan) -> None:
    """sorted outgoing edges, indexed by the byte sum of "id:edge" (facts §3.10)."""
    names = ["x1", "x2", "x3"]
    backend.reset(
        make_plan(
            *(car_on_wc(n, -150.0 + 20 * i, 9.0, edges=("WC",), at_route_end="continue") for i, n in enumerate(names)),
            start=Pose(100.0, LANE_1, EAST),
            route=((100.0, LANE_1), (290.0, LANE_1)),
            route_edges=("CE",),
        )
    )
    where = {}
    for _ in range(500):
        backend.advance(STILL, 1)
        for state in backend.snapshot().actors:
            x, y = state.x, state.y
            for edge, passed in (("CE", x > 60), ("CN", y > 60), ("CS", y < -60)):
                if passed:
                    where.setdefault(state.id, edge)
    outgoing = ["CE", "CN", "CS"]
    assert where == {name: outgoing[sum(f"{name}:WC".encode()) % 3] for name in names}


# --- background ------------------------------------------------------------------------------------------------------


def test_late_background_enters_when_there_is_room_and_far_from_the_ego(
    backend: SumoBackend, make_plan: MakePlan
) -> None:
    drive = TrafficDrive(("EC", "CW"), 1, 100.0, 5.0)
    pose = Pose(200.0 + 2.3, -LANE_1, math.pi)
    near = Pose(-80.0 + 2.3, -LANE_1, math.pi)
    backend.reset(
        make_plan(
            actor("blocker", Pose(195.0, -LANE_1, math.pi), TrafficDrive(("EC", "CW"), 1, 107.3, 2.0)),
            actor("late", pose, drive, background=True, depart_time=1.0),
            actor("never", near, TrafficDrive(("CW",), 1, 69.5, 5.0), background=True, depart_time=1.0),
            actor("walker", Pose(-200.0, -8.0, EAST), WalkDrive(("WC",), 100.0), "pedestrian", background=True),
        )
    )
    entered = {}
    for _ in range(400):
        tick = backend.advance(STILL, 1)[0]
        for state in backend.snapshot().actors:
            entered.setdefault(state.id, tick.time)
    assert entered["walker"] == entered["blocker"] == 0.05
    assert 1.05 < entered["late"] < 15.0
    assert "never" not in entered
    assert _of(backend, "walker").x > -190.0


# --- the ego on the road ---------------------------------------------------------------------------------------------


def test_on_road_and_off_it(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(make_plan(start=Pose(-100.0, LANE_1, -0.5), start_speed=8.0))
    states = [tick.on_road for tick in _drive(backend, VehicleControl(throttle=0.2), 2.0)]
    assert states[0] is True
    assert states[-1] is False
    assert states == sorted(states, reverse=True)


def test_a_red_light_that_the_ego_runs(backend: SumoBackend, make_plan: MakePlan, lights: Path) -> None:
    plan = make_plan(
        net=lights,
        start=Pose(-LANE_1, -50.0, NORTH),
        start_speed=10.0,
        route=((-LANE_1, -50.0), (-LANE_1, 290.0)),
        route_edges=("SC", "CN"),
    )
    assert set(backend.reset(plan).signals) == {"C"}
    ticks = list(_drive(backend, VehicleControl(throttle=0.1), 6.0))
    ran = [tick for tick in ticks if tick.ran_red_light]
    assert [tick.ran_red_light for tick in ran] == ["C"]
    end_of_lane = load_network(lights).lane("SC_1").shape.points[-1]
    passed = ran[0].ego.y + 2.445 - end_of_lane[1]
    assert 0.0 <= passed < ran[0].ego.speed * 0.05


def test_green_is_no_offence(backend: SumoBackend, make_plan: MakePlan, lights: Path) -> None:
    backend.reset(make_plan(net=lights, start=Pose(-50.0, LANE_1, EAST), start_speed=10.0))
    ticks = list(_drive(backend, VehicleControl(throttle=0.1), 8.0))
    assert ticks[-1].ego.x > 10.0
    assert not any(tick.ran_red_light for tick in ticks)


def test_the_wall_of_a_building(make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    outline = np.array([(-80.0, -20.0), (-60.0, -20.0), (-60.0, -10.0), (-80.0, -10.0)])
    house = Building(outline, np.zeros((0, 3, 2)), 9.0)
    monkeypatch.setattr(backend_module, "surroundings", lambda path: Surroundings((house,), np.zeros((0, 3)), ()))
    backend = SumoBackend()
    try:
        backend.reset(make_plan(start=Pose(-100.0, LANE_1, -0.3), start_speed=6.0))
        ticks = list(_drive(backend, VehicleControl(throttle=0.3), 6.0))
        assert ticks[-1].contacts == (Contact("building_0", "static"),)
        assert not ticks[-1].on_road
        assert -84.0 < ticks[-1].ego.x < -78.0
    finally:
        backend.close()
