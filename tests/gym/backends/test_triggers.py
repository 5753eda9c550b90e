import math
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.backends.sumo.triggers import BodyState, RouteProgress, TriggerWatch
from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.scenarios.schema import (
    AllOf,
    AtTime,
    EgoArrivesIn,
    EgoPasses,
    EgoWithin,
    LanePlace,
    OtherActor,
    WorldPlace,
)


@dataclass
class Scene:
    time: float = 0.0
    ego_x: float = 0.0
    ego_y: float = 0.0
    ego_speed: float = 0.0
    progress: float = 0.0
    bodies: dict[str, BodyState] = field(default_factory=dict)

    def ego_progress(self) -> float:
        return self.progress

    def body(self, actor_id: str) -> BodyState | None:
        return self.bodies.get(actor_id)


def test_at_time() -> None:
    watch = TriggerWatch(AtTime(seconds=2.0), "a")
    assert not watch.check(Scene(time=1.95))
    assert watch.check(Scene(time=40 * 0.05))  # 2.0000000000000004 or a little less, by rounding


def test_ego_within_its_own_centre_or_a_place() -> None:
    scene = Scene(ego_x=10.0, bodies={"a": BodyState(14.0, 3.0, 0.0, False)})
    assert TriggerWatch(EgoWithin(meters=5.0), "a").check(scene)
    assert not TriggerWatch(EgoWithin(meters=4.9), "a").check(scene)
    assert TriggerWatch(EgoWithin(meters=6.0, place=WorldPlace(x=10, y=-6)), "a").check(scene)
    assert not TriggerWatch(EgoWithin(meters=100.0), "gone").check(scene)


def test_ego_passes() -> None:
    watch = TriggerWatch(EgoPasses(route_m=30.0), "a")
    assert not watch.check(Scene(progress=29.9))
    assert watch.check(Scene(progress=30.0))


def test_ego_arrives_in_adapts_to_its_speed_but_never_waits_for_a_standing_one() -> None:
    trigger = EgoArrivesIn(route_m=50.0, seconds=3.0)
    assert not TriggerWatch(trigger, "a").check(Scene(progress=25.0, ego_speed=8.0))
    assert TriggerWatch(trigger, "a").check(Scene(progress=25.0, ego_speed=8.5))
    assert not TriggerWatch(trigger, "a").check(Scene(progress=46.9, ego_speed=0.0))
    assert TriggerWatch(trigger, "a").check(Scene(progress=47.0, ego_speed=0.0))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"speed_at_most": 2.0}, True),
        ({"speed_at_most": 1.9}, False),
        ({"speed_at_least": 2.0}, True),
        ({"speed_at_least": 2.1}, False),
        ({"started": True}, True),
        ({"started": False}, False),
    ],
)
def test_state_of_another_actor(condition: dict[str, float | bool], holds: bool) -> None:
    watch = TriggerWatch(OtherActor(actor="b", **condition), "a")
    assert watch.check(Scene(bodies={"b": BodyState(0.0, 0.0, 2.0, True)})) is holds
    assert TriggerWatch(OtherActor(actor="b", **condition), "a").check(Scene()) is False


def test_it_stays_fired() -> None:
    watch = TriggerWatch(EgoWithin(meters=5.0, place=WorldPlace(x=0, y=0)), "a")
    assert watch.check(Scene(ego_x=4.0))
    assert watch.check(Scene(ego_x=400.0))


def test_all_of_remembers_each_part() -> None:
    watch = TriggerWatch(AllOf(triggers=(EgoWithin(meters=5.0, place=WorldPlace(x=0, y=0)), AtTime(seconds=3.0))), "a")
    assert not watch.check(Scene(time=0.0, ego_x=1.0))
    assert not watch.check(Scene(time=2.0, ego_x=100.0))
    assert watch.check(Scene(time=3.0, ego_x=100.0))


def test_unresolved_places_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"'a'.*ego_within.*scenarios\.resolve"):
        TriggerWatch(EgoWithin(meters=1.0, place=LanePlace(edge="e")), "a")


LOOP = [(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0), (0.0, 2.0), (100.0, 2.0)]
"""A route that comes back along its own beginning, 2 m beside it."""


def _progress() -> RouteProgress:
    arcs = [0.0]
    for a, b in pairwise(LOOP):
        arcs.append(arcs[-1] + math.dist(a, b))
    return RouteProgress(LOOP, arcs)


def test_progress_follows_the_route_and_not_the_nearest_road() -> None:
    progress = _progress()
    for x in range(0, 100, 5):
        assert progress.update(x, 1.5) == pytest.approx(x)  # nearer to the last leg
    for y in range(5, 100, 5):
        assert progress.update(100, y) == pytest.approx(100 + y)


@given(st.lists(st.tuples(st.floats(-150, 150), st.floats(-150, 150)), min_size=1, max_size=30))
def test_progress_never_falls_and_never_leaves_the_route(places: list[tuple[float, float]]) -> None:
    progress, before = _progress(), 0.0
    for x, y in places:
        now = progress.update(x, y)
        assert before <= now <= 498.0
        before = now
