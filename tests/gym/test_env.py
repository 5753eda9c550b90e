"""The environment on a backend without a world: protocol, time, reward, endings, info and agents' faults."""

from __future__ import annotations

import ast
import inspect
import math
import pickle
import re
import warnings
from pathlib import Path
from typing import Any, get_args

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import drivehierarchy_gym.env as env_module
from drivehierarchy_gym.ending import Ending, TerminationReason
from drivehierarchy_gym.env import DriveHierarchyEnv
from drivehierarchy_gym.errors import InfrastructureError, UnknownNameError, unknown_name
from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.scoring import recompute
from drivehierarchy_gym.state import Contact, TickState, VehicleControl


class PlaneSuite:
    """Scenarios `plane` and `other`; `changes` go into every plan."""

    name = "planes"
    ids = ("plane", "other")

    def __init__(self, plane_plan, **changes: Any) -> None:
        self._plane_plan, self._changes = plane_plan, changes

    def entry(self, scenario_id: str) -> Any:
        if scenario_id not in self.ids:
            raise unknown_name("scenario", scenario_id, self.ids)
        return type("Entry", (), {"id": scenario_id})

    def plan(self, scenario_id: str, seed: int) -> Any:
        return self._plane_plan(scenario_id=scenario_id, seed=seed, **self._changes)


@pytest.fixture
def make(monkeypatch, plane_plan, PlaneBackend):
    """`make(simulator, {changes of the plan}, **arguments)`: the environment as `gymnasium.make` gives it."""
    made = []

    def make_env(simulator=None, plan=None, **arguments: Any) -> gym.Env:
        plan = {"start_speed": 8.0, **(plan or {})}
        monkeypatch.setattr(env_module, "load_suite", lambda name, release: PlaneSuite(plane_plan, **plan))
        monkeypatch.setattr(env_module, "make_backend", lambda name, **options: simulator or PlaneBackend(**options))
        made.append(gym.make("drivehierarchy_gym:DriveHierarchy-R4", **{"observation": "state", **arguments}))
        return made[-1]

    yield make_env
    for env in made:
        env.close()


def run(env: gym.Env, action: Any, seed: int = 0) -> tuple[float, int, tuple]:
    """Drive one action until the end: return, number of steps and what the last step gave."""
    env.reset(seed=seed, options={"scenario": "plane"})
    total, steps = 0.0, 0
    while True:
        step = env.step(action)
        total, steps = total + step[1], steps + 1
        if step[2] or step[3]:
            return total, steps, step


# --- Gymnasium's own checks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action_mode", ["target_speed", "control", "meta", "text"])
@pytest.mark.parametrize("observation", ["state", "full"])
def test_check_env_has_nothing_to_say(make, action_mode, observation) -> None:
    env = make(action_mode=action_mode, observation=observation, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_the_spec_pickles_and_names_only(make) -> None:
    spec = pickle.loads(pickle.dumps(make(scenario=["plane"], action_mode="text").spec))
    assert spec.kwargs == {"observation": "state", "scenario": ["plane"], "action_mode": "text"}
    assert isinstance(spec.make().unwrapped, DriveHierarchyEnv)


def test_observations_keep_type_and_frame(make) -> None:
    env = make(plan={"route": Polyline.through([(0, 0), (50, 0), (50, -50)])}, observation="full")
    observation, _ = env.reset(seed=1)
    assert {name: (value.dtype, value.shape) for name, value in observation.items() if name != "command"} == {
        "speed": (np.float32, (1,)),
        "distance_to_goal": (np.float32, (1,)),
        "route": (np.float32, (8, 2)),
        "front": (np.uint8, (450, 800, 3)),
        "bev": (np.uint8, (800, 800, 3)),
    }
    assert observation["distance_to_goal"][0] == 100.0
    assert observation["route"][-1].tolist() == [50.0, 10.0]  # forward, right
    assert observation["command"] == 3  # follow the road, the release's fourth


def test_state_renders_nothing(make, PlaneBackend) -> None:
    backend = PlaneBackend()
    env = make(backend)
    env.reset()
    env.step([0, 8])
    assert backend.rendered == []


# --- choice of scenario and seed -------------------------------------------------------------------------------------


def test_the_seed_draws_the_scenario_and_is_the_episodes_own(make) -> None:
    env = make()
    drawn = [env.reset(seed=seed)[1] for seed in range(20)]
    assert {info["scenario_id"] for info in drawn} == {"plane", "other"}
    assert [info["seed"] for info in drawn] == list(range(20))
    assert [env.reset(seed=seed)[1]["scenario_id"] for seed in range(20)] == [info["scenario_id"] for info in drawn]


def test_episodes_after_a_seeded_one_repeat(make) -> None:
    env = make()

    def sequence() -> list[tuple[str, int]]:
        infos = [env.reset(seed=5)[1]] + [env.reset()[1] for _ in range(5)]
        return [(info["scenario_id"], info["seed"]) for info in infos]

    first = sequence()
    assert sequence() == first
    assert len(set(first)) == 6


def test_an_episode_can_be_had_again_from_its_info(make) -> None:
    env = make()
    for _ in range(3):
        _, info = env.reset()
    again = env.reset(seed=info["seed"], options={"scenario": info["scenario_id"]})[1]
    assert again == info


def test_scenarios_are_chosen_by_argument_and_option(make) -> None:
    env = make(scenario="other")
    assert {env.reset(seed=seed)[1]["scenario_id"] for seed in range(8)} == {"other"}
    assert env.reset(options={"scenario": "plane"})[1]["scenario_id"] == "plane"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scenario": "plan"}, "unknown scenario 'plan'; did you mean 'plane'"),
        ({"action_mode": "speed"}, "unknown action_mode 'speed'; did you mean 'target_speed'"),
        ({"observation": "states"}, "unknown observation 'states'; did you mean 'state'"),
        ({"profile": "strikt"}, "unknown profile 'strikt'; did you mean 'strict'"),
        ({"command_chooser": "lanes"}, "unknown command_chooser 'lanes'; did you mean 'lane'"),
        ({"parse_rule": "flexibel"}, "unknown parse_rule 'flexibel'; did you mean 'flexible'"),
        ({"backend": "sumoo"}, "unknown backend 'sumoo'; did you mean 'sumo'"),
        ({"action_mod": "text"}, "unknown argument 'action_mod'; did you mean 'action_mode'"),
        ({"scenario": 3}, "unknown scenario '3'"),
        ({"scenario": [3]}, "unknown scenario '3'"),
    ],
)
def test_unknown_names_suggest_the_nearest(make, arguments, message) -> None:
    with pytest.raises(UnknownNameError, match=message):
        make(**arguments)


def test_unknown_reset_options_are_refused(make) -> None:
    env = make()
    with pytest.raises(UnknownNameError, match="unknown reset option 'scenaro'; did you mean 'scenario'"):
        env.reset(options={"scenaro": "plane"})
    with pytest.raises(UnknownNameError, match="unknown scenario 'plano'"):
        env.reset(options={"scenario": "plano"})
    for wrong in (3, None, ["plane"]):
        with pytest.raises(UnknownNameError, match="unknown scenario"):
            env.reset(options={"scenario": wrong})


# --- time and control ------------------------------------------------------------------------------------------------


def test_a_decision_is_five_ticks(make, PlaneBackend) -> None:
    backend = PlaneBackend()
    env = make(backend)
    env.reset()
    times = [env.step([0.0, 8.0])[4]["time"] for _ in range(4)]
    assert times == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert len(backend.controls) == 4
    assert len(env.unwrapped.ticks) == 5


def test_each_mode_reaches_the_car(make, PlaneBackend) -> None:
    for mode, action, control in [
        ("target_speed", [0.05, 9.0], VehicleControl(0.05, 0.47, 0.0)),
        ("text", "steer: -0.5\ntarget_speed_mps: 9.0", VehicleControl(-0.12, 0.47, 0.0)),
        ("control", [-1.0, 0.3, 0.2], VehicleControl(-1.0, 0.3, 0.2)),
        ("meta", [0, 3], VehicleControl(0.0, 0.0, 0.85)),
    ]:
        backend = PlaneBackend()
        env = make(backend, action_mode=mode)
        env.reset()
        info = env.step(np.array(action, np.float32) if mode in ("target_speed", "control") else action)[4]
        found = backend.controls[0]
        assert (found.steer, found.throttle, found.brake) == pytest.approx(
            (control.steer, control.throttle, control.brake), abs=1e-6
        )
        assert info["control"] == {"steer": found.steer, "throttle": found.throttle, "brake": found.brake}


@pytest.mark.parametrize("mode", ["target_speed", "control", "meta", "text"])
@pytest.mark.parametrize(
    "action",
    [
        None,
        b"steer: 0.1",
        "",
        "steer: x",
        "π ☃ \ud800",
        float("nan"),
        np.full(2, np.nan),
        np.full(3, np.nan),
        {},
        object(),
    ],
)
def test_an_unreadable_action_holds_the_last_control(make, PlaneBackend, mode, action) -> None:
    valid = {"control": [0.05, 0.3, 0.0], "meta": [5, 1], "text": "steer: 0.1\ntarget_speed_mps: 9"}
    backend = PlaneBackend()
    env = make(backend, action_mode=mode)
    env.reset()
    info = env.step(action)[4]
    assert info["parse"] == {"status": "unparseable", "steer": 0.0, "target_speed_mps": 0.0}
    assert backend.controls[-1] == VehicleControl()
    accepted = env.step(valid.get(mode, [0.1, 9.0]))[4]
    assert accepted["parse"]["status"] == "ok"
    info = env.step(action)[4]
    assert backend.controls[-1] == backend.controls[-2] != VehicleControl()
    assert info["parse"] == {**accepted["parse"], "status": "unparseable"}


def test_unreadable_actions_are_counted_in_the_record(make, PlaneBackend) -> None:
    env = make(PlaneBackend(contacts_at={13: (Contact("car", "vehicle"),)}), action_mode="text")
    env.reset()
    env.step("steer: 0.1\ntarget_speed_mps: 9")
    env.step("steer: 2\ntarget_speed_mps: 9")
    record = env.step("hm")[4]["scene_score"]
    assert record["extra"]["parse"] == {"ok": 1, "recovered": 1, "unparseable": 1}
    assert (record["extra"]["decisions"], record["extra"]["ticks"]) == (3, 13)


def test_the_parse_rule_decides(make) -> None:
    reply = '{"steer": 0.1, "target_speed_mps": 9}'
    for rule, status in (("official", "unparseable"), ("flexible", "recovered")):
        env = make(action_mode="text", parse_rule=rule)
        env.reset()
        assert env.step(reply)[4]["parse"]["status"] == status


# --- reward, endings, record -----------------------------------------------------------------------------------------


def test_arriving_terminates_and_the_return_is_the_score(make) -> None:
    total, _, (_, _, terminated, truncated, info) = run(make(), [0.0, 10.0])
    record = info["scene_score"]
    assert (terminated, truncated) == (True, False)
    assert info["is_success"]
    assert info["termination_reason"] == record["termination_reason"] == "destination_reached"
    assert record["status"] == "Perfect"
    assert total == pytest.approx(record["score_composed"] / 100.0, abs=1e-9)
    assert total == pytest.approx(1.0)


def test_the_return_is_the_score_however_the_episode_ends(make, PlaneBackend) -> None:
    lost_route = Polyline.through([(0, 0), (30, 0), (30, 200)])
    cases = [
        ("blocked_timeout", False, {}, {}, [0.0, 0.0]),
        ("scenario_timeout", False, {}, {"scenario_duration": 2.0}, [0.0, 9.0]),
        ("offroad_timeout", True, {"half_width": 3.0}, {}, [0.12, 9.0]),
        ("collision_vehicle", True, {"contacts_at": {52: (Contact("car", "vehicle"),)}}, {}, [0.0, 9.0]),
        (
            "scenario_timeout",
            False,
            {"red_lights_at": {30: "J1"}},
            {"route": lost_route, "reference_duration": 3.0},
            [0, 9],
        ),
    ]
    for reason, terminated, backend, plan, action in cases:
        total, _, step = run(make(PlaneBackend(**backend), plan, profile="strict"), action)
        record = step[4]["scene_score"]
        assert (record["termination_reason"], step[2], step[3]) == (reason, terminated, not terminated)
        assert total == pytest.approx(record["score_composed"] / 100.0, abs=1e-9)
        assert recompute(record) == record["score_composed"]
        assert not step[4]["is_success"]


def test_the_score_is_taken_at_the_ending_tick_and_the_observation_at_the_end_of_the_interval(make) -> None:
    # 92 m at exactly 10 m/s in 0.5 m ticks: tick 184, the fourth of its interval.
    env = make(plan={"start_speed": 10.0, "reference_duration": 1.0}, action_mode="control")
    _, steps, (observation, *_, info) = run(env, [0.0, 0.0, 0.0])
    assert steps == 37
    assert info["scene_score"]["meta"]["duration_game"] == 9.2
    assert info["scene_score"]["meta"]["travel_distance_m"] == 92.0
    assert info["time"] == pytest.approx(9.25)
    assert observation["distance_to_goal"][0] == pytest.approx(7.5)


def test_a_collision_in_the_last_tick_is_a_termination(make, PlaneBackend) -> None:
    # Time is up at 1.0 s, tick 20; contact in that very tick.
    backend = PlaneBackend(contacts_at={20: (Contact("walker", "pedestrian"),)})
    _, _, step = run(make(backend, {"scenario_duration": 0.5}), [0.0, 9.0])
    assert step[4]["termination_reason"] == "collision_pedestrian"
    assert (step[2], step[3]) == (True, False)
    assert step[4]["scene_score"]["score_composed"] == 0.0


def test_a_contact_after_time_is_up_does_not_count(make, PlaneBackend) -> None:
    backend = PlaneBackend(contacts_at={22: (Contact("walker", "pedestrian"),)})
    _, _, step = run(make(backend, {"scenario_duration": 0.525}), [0.0, 9.0])
    assert step[4]["termination_reason"] == "scenario_timeout"  # 1.05 s is tick 21
    assert (step[2], step[3]) == (False, True)
    assert step[4]["scene_score"]["meta"]["duration_game"] == 1.05


def test_the_final_step_may_cost(make, PlaneBackend) -> None:
    backend = PlaneBackend(contacts_at={100: (Contact("car", "vehicle"),)})
    env = make(backend)
    env.reset()
    rewards = [env.step([0.0, 8.0])[1] for _ in range(20)]
    assert min(rewards[:-1]) > 0.0
    assert rewards[-1] < -0.25
    assert sum(rewards) == pytest.approx(0.2 * 0.4, abs=0.01)


def test_events_are_told_once(make, PlaneBackend) -> None:
    env = make(PlaneBackend(red_lights_at={7: "J1", 8: "J2"}))
    env.reset()
    told = [[event["signal"] for event in env.step([0.0, 8.0])[4]["events"]] for _ in range(3)]
    assert told == [[], ["J1", "J2"], []]
    assert env.unwrapped.score.components().safety == 1.0


def test_info_is_complete_at_every_step(make) -> None:
    env = make(prompt_file=None)
    _, info = env.reset(seed=3)
    _, _, _, _, later = env.step([0.0, 8.0])
    assert info.keys() == later.keys()
    assert info.keys() >= {
        "prompt", "components", "events", "parse", "time", "seed", "backend", "scenario_id", "is_success",
    }  # fmt: skip
    assert info["parse"]["status"] == "none"
    assert "8.0 m/s" in info["prompt"]
    assert info["backend"] == "plane"
    assert math.isfinite(sum(later["components"].values()))


def test_the_prompt_file_is_used(make, tmp_path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("{speed_mps:.2f} {command} {time_s:.2f}\n{answer_format}")
    env = make(prompt_file=str(file), action_mode="meta")
    assert env.reset()[1]["prompt"].startswith(
        "8.00 drive straight at the intersection 0.00\ndirection: <one of FOLLOW"
    )


def test_stepping_without_an_episode_is_refused(make) -> None:
    env = make()
    with pytest.raises(ResetNeeded):
        env.unwrapped.step([0.0, 8.0])
    with pytest.raises(ResetNeeded):
        env.unwrapped.plan  # noqa: B018
    run(env, [0.0, 10.0])
    with pytest.raises(ResetNeeded, match="after the end of each episode"):
        env.step([0.0, 10.0])


def test_a_vector_of_environments_hands_on_info_and_records(make, PlaneBackend) -> None:
    def one(contact_at: int):
        contacts = {contact_at: (Contact("car", "vehicle"),)}
        return lambda: make(PlaneBackend(contacts_at=contacts), action_mode="text", scenario="plane")

    envs = gym.vector.SyncVectorEnv([one(8), one(12)], autoreset_mode="SameStep")
    envs.reset(seed=1)
    scores = {}
    for _ in range(3):
        *_, terminated, _, info = envs.step(("steer: 0\ntarget_speed_mps: 8", "faster!"))
        for i in np.flatnonzero(terminated):
            scores[int(i)] = info["final_info"]["scene_score"]["score_composed"][i]
    assert scores == {0: pytest.approx(0.2 * 3.2, abs=0.03), 1: pytest.approx(0.2 * 4.8)}


# --- the simulator's faults ------------------------------------------------------------------------------------------


def test_a_failing_simulator_makes_the_episode_void(make, PlaneBackend) -> None:
    class Failing(PlaneBackend):
        def advance(self, control: VehicleControl, ticks: int) -> list[TickState]:
            if self.tick >= 10:
                raise InfrastructureError("the simulator went away")
            return super().advance(control, ticks)

    env = make(Failing())
    env.reset(seed=4, options={"scenario": "plane"})
    env.step([0.0, 8.0])
    env.step([0.0, 8.0])
    with pytest.raises(InfrastructureError):
        env.step([0.0, 8.0])
    with pytest.raises(ResetNeeded):
        env.step([0.0, 8.0])
    record = env.unwrapped.void_record("system_error", "the simulator went away")
    assert record["score_composed"] is None
    assert record["extra"]["void"]
    assert record["extra"]["seed"] == 4
    assert record["meta"]["duration_game"] == 0.5
    env.reset()
    assert env.step([0.0, 8.0])[4]["time"] == 0.25


def test_closing_twice(make, PlaneBackend) -> None:
    backend = PlaneBackend()
    env = make(backend)
    env.reset()
    env.close()
    env.close()
    assert backend.closed == 2


# --- pictures --------------------------------------------------------------------------------------------------------


def test_the_frame_shows_both_views_and_a_status_line(make, PlaneBackend) -> None:
    backend = PlaneBackend()
    env = make(backend, render_mode="rgb_array")
    env.reset()
    env.step([0.0, 8.0])
    frame = env.render()
    assert (frame.dtype, frame.shape) == (np.uint8, (480, 1250, 3))
    assert (frame[:450, :800] == 5).all()
    assert (frame[200:220, 1020:1030] != 5).any()  # the route on the bird's-eye view
    assert (frame[450:] > 200).any()  # the status text
    env.render()
    assert backend.rendered == ["front", "bev"]  # once per state


def test_pictures_of_the_observation_are_not_rendered_again(make, PlaneBackend) -> None:
    backend = PlaneBackend()
    env = make(backend, observation="full", render_mode="rgb_array")
    observation, _ = env.reset()
    env.render()
    assert backend.rendered == ["front", "bev"]
    assert (observation["bev"] != 0).any()


# --- documentation ---------------------------------------------------------------------------------------------------

README = (Path(__file__).parents[2] / "gym_env" / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_documentation_lists_the_arguments_with_their_defaults() -> None:
    parameters = list(inspect.signature(DriveHierarchyEnv.__init__).parameters.values())[1:]
    written = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", section("Arguments"), re.MULTILINE)
    assert sorted((name, ast.literal_eval(default)) for name, default in written) == sorted(
        (parameter.name, parameter.default) for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD
    )


def test_the_documentation_names_observations_info_and_endings(make) -> None:
    env = make(observation="full")
    _, info = env.reset()
    observations = section("Observation space")
    assert set(re.findall(r"^\| `(\w+)` \|", observations, re.MULTILINE)) == set(env.observation_space.spaces)
    paragraph = observations.split("`info` has", 1)[1].split("\n\n", 1)[0]
    assert info.keys() <= set(re.findall(r"`(\w+)`", paragraph))
    for reason in get_args(TerminationReason):
        kind = "terminated" if Ending(reason, 0.0).terminated else "truncated"
        assert re.search(rf"^\| {kind} \|[^\n]*`{reason}`", section("Episode end"), re.MULTILINE)


def test_metadata() -> None:
    assert DriveHierarchyEnv.metadata == {"render_modes": ["rgb_array"], "render_fps": 4}
