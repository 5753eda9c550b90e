"""Every way an episode ends, at the very tick it should, and the order in which the ways are tried."""

import pytest

from drivehierarchy_gym.ending import EndingRules
from drivehierarchy_gym.state import Contact, EgoState, TickState

CAR = Contact("car1", "vehicle")
WALKER = Contact("walker", "pedestrian")
CONE = Contact("cone", "static")


def tick(n: int, x: float = 0.0, y: float = 0.0, speed: float = 5.0, road: bool = True, contacts=()) -> TickState:
    return TickState(n * 0.05, EgoState(x, y, 0.0, speed), road, tuple(contacts))


def test_nothing_happens_while_driving(plane_plan) -> None:
    rules = EndingRules(plane_plan())
    assert all(rules.before_tick(n * 0.05) is None and rules.after_tick(tick(n, n * 0.2)) is None for n in range(300))


@pytest.mark.parametrize(
    ("contacts", "reason", "first"),
    [
        ([CAR], "collision_vehicle", "car1"),
        ([WALKER], "collision_pedestrian", "walker"),
        ([CONE], "collision_static", "cone"),
        ([CONE, CAR, WALKER], "collision_pedestrian", "walker"),
        ([CONE, CAR], "collision_vehicle", "car1"),
    ],
)
def test_collisions_end_with_the_gravest(plane_plan, contacts, reason, first) -> None:
    ending = EndingRules(plane_plan()).after_tick(tick(3, contacts=contacts))
    assert (ending.reason, ending.terminated, ending.time) == (reason, True, pytest.approx(0.15))
    assert ending.contacts[0].actor_id == first
    assert len(ending.contacts) == len(contacts)


def test_off_the_road_for_one_and_a_half_seconds(plane_plan) -> None:
    rules = EndingRules(plane_plan())
    # First off-road state at tick 10 (0.5 s); 1.5 s later is tick 40.
    assert next(n for n in range(1, 60) if rules.after_tick(tick(n, road=n < 10))) == 40


def test_a_moment_on_the_road_starts_the_grace_anew(plane_plan) -> None:
    rules = EndingRules(plane_plan())
    ends = [n for n in range(1, 100) if rules.after_tick(tick(n, road=n == 30))]
    assert ends[0] == 61  # off again from tick 31 (1.55 s), 1.5 s later is tick 61 (3.05 s)


@pytest.mark.parametrize(
    ("x", "arrived"), [(91.99, False), (92.0, True), (100.0, True), (108.0, True), (108.01, False)]
)
def test_the_goal_radius(plane_plan, x, arrived) -> None:
    ending = EndingRules(plane_plan()).after_tick(tick(1, x))
    assert (ending is not None and ending.reason == "destination_reached" and ending.terminated) == arrived


def test_blocked_after_more_than_a_hundred_slow_ticks(plane_plan) -> None:
    rules = EndingRules(plane_plan())
    ends = [(n, rules.after_tick(tick(n, speed=0.27))) for n in range(1, 102)]
    assert [n for n, ending in ends if ending] == [101]
    ending = ends[-1][1]
    assert (ending.reason, ending.terminated, ending.blocked_ticks) == ("blocked_timeout", False, 101)


def test_one_kilometre_an_hour_is_not_slow_and_counts_anew(plane_plan) -> None:
    rules = EndingRules(plane_plan(blocked_ticks=3))
    speeds = [0.0, 0.0, 0.0, 1 / 3.6, 0.0, 0.0, -0.2, 0.0]
    assert [bool(rules.after_tick(tick(n, speed=v))) for n, v in enumerate(speeds)] == [False] * 7 + [True]


def test_time_is_up_after_two_scenario_durations(plane_plan) -> None:
    rules = EndingRules(plane_plan(scenario_duration=10.0))
    assert rules.before_tick(sum([0.05] * 399)) is None
    ending = rules.before_tick(sum([0.05] * 400))  # 20 s, as a clock that adds ticks up reads it
    assert (ending.reason, ending.terminated) == ("scenario_timeout", False)


def test_a_duration_of_zero_ends_at_once(plane_plan) -> None:
    assert EndingRules(plane_plan(scenario_duration=0.0)).before_tick(0.0).reason == "scenario_timeout"


def test_the_order_is_collision_off_road_goal_blocked(plane_plan) -> None:
    def all_at_once(road: bool, contacts) -> EndingRules:
        rules = EndingRules(plane_plan(blocked_ticks=1))
        rules._offroad_since, rules._blocked = 0.0, 1
        return rules.after_tick(tick(60, 100.0, speed=0.0, road=road, contacts=contacts)).reason

    assert all_at_once(False, [CAR]) == "collision_vehicle"
    assert all_at_once(False, []) == "offroad_timeout"
    assert all_at_once(True, []) == "destination_reached"
