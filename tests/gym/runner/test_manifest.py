from __future__ import annotations

import json

import pytest

from drivehierarchy_gym.runner.manifest import ResumeError, open_manifest, read_manifest
from drivehierarchy_gym.runner.records import ResultError

SETTINGS = {"agent": "expert", "seed": 1, "evaluator": {"hash": "a"}}


def test_first_run_records_everything(tmp_path):
    manifest = open_manifest(tmp_path / "m", "m", SETTINGS, {"g": ["b", "a"]}, 1, ["drivehierarchy", "r4", "run"])
    assert manifest == read_manifest(tmp_path / "m/manifest.json")
    assert manifest.planned == {"g": ["a", "b"]}
    assert manifest.versions["gymnasium"]
    assert manifest.git_revision is None or len(manifest.git_revision) >= 40


def test_continuing_widens_the_plan_and_never_narrows_it(tmp_path):
    open_manifest(tmp_path, "m", SETTINGS, {"g": ["a"]}, 3, ["first"])
    manifest = open_manifest(tmp_path, "m", SETTINGS, {"g": ["b"], "h": ["c"]}, 1, ["second"])
    assert manifest.planned == {"g": ["a", "b"], "h": ["c"]}
    assert manifest.repeats == 3
    assert manifest.command == ["first"]


@pytest.mark.parametrize(
    ("key", "value"), [("seed", 2), ("evaluator", {"hash": "b"}), ("agent", "follower"), ("profile", "strict")]
)
def test_other_settings_are_refused(tmp_path, key, value):
    open_manifest(tmp_path, "m", SETTINGS, {"g": ["a"]}, 1, [])
    with pytest.raises(ResumeError, match=f"results with {key} .*another --out or --name"):
        open_manifest(tmp_path, "m", {**SETTINGS, key: value}, {"g": ["a"]}, 1, [])


@pytest.mark.parametrize("text", ["", "{}", "[1]", json.dumps({"model": 3})])
def test_damaged_manifest(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ResultError, match=r"manifest\.json"):
        open_manifest(tmp_path, "m", SETTINGS, {}, 1, [])


@pytest.mark.parametrize("place", ["/proc/results/m", "file", "file/m", "x" * 300])
def test_a_folder_that_cannot_be_written_is_one_clean_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match=r"cannot be written \(.+\); give another --out"):
        open_manifest(tmp_path / place, "m", SETTINGS, {"g": ["a"]}, 1, [])


def test_what_a_killed_writer_left_is_swept(tmp_path):
    (tmp_path / ".manifest.json.999999999").write_text("{")
    open_manifest(tmp_path, "m", SETTINGS, {"g": ["a"]}, 1, [])
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_the_whole_suite_is_recorded_beside_a_part_of_it_and_completes_an_older_manifest(tmp_path):
    suite = {"h": ["c"], "g": ["b", "a"]}
    open_manifest(tmp_path / "m", "m", SETTINGS, {"g": ["a"]}, 1, [], suite)
    found = read_manifest(tmp_path / "m/manifest.json")
    assert (found.planned, found.suite_scenarios) == ({"g": ["a"]}, {"g": ["a", "b"], "h": ["c"]})
    open_manifest(tmp_path / "old", "old", SETTINGS, {"g": ["a"]}, 1, [])
    assert read_manifest(tmp_path / "old/manifest.json").suite_scenarios is None
    assert open_manifest(tmp_path / "old", "old", SETTINGS, {"g": ["a"]}, 1, [], suite).suite_scenarios == {
        "g": ["a", "b"],
        "h": ["c"],
    }
