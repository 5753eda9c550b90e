"""How fast the default road network loads and answers. Run: python benchmarks/road.py"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from drivehierarchy_gym.road.default_map import default_network_path, surroundings
from drivehierarchy_gym.road.network import RoadNetwork, load_network


def timed(what: str, run: Callable[[], object], times: int = 1) -> None:
    start = time.perf_counter()
    for _ in range(times):
        run()
    spent = (time.perf_counter() - start) / times
    print(f"{what:<28} {spent * 1e3:10.3f} ms")


def places(network: RoadNetwork, count: int) -> list[tuple[float, float]]:
    """Points on and beside lanes for cars."""
    rng = np.random.default_rng(0)
    lanes = [lane for lane in network.lanes.values() if lane.kind == "normal" and lane.allows("passenger")]
    chosen = [lanes[i] for i in rng.integers(len(lanes), size=count)]
    return [lane.shape.at(rng.uniform(0, lane.shape.length)).to_world(0, rng.uniform(-4, 4)) for lane in chosen]


def main() -> None:
    path = default_network_path()
    timed("load_network", lambda: load_network(path))
    network = load_network(path)
    timed("on_road, first call", lambda: network.on_road(0.0, 0.0))
    points = places(network, 20_000)
    timed("on_road, 20,000 calls", lambda: [network.on_road(x, y) for x, y in points])
    timed("nearest_lanes, 1,000 calls", lambda: [network.nearest_lanes(x, y, 10.0) for x, y in points[:1000]])
    timed("shortest_path", lambda: network.shortest_path("24498410#0", "4935300#0"), 100)
    route = network.shortest_path("24498410#0", "4935300#0")
    assert route is not None
    timed("route_polyline", lambda: network.route_polyline(route), 20)
    timed("road_areas (kept)", network.road_areas)
    timed("markings (kept)", network.markings)
    timed("surroundings (kept)", lambda: surroundings(path))


if __name__ == "__main__":
    main()
