from __future__ import annotations

import math

import pytest

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.runner.batch import BatchError, BatchOptions, run_batch
from drivehierarchy_gym.runner.manifest import read_manifest
from drivehierarchy_gym.runner.records import read_voids

STARTERS = """
import time
class Good:
    action_mode, observation, privileged = "target_speed", "state", False
    def reset(self, context, info): pass
    def act(self, observation, info): return [0.0, 8.0]
    def close(self): pass
class CtorHangs(Good):
    def __init__(self): time.sleep(30)
class CtorRaises(Good):
    def __init__(self): raise RuntimeError("no weights")
class CheckHangs(Good):
    def check(self): time.sleep(30)
class CloseHangs(Good):
    def close(self): time.sleep(30)
class CloseRaises(Good):
    def close(self): raise ValueError("cannot close \\udc80")
class LongTurn(Good):
    act_deadline = 1e9
class ResetRaises(Good):
    def reset(self, context, info): raise ValueError("no \\udc80 weights")
"""


@pytest.fixture
def options(tmp_path, tiny_suite, monkeypatch):
    (tmp_path / "odd_starters.py").write_text(STARTERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def make(agent, timeout=1.0):
        return BatchOptions(
            tmp_path / "out", f"odd_starters:{agent}", suite=str(tiny_suite), scenarios=("one",), agent_timeout=timeout
        )

    return make


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, 1e10])
def test_impossible_timeouts_are_refused(options, timeout, tmp_path):
    with pytest.raises(BatchError, match="--agent-timeout is above 0 s and at most 86400 s"):
        run_batch(options("Good", timeout))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("CtorHangs", "constructor did not return within 1 s"),
        ("CtorRaises", "RuntimeError: no weights"),
        ("CheckHangs", "check did not return within 1 s"),
        ("LongTurn", "a decision may take 1e[+]09 s"),
    ],
)
def test_an_agent_that_cannot_start_is_refused_before_anything_is_written(options, agent, words, tmp_path):
    with pytest.raises(DriveHierarchyError, match=words) as caught:
        run_batch(options(agent))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("agent", "words"), [("CloseHangs", "close did not return within 1 s"), ("CloseRaises", "cannot close \ufffd")]
)
def test_a_close_that_fails_is_a_note(options, agent, words):
    report = run_batch(options(agent))
    assert report.complete
    assert words in report.notes[0]


def test_a_broken_character_in_an_error_reaches_no_file(options, tmp_path):
    report = run_batch(options("ResetRaises"))
    assert "no \ufffd weights" in report.stopped
    (void,) = read_voids(tmp_path / "out" / "ResetRaises")
    assert "no \ufffd weights" in void.detail


def test_a_part_of_a_suite_says_how_large_the_suite_is(options, tmp_path):
    report = run_batch(options("Good"))
    manifest = read_manifest(report.model_folder / "manifest.json")
    assert [i for ids in manifest.planned.values() for i in ids] == ["one"]
    assert {i for ids in manifest.suite_scenarios.values() for i in ids} == {"one", "two"}
