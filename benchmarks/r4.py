"""Speed and memory of DriveHierarchy-R4, against a bare libsumo loop of the same scenarios in the same run.

    python benchmarks/r4.py [--scenario ID ...] [--episodes 100]

The bare loop is what any user of libsumo would write: the same network, options and traffic (late entrants and scripted
bodies too), the ego moved along the recorded drive by moveToXY, nothing read back. Both sides repeat the actions of one
recorded drive of the expert, so no agent is timed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.plan import EpisodePlan, PathDrive, TrafficDrive, WalkDrive

SCENARIOS = ("intersection_01", "t_intersection_01", "sudden_braking_01", "roundabout_01")
SEED = 0
REPEATS = 3


@dataclass
class Drive:
    """One recorded drive: the actions of its decisions, the ego's pose after every decision, and who moved where."""

    scenario: str
    plan: EpisodePlan
    actions: list[Any]
    ego: list[Pose]
    scripted: list[dict[str, Pose]]


def make(observation: str) -> Any:
    import gymnasium as gym

    import drivehierarchy_gym  # noqa: F401

    return gym.make("DriveHierarchy-R4", observation=observation, disable_env_checker=True)


def record(scenario: str) -> Drive:
    from drivehierarchy_gym.agents.protocol import EpisodeContext
    from drivehierarchy_gym.agents.registry import make_agent

    env = make("state")
    observation, info = env.reset(seed=SEED, options={"scenario": scenario})
    inner = env.unwrapped
    agent, context = make_agent("expert"), EpisodeContext(inner.plan, SEED, inner.snapshot())
    agent.reset(context, info)
    names = {actor.id for actor in inner.plan.actors if isinstance(actor.drive, PathDrive)}
    drive = Drive(scenario, inner.plan, [], [], [])
    done = False
    while not done:
        context.snapshot = inner.snapshot()
        action = agent.act(observation, info)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        world = inner.snapshot()
        drive.actions.append(action)
        drive.ego.append(Pose(world.ego.x, world.ego.y, world.ego.yaw))
        drive.scripted.append({a.id: Pose(a.x, a.y, a.yaw) for a in world.actors if a.id in names})
    env.close()
    return drive


def bare_loop(drive: Drive, answer: Any) -> None:
    """Seconds of all ticks of the drive in libsumo alone; runs in a process of its own."""
    import libsumo

    from drivehierarchy_gym.backends.sumo.options import sumo_options
    from drivehierarchy_gym.catalog import ACTOR_MODELS

    libsumo.start(["sumo", *sumo_options(drive.plan)])
    any_edge = drive.plan.route_edges[:1]
    libsumo.route.add("ego", any_edge)
    libsumo.vehicle.add("ego", "ego", "class.passenger")
    for actor in drive.plan.actors:
        kind = f"class.{ACTOR_MODELS[actor.model].sumo_class or 'passenger'}"
        try:
            if isinstance(actor.drive, TrafficDrive):
                libsumo.route.add(actor.id, actor.drive.edges)
                libsumo.vehicle.add(
                    actor.id,
                    actor.id,
                    kind,
                    depart=str(actor.depart_time),
                    departLane=str(actor.drive.lane_index),
                    departPos=str(max(actor.drive.lane_pos, 0.1)),
                    departSpeed=str(actor.drive.speed),
                )
            elif isinstance(actor.drive, WalkDrive):
                libsumo.person.add(actor.id, actor.drive.edges[0], actor.drive.lane_pos, actor.depart_time)
                libsumo.person.appendWalkingStage(actor.id, actor.drive.edges, 1.0)
            elif isinstance(actor.drive, PathDrive):
                libsumo.vehicle.add(actor.id, "ego", "class.passenger")
        except libsumo.TraCIException:
            continue  # traffic that SUMO refuses, which the environment leaves out as well
    libsumo.simulationStep()
    start = time.perf_counter()
    before = drive.plan.start
    for after, others in zip(drive.ego, drive.scripted, strict=True):
        for tick in range(1, 6):
            share = tick / 5
            x, y = before.x + share * (after.x - before.x), before.y + share * (after.y - before.y)
            libsumo.vehicle.moveToXY("ego", "", -1, x, y, 90.0 - np.degrees(after.yaw), 0)
            for name, pose in others.items():
                libsumo.vehicle.moveToXY(name, "", -1, pose.x, pose.y, 90.0 - np.degrees(pose.yaw), 2)
            libsumo.simulationStep()
        before = after
    answer.put(time.perf_counter() - start)
    libsumo.close()


def time_bare(drive: Drive) -> float:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=bare_loop, args=(drive, answer))
    process.start()
    seconds = answer.get(timeout=300)
    process.join()
    return float(seconds)


def time_env(env: Any, drive: Drive) -> float:
    env.reset(seed=SEED, options={"scenario": drive.scenario})
    start = time.perf_counter()
    for action in drive.actions:
        env.step(action)
    return time.perf_counter() - start


def resident_mb() -> float:
    """This process and its workers, MiB."""
    process = psutil.Process()
    return sum(p.memory_info().rss for p in (process, *process.children(recursive=True))) / 2**20


def measure_speed(scenarios: list[str]) -> None:
    drives = [record(scenario) for scenario in scenarios]
    state, full = make("state"), make("full")
    for env in (state, full):
        time_env(env, drives[0])  # compile, load, fill caches
    print(f"{'scenario':24s} {'decisions':>9s} {'bare/s':>8s} {'state/s':>8s} {'ratio':>6s} {'both images/s':>14s}")
    ratios, rates = [], []
    for drive in drives:
        count = len(drive.actions)
        bare = count / statistics.median(time_bare(drive) for _ in range(REPEATS))
        fast = count / statistics.median(time_env(state, drive) for _ in range(REPEATS))
        seen = count / statistics.median(time_env(full, drive) for _ in range(REPEATS))
        ratios.append(fast / bare)
        rates.append(seen)
        print(f"{drive.scenario:24s} {count:9d} {bare:8.0f} {fast:8.0f} {fast / bare:6.2f} {seen:14.1f}")
    print(f"state only against the bare loop: mean ratio {statistics.mean(ratios):.2f} (goal 0.50)")
    print(f"both images, one environment: mean {statistics.mean(rates):.1f} decisions/s (goal 30 a core)")
    state.close()
    full.close()


def measure_resets(scenarios: list[str]) -> None:
    env = make("state")
    env.reset(seed=SEED, options={"scenario": scenarios[0]})
    seconds = []
    for seed in range(5):
        for scenario in scenarios:
            start = time.perf_counter()
            env.reset(seed=seed, options={"scenario": scenario})
            seconds.append(time.perf_counter() - start)
    env.close()
    print(
        f"reset: median {statistics.median(seconds):.3f} s, longest {max(seconds):.3f} s of {len(seconds)} (goal 0.5 s)"
    )


def measure_memory(scenarios: list[str], episodes: int) -> None:
    env = make("full")
    action = np.array([0.0, 6.0], dtype=np.float32)
    for number in range(1, episodes + 1):
        env.reset(seed=number, options={"scenario": scenarios[number % len(scenarios)]})
        for _ in range(8):
            env.step(action)
        if number in (10, episodes // 2, episodes):
            print(f"memory after {number:3d} episodes: {resident_mb():.0f} MiB resident, SUMO worker included")
    env.close()


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenario", nargs="+", default=list(SCENARIOS))
    parser.add_argument("--episodes", type=int, default=100)
    given = parser.parse_args()
    measure_speed(given.scenario)
    measure_resets(given.scenario)
    measure_memory(given.scenario, given.episodes)


if __name__ == "__main__":
    main()
