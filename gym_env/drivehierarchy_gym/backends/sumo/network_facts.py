"""What the worker is told of a road network: stop lines under signals, and the walls of buildings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from drivehierarchy_gym.backends.sumo.contacts import Segment
from drivehierarchy_gym.backends.sumo.messages import NetworkFacts
from drivehierarchy_gym.backends.sumo.signals import StopLine
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surroundings import Building


def network_facts(network: RoadNetwork, buildings: tuple[Building, ...]) -> NetworkFacts:
    """Stop lines of all signalled lanes for vehicles, and all walls."""
    return NetworkFacts(tuple(_stop_lines(network)), tuple(_walls(buildings)))


def _stop_lines(network: RoadNetwork) -> Iterator[StopLine]:
    links: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for connection in network.connections:
        lane = network.lanes[connection.from_lane]
        if (
            connection.signal is not None
            and connection.link_index is not None
            and lane.kind == "normal"
            and not lane.is_sidewalk
        ):
            links[connection.signal, lane.id].append((connection.link_index, network.lanes[connection.to_lane].edge_id))
    for (signal, lane_id), controlled in links.items():
        lane = network.lanes[lane_id]
        x, y, yaw = lane.shape.at(lane.shape.length)
        yield StopLine(signal, lane.edge_id, tuple(controlled), x, y, yaw, lane.width / 2)


def _walls(buildings: tuple[Building, ...]) -> Iterator[tuple[int, Segment]]:
    for number, building in enumerate(buildings):
        corners = building.outline.tolist()
        for (ax, ay), (bx, by) in pairwise([*corners, corners[0]]):
            yield number, (ax, ay, bx, by)
