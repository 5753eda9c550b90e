"""The release's chooser at its thresholds, and the lane-aware one on the packaged road network."""

import math

import pytest

from drivehierarchy_gym.commands import Command, LaneCommands, release_command
from drivehierarchy_gym.road.default_map import default_network_path
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.route import RouteTracker


def far(heading_deg: float, near_right: float = 0.0) -> list[tuple[float, float]]:
    """Two near points and a far one seen under `heading_deg` (positive = right)."""
    angle = math.radians(heading_deg)
    return [(5.0, near_right), (10.0, near_right), (60.0 * math.cos(angle), 60.0 * math.sin(angle))]


@pytest.mark.parametrize(
    ("points", "command"),
    [
        ([], Command.FOLLOW_ROAD),
        ([(1.0, 9.0), (-3.0, 0.0)], Command.FOLLOW_ROAD),
        ([(5.0, 0.0)], Command.GO_STRAIGHT),
        (far(0.0), Command.GO_STRAIGHT),
        (far(8.0), Command.GO_STRAIGHT),
        (far(-8.0), Command.GO_STRAIGHT),
        (far(8.1), Command.FOLLOW_ROAD),
        (far(-8.1), Command.FOLLOW_ROAD),
        (far(-17.9), Command.FOLLOW_ROAD),
        (far(-18.1), Command.TURN_LEFT),
        (far(18.1), Command.TURN_RIGHT),
        (far(0.0, 1.5), Command.GO_STRAIGHT),
        (far(0.0, 1.6), Command.FOLLOW_ROAD),
        (far(0.0, -2.0), Command.CHANGE_LANE_LEFT),
        (far(0.0, 2.0), Command.CHANGE_LANE_RIGHT),
        (far(0.0, -4.0), Command.TURN_LEFT),
        (far(0.0, 4.0), Command.TURN_RIGHT),
        # A left heading is tried before a right offset.
        (far(-20.0, 5.0), Command.TURN_LEFT),
        # The near point is the second usable one.
        ([(0.5, 9.0), (5.0, 9.0), (10.0, 0.0), (60.0, 0.0)], Command.GO_STRAIGHT),
    ],
)
def test_the_choice_of_the_release(points: list[tuple[float, float]], command: Command) -> None:
    assert release_command(points) is command


def test_the_numbers_of_the_release() -> None:
    assert [command.value for command in Command] == [1, 2, 3, 4, 5, 6]
    assert len({command.text for command in Command}) == 6


@pytest.fixture(scope="module")
def network() -> RoadNetwork:
    return load_network(default_network_path())


def drive(network: RoadNetwork, edges: list[str], lane: int) -> dict[int, Command]:
    """Command every 5 m of the route along `edges`, keyed by progress (m), from one lane of the first edge."""
    first = network.edge(edges[0]).lanes[lane]
    start, goal = network.lane_pose(first.id, 0.0), network.lane_pose(network.edge(edges[-1]).lanes[-1].id, -1.0)
    route = network.edge_polyline(edges, (start.x, start.y), (goal.x, goal.y))
    commands, tracker = LaneCommands(network, route, edges), RouteTracker(route)
    found = {}
    for progress in range(0, int(route.length), 5):
        x, y = tracker.at(progress)
        if progress < first.length:
            x, y, _ = first.shape.at(progress)
        found[progress] = commands.choose(progress, x, y)
    return found


def test_a_road_without_a_junction_is_followed(network: RoadNetwork) -> None:
    assert set(drive(network, ["360414561"], 0).values()) == {Command.FOLLOW_ROAD}


def test_a_turn_is_announced_before_its_junction_and_forgotten_after(network: RoadNetwork) -> None:
    edges = ["256366923#0", "225981818#1"]  # 45.4 m, then a left turn from lane 2 that ends at 69.5 m
    found = drive(network, edges, 2)
    assert [p for p, command in found.items() if command is Command.TURN_LEFT] == list(range(20, 70, 5))
    assert {command for p, command in found.items() if not 20 <= p < 70} == {Command.FOLLOW_ROAD}


def test_the_wrong_lane_is_left_first(network: RoadNetwork) -> None:
    found = drive(network, ["256366923#0", "225981818#1"], 1)
    assert [p for p, command in found.items() if command is Command.CHANGE_LANE_LEFT] == list(range(0, 50, 5))


def test_straight_on_is_said_only_where_roads_part(network: RoadNetwork) -> None:
    found = drive(network, ["222448597#0", "151495015"], 1)
    said = [p for p, command in found.items() if command is Command.GO_STRAIGHT]
    assert said
    assert said == list(range(said[0], said[-1] + 5, 5))
    assert 30 <= said[-1] - said[0] <= 65
    assert set(found.values()) == {Command.GO_STRAIGHT, Command.FOLLOW_ROAD}
    # Two edges of one road: nothing to choose between them.
    assert set(drive(network, ["225981818#1", "225981818#2"], 1).values()) == {Command.FOLLOW_ROAD}
