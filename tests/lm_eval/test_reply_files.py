"""Replies from files: both kinds are read, every unusable line is named, nothing counts twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.release import QUESTION_FILES
from lm_eval_drivehierarchy.baselines import true_value
from lm_eval_drivehierarchy.commands.score import left_out
from lm_eval_drivehierarchy.final_score import score_replies
from lm_eval_drivehierarchy.judge import NoJudge
from lm_eval_drivehierarchy.parsing import render
from lm_eval_drivehierarchy.reply_files import (
    ReplyFileError,
    questions_of_edition,
    questions_of_release,
    read_replies,
    write_predictions,
)
from lm_eval_drivehierarchy.results import MIXED
from lm_eval_drivehierarchy.tasks import TASKS
from lm_eval_drivehierarchy.tasks import task as task_named
from tests.data import release_records

DATE = "2026-01-02T03-04-05.678901"


def prediction(name: str, index: int, text: str | None, **changes: Any) -> dict[str, Any]:
    """A line of a prediction file, as the release's runner writes it for the invented questions."""
    raw = release_records.record(name, index)
    truth = next(raw[key] for key in ("ground_truth_order", "ground_truth", "answer") if raw.get(key))
    record = {
        "Question_id": raw.get("Question_id"),
        "question": raw.get("question"),
        "ground_truth": truth,
        "model_prediction": text,
    }
    if "Question_id" not in raw:
        record = {**record, "task_id": raw["task_id"]}
        del record["Question_id"]
    if "ground_truth_order" in raw:
        record |= {"ground_truth_order": truth, "images": raw["images"]}
    return {**record, **changes}


def write_lines(path: Path, records: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))


class TestPredictions:
    """`<task>_pred.jsonl` as the release writes it."""

    @pytest.mark.parametrize("file", QUESTION_FILES, ids=lambda file: file.task)
    def test_every_task_is_told_by_its_ids(self, tmp_path: Path, file: Any) -> None:
        write_lines(tmp_path / "some_name_pred.jsonl", [prediction(file.stem, index, "x") for index in range(3)])
        found = read_replies(tmp_path)
        assert list(found.tasks) == [file.task]
        assert [reply.text for reply in found.tasks[file.task].replies] == ["x"] * 3
        assert found.tasks[file.task].problems == []
        assert found.tasks[file.task].expected is None

    def test_a_file_may_be_told_by_its_name(self, tmp_path: Path) -> None:
        record = {"Question_id": "own-1", "question": "q", "ground_truth": "Yes", "model_prediction": "yes"}
        write_lines(tmp_path / "r1_1_a_pred.jsonl", [record])
        write_lines(tmp_path / "R2_1_Multi_view_Memory_pred.jsonl", [record | {"ground_truth": "3"}])
        assert set(read_replies(tmp_path).tasks) == {"r1_1_a", "r2_1"}

    def test_ids_of_two_tasks_in_one_file_are_refused(self, tmp_path: Path) -> None:
        records = [prediction("R1_1_A_Existence", 0, "x"), prediction("R1_1_B_Counting", 0, "x")]
        write_lines(tmp_path / "a_pred.jsonl", records)
        with pytest.raises(ReplyFileError, match="holds ids of r1_1_a and r1_1_b; a file holds the predictions of one"):
            read_replies(tmp_path)

    def test_of_several_tasks_that_of_the_file_name_counts(self, tmp_path: Path) -> None:
        """A record that strayed in costs itself, with an edition at hand and without one."""
        strayed = prediction("R1_1_A_Existence", 0, "x")
        records = [prediction("R1_1_B_Counting", 0, "2"), strayed, prediction("R1_1_B_Counting", 2, "2")]
        write_lines(tmp_path / "m" / "R1_1_B_Counting_pred.jsonl", records)
        assert set(read_replies(tmp_path / "m").tasks) == {"r1_1_b"}
        questions = questions_of_release(release_records.write_questions(tmp_path / "questions", count=5))
        found = read_replies(tmp_path / "m", questions).tasks["r1_1_b"]
        assert [reply.item for reply in found.replies] == ["R1_1_B_0", "R1_1_B_2"]
        (problem,) = found.problems
        assert problem.endswith("2: item R1_1_A_0 is of task r1_1_a, this file of r1_1_b; left out")

    def test_half_characters_are_replaced(self, tmp_path: Path) -> None:
        """What UTF-8 cannot hold would end every file that is written from it."""
        record = prediction("R1_1_B_Counting", 0, "\ud800 2", Question_id="R1_1_B_\udfff")
        write_lines(tmp_path / "a_pred.jsonl", [record, prediction("R1_1_B_Counting", 1, "\U0001f697 3")])
        replies = read_replies(tmp_path).tasks["r1_1_b"].replies
        assert (replies[0].item, replies[0].text) == ("R1_1_B_\ufffd", "\ufffd 2")
        assert replies[1].text == "\U0001f697 3"

    def test_a_number_for_an_id_is_named(self, tmp_path: Path) -> None:
        records = [prediction("R1_1_B_Counting", 0, "2", Question_id=12), prediction("R1_1_B_Counting", 1, "2")]
        write_lines(tmp_path / "a_pred.jsonl", records)
        (problem,) = read_replies(tmp_path).tasks["r1_1_b"].problems
        assert problem == f"{tmp_path / 'a_pred.jsonl'}:1: the id is int, not text"

    def test_nothing_that_can_be_scored_is_refused(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "a_pred.jsonl", [])
        with pytest.raises(ReplyFileError, match=r"nothing can be scored: .*a_pred.jsonl: no record"):
            read_replies(tmp_path)

    def test_ids_of_no_task_are_refused(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "a_pred.jsonl", [prediction("R1_1_A_Existence", 0, "x", Question_id="zebra")])
        with pytest.raises(ReplyFileError, match="ids such as 'zebra', of no known task"):
            read_replies(tmp_path)

    def test_unusable_lines_are_named_and_left_out(self, tmp_path: Path) -> None:
        good = prediction("R1_1_B_Counting", 0, "2")
        half = json.dumps(prediction("R1_1_B_Counting", 9, "2"))[:40]
        records = [
            good,
            "[]",
            prediction("R1_1_B_Counting", 1, "2", Question_id=None),
            prediction("R1_1_B_Counting", 0, "3"),
            prediction("R1_1_B_Counting", 2, "2", ground_truth=None),
            prediction("R1_1_B_Counting", 3, "2", ground_truth="several"),
            prediction("R1_1_B_Counting", 4, "2", model_prediction=2),
            prediction("R1_1_B_Counting", 5, None),
            half,
        ]
        write_lines(tmp_path / "a_pred.jsonl", records)
        found = read_replies(tmp_path).tasks["r1_1_b"]
        assert [(reply.item, reply.text) for reply in found.replies] == [("R1_1_B_0", "2"), ("R1_1_B_5", None)]
        expected = {
            2: "a record must be a JSON object, not list",
            3: "no id",
            4: "item R1_1_B_0 was answered before",
            5: "item R1_1_B_2: no answer: none of 'ground_truth_order', 'ground_truth', 'answer' is given; left out",
            6: "truth 'several' is no answer of kind 'count'",
            7: "'model_prediction' is int, not text",
            9: "not JSON",
        }
        for number, text in expected.items():
            (line,) = [p for p in found.problems if p.startswith(f"{tmp_path / 'a_pred.jsonl'}:{number}: ")]
            assert text in line
        assert len(found.problems) == len(expected)

    def test_a_file_without_a_usable_line_is_a_problem(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "a_pred.jsonl", ["nonsense", "[" * 100_000])
        write_lines(tmp_path / "b_pred.jsonl", [prediction("R1_1_B_Counting", 0, "2")])
        found = read_replies(tmp_path)
        assert len(found.problems) == 1
        assert "a_pred.jsonl: no record that can be scored" in found.problems[0]

    def test_the_release_adds_options_sizes_scenes_and_the_number_of_items(self, tmp_path: Path) -> None:
        questions = questions_of_release(release_records.write_questions(tmp_path / "questions", count=5))
        folder = tmp_path / "model"
        write_lines(folder / "a_pred.jsonl", [prediction("R1_1_C_State_Attribute", 2, "B")])
        write_lines(folder / "b_pred.jsonl", [prediction("R1_3_Location_Questions", 1, "[1, 2, 3, 4]")])
        found = read_replies(folder, questions)
        (reply,) = found.tasks["r1_1_c"].replies
        assert reply.options == ("A. parked.", "B. moving.", "C. stopped.")
        assert (reply.scene, found.tasks["r1_1_c"].expected) == (release_records.SCENE, 5)
        assert found.tasks["r1_3"].replies[0].image_size == (270, 152)
        assert found.model == "model"

    def test_a_prediction_for_another_truth_or_item_is_left_out(self, tmp_path: Path) -> None:
        questions = questions_of_release(release_records.write_questions(tmp_path / "questions", count=2))
        records = [
            prediction("R1_1_B_Counting", 0, "2", ground_truth="7"),
            prediction("R1_1_B_Counting", 1, "2"),
            prediction("R1_1_B_Counting", 7, "2"),
        ]
        write_lines(tmp_path / "m" / "a_pred.jsonl", records)
        found = read_replies(tmp_path / "m", questions).tasks["r1_1_b"]
        assert [reply.item for reply in found.replies] == ["R1_1_B_1"]
        assert "truth '7' differs from the edition's, '2'" in found.problems[0]
        assert "item R1_1_B_7 is not in the edition" in found.problems[1]

    def test_predictions_are_written_as_they_are_read(self, tmp_path: Path, edition: Edition) -> None:
        found = samples_of(edition, tmp_path / "run")
        written = write_predictions(tmp_path / "pred", found.tasks)
        assert [path.name for path in written] == [task.release.prediction_file for task in TASKS]
        again = read_replies(tmp_path / "pred", questions_of_edition(edition))
        for task, replies in found.tasks.items():
            assert again.tasks[task].problems == []
            assert again.tasks[task].replies == [reply for reply in replies.replies if reply.text is not None]

    def test_every_file_has_the_fields_of_the_released_runner(self, tmp_path: Path, edition: Edition) -> None:
        found = samples_of(edition, tmp_path / "run")
        for path, task in zip(write_predictions(tmp_path / "pred", found.tasks), TASKS, strict=True):
            records = [json.loads(line) for line in path.read_text().splitlines()]
            documents = {document["id"]: document for document in edition.documents(task.id)}
            assert len(records) == len(documents) - 1
            for record in records:
                document = documents[record[task.release.id_field]]
                names = [location.name for location in document["images"]]
                assert record["question"] == (document["question"] or task.questions[0])
                if task.kind == "order":
                    assert record["ground_truth_order"] == record["ground_truth"] == json.loads(document["answer"])
                    shown = zip(document["views"], names, strict=True)
                    assert record["images"] == [{"label": label, "path": name} for label, name in shown]
                elif len(names) == 1:
                    assert record["image_path"] == names[0]
                else:
                    assert record["image_paths"] == names

    def test_the_images_that_predictions_name_are_kept(self, tmp_path: Path) -> None:
        records = [prediction("R3_2_Sequential_Planning", index, '["A"]') for index in range(2)]
        write_lines(tmp_path / "in" / "R3_2_pred.jsonl", records)
        (path,) = write_predictions(tmp_path / "out", read_replies(tmp_path / "in").tasks)
        written = [json.loads(line) for line in path.read_text().splitlines()]
        named = [[{"label": i["label"], "path": i["path"]} for i in record["images"]] for record in records]
        assert [record["images"] for record in written] == named


def sample(document: dict[str, Any], text: str | None, rule: str, score: float = 100.0) -> dict[str, Any]:
    """A line of lm-eval's log."""
    stored = {key: value for key, value in document.items() if key not in ("images", "meta")}
    stored["image_names"] = [location.name for location in document["images"]]
    stored |= {"meta": json.dumps(document["meta"]), "edition": "sim", "edition_hash": "h", "edition_items": 6}
    line = {"doc_id": 0, "doc": stored, "resps": [[str(text)]], "filter": rule, "metrics": ["score"]}
    return {**line, "missing": 1.0} if text is None else {**line, "score": score}


def true_reply(document: dict[str, Any]) -> str:
    return render(true_value(document), document["answer_kind"])


def samples_of(edition: Edition, folder: Path) -> Any:
    """The folder of a perfect model whose last answer of each task is missing."""
    for task in edition.tasks():
        lines = []
        documents = edition.documents(task)
        for rule in ("official", "flexible"):
            lines += [sample(document, true_reply(document), rule) for document in documents[:-1]]
            lines.append(sample(documents[-1], None, rule))
        write_lines(folder / f"samples_{task_named(task).lm_eval_name}_{DATE}.jsonl", lines)
    results = {
        "model_name": "org/model",
        "config": {"model": "local-chat-completions"},
        "configs": {"t": {"generation_kwargs": {"max_gen_toks": 256}}},
        "chat_template": "",
        "lm_eval_version": "0.4.13",
    }
    (folder / f"results_{DATE}.json").write_text(json.dumps(results))
    return read_replies(folder)


class TestSamples:
    """`samples_drivehierarchy_<task>_<date>.jsonl` as lm-eval writes it."""

    def test_reads_every_item_once_with_model_edition_and_settings(self, tmp_path: Path, edition: Edition) -> None:
        found = samples_of(edition, tmp_path)
        assert list(found.tasks) == [task.id for task in TASKS]
        assert (found.model, found.edition, found.edition_hash) == ("org/model", "sim", "h")
        assert found.protocol["generation"] == {"max_gen_toks": 256}
        assert found.protocol["chat_template"] is True
        assert found.versions == {"lm_eval": "0.4.13"}
        assert found.problems == []
        for task, replies in found.tasks.items():
            assert [reply.item for reply in replies.replies] == [d["id"] for d in edition.documents(task)]
            assert [reply.text is None for reply in replies.replies] == [False] * 5 + [True]
            assert replies.expected == 6
        text = found.tasks["r1_4"].replies[0]
        assert len(text.truth) == 2

    def test_results_one_folder_below_are_found(self, tmp_path: Path, edition: Edition) -> None:
        samples_of(edition, tmp_path / "model")
        assert read_replies(tmp_path).model == "org/model"

    def test_the_newest_run_of_a_task_counts(self, tmp_path: Path, edition: Edition) -> None:
        samples_of(edition, tmp_path)
        document = edition.documents("r1_1_a")[0]
        newer = tmp_path / "samples_drivehierarchy_r1_1_a_2027-01-01T00-00-00.000001.jsonl"
        write_lines(newer, [sample(document, "no idea", "official")])
        found = read_replies(tmp_path)
        assert [reply.text for reply in found.tasks["r1_1_a"].replies] == ["no idea"]
        assert len(found.problems) == 1
        assert "results_2027-01-01T00-00-00.000001.json: cannot be read" in found.problems[0]

    def test_older_runs_are_counted_and_named_and_nothing_is_missed(self, tmp_path: Path, edition: Edition) -> None:
        samples_of(edition, tmp_path)
        (document,) = edition.documents("r1_1_b")[:1]
        oldest = tmp_path / "samples_drivehierarchy_r1_1_b_2020-01-01T00-00-00.000001.jsonl"
        older = tmp_path / f"samples_drivehierarchy_r1_1_b_{DATE}.jsonl"
        newer = tmp_path / "samples_drivehierarchy_r1_1_b_2027-01-01T00-00-00.000001.jsonl"
        write_lines(oldest, [sample(document, "1", "official")])
        newer.write_text(older.read_text())
        (tmp_path / "results_2027-01-01T00-00-00.000001.json").write_text(
            (tmp_path / f"results_{DATE}.json").read_text()
        )
        found = read_replies(tmp_path)
        assert found.superseded == [f"r1_1_b: 2 older runs left out, {newer.name} counts: {oldest}, {older}"]
        assert found.problems == []
        assert found.superseded[0] in score_replies(found, NoJudge("off")).notes
        for replies in found.tasks.values():
            replies.replies = [reply for reply in replies.replies if reply.text is not None]
        assert not left_out(found, every_item=False)

    @pytest.mark.parametrize(
        ("newer", "expected"),
        [
            ({}, {"generation": {"max_gen_toks": 256}, "system_instruction": None}),
            ({"system_instruction": "drive"}, {"system_instruction": MIXED}),
            ({"configs": {"t": {"generation_kwargs": {"max_gen_toks": 8}}}}, {"generation": MIXED}),
        ],
    )
    def test_settings_of_several_runs_are_one_or_mixed(
        self, tmp_path: Path, edition: Edition, newer: dict[str, Any], expected: dict[str, Any]
    ) -> None:
        self.newer_run(tmp_path, edition, newer)
        found = read_replies(tmp_path)
        assert {key: found.protocol[key] for key in expected} == expected
        assert found.problems == []

    def test_runs_of_two_models_in_one_folder_are_refused(self, tmp_path: Path, edition: Edition) -> None:
        self.newer_run(tmp_path, edition, {"model_name": "org/other"})
        with pytest.raises(
            ReplyFileError, match=r"model_name: found .*, other runs in the folder are of .*; put the files"
        ):
            read_replies(tmp_path)

    @pytest.mark.parametrize("content", ["[]", "{}", '{"configs": 3}', '{"configs": {"t": 1}}', '{"con'])
    def test_damaged_settings_are_named(self, tmp_path: Path, edition: Edition, content: str) -> None:
        samples_of(edition, tmp_path)
        (tmp_path / f"results_{DATE}.json").write_text(content)
        (problem,) = read_replies(tmp_path).problems
        assert "cannot be read" in problem

    @staticmethod
    def newer_run(folder: Path, edition: Edition, changes: dict[str, Any]) -> None:
        """A second run of one task, with other settings."""
        samples_of(edition, folder)
        date = "2027-01-01T00-00-00.000001"
        line = sample(edition.documents("r3_1")[0], "A", "official")
        write_lines(folder / f"samples_drivehierarchy_r3_1_{date}.jsonl", [line])
        older = json.loads((folder / f"results_{DATE}.json").read_text())
        (folder / f"results_{date}.json").write_text(json.dumps(older | changes))

    def test_lines_that_are_no_samples_are_named(self, tmp_path: Path, edition: Edition) -> None:
        first, second, third = edition.documents("r1_1_b")[:3]
        other = sample(second, "1", "official")
        other["doc"]["edition_hash"] = "another"
        lines = [sample(first, "1", "official"), {"doc": 1}, other, sample(third, "1", "flexible"), '{"doc": {']
        write_lines(tmp_path / f"samples_drivehierarchy_r1_1_b_{DATE}.jsonl", lines)
        replies = read_replies(tmp_path).tasks["r1_1_b"]
        assert [reply.item for reply in replies.replies] == [first["id"], third["id"]]
        assert [p.removeprefix(str(tmp_path)).split(":")[1] for p in replies.problems] == ["2", "3", "5"]
        assert "others in this folder are of another" in replies.problems[1]

    def test_samples_of_another_task_are_refused(self, tmp_path: Path, edition: Edition) -> None:
        line = sample(edition.documents("r1_1_b")[0], "1", "official")
        write_lines(tmp_path / f"samples_drivehierarchy_r1_1_a_{DATE}.jsonl", [line])
        with pytest.raises(ReplyFileError, match="the item belongs to task r1_1_b"):
            read_replies(tmp_path)


class TestFolders:
    """What is no folder of results."""

    def test_missing_and_empty_folders(self, tmp_path: Path) -> None:
        with pytest.raises(ReplyFileError, match="no such folder"):
            read_replies(tmp_path / "absent")
        with pytest.raises(ReplyFileError, match=r"holds neither <task>_pred\.jsonl nor samples_drivehierarchy_<task>"):
            read_replies(tmp_path)

    def test_several_models_or_kinds_are_refused(self, tmp_path: Path, edition: Edition) -> None:
        for name in ("one", "two"):
            write_lines(tmp_path / name / "a_pred.jsonl", [prediction("R1_1_A_Existence", 0, "x")])
        with pytest.raises(ReplyFileError, match=r"holds results of several models \(one, two\); name one"):
            read_replies(tmp_path)
        samples_of(edition, tmp_path / "three")
        with pytest.raises(ReplyFileError, match=r"holds both .* score each kind alone"):
            read_replies(tmp_path)
