"""Background traffic on the default map: pure, varied, drivable, and out of each other's way."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.geometry import Polyline, Pose, boxes_overlap
from drivehierarchy_gym.plan import ActorPlan, StandDrive, TrafficDrive, WalkDrive
from drivehierarchy_gym.road.default_map import default_network_path
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.scenarios.background import CLEARANCE, LATEST_ENTRY, background_traffic
from drivehierarchy_gym.scenarios.schema import BackgroundTraffic

EDGES = ("222448597#0", "151495015")
ASKED = BackgroundTraffic(vehicles=80, pedestrians=40, radius_m=300.0)


@pytest.fixture(scope="module")
def network() -> RoadNetwork:
    return load_network(default_network_path())


@pytest.fixture(scope="module")
def route(network: RoadNetwork) -> Polyline:
    return network.route_polyline(EDGES)


@pytest.fixture(scope="module")
def traffic(network: RoadNetwork, route: Polyline) -> tuple[ActorPlan, ...]:
    return background_traffic(network, route.at(0.0), route, ASKED, seed=4)


def _vehicles(traffic: tuple[ActorPlan, ...]) -> list[tuple[ActorPlan, TrafficDrive]]:
    return [(plan, plan.drive) for plan in traffic if isinstance(plan.drive, TrafficDrive)]


def test_equal_arguments_give_equal_plans_and_the_seed_counts(
    network: RoadNetwork, route: Polyline, traffic: tuple[ActorPlan, ...]
) -> None:
    assert background_traffic(network, route.at(0.0), route, ASKED, seed=4) == traffic
    assert background_traffic(network, route.at(0.0), route, ASKED, seed=5) != traffic


def test_numbers_and_variety(traffic: tuple[ActorPlan, ...]) -> None:
    vehicles = _vehicles(traffic)
    assert 60 <= len(vehicles) <= 80
    assert sum(isinstance(plan.drive, WalkDrive) for plan in traffic) == 40
    assert len({plan.id for plan in traffic}) == len(traffic)
    models = Counter(plan.model for plan, _ in vehicles)
    assert {"car", "suv", "van", "bicycle"} <= set(models)
    assert all(plan.colour in ACTOR_MODELS[plan.model].colours for plan in traffic)
    late = [plan.depart_time for plan, _ in vehicles if plan.depart_time > 0]
    assert 0.1 * len(vehicles) < len(late) < 0.5 * len(vehicles)
    assert max(late) <= LATEST_ENTRY
    assert all(plan.background for plan in traffic)


def test_everybody_is_near_the_route(route: Polyline, traffic: tuple[ActorPlan, ...]) -> None:
    distances = [abs(route.project(*plan.pose[:2]).offset) for plan in traffic]
    assert max(distances) <= ASKED.radius_m + 12.5
    assert sum(distance > 50.0 for distance in distances) > 20


def test_routes_can_be_driven_from_the_lane(network: RoadNetwork, traffic: tuple[ActorPlan, ...]) -> None:
    for plan, drive in _vehicles(traffic):
        vclass = ACTOR_MODELS[plan.model].sumo_class
        assert vclass is not None
        lane = network.edge(drive.edges[0]).lanes[drive.lane_index]
        assert lane.allows(vclass)
        front = network.lane_pose(lane.id, drive.lane_pos)
        assert math.dist(front.to_world(-ACTOR_MODELS[plan.model].length / 2, 0.0), plan.pose[:2]) < 1e-6
        for before, after in zip(drive.edges, drive.edges[1:], strict=False):
            assert after in network.successors(vclass)[before]


def test_nobody_starts_on_somebody_or_cannot_stop(network: RoadNetwork, traffic: tuple[ActorPlan, ...]) -> None:
    present = [(plan, drive) for plan, drive in _vehicles(traffic) if plan.depart_time == 0.0]
    for i, (a, drive) in enumerate(present):
        one = ACTOR_MODELS[a.model]
        for b, _ in present[:i]:
            other = ACTOR_MODELS[b.model]
            assert math.dist(a.pose[:2], b.pose[:2]) >= CLEARANCE
            assert not boxes_overlap(*a.pose, one.length, one.width, *b.pose, other.length, other.width)
        lane = network.edge(drive.edges[0]).lanes[drive.lane_index]
        assert 0.0 <= drive.speed <= lane.speed
        assert drive.speed**2 / (2 * 2.0) <= lane.length - drive.lane_pos + 0.1


def test_the_ego_and_placed_actors_have_room(network: RoadNetwork, route: Polyline) -> None:
    placed = [ActorPlan(f"parked{i}", "bus", route.at(20.0 * i), StandDrive(), (1, 2, 3)) for i in range(1, 10)]
    start = route.at(0.0)
    for seed in range(5):
        around = background_traffic(network, start, route, ASKED, seed, placed)
        for plan, _ in _vehicles(around):
            if plan.depart_time == 0.0:
                assert math.dist(plan.pose[:2], start[:2]) >= CLEARANCE + 2.4
                assert all(math.dist(plan.pose[:2], p.pose[:2]) >= CLEARANCE + 5.75 for p in placed)


def test_walks_follow_sidewalks_that_meet(network: RoadNetwork, traffic: tuple[ActorPlan, ...]) -> None:
    walks = [plan.drive for plan in traffic if isinstance(plan.drive, WalkDrive)]
    assert max(len(walk.edges) for walk in walks) > 3
    for walk in walks:
        for edge in walk.edges:
            assert any(lane.is_sidewalk for lane in network.edge(edge).lanes)
        for one, other in zip(walk.edges, walk.edges[1:], strict=False):
            a, b = network.edge(one), network.edge(other)
            assert {a.from_node, a.to_node} & {b.from_node, b.to_node}


def test_no_traffic_is_no_traffic_and_too_much_is_what_fits(network: RoadNetwork, route: Polyline) -> None:
    start = route.at(0.0)
    assert background_traffic(network, start, route, BackgroundTraffic(), 1) == ()
    packed = background_traffic(network, start, route, BackgroundTraffic(vehicles=400, radius_m=1.0), 1)
    assert 0 < len(packed) < 400


def test_far_from_any_road_there_is_nobody(network: RoadNetwork) -> None:
    nowhere = Polyline.through([(-9000.0, -9000.0), (-8900.0, -9000.0)])
    assert background_traffic(network, Pose(-9000.0, -9000.0, 0.0), nowhere, ASKED, 1) == ()
