import json
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.runner.manifest import open_manifest
from drivehierarchy_gym.scenarios.schema import Family
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.result_files import closed_loop_result, read_all, read_place
from lm_eval_drivehierarchy.results import MIXED, ResultsError
from lm_eval_drivehierarchy.tasks import TASKS

from .made_results import model

FAMILIES = get_args(Family)
EVALUATOR = {"version": "0.1.0", "hash": "9e", "sumo": "1.28.0"}


def scene_score(scenario: str, family: str, route: float, *, ended: str = "destination_reached") -> dict:
    """A consistent record, as the evaluator writes it."""
    safety, efficiency = 0.2 if ended == "collision_vehicle" else 1.0, 0.9
    return {
        "scene_id": scenario,
        "status": "Completed" if route == 100 else "Failed",
        "termination_reason": ended,
        "score_route": route,
        "score_safety": safety,
        "score_efficiency": efficiency,
        "score_penalty": round(safety * efficiency, 6),
        "score_composed": round(route * safety * efficiency, 6),
        "events": [{"type": ended, "time": 3.0, "penalty_multiplier": safety}, {"type": "red_light", "time": 1.0}],
        "meta": {
            "route_length_m": 100.0,
            "completed_distance_m": route,
            "lane_keep_penalty": 1.0,
            "distance_efficiency": efficiency,
            "time_efficiency": efficiency,
        },
        "extra": {"family": family, "suite": "open", "decisions": 40, "agent_faults": {"timeout": 2, "exception": 1}},
    }


def write_run(
    root: Path, name: str = "driver", *, missing: bool = False, manifest: bool = True, suite: int | None = 1
) -> Path:
    """A run of one scenario a family; the suite has `suite` of them a family, None: the manifest does not say."""
    folder = root / name
    planned = {family: [f"{family}_01"] for family in FAMILIES}
    if manifest:
        settings = {
            "evaluator": EVALUATOR, "suite_hash": "5f0c", "suite": "open", "agent": "follower", "agent_options": {},
            "environment": {"backend": "sumo", "prompt_file": None}, "seed": 3,
        }  # fmt: skip
        whole = suite and {family: [f"{family}_{n:02}" for n in range(1, suite + 1)] for family in FAMILIES}
        open_manifest(folder, name, settings, planned, 1, ["drivehierarchy", "r4", "run"], whole)
    for number, family in enumerate(FAMILIES[:-1] if missing else FAMILIES):
        place = folder / family / f"{family}_01"
        place.mkdir(parents=True)
        ended = "collision_vehicle" if number == 0 else "destination_reached"
        record = scene_score(f"{family}_01", family, 100.0 if number else 50.0, ended=ended)
        record["extra"]["evaluator"] = EVALUATOR
        if not manifest:
            record["extra"] = {}
        (place / "scene_score.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


class TestClosedLoop:
    def test_every_number_comes_from_the_files(self, tmp_path: Path) -> None:
        (found,) = read_place(write_run(tmp_path))
        run = found.closed_loop
        assert (found.model, run.suite, run.suite_hash, run.planned) == ("driver", "open", "5f0c", 10)
        assert run.evaluator == "version 0.1.0, hash 9e, SUMO 1.28.0"
        assert run.settings == {"agent": "follower", "backend": "sumo", "seed": 3}
        assert not run.partial
        first = run.episodes[0]
        assert (first.family, first.score, first.route, first.safety) == (FAMILIES[0], 9.0, 50.0, 0.2)
        assert (first.termination, first.events) == ("collision_vehicle", ("collision_vehicle", "red_light"))
        assert (first.decisions, first.faults) == (40, 3)
        assert found.r4() == pytest.approx((9.0 + 9 * 90.0) / 10)
        assert len(found.files) == 11
        assert found.versions["eclipse-sumo"]

    def test_a_part_of_a_suite_is_told_from_the_whole(self, tmp_path: Path) -> None:
        whole, part, older = (
            read_place(write_run(tmp_path, name, suite=size))[0].closed_loop
            for name, size in (("whole", 1), ("part", 2), ("older", None))
        )
        assert (whole.whole, part.whole, older.whole) == (True, False, False)
        assert part.uncovered == tuple(f"{family}_02" for family in FAMILIES)
        assert (part.repeats, older.uncovered) == (1, None)

    def test_a_run_that_is_not_planned_is_refused(self, tmp_path: Path) -> None:
        folder = write_run(tmp_path)
        place = folder / FAMILIES[0] / "another"
        place.mkdir()
        record = scene_score("another", FAMILIES[0], 100.0)
        record["extra"]["evaluator"] = EVALUATOR
        (place / "scene_score.json").write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(ResultsError, match=r"scene_score.json: .*another \(repeat 0\) is not among .*; delete it"):
            read_place(folder)

    def test_a_result_of_another_suite_is_refused(self, tmp_path: Path) -> None:
        folder = write_run(tmp_path)
        path = folder / FAMILIES[0] / f"{FAMILIES[0]}_01" / "scene_score.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        record["extra"]["suite_hash"] = "other"
        path.write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(ResultsError, match=r"extra.suite_hash: found other, manifest.json says 5f0c; repeat"):
            read_place(folder)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"planned": {}}, r"is not among the runs that manifest.json plans"),
            ({"planned": {}, "delete": True}, r"planned: .*greater than or equal to 1, found 0; make it again"),
            ({"repeats": 0}, "repeats: .*greater than or equal to 1"),
            (
                {"suite_scenarios": {"g": ["a"]}},
                "scenario '01_.*' is not among the 1 of suite_scenarios; make it again",
            ),
            ({"settings": {"environment": 3}}, "not the scores of a model"),
            ({"settings": {"suite": ["open"]}}, "suite: .*valid string"),
        ],
    )
    def test_a_manifest_that_contradicts_its_results_is_refused(
        self, tmp_path: Path, changes: dict, message: str
    ) -> None:
        folder = write_run(tmp_path)
        path = folder / "manifest.json"
        if changes.pop("delete", False):
            for family in FAMILIES:
                shutil.rmtree(folder / family)
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
        with pytest.raises(DriveHierarchyError, match=rf"(manifest|scene_score)\.json: .*{message}"):
            read_place(folder)

    def test_a_missing_run_is_named(self, tmp_path: Path) -> None:
        (found,) = read_place(write_run(tmp_path, missing=True))
        assert found.closed_loop.partial
        assert found.closed_loop.missing == ("10_roundabout/10_roundabout_01 (repeat 0)",)

    def test_a_root_of_several_models_and_a_tree_of_the_release(self, tmp_path: Path) -> None:
        write_run(tmp_path, "one")
        write_run(tmp_path, "two", manifest=False)
        found = read_place(tmp_path)
        assert [result.model for result in found] == ["one", "two"]
        assert found[1].closed_loop.evaluator == "the release's evaluator"
        assert found[1].closed_loop.episodes[0].family == FAMILIES[0]
        assert closed_loop_result(tmp_path / "two").r4() == found[0].r4()

    def test_a_damaged_score_is_left_out_and_named(self, tmp_path: Path) -> None:
        folder = write_run(tmp_path)
        (folder / FAMILIES[1] / f"{FAMILIES[1]}_01" / "scene_score.json").write_text('{"scene_id": ', encoding="utf-8")
        (found,) = read_place(folder)
        assert len(found.closed_loop.episodes) == 9
        assert any("damaged" in note and "repeat the command" in note for note in found.closed_loop.left_out)

    @pytest.mark.parametrize(
        ("change", "fault"),
        [
            ("", "Expecting value"),
            ('{"scene_id": ', "Expecting value"),
            ({"score_composed": 99.0}, "score_composed is 99.0"),
            ({"score_composed": float("nan")}, "score_composed: Input should be a finite number"),
            (
                {"score_route": 100.0, "score_composed": 18.0},
                "score_route: found 100.0, but meta.completed_distance_m 50.0",
            ),
            ({"scene_id": "another"}, "scene_id: found 'another' in the folder of '01_"),
            ({"events": []}, "score_safety is 0.2"),
            ({"status": "Completed"}, "status: found 'Completed'"),
        ],
    )
    def test_the_leaderboard_says_which_r4_file_is_wrong_and_how(
        self, tmp_path: Path, change: str | dict, fault: str
    ) -> None:
        path = write_run(tmp_path) / FAMILIES[0] / f"{FAMILIES[0]}_01" / "scene_score.json"
        if isinstance(change, dict):
            change = json.dumps(json.loads(path.read_text(encoding="utf-8")) | change)
        path.write_text(change, encoding="utf-8")
        out = str(tmp_path / "board.html")
        found = CliRunner().invoke(app, ["leaderboard", str(tmp_path), "--out", out], env={"COLUMNS": "600"})
        assert found.exit_code == 1, found.output
        (line,) = [line for line in found.output.splitlines() if "scene_score.json" in line]
        assert line.startswith(f"not ranked driver: left out, damaged: {path}: ")
        assert fault in line
        assert "repeat the command that made it" in line


class TestScoreFiles:
    def test_ours_comes_back_whole(self, tmp_path: Path) -> None:
        mine = model("mine", 1)
        path = tmp_path / "evaluation" / "final_score.json"
        path.parent.mkdir()
        record = {"overall": {}, "per_file": [], "drivehierarchy": {"result": mine.model_dump(mode="json")}}
        path.write_text(json.dumps(record), encoding="utf-8")
        (found,) = read_place(tmp_path)
        assert found.tasks == mine.tasks
        assert found.files[-1].path == str(path)

    def test_the_release_s_own_has_means_and_says_what_it_lacks(self, tmp_path: Path) -> None:
        path = tmp_path / "some_model" / "evaluation" / "final_score.json"
        path.parent.mkdir(parents=True)
        summary = {"n": 1000, "parse_fail": 20, "mean": 62.5, "p50": 100.0, "p90": 100.0}
        kind = {"task_type": "multi_choice", "metric": "em_multi_choice"}
        empty = {"n": 0, "parse_fail": 0, "mean": 0.0, "p50": 0.0, "p90": 0.0}
        record = {
            "overall": summary,
            "per_task": [{"task_type": "multi_choice", **summary}],
            "per_file": [
                {"source_file": "R2_3_Spatial_Relations_pred.jsonl", **kind, **empty},
                {"source_file": "R3_1_Outcome_Prediction_pred.jsonl", **kind, **summary},
            ],
        }
        path.write_text(json.dumps(record), encoding="utf-8")
        (found,) = read_place(tmp_path)
        assert found.model == "some_model"
        assert list(found.tasks) == ["r3_1"]
        scored = found.tasks["r3_1"]
        assert (scored.n, scored.rules["official"].score, scored.rules["official"].parse_fail) == (1000, 62.5, 0.02)
        assert "flexible" not in scored.rules
        assert found.open_loop("official").tasks["r3_1"].low is None
        assert "no items" in found.notes[0]

    def test_a_task_twice_in_one_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "final_score.json"
        rows = [{"source_file": "R3_1_Outcome_Prediction_pred.jsonl", "n": 1, "mean": mean} for mean in (1, 2)]
        path.write_text(json.dumps({"per_file": rows}), encoding="utf-8")
        with pytest.raises(ResultsError, match=r"per_file\[1\].source_file: .*r3_1 is there already; make it again"):
            read_place(path)

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("score", 99.5, r"score is 99.5, but route [\d.]+ x safety"),
            ("score", float("nan"), "episodes.0.score: .*finite number, found nan"),
            ("safety", 1.5, "episodes.0.safety: .*less than or equal to 1, found 1.5"),
            ("repeat", 1, "repeat 1, is there more than once"),
            ("planned", 0, "planned: .*greater than or equal to 1, found 0"),
            ("planned", 12, "planned is 12, but episodes lists 40 runs"),
        ],
    )
    @pytest.mark.parametrize("command", ["report", "leaderboard"])
    def test_contradictory_r4_ends_in_one_sentence(
        self, tmp_path: Path, command: str, field: str, value: float, message: str
    ) -> None:
        record = model("m", 1).model_dump(mode="json")
        run = record["closed_loop"]
        (run if field == "planned" else run["episodes"][0])[field] = value
        path = tmp_path / "m.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        refused(command, path, rf"m\.json: closed_loop.*{message}.*; make it again with the command that wrote it")

    def test_an_unknown_question_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "final_score.json"
        path.write_text(json.dumps({"per_file": [{"source_file": "R9_Nothing", "n": 1, "mean": 1}]}), encoding="utf-8")
        with pytest.raises(ResultsError, match="R9_Nothing: no task"):
            read_place(path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", "cannot be read as JSON"),
            ("[]", "holds list"),
            ("{}", "none of the known kinds"),
            ('{"model": "m", "tasks": {"r1_1_a": {"task": "r1_1_a", "n": 1, "rules": {}}}}', "tasks.r1_1_a.rules"),
            ('{"drivehierarchy": {}}', "not the scores of a model"),
            ('{"drivehierarchy": []}', "not the scores of a model"),
            ('{"per_file": 3}', "not the scores of a model"),
            ('{"per_file": [{"source_file": 3, "n": 1, "mean": 1}]}', "not the scores of a model"),
            ('{"results": [], "n-samples": 1}', "not the scores of a model"),
            ('{"model": "m", "tasks": {}, "kind": "published"}', "kind: only measured .*found 'published'"),
            ('{"model": "", "tasks": {}}', "model: .*found ''; make it again"),
            ("[" * 100_000, "cannot be read as JSON"),
        ],
    )
    def test_other_files_are_refused_naming_the_place(self, tmp_path: Path, content: str, message: str) -> None:
        path = tmp_path / "x.json"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ResultsError, match=message) as caught:
            read_place(path)
        assert str(path) in str(caught.value)


class TestLmEval:
    @staticmethod
    def summary(path: Path, tasks: dict[str, float], *, limit: int | None = None) -> None:
        rows, counts = {}, {}
        for task in TASKS:
            if task.id in tasks:
                rows[task.lm_eval_name] = {
                    "alias": task.lm_eval_name, "score,official": tasks[task.id], "score_stderr,official": 1.5,
                    "score,flexible": tasks[task.id] + 2, "score_stderr,flexible": "N/A", "parse_fail,official": 0.1,
                    "strict,flexible": 0.9, "missing,official": 0.05,
                }  # fmt: skip
                counts[task.lm_eval_name] = {"original": 200, "effective": limit or 200}
        record = {
            "results": rows, "n-samples": counts, "versions": {task.lm_eval_name: 1.0 for task in TASKS},
            "config": {"limit": limit, "gen_kwargs": None}, "model_name": "vlm", "lm_eval_version": "0.4.13",
        }  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record), encoding="utf-8")

    def test_summaries_without_samples(self, tmp_path: Path) -> None:
        self.summary(tmp_path / "vlm" / "results_2026-01-01T00-00-00.json", {"r1_1_a": 60.0, "r3_1": 40.0})
        self.summary(tmp_path / "vlm" / "results_2026-01-02T00-00-00.json", {"r3_1": 45.0}, limit=20)
        (found,) = read_place(tmp_path)
        assert found.model == "vlm"
        scored = found.tasks["r1_1_a"]
        assert (scored.n, scored.expected, scored.version) == (190, 200, "1.0")
        assert scored.rules["official"].stderr == 1.5
        assert scored.rules["flexible"].stderr is None
        assert found.tasks["r3_1"].rules["official"].score == 45.0
        assert found.tasks["r3_1"].partial
        assert found.protocol["limit"] == MIXED

    def test_a_limit_for_all_tasks_is_the_protocol_s_and_an_unused_file_does_not_count(self, tmp_path: Path) -> None:
        self.summary(tmp_path / "results_2026-01-01T00-00-00.json", {"r1_1_a": 60.0}, limit=20)
        self.summary(tmp_path / "results_2026-01-02T00-00-00.json", {"r1_1_a": 61.0})
        (found,) = read_place(tmp_path)
        assert found.protocol["limit"] is None
        assert [Path(file.path).name for file in found.files] == ["results_2026-01-02T00-00-00.json"]

    def test_summaries_of_two_models_in_one_folder_are_refused(self, tmp_path: Path) -> None:
        self.summary(tmp_path / "results_2026-01-01T00-00-00.json", {"r1_1_a": 60.0})
        path = tmp_path / "results_2026-01-02T00-00-00.json"
        self.summary(path, {"r3_1": 45.0})
        path.write_text(path.read_text(encoding="utf-8").replace('"vlm"', '"other"'), encoding="utf-8")
        with pytest.raises(
            ResultsError, match=r"02T00-00-00.json: model_name: found 'other', .*01T00.* is of 'vlm'; put"
        ):
            read_place(tmp_path)

    def test_a_run_of_other_tasks_is_refused(self, tmp_path: Path) -> None:
        self.summary(tmp_path / "results_2026-01-01T00-00-00.json", {})
        with pytest.raises(ResultsError, match="no result of a DriveHierarchy task"):
            read_place(tmp_path)


def refused(command: str, path: Path, message: str) -> None:
    out = path.parent / "out"
    found = CliRunner().invoke(app, [command, str(path), "--out", str(out)], env={"COLUMNS": "400"})
    assert found.exit_code == 2, found.output
    assert isinstance(found.exception, SystemExit)
    assert re.search(rf"^error: .*{message}", found.output, flags=re.MULTILINE), found.output
    assert len(found.output.strip().splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize("command", ["report", "leaderboard"])
class TestDamaged:
    @pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.999])
    @pytest.mark.parametrize("kind", ["record", "final_score", "results", "manifest"])
    def test_a_file_that_was_cut_ends_in_one_sentence(
        self, tmp_path: Path, command: str, kind: str, share: float
    ) -> None:
        place = tmp_path / "place"
        place.mkdir()
        if kind == "manifest":
            path = write_run(place) / "manifest.json"
        elif kind == "results":
            path = place / "results_2026-01-01T00-00-00.json"
            TestLmEval.summary(path, {"r1_1_a": 60.0})
        else:
            path = place / "final_score.json"
            whole = model("m", 1).model_dump(mode="json")
            content = {"drivehierarchy": {"result": whole}} if kind == "final_score" else whole
            path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        text = path.read_bytes()
        path.write_bytes(text[: min(int(share * len(text)), len(text) - 2)])
        refused(command, place, re.escape(path.name) + ": .*; (make it again|restore it or leave its folder out)")

    @pytest.mark.parametrize("field", ["edition", "closed_loop.suite", "closed_loop.episodes.0.family"])
    def test_text_that_is_no_unicode_ends_in_one_sentence(self, tmp_path: Path, command: str, field: str) -> None:
        record = model("m", 1).model_dump(mode="json")
        place = record
        *parents, last = field.split(".")
        for name in parents:
            place = place[int(name) if name.isdigit() else name]
        place[last] = "half \ud83d"
        path = tmp_path / "m.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        refused(command, path, r"m\.json: model 'm': holds text that is no Unicode .*; make it again")

    def test_an_empty_folder_ends_in_one_sentence(self, tmp_path: Path, command: str) -> None:
        place = tmp_path / "place"
        place.mkdir()
        refused(command, place, "no results below it; expected")

    def test_several_runs_of_one_model_are_named(self, tmp_path: Path, command: str) -> None:
        for run in ("first", "second"):
            path = tmp_path / "place" / run / "final_score.json"
            path.parent.mkdir(parents=True)
            whole = model("m", 1).model_dump(mode="json")
            path.write_text(json.dumps({"drivehierarchy": {"result": whole}}), encoding="utf-8")
        where = r"\(\S+first/final_score.json, \S+second/final_score.json\)"
        refused(command, tmp_path / "place", rf"r1_1_a is in two of the inputs {where}; leave one out")

    def test_r4_twice_is_named(self, tmp_path: Path, command: str) -> None:
        for run in ("first", "second"):
            write_run(tmp_path / "place" / run)
        where = r"\(\S+first/driver/manifest.json, \S+second/driver/manifest.json\)"
        refused(command, tmp_path / "place", rf"two inputs hold R4 results {where}; leave one out")


class TestPlaces:
    def test_one_model_from_two_places_and_a_new_name(self, tmp_path: Path) -> None:
        mine = model("driver", 1, driving=None)
        path = tmp_path / "open.json"
        path.write_text(mine.model_dump_json(), encoding="utf-8")
        folder = write_run(tmp_path / "r4")
        (joined,) = read_all([str(path), str(folder)])
        assert joined.closed_loop is not None
        assert len(joined.tasks) == 14
        apart = read_all([str(path), f"other={folder}"])
        assert [result.model for result in apart] == ["driver", "other"]

    def test_a_folder_that_holds_both(self, tmp_path: Path) -> None:
        path = tmp_path / "run" / "open" / "evaluation" / "final_score.json"
        path.parent.mkdir(parents=True)
        mine = model("driver", 1, driving=None).model_dump(mode="json")
        path.write_text(json.dumps({"drivehierarchy": {"result": mine}}), encoding="utf-8")
        write_run(tmp_path / "run" / "r4")
        (joined,) = read_all([str(tmp_path / "run")])
        assert joined.closed_loop is not None
        assert joined.tasks

    def test_one_name_for_several_models_is_refused(self, tmp_path: Path) -> None:
        write_run(tmp_path, "one")
        write_run(tmp_path, "two")
        with pytest.raises(ResultsError, match="holds 2 models"):
            read_all([f"x={tmp_path}"])

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(ResultsError, match="no such file"):
            read_all([str(tmp_path / "none")])
        with pytest.raises(DriveHierarchyError, match=r"no results below it.*final_score\.json"):
            read_all([str(tmp_path)])
