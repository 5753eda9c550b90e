"""The environment as its users make it, on SUMO: checks, repetition, vectors, videos, and nothing left behind."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio.v3 as imageio
import numpy as np
import psutil
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.wrappers import RecordVideo

from drivehierarchy_gym.scoring import recompute

ID = "drivehierarchy_gym:DriveHierarchy-R4"
SCENARIO = "turning_01"
ACTIONS = [[0.0625 * (n % 3), 6.0 if n < 8 else 0.0] for n in range(12)]
"""Set off, turn a little, brake; exact in any floating-point type."""


def trace(env: gym.Env, seed: int = 3) -> list[tuple]:
    """Everything that the beginning of an episode gives."""
    return [env.reset(seed=seed, options={"scenario": SCENARIO}), *(env.step(action) for action in ACTIONS)]


@pytest.fixture
def make():
    made: list[gym.Env] = []

    def make_env(**arguments: Any) -> gym.Env:
        made.append(gym.make(ID, **{"observation": "state", "scenario": SCENARIO, **arguments}))
        return made[-1]

    yield make_env
    for env in made:
        env.close()


@pytest.mark.parametrize(
    ("action_mode", "observation"),
    [("target_speed", "full"), ("control", "state"), ("meta", "full"), ("text", "state")],
)
def test_check_env_has_nothing_to_say(make, action_mode: str, observation: str) -> None:
    env = make(action_mode=action_mode, observation=observation, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_an_episode_is_the_same_again_after_another_and_beside_another(make) -> None:
    env, other = make(observation="full"), make(scenario="intersection_01")
    first = trace(env)
    env.reset(seed=9, options={"scenario": "yielding_01"})
    env.step([0.0, 5.0])
    assert data_equivalence(trace(env), first, exact=True)
    # Interleaved with another environment of the process.
    other.reset(seed=1)
    again = [env.reset(seed=3, options={"scenario": SCENARIO})]
    for action in ACTIONS:
        other.step([0.0, 8.0])
        again.append(env.step(action))
    assert data_equivalence(again, first, exact=True)


_IN_ANOTHER_PROCESS = """
import json, sys
import gymnasium as gym
env = gym.make("drivehierarchy_gym:DriveHierarchy-R4", observation="state", scenario=sys.argv[1])
steps = [env.reset(seed=3), *(env.step(action) for action in json.loads(sys.argv[2]))]
print(json.dumps([float(step[0]["speed"][0]) for step in steps] + steps[-1][0]["route"].tolist()))
env.close()
"""


def test_an_episode_is_the_same_in_another_process(make) -> None:
    steps = trace(make())
    here = [float(step[0]["speed"][0]) for step in steps] + steps[-1][0]["route"].tolist()
    output = subprocess.run(
        [sys.executable, "-c", _IN_ANOTHER_PROCESS, SCENARIO, json.dumps(ACTIONS)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    ).stdout
    assert json.loads(output) == here


def test_importing_registers_and_loads_little() -> None:
    code = (
        "import sys, drivehierarchy_gym, gymnasium; gymnasium.spec('DriveHierarchy-R4'); "
        "print(*sys.modules.keys() & set(sys.argv[1].split()))"
    )
    heavy = "numba libsumo traci sumolib datasets pyarrow cv2 pydantic shapely scipy lm_eval"
    output = subprocess.run([sys.executable, "-c", code, heavy], capture_output=True, text=True, check=True).stdout
    assert output.strip() == ""


def test_four_environments_in_four_processes_run_on_their_own(make) -> None:
    envs = gym.make_vec(
        ID,
        num_envs=4,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
        observation="state",
        scenario=SCENARIO,
    )
    try:
        observation, info = envs.reset(seed=[3, 4, 5, 3])
        speeds = [observation["speed"]]
        for action in ACTIONS:
            observation, *_, info = envs.step(np.tile(np.array(action, np.float32), (4, 1, 1)))
            speeds.append(observation["speed"])
    finally:
        envs.close()
    assert info["seed"].tolist() == [3, 4, 5, 3]
    alone = make()
    for i, seed in enumerate((3, 4, 5)):
        wanted = [step[0]["speed"] for step in trace(alone, seed=seed)]
        assert data_equivalence([s[i] for s in speeds], wanted, exact=True)
    assert data_equivalence([s[3] for s in speeds], [s[0] for s in speeds], exact=True)


def test_a_whole_episode_and_its_video(make, tmp_path: Path) -> None:
    env = RecordVideo(make(action_mode="meta", render_mode="rgb_array"), str(tmp_path / "videos"))
    observation, _ = env.reset(seed=0)
    total, steps, done = 0.0, 0, False
    while not done:
        action = "direction: FOLLOW_LANE\nspeed: " + ("ACCELERATE" if observation["speed"][0] < 6.0 else "KEEP")
        observation, reward, terminated, truncated, info = env.step(action)
        total, steps, done = total + reward, steps + 1, terminated or truncated
    env.close()
    record = info["scene_score"]
    assert record["termination_reason"] == info["termination_reason"] != ""
    assert recompute(record) == record["score_composed"] == pytest.approx(100.0 * total, abs=1e-6)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    (video,) = (tmp_path / "videos").glob("*.mp4")
    frames = imageio.imread(video)
    assert len(frames) == steps + 1
    assert frames[0].shape == (480, 1250, 3)
    assert imageio.immeta(video)["fps"] == 4


def test_the_example_of_the_documentation_runs(capsys) -> None:
    page = (Path(__file__).parents[2] / "gym_env" / "README.md").read_text(encoding="utf-8")
    example = page.split("```python\n", 1)[1].split("```", 1)[0]
    asked = []

    def ask_my_model(prompt: str, front: np.ndarray, bev: np.ndarray) -> str:
        asked.append(prompt)
        assert (front.shape, bev.shape) == ((450, 800, 3), (800, 800, 3))
        return "steer: 0.0\ntarget_speed_mps: 8.0"

    exec(example, {"ask_my_model": ask_my_model})
    score, reason = capsys.readouterr().out.split()
    assert 0.0 <= float(score) <= 100.0
    assert reason
    assert len(asked) > 10


def test_the_spec_pickles_and_makes_the_same_environment(make) -> None:
    env = make(action_mode="text", parse_rule="flexible")
    copy = pickle.loads(pickle.dumps(env.spec)).make()
    try:
        assert copy.unwrapped.parse_rule == "flexible"
        first, second = (e.reset(seed=2) for e in (env, copy))
        assert data_equivalence(first, second, exact=True)
    finally:
        copy.close()


def test_nothing_is_left_after_closing(make) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    for n in range(3):
        env = make()
        env.reset(seed=n)
        env.step([0.0, 5.0])
        assert {child.pid for child in psutil.Process().children(recursive=True)} - before
        env.close()
        env.close()
    deadline = time.monotonic() + 5.0
    while (left := {child.pid for child in psutil.Process().children(recursive=True)} - before) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.05)
    assert not left
