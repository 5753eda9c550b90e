"""A scenario is fit when a driver who sees everything finishes it, and one who ignores everybody does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drivehierarchy_gym.runner.batch import BatchOptions, run_batch
from drivehierarchy_gym.runner.collection import SceneResult, collect

RELEASE = Path(os.environ.get("DRIVEHIERARCHY_RELEASE") or Path(__file__).parents[3] / "shared/data/release")


def drive(out: Path, agent: str, suite: str = "open", **environment: str) -> dict[str, SceneResult]:
    report = run_batch(BatchOptions(out=out, agent=agent, suite=suite, environment=environment))
    assert report.complete, report
    return {result.scenario: result for result in collect([out]).of(agent)}


def collisions(results: dict[str, SceneResult]) -> list[str]:
    return [name for name, result in results.items() if result.score.termination_reason.startswith("collision")]


def arrivals(results: dict[str, SceneResult]) -> list[str]:
    return [name for name, result in results.items() if result.score.termination_reason == "destination_reached"]


def test_expert_finishes_every_open_scenario(tmp_path: Path) -> None:
    results = drive(tmp_path, "expert")
    assert len(results) == 10
    assert len(arrivals(results)) == 10


def test_follower_fails_every_open_scenario(tmp_path: Path) -> None:
    results = drive(tmp_path, "follower")
    failed = [name for name, result in results.items() if result.score.score_composed < 40.0]
    assert len(failed) == 10
    assert len(collisions(results)) == 10


@pytest.mark.release
@pytest.mark.skipif(not RELEASE.is_dir(), reason="no folder of the authors' release")
def test_expert_finishes_the_authors_scenarios(tmp_path: Path) -> None:
    results = drive(tmp_path, "expert", suite="release", release=str(RELEASE))
    assert len(arrivals(results)) >= 0.9 * len(results)
    assert not collisions(results)
