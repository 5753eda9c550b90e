"""How long a picture takes: ``python benchmarks/render.py [--frames N]``.

Draws the default network with 40 actors around a signalised junction, as an episode would: the ego moves a metre per
frame. Times are processor milliseconds of the one thread that draws, and wall-clock milliseconds next to them: where
the machine is busy with something else, only the former say what a picture costs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render.camera import BEV, FRONT, NUSCENES_CAMERAS
from drivehierarchy_gym.render.scene import SceneRenderer
from drivehierarchy_gym.road.default_map import default_network_path, surroundings
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.scenarios.schema import Weather
from drivehierarchy_gym.state import ActorState, EgoState, Snapshot

ACTORS = 40
RADIUS = 120.0
MIX = {
    "car": 14,
    "suv": 6,
    "charger": 3,
    "van": 3,
    "bus": 2,
    "truck": 2,
    "motorcycle": 2,
    "bicycle": 3,
    "pedestrian": 5,
}


def busy_road(network: RoadNetwork) -> tuple[Pose, tuple[ActorState, ...]]:
    """A start 60 m before a signal, and actors on the lanes around it."""
    stops = [stop for links in network.signals.values() for stops in links.values() for stop in stops]
    stop = next(stop for stop in stops if network.lanes[stop.lane_id].length > 70)
    lane = network.lanes[stop.lane_id]
    start = network.lane_pose(lane.id, lane.length - 60)
    rng = np.random.default_rng(0)
    lanes = [lane for lane in network.lanes.values() if lane.kind == "normal" and lane.allows("passenger")]
    models = [name for name, count in MIX.items() for _ in range(count)]
    actors: list[ActorState] = []
    while len(actors) < ACTORS:
        lane = lanes[int(rng.integers(len(lanes)))]
        pose = network.lane_pose(lane.id, float(rng.uniform(0, lane.length)))
        if 12 < np.hypot(pose.x - start.x, pose.y - start.y) < RADIUS:
            body = ACTOR_MODELS[models[len(actors)]]
            colour = body.colours[int(rng.integers(len(body.colours)))]
            size = (body.length, body.width, body.height)
            actors.append(ActorState(f"a{len(actors)}", body.name, pose.x, pose.y, pose.yaw, 5.0, *size, colour))
    return start, tuple(actors)


def measure(what: str, frames: int, draw: Callable[[int], object]) -> None:
    """Print the median and the 95th percentile of drawing frame 0, 1, …; the first two are not counted."""
    cpu, wall = [], []
    for i in range(frames + 2):
        before = time.process_time(), time.perf_counter()
        draw(i)
        cpu.append((time.process_time() - before[0]) * 1e3)
        wall.append((time.perf_counter() - before[1]) * 1e3)
    cpu, wall = cpu[2:], wall[2:]
    high = sorted(cpu)[int(0.95 * (len(cpu) - 1))]
    print(f"{what:34} {statistics.median(cpu):8.1f} {high:8.1f} {statistics.median(wall):10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=40, help="frames per measurement (default 40)")
    frames = parser.parse_args().frames
    path = default_network_path()
    network, beside = load_network(path), surroundings(path)
    start, actors = busy_road(network)

    def at(i: int) -> Snapshot:
        x, y = start.to_world(float(i), 0.0)
        return Snapshot(i * 0.25, EgoState(x, y, start.yaw, 4.0), actors, dict.fromkeys(network.signals, "rGyr" * 8))

    began = time.perf_counter()
    renderer = SceneRenderer(network, beside, Weather())
    renderer.render(FRONT, at(0)), renderer.render(BEV, at(0))
    print(f"first pictures after {time.perf_counter() - began:.1f} s (with compilation, where no cache holds it)")
    began = time.perf_counter()
    second = SceneRenderer(network, beside, Weather())
    second.render(FRONT, at(0)), second.render(BEV, at(0))
    print(f"first pictures of a second renderer after {time.perf_counter() - began:.2f} s\n")
    print(f"{'median, 95 %, median wall clock':34} {'cpu ms':>8} {'cpu ms':>8} {'wall ms':>10}")
    measure("front 800x450", frames, lambda i: renderer.render(FRONT, at(i)))
    measure("front 800x450 ids", frames, lambda i: renderer.ids(FRONT, at(i)))
    measure("bird's eye 800x800", frames, lambda i: renderer.render(BEV, at(i)))
    measure("both, one decision", frames, lambda i: (renderer.render(FRONT, at(i)), renderer.render(BEV, at(i))))
    wide = replace(FRONT, width=1600, height=900)
    measure("front 1600x900", frames, lambda i: renderer.render(wide, at(i)))
    six = NUSCENES_CAMERAS
    measure("six cameras 1600x900", frames // 4, lambda i: [renderer.render(c, at(i)) for c in six])
    measure("six cameras 1600x900 ids", frames // 4, lambda i: [renderer.ids(c, at(i)) for c in six])
    sharp = SceneRenderer(network, beside, Weather(), samples=1)
    measure("front 800x450, one sample", frames, lambda i: sharp.render(FRONT, at(i)))
    for weather in (Weather(sky="rain"), Weather(sun_altitude_deg=-15.0)):
        dark = SceneRenderer(network, beside, weather)
        name = "rain" if weather.sky == "rain" else "night"
        measure(f"front 800x450, {name}", frames, lambda i, dark=dark: dark.render(FRONT, at(i)))  # type: ignore[misc]


if __name__ == "__main__":
    main()
