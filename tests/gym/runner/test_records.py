from __future__ import annotations

import json

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
        ({"meta": {}}, "route_length_m|lane_keep_penalty"),
    ],
)
def test_faulty_records_name_file_and_field(tmp_path, record, put, change, words):
    path = put(tmp_path, {**record(), **change})
    with pytest.raises(ResultError, match=words) as caught:
        read_score(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"scene_id": "s"}', "NaN", '{"score_route": NaN}'])
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
    content = record(route=50.0, safety=0.333333, efficiency=0.777777)
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
        put(tmp_path / f".partial/{n}", record(route=float(n)))
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
    put(tmp_path / ".partial/x", record())
    assert publish(tmp_path, tmp_path / ".partial/x", second) == tmp_path / "g/s/repeat_1"
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
    (voids[0].path / "void.json").write_text("{")
    with pytest.raises(ResultError, match="not the record of a void run"):
        list(read_voids(tmp_path))


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
