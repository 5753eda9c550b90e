from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.runner.records import (
    ResultError,
    RunPlace,
    finished_score,
    publish,
    publish_void,
    read_score,
    read_voids,
    set_aside,
    write_json,
    write_void,
)
from drivehierarchy_gym.scoring import is_void

PLACE = RunPlace("04_intersection", "s1", 0, 1)


def test_good_record(tmp_path, record, put):
    score = read_score(put(tmp_path, record(route=50.0, safety=0.2, efficiency=0.9, reason="collision_vehicle")))
    assert score.score_composed == 9.0
    assert score.extra["evaluator"]["sumo"] == "1.28.0"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score_route": 101.0}, "score_route"),
        ({"score_route": None}, "score_route"),
        ({"score_composed": 99.0}, "score_composed is 99.0"),
        ({"score_safety": 0.2}, "score_safety is 0.2"),
        ({"status": "Great"}, "status"),
        ({"scene_id": ""}, "scene_id"),
        ({"score_safety": True}, "score_safety"),
        ({"extra": None}, "extra"),
        ({"extra": [1]}, "extra"),
        ({"extra": "x"}, "extra"),
        ({"extra": {"agent_faults": 3}}, "extra: .*agent_faults"),
        ({"extra": {"agent_faults": {"timeout": "many"}}}, r"extra: .*agent_faults\.timeout"),
        ({"extra": {"agent_faults": {"timeout": -1}}}, r"extra: .*agent_faults\.timeout"),
        ({"extra": {"decisions": "x"}}, "extra: .*decisions"),
        ({"extra": {"decisions": True}}, "extra: .*decisions"),
        ({"extra": {"evaluator": "x"}}, "extra: .*evaluator"),
        ({"extra": {"evaluator": None}}, "extra: .*evaluator"),
        ({"extra": {"void": 0}}, "extra: .*void"),
        ({"events": [{"penalty_multiplier": "x"}]}, "TypeError"),
        ({"events": None}, "events"),
        ({"meta": {}}, "route_length_m|lane_keep_penalty"),
    ],
)
def test_faulty_records_name_file_and_field(tmp_path, record, put, change, words):
    path = put(tmp_path, {**record(), **change})
    with pytest.raises(ResultError, match=words) as caught:
        read_score(path)
    assert str(path) in str(caught.value)


CRASH = {"route": 50.0, "safety": 0.2, "reason": "collision_vehicle"}


def event(kind, factor=None):
    return {"type": kind, "time": 1.0} | ({} if factor is None else {"penalty_multiplier": factor})


def with_route(content, route):
    """A record whose columns all follow from another share of the route than its distances give."""
    return content | {"score_route": route, "score_composed": round(route * content["score_penalty"], 6)}


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize(
    ("made", "change", "words"),
    [
        (
            CRASH,
            {"score_route": 100.0},
            "score_route: found 100.0, but meta.completed_distance_m 50.0 of route_length_m",
        ),
        ({"route": 50.0}, {"score_route": 100.0}, "score_route: found 100.0, but meta"),
        (CRASH, {"score_route": 60.0}, "score_route.* 60.0, .*50.000000"),
        ({"route": 50.0, "reason": "destination_reached"}, {}, "score_route: found 50.0, but .*'destination_reached'"),
        (CRASH, {"events": []}, "events: found none|score_safety is 0.2"),
        (
            {"reason": "collision_pedestrian", "safety": 1.0},
            {"events": []},
            "events: found none|score_safety: found 1.0",
        ),
        (
            {"safety": 0.2},
            {"events": [event("collision_vehicle", 0.2), event("destination_reached")]},
            "events: found collision_vehicle.*'destination_reached'",
        ),
        (
            {"safety": 0.2},
            {"termination_reason": "destination_reached", "events": [event("collision_vehicle", 0.2)]},
            "events: found collision_vehicle.*'destination_reached'",
        ),
        (CRASH | {"safety": 1.0}, {}, "penalty_multiplier: found 1.0|penalty_multiplier|score_safety: found 1.0"),
    ],
)
def test_an_ending_that_contradicts_its_record_is_refused(tmp_path, record, put, made, change, words, released):
    content = record(**made)
    if released:
        content["extra"] = {}
    content |= change
    path = put(tmp_path, with_route(content, content["score_route"]))
    with pytest.raises(ResultError, match=words) as caught:
        read_score(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("made", "change", "words"),
    [
        (CRASH, {"termination_reason": "collision_static"}, "events: found collision_vehicle .*'collision_static'"),
        (CRASH, {"termination_reason": "unknown"}, "termination_reason: found 'unknown', expected one of destination"),
        (CRASH, {"status": "Completed"}, "status: found 'Completed' with termination_reason 'collision_vehicle'"),
        ({}, {"status": "Failed"}, "status: found 'Failed' with termination_reason 'destination_reached'"),
        (CRASH, {"events": [event("collision_vehicle", 0.2)] * 2, "score_safety": 0.04}, "score_|events: found"),
        (
            CRASH | {"safety": 1.0},
            {"events": [event("collision_vehicle", 0.2), event("red_light", 5.0)]},
            "events.1.penalty_multiplier: found 5.0, a red_light costs 0.7 or 1.0",
        ),
    ],
)
def test_our_own_endings_are_exact(tmp_path, record, put, made, change, words):
    with pytest.raises(ResultError, match=words):
        read_score(put(tmp_path, {**record(**made), **change}))


@pytest.mark.parametrize("factor", [None, 1.0, 0.7])
def test_red_lights_and_a_crash_at_the_goal_are_no_contradiction(tmp_path, record, put, factor):
    content = record(safety=0.2 * (factor or 1.0), reason="collision_vehicle")
    content["events"] = [event("red_light", factor), event("collision_vehicle", 0.2)]
    assert read_score(put(tmp_path, content)).score_route == 100.0


def test_the_releases_crash_within_the_goal_radius_has_arrived(tmp_path, record, put):
    content = with_route(record(route=93.0, safety=0.2, reason="collision_vehicle"), 100.0) | {"extra": {}}
    content["meta"]["destination_radius"] = 8.0
    assert read_score(put(tmp_path, content)).score_route == 100.0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"scene_id": "s"}', "NaN", '{"score_route": NaN}', "[" * 100_000]
)
def test_cut_off_files_never_score(tmp_path, put, text):
    with pytest.raises(ResultError):
        read_score(put(tmp_path, text))


@given(cut=st.integers(0, 700))
def test_no_prefix_of_a_record_scores(tmp_path_factory, cut):
    text = json.dumps({"scene_id": "s", "score_route": 100.0, "meta": {"a": 1}, "extra": {}} | {"x": "y" * 600})
    path = tmp_path_factory.mktemp("r") / "scene_score.json"
    path.write_text(text[: min(cut, len(text) - 1)])
    with pytest.raises(ResultError):
        read_score(path)


def test_the_releases_records_are_read_with_its_rounding(tmp_path, record, put):
    content = record(route=50.0, safety=0.333333, efficiency=0.777777, reason="unknown")
    del content["extra"]
    content["score_penalty"] = 0.259259  # each column rounded for itself
    content["score_composed"] = 12.962955
    assert read_score(put(tmp_path, content)).score_composed == 12.962955
    content["score_composed"] = 13.0
    with pytest.raises(ResultError, match="score_composed is 13"):
        read_score(put(tmp_path, content))


@pytest.mark.parametrize("reason", ["system_error", "manual_interrupt"])
def test_void_records_are_no_scores(tmp_path, record, put, reason):
    assert read_score(put(tmp_path / "a", {**record(), "termination_reason": reason})) is None
    assert read_score(put(tmp_path / "b", {**record(), "extra": {"void": True}})) is None


def test_publish_in_one_step_and_first_wins(tmp_path, record, put):
    for n in (1, 2):
        put(tmp_path / f".partial/{n}", {**record(route=float(n)), "scene_id": "s1"})
    assert finished_score(tmp_path, PLACE) is None
    assert publish(tmp_path, tmp_path / ".partial/1", PLACE) == tmp_path / "04_intersection/s1"
    assert publish(tmp_path, tmp_path / ".partial/2", PLACE) is None
    assert finished_score(tmp_path, PLACE)[1].score_route == 1.0
    assert not any((tmp_path / ".partial").iterdir())


def test_repeats_have_folders_and_a_single_one_counts_as_the_first(tmp_path, record, put):
    put(tmp_path / "g/s", record())
    first, second = RunPlace("g", "s", 0, 3), RunPlace("g", "s", 1, 3)
    assert first.folder.as_posix() == "g/s/repeat_0"
    assert finished_score(tmp_path, first) is not None
    assert finished_score(tmp_path, second) is None
    put(tmp_path / ".partial/s", record())
    assert publish(tmp_path, tmp_path / ".partial/s", second) == tmp_path / "g/s/repeat_1"
    assert finished_score(tmp_path, second) is not None


def test_void_attempts_are_numbered_and_read_back(tmp_path):
    for n in (1, 2):
        partial = tmp_path / f".partial/{n}"
        partial.mkdir(parents=True)
        write_void(partial, PLACE, "infrastructure", f"reason {n}")
        publish_void(tmp_path, partial, PLACE)
    voids = list(read_voids(tmp_path))
    assert [(v.scenario, v.repeat, v.kind, v.detail) for v in voids] == [
        ("s1", 0, "infrastructure", "reason 1"),
        ("s1", 0, "infrastructure", "reason 2"),
    ]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "[" * 100_000, '{"kind": "system_error"}', '{"kind": ["a"]}', "\xff", None]
)
def test_a_damaged_void_record_is_passed_over_with_a_note(tmp_path, text):
    for n in (1, 2):
        partial = tmp_path / f".partial/{n}"
        partial.mkdir(parents=True)
        write_void(partial, PLACE, "infrastructure", f"reason {n}")
        publish_void(tmp_path, partial, PLACE)
    path = next(read_voids(tmp_path)).path / "void.json"
    path.unlink()
    if text is None:
        path.mkdir()
    else:
        path.write_bytes(text.encode("latin-1"))
    damaged = []
    assert [void.detail for void in read_voids(tmp_path, damaged)] == ["reason 2"]
    (note,) = damaged
    assert str(path) in note
    assert "not the record of a void run" in note


def test_damaged_result_is_set_aside_without_its_neighbours(tmp_path, record, put):
    put(tmp_path / "04_intersection/s1", "{")
    put(tmp_path / "04_intersection/s1/repeat_1", record())
    with pytest.raises(ResultError):
        finished_score(tmp_path, PLACE)
    where = set_aside(tmp_path, tmp_path / "04_intersection/s1", PLACE, "damaged")
    assert (where / "unscored_scene_score.json").read_text() == "{"
    assert not (where / "scene_score.json").exists()
    assert finished_score(tmp_path, PLACE) is None
    assert finished_score(tmp_path, RunPlace("04_intersection", "s1", 1, 2)) is not None
    assert next(read_voids(tmp_path)).detail == "damaged"


def test_json_is_whole_and_refuses_nan(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": 1}


@pytest.mark.parametrize("length", [0, 0.0, -1, "x", 1e999])
def test_a_route_without_length_is_damage_not_a_crash(tmp_path, record, put, length):
    content = record(route=50.0)
    content["meta"]["route_length_m"] = length
    with pytest.raises(ResultError):
        read_score(put(tmp_path, content))


def test_a_record_of_another_scenario_is_damage(tmp_path, record, put):
    put(tmp_path / "04_intersection/s1", {**record(), "scene_id": "s2"})
    with pytest.raises(ResultError, match="scene_id: found 's2' in the folder of 's1'"):
        finished_score(tmp_path, PLACE)


@pytest.mark.parametrize("extra", [None, [1], "void", 3, {}, {"void": False}])
def test_only_a_mark_makes_a_record_void(extra):
    assert not is_void({"termination_reason": "destination_reached", "extra": extra})
    assert is_void({"termination_reason": "system_error", "extra": extra})


@pytest.mark.parametrize("rest", ["steps.jsonl", "unscored_scene_score.json", "frames/1.jpg", "a file"])
def test_what_lies_there_without_a_score_never_blocks_a_run(tmp_path, record, put, rest):
    folder = tmp_path / "04_intersection/s1"
    if rest == "a file":
        folder.parent.mkdir()
        folder.write_text("old")
    else:
        (folder / rest).parent.mkdir(parents=True)
        (folder / rest).write_text("old")
    put(tmp_path / ".partial/s1", record())
    assert publish(tmp_path, tmp_path / ".partial/s1", PLACE) == folder
    assert finished_score(tmp_path, PLACE) is not None
    assert [path.name for path in folder.iterdir()] == ["scene_score.json"]
    (void,) = read_voids(tmp_path)
    assert "missing" in void.detail
    assert "old" in [path.read_text() for path in void.path.rglob("*") if path.is_file()]


def test_a_single_run_never_takes_the_repeats_of_an_earlier_batch_away(tmp_path, record, put):
    put(tmp_path / "04_intersection/s1/repeat_1", record())
    put(tmp_path / ".partial/s1", record())
    assert publish(tmp_path, tmp_path / ".partial/s1", PLACE) == tmp_path / "04_intersection/s1/repeat_0"
    assert finished_score(tmp_path, PLACE) is not None
    assert finished_score(tmp_path, RunPlace("04_intersection", "s1", 1, 2)) is not None


KILLED = """
import os, sys
from pathlib import Path
from drivehierarchy_gym.runner import records

left = int(sys.argv[2])

def counted(name):
    real = getattr(os, name)
    def call(*arguments):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return real(*arguments)
    return call

for name in ("rename", "replace"):
    setattr(os, name, counted(name))
root = Path(sys.argv[1])
records.set_aside(root, root / "04_intersection/s1", records.RunPlace("04_intersection", "s1", 0, 1), "damaged")
"""


@pytest.mark.parametrize("neighbours", [False, True])
def test_setting_aside_may_be_killed_anywhere(tmp_path, record, put, neighbours):
    for steps in range(8):
        root = tmp_path / str(steps)
        folder = root / "04_intersection/s1"
        put(folder, "{")
        (folder / "steps.jsonl").write_text("old")
        if neighbours:
            put(folder / "repeat_1", record())
        code = subprocess.run([sys.executable, "-c", KILLED, str(root), str(steps)]).returncode
        assert code in (0, 9)
        assert not list((root / "void").rglob("scene_score.json"))
        if (folder / "scene_score.json").exists():
            set_aside(root, folder, PLACE, "damaged")
        put(root / ".partial/s1", record())
        assert publish(root, root / ".partial/s1", PLACE) is not None
        assert finished_score(root, PLACE) is not None
        if neighbours:
            assert finished_score(root, RunPlace("04_intersection", "s1", 1, 2)) is not None
        if code == 0:
            assert steps >= 3
            return
    pytest.fail("never came to its end")


@pytest.mark.parametrize(
    ("group", "scenario"),
    [("g", "."), ("g", ".."), ("g", ""), ("g", "a/b"), ("..", "s"), (".", "s"), ("void", "s"), (".partial", "s")],
)
def test_names_that_lead_elsewhere_are_no_places(group, scenario):
    with pytest.raises(ResultError, match="cannot be the name of a folder"):
        RunPlace(group, scenario, 0, 1)


def test_killed_writers_leave_nothing_behind(tmp_path):
    path = tmp_path / "manifest.json"
    living = tmp_path / f".manifest.json.{os.getppid()}"
    for rest in (tmp_path / ".manifest.json.999999999", living, tmp_path / ".other.json.999999999"):
        rest.write_text("{")
    write_json(path, {"a": 1})
    assert {p.name for p in tmp_path.iterdir()} == {"manifest.json", living.name, ".other.json.999999999"}
    shutil.rmtree(tmp_path)
    with pytest.raises(OSError, match=r"manifest\.json"):
        write_json(path, {})
