from __future__ import annotations

import json
import time

import numpy as np
import pytest

from drivehierarchy_gym.runner.episode import EpisodeJob, jsonable, run_episode, sweep_partials
from drivehierarchy_gym.runner.manifest import episode_seed
from drivehierarchy_gym.runner.records import RunPlace, read_score, read_voids

GOOD = 2
"""Decisions before the driver of `driver` begins to misbehave."""


@pytest.fixture
def job(tmp_path, tiny_suite, driver):
    def make(timeout=60.0, agent=driver, scenario="one", **options):
        return EpisodeJob(
            model_folder=tmp_path / "out",
            place=RunPlace("03_turning", scenario, 0, 1),
            seed=5,
            environment={"suite": str(tiny_suite)},
            agent=agent,
            agent_options=options,
            agent_timeout=timeout,
            observation="state",
            frames=False,
            identity={"evaluator": {"version": "x"}},
        )

    return make


def run(job):
    reports = []
    outcome = run_episode(job, reports.append)
    return outcome, reports


def steps(outcome):
    return [json.loads(line) for line in (outcome.folder / "steps.jsonl").open()]


def test_a_good_run_leaves_score_steps_and_telemetry(job, tmp_path):
    outcome, reports = run(job())
    assert (outcome.void, outcome.stops, outcome.faults) == (None, "", {})
    score = read_score(outcome.folder / "scene_score.json")
    assert score.termination_reason == outcome.reason == "destination_reached"
    assert score.score_composed == outcome.score == 100.0
    assert score.extra["evaluator"] == {"version": "x"}
    assert score.extra["seed"] == 5
    lines = steps(outcome)
    assert len(lines) == score.extra["decisions"] == len(reports)
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0]["action"] == [0.0, 8.0]
    assert sum(line["reward"] for line in lines) == pytest.approx(1.0)
    assert lines[-1]["events"][0]["type"] == "destination_reached"
    log = [json.loads(line) for line in (outcome.folder / "agent.jsonl").open()]
    assert [line["calls"] for line in log] == list(range(1, len(lines) + 1))
    assert not list((tmp_path / "out/.partial").iterdir())


def test_the_same_run_twice_leaves_the_same_trace(job, tmp_path):
    first, _ = run(job())
    trace = (first.folder / "steps.jsonl").read_bytes()
    (first.folder).rename(tmp_path / "kept")
    second, _ = run(job())
    assert (second.folder / "steps.jsonl").read_bytes() == trace


@pytest.mark.parametrize(
    ("how", "mode", "kind"),
    [
        ("raise", "target_speed", "exception"),
        ("bytes", "target_speed", "invalid"),
        ("none", "target_speed", "invalid"),
        ("nan", "target_speed", "invalid"),
        ("text", "text", "unparseable"),
        ("bytes", "text", "invalid"),
        ("repr", "target_speed", "invalid"),
        ("repr", "text", "invalid"),
        ("deep", "target_speed", "invalid"),
        ("large", "target_speed", "invalid"),
        ("silent error", "target_speed", "exception"),
        ("surrogate error", "target_speed", "exception"),
        ("surrogate", "text", "unparseable"),
    ],
)
def test_agent_faults_hold_the_last_control_and_are_scored(job, how, mode, kind):
    outcome, _ = run(job(how=how, action_mode=mode))
    assert outcome.void is None
    score = read_score(outcome.folder / "scene_score.json")
    lines = steps(outcome)
    assert score.extra["agent_faults"] == outcome.faults == {kind: len(lines) - GOOD}
    assert [line["fault"] and line["fault"]["kind"] for line in lines] == [None] * GOOD + [kind] * (len(lines) - GOOD)
    assert all(line["control"] == lines[GOOD - 1]["control"] for line in lines[GOOD:])
    assert score.score_route > 0


@pytest.mark.parametrize("how", ["sleep", "array sleeps"])
def test_a_sleeping_agent_takes_bounded_time(job, how):
    begun = time.monotonic()
    outcome, _ = run(job(how=how, timeout=0.5))
    assert time.monotonic() - begun < 15
    kinds = [line["fault"] and line["fault"]["kind"] for line in steps(outcome)]
    assert kinds == [None] * GOOD + ["timeout"] + ["busy"] * (len(kinds) - GOOD - 1)


def log(outcome):
    return [json.loads(line) for line in (outcome.folder / "agent.jsonl").open()]


def test_telemetry_never_stops_a_drive(job, tmp_path):
    expected = {
        "numpy": ("loss", 0.5),
        "nan": ("telemetry_error", "ValueError"),
        "raise": ("telemetry_error", "ValueError: no notes \ufffd"),
        "sleep": ("telemetry_error", "did not return within 0.5 s; not asked again"),
    }
    for how, (key, words) in expected.items():
        outcome, _ = run(job(telemetry=how, timeout=0.5))
        assert (outcome.void, outcome.faults) == (None, {})
        found = log(outcome)[0][key]
        assert found == words if how == "numpy" else found.startswith(words)
        outcome.folder.rename(tmp_path / how)


@pytest.mark.parametrize(
    ("how", "words"), [("raise", "ValueError: cannot close \ufffd"), ("sleep", "close did not return within 0.5 s")]
)
def test_a_close_that_fails_is_noted_and_the_result_stays(job, how, words):
    outcome, _ = run(job(close=how, timeout=0.5))
    assert outcome.score == 100.0
    assert words in log(outcome)[-1]["close_error"]


def test_no_valid_answer_is_kept_apart_and_stops_the_batch(job, tmp_path):
    outcome, _ = run(job(how="none", good=0))
    assert outcome.void == "no_valid_answer"
    assert "not one of the agent's" in outcome.stops
    assert not list((tmp_path / "out").rglob("scene_score.json"))
    (void,) = read_voids(tmp_path / "out")
    assert (void.kind, void.scenario) == ("no_valid_answer", "one")
    assert (void.path / "steps.jsonl").exists()


def test_an_agent_that_cannot_start_stops_the_batch(job):
    outcome, _ = run(job(reset="raise"))
    assert outcome.void == "no_valid_answer"
    assert "RuntimeError: no weights" in outcome.stops


def test_infrastructure_failures_are_void_and_the_batch_goes_on(job, tmp_path):
    for attempt in (1, 2):
        outcome, _ = run(job(how="infrastructure"))
        assert (outcome.void, outcome.stops) == ("infrastructure", "")
        assert "the simulator is gone" in outcome.detail
        assert len(list(read_voids(tmp_path / "out"))) == attempt
    assert not list((tmp_path / "out").rglob("scene_score.json"))


def test_a_scenario_that_does_not_exist_is_void(job):
    outcome, _ = run(job(scenario="three"))
    assert outcome.void == "system_error"
    assert "unknown scenario" in outcome.detail


def test_seeds_depend_on_the_run_alone():
    assert episode_seed(0, "a", 0) == episode_seed(0, "a", 0)
    seeds = {episode_seed(s, n, r) for s in range(5) for n in ("a", "b") for r in range(5)}
    assert len(seeds) == 50
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize(
    ("action", "kept"),
    [
        ("steer: 0", "steer: 0"),
        (np.array([0.5, 3]), [0.5, 3.0]),
        (np.array([[0.5, 3]]), [[0.5, 3.0]]),
        (None, None),
        (np.array([np.nan, 1.0]), None),
    ],
)
def test_actions_as_json(action, kept):
    assert jsonable(action) == kept


def test_only_what_dead_processes_left_is_swept(tmp_path):
    import os
    import socket

    host = socket.gethostname()
    for name in (f"{host}-{os.getpid()}-aa", f"{host}-999999999-bb", "elsewhere-1-cc"):
        (tmp_path / ".partial" / name).mkdir(parents=True)
    sweep_partials(tmp_path)
    assert {p.name for p in (tmp_path / ".partial").iterdir()} == {f"{host}-{os.getpid()}-aa", "elsewhere-1-cc"}
