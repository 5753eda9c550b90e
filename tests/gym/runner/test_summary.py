from __future__ import annotations

import csv
import math
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from drivehierarchy_gym.runner.collection import CollectionError, collect
from drivehierarchy_gym.runner.manifest import episode_seed, open_manifest
from drivehierarchy_gym.runner.records import RunPlace, publish_void, write_void
from drivehierarchy_gym.runner.summary import CSV_COLUMNS, summarise, summary_csv, write_summary_csv
from drivehierarchy_gym.runner.tables import print_summary


@pytest.fixture
def tree(tmp_path, record, put):
    """Two models; `m` has two families, one with repeats, a void and a missing scenario."""
    root = tmp_path / "out"
    put(root / "m/01_a/s1", record(route=100.0))
    put(root / "m/01_a/s2", record(route=50.0))
    put(root / "m/02_b/s3/repeat_0", record(route=100.0, efficiency=0.5, agent_faults={"timeout": 2}, decisions=10))
    put(root / "m/02_b/s3/repeat_1", record(route=100.0, safety=0.0, reason="collision_pedestrian"))
    put(root / "n/01_a/s1", record(route=80.0, reason="blocked_timeout"))
    open_manifest(root / "m", "m", {}, {"01_a": ["s1", "s2"], "02_b": ["s3", "s4"]}, 1, [])
    partial = root / "m/.partial/1"
    partial.mkdir(parents=True)
    place = RunPlace("02_b", "s4", 0, 1)
    write_void(partial, place, "infrastructure", "simulator died")
    publish_void(root / "m", partial, place)
    return root


def test_csv_is_the_releases(tree, tmp_path):
    path = tmp_path / "result_summary.csv"
    write_summary_csv(path, collect([tree]).results)
    rows = list(csv.DictReader(path.open()))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [(row["scene"], row["model"], row["sample_count"]) for row in rows] == [
        ("01_a", "m", "2"),
        ("01_a", "n", "1"),
        ("02_b", "m", "2"),
    ]
    assert rows[0]["avg_score_route"] == "75.000000"
    assert rows[0]["avg_score_safety"] == "0.850000"
    assert rows[0]["avg_score_composed"] == "67.500000"  # (100 + 50 * .7) / 2, a mean of products
    assert rows[2]["avg_score_composed"] == "25.000000"


def test_summary_by_hand(tree):
    summary = summarise(collect([tree]), "m")
    first, second = summary.rows
    assert (first.group, first.scored, first.planned, first.composed) == ("01_a", 2, 2, 67.5)
    assert (second.scored, second.planned, second.composed) == (2, 3, 25.0)
    assert second.interval is None  # one scenario says nothing about the spread over scenarios
    assert second.bounds == (50 / 3, (50 + 100) / 3)
    assert first.bounds == (67.5, 67.5)
    # scenarios count alike, whatever the number of their repeats
    assert summary.total.composed == pytest.approx((100 + 35 + 25) / 3)
    assert summary.total.scored == 4
    assert summary.total.planned == 5
    assert summary.missing == (("02_b", "s4", 0),)
    assert summary.void == {"infrastructure": 1}
    assert summary.faults == {"timeout": 2}
    assert summary.decisions == 10
    assert {row.reason: (row.count, row.composed) for row in summary.reasons} == {
        "destination_reached": (2, 75.0),
        "scenario_timeout": (1, 35.0),
        "collision_pedestrian": (1, 0.0),
    }


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_tables_cut_neither_a_name_nor_a_number(tmp_path, record, put, width):
    family = "01_pedestrian_encounter_with_a_name_longer_than_most"
    for scenario, route in (("s1", 100.0), ("s2", 50.0)):
        put(tmp_path / f"m/{family}/{scenario}", record(route=route))
    file = StringIO()
    print_summary(Console(file=file, width=width), summarise(collect([tmp_path]), "m"))
    shown = file.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    column = [line.split()[0] for line in shown[: shown.index(" all ")].splitlines() if line.strip()]
    assert family in "".join(column)
    assert all(len(part) >= 14 for part in re.findall(r"^ +(01_\S+)", shown, re.MULTILINE))
    assert "67.50" in shown


@pytest.mark.parametrize(
    ("suite", "left_out"),
    [
        ({"01_a": ["s1", "s2", "s5"], "02_b": ["s3", "s4"], "03_c": ["s6"]}, (("01_a", "s5"), ("03_c", "s6"))),
        ({"01_a": ["s1", "s2"], "02_b": ["s3", "s4"]}, ()),
        (None, ()),
    ],
)
def test_a_part_of_a_suite_is_said_to_be_one(tmp_path, record, put, suite, left_out):
    put(tmp_path / "m/01_a/s1", record(route=100.0))
    planned = {"01_a": ["s1", "s2"], "02_b": ["s3", "s4"]}
    open_manifest(tmp_path / "m", "m", {}, planned, 1, [], suite_scenarios=suite)
    summary = summarise(collect([tmp_path]), "m")
    assert summary.left_out == left_out
    file = StringIO()
    print_summary(Console(file=file, width=120), summary)
    said = "PART OF A SUITE: no run was planned of s5, s6. S is of the others alone."
    assert (said in file.getvalue()) == bool(left_out)


def test_a_folder_of_one_model_and_one_of_several(tree):
    assert collect([tree / "m"]).models == ["m"]
    assert collect([tree]).models == ["m", "n"]


def test_duplicates_count_once_with_a_note(tree, tmp_path, record, put):
    other = tmp_path / "again"
    put(other / "m/01_a/s1", record(route=100.0))
    put(other / "m/01_a/s2", record(route=90.0))
    collection = collect([tree, other])
    assert len(collection.of("m")) == 4
    same, another = (note for note in collection.notes if "is the same run" in note)
    assert "with the same result" in same
    assert "with ANOTHER result" in another
    assert summarise(collection, "m").rows[0].composed == 67.5


def test_damaged_void_and_strange_files_are_missing_not_zero(tree, put, record):
    put(tree / "n/01_a/s5", "")
    put(tree / "n/01_a/s6", {**record(), "termination_reason": "system_error"})
    put(tree / "n/01_a/s7/run", record())
    collection = collect([tree])
    assert len(collection.notes) == 3
    total = summarise(collection, "n").total
    assert (total.scored, total.planned, total.composed) == (1, 3, 56.0)


def test_mixed_evaluators_are_refused(tree, put, record):
    put(tree / "n/01_a/s8", record(evaluator={"version": "0.0.9", "hash": "f", "sumo": "1.28.0"}))
    with pytest.raises(CollectionError, match=r"different evaluators.*0\.0\.9"):
        collect([tree])
    content = record()
    content["extra"] = {}
    put(tree / "n/01_a/s8", content)
    with pytest.raises(CollectionError, match="the release's evaluator"):
        collect([tree])


def test_nothing_there(tmp_path):
    with pytest.raises(CollectionError, match="no such folder"):
        collect([tmp_path / "x"])
    with pytest.raises(CollectionError, match=r"no <model>/<group>/<scenario>"):
        collect([tmp_path])


def test_only_voids_gives_no_score(tmp_path):
    open_manifest(tmp_path / "m", "m", {}, {"g": ["s"]}, 1, [])
    collection = collect([tmp_path])
    assert collection.missing("m") == [("g", "s", 0)]
    with pytest.raises(ValueError, match="no valid result"):
        summarise(collection, "m")


def test_intervals_are_seeded_and_cover_the_mean(tmp_path, record, put):
    rng = np.random.default_rng(5)
    for n in range(40):
        for repeat in range(2):
            put(tmp_path / f"m/g{n % 4}/s{n}/repeat_{repeat}", record(route=round(float(rng.uniform(0, 100)), 3)))
    collection = collect([tmp_path])
    first, again, other = (summarise(collection, "m", seed=seed).total for seed in (1, 1, 2))
    assert first == again
    assert first.interval != other.interval
    low, high = first.interval
    assert low < first.composed < high
    # the mean of 40 scenario means of two uniform draws (x 0.7) has a standard error of 70 / sqrt(12 * 2 * 40)
    assert high - low == pytest.approx(2 * 1.96 * 70 / math.sqrt(12 * 80), rel=0.35)


def test_interval_of_equal_scores_is_a_point(tmp_path, record, put):
    for n in range(3):
        put(tmp_path / f"m/g/s{n}", record(route=60.0))
    assert summarise(collect([tmp_path]), "m").total.interval == pytest.approx((42.0, 42.0))


def test_csv_of_nothing_is_a_header():
    assert summary_csv([]) == ",".join(CSV_COLUMNS) + "\n"


@pytest.mark.parametrize(
    "change",
    [
        {"extra": None},
        {"extra": [1]},
        {"extra": {"agent_faults": 3}},
        {"extra": {"decisions": "x"}},
        {"extra": {"evaluator": "x"}},
        {"scene_id": "another"},
    ],
)
def test_every_kind_of_damage_is_left_out_with_a_note(tree, put, record, change):
    path = put(tree / "n/01_a/s5", {**record(), **change})
    collection = collect([tree])
    (note,) = collection.notes
    assert note.startswith("left out, damaged")
    assert str(path) in note
    assert summarise(collection, "n").missing == (("01_a", "s5", 0),)


def test_a_result_of_another_evaluator_than_the_manifests_is_refused(tmp_path, put, record):
    settings = {"evaluator": record()["extra"]["evaluator"]}
    open_manifest(tmp_path / "m", "m", settings, {"g": ["a"]}, 1, [])
    put(tmp_path / "m/g/a", record())
    assert len(collect([tmp_path]).results) == 1
    for extra in ({"evaluator": {**settings["evaluator"], "hash": "f"}}, {}):
        path = put(tmp_path / "m/g/a", {**record(), "extra": extra})
        with pytest.raises(CollectionError, match="of its model says") as caught:
            collect([tmp_path])
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "extra", "words"),
    [
        ({"seed": 3}, {"seed": 4}, "extra.seed: found 4, manifest.json with its seed 3 gives 2007127683"),
        ({"seed": 3}, {"seed": episode_seed(4, "a", 0)}, "extra.seed: found"),
        ({}, {"repeat": 1}, "extra.repeat: found 1, its folder gives 0"),
    ],
)
def test_a_run_of_another_seed_or_repeat_is_refused(tmp_path, put, record, settings, extra, words):
    open_manifest(tmp_path / "m", "m", settings, {"g": ["a"]}, 1, [])
    put(tmp_path / "m/g/a", record(seed=episode_seed(3, "a", 0), repeat=0))
    assert len(collect([tmp_path]).results) == 1
    path = put(tmp_path / "m/g/a", record(**extra))
    with pytest.raises(CollectionError, match=words) as caught:
        collect([tmp_path])
    assert str(path) in str(caught.value)


def test_a_malformed_void_record_does_not_stop_a_summary(tree):
    path = tree / "m/void/a/b/c/void.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    collection = collect([tree])
    assert [str(path) in note for note in collection.notes] == [True]
    assert summarise(collection, "m").void == {"infrastructure": 1}
