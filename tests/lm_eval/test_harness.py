"""The harness functions inside lm-eval: prompts and images as the model class wants them, refusals, scores, groups."""

from __future__ import annotations

import json
import logging
import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lm_eval
import pyarrow.parquet as pq
import pytest
import yaml
from lm_eval.api.model import LM, hash_args
from lm_eval.tasks import TaskManager
from PIL import Image

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.errors import DataError, EditionNotFoundError
from drivehierarchy_data.images import pixel_digest
from drivehierarchy_data.shards import ImageLocation
from lm_eval_drivehierarchy import harness
from lm_eval_drivehierarchy.baselines import baseline
from lm_eval_drivehierarchy.commands.tasks_dir import find_tasks_dir
from lm_eval_drivehierarchy.final_score import TASK_VERSION, score_replies
from lm_eval_drivehierarchy.harness import HarnessError, ImageHandling, load
from lm_eval_drivehierarchy.judge import JudgeQuestion, JudgeRule, LingoJudge
from lm_eval_drivehierarchy.reply_files import ReplySet, TaskReplies
from lm_eval_drivehierarchy.tasks import LM_EVAL_GROUP, RANKS, TASKS, rank_group, tasks_of_rank
from lm_eval_drivehierarchy.tasks import task as task_named
from tests import tiny_edition

FOLDER = Path(__file__).parents[2] / "tasks"
HF = {"pretrained": "some/model"}
API = {"model": "m", "base_url": "http://localhost/v1/chat/completions", "max_images": 10}


def flip_a_byte(location: ImageLocation) -> None:
    """Damages an image in its file, which this process must not have read an image from."""
    content = bytearray(Path(location.shard).read_bytes())
    stored = pq.read_table(location.shard, columns=["images"])["images"][location.row][location.index]["bytes"].as_py()
    content[content.index(stored) + 40] ^= 0xFF
    Path(location.shard).write_bytes(content)


def test_errors_of_ours_end_in_their_sentence_and_others_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[BaseException] = []
    hook = harness.in_one_sentence(lambda kind, error, trace: seen.append(error))
    for error in (HarnessError("one"), EditionNotFoundError("two"), DataError("three")):
        hook(type(error), error, None)
    assert capsys.readouterr().err == "error: one\nerror: two\nerror: three\n"
    assert seen == []
    for other in (KeyError("x"), KeyboardInterrupt()):
        hook(type(other), other, None)
        assert seen.pop() is other
    assert capsys.readouterr().err == ""


def documents(edition: Edition, task: str, **arguments: Any) -> list[dict[str, Any]]:
    return list(load(task=task, edition=str(edition.folder), **arguments)["test"])


class TestYamls:
    """The committed YAMLs say what the task table says."""

    def test_one_yaml_per_task(self) -> None:
        found = {}
        for path in FOLDER.glob("r?/r*.yaml"):
            found[path.relative_to(FOLDER).as_posix()] = yaml.safe_load(path.read_text())
        assert found == {
            f"r{task.rank}/{task.id}.yaml": {
                "include": "../_common_yaml",
                "task": task.lm_eval_name,
                "task_alias": f"{task.id} {task.title}",
                "dataset_kwargs": {"task": task.id},
            }
            for task in TASKS
        }

    def test_groups_hold_the_tasks_of_their_ranks(self) -> None:
        for rank in RANKS:
            group = yaml.safe_load((FOLDER / f"r{rank}/_group.yaml").read_text())
            assert group["group"] == rank_group(rank)
            assert group["task"] == [task.lm_eval_name for task in tasks_of_rank(rank)]
            (metric,) = group["aggregate_metric_list"]
            assert (metric["metric"], metric["weight_by_size"]) == ("score", False)
        top = yaml.safe_load((FOLDER / "_group.yaml").read_text())
        assert (top["group"], top["task"]) == (LM_EVAL_GROUP, [rank_group(rank) for rank in RANKS])
        (metric,) = top["aggregate_metric_list"]
        assert (metric["metric"], metric["weight_by_size"]) == ("open", False)

    def test_versions_agree_with_the_scores(self) -> None:
        files = [path for path in FOLDER.rglob("*") if path.is_file()]
        versions = [line for path in files for line in path.read_text().splitlines() if line.startswith("  version:")]
        assert set(versions) == {f"  version: {TASK_VERSION}"}
        assert len(versions) == 5

    def test_there_is_no_code_beside_them(self) -> None:
        assert {path.suffix for path in FOLDER.rglob("*") if path.is_file()} == {"", ".yaml"}

    def test_the_folder_is_found(self) -> None:
        assert find_tasks_dir() == FOLDER


class TestImageHandling:
    """What the model arguments tell about the model class."""

    @pytest.mark.parametrize(
        ("arguments", "placeholders", "limit"),
        [
            ({"pretrained": "p"}, True, None),
            ({"pretrained": "p", "max_images": 2}, True, 2),
            ({"base_url": "u", "model": "m"}, False, 1),
            ({"base_url": "u", "pretrained": "p"}, False, 1),
            ({"model": "m"}, False, 1),
            ({"base_url": "u", "model": "m", "max_images": "6"}, False, 6),
            ({"base_url": "u", "model": "m", "image_placeholders": True}, True, None),
            ({"base_url": "u", "model": "m", "image_placeholders": "true", "max_images": 3}, True, 3),
            ({"pretrained": "p", "image_placeholders": "False"}, False, None),
            ({}, True, None),
        ],
    )
    def test_told_from_the_arguments(self, arguments: dict[str, Any], placeholders: bool, limit: int | None) -> None:
        names = ("max_images", "image_placeholders", "base_url", "pretrained", "model")
        found = ImageHandling.of(**{name: arguments.get(name) for name in names})
        assert found == ImageHandling(placeholders, limit)


class TestLoad:
    """Documents, and what is refused before anything runs."""

    @pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
    def test_placeholders_only_where_the_model_class_wants_them(self, edition: Edition, task: Any) -> None:
        for document in documents(edition, task.id, **HF):
            assert harness.text(document).count("<image>") == len(document["views"])
        for document in documents(edition, task.id, **API):
            assert "<image>" not in harness.text(document)
            assert all(option in harness.text(document) for option in document["options"])

    def test_images_are_the_items_own_in_order(self, edition: Edition) -> None:
        for document, stored in zip(documents(edition, "r2_1", **HF), edition.documents("r2_1"), strict=True):
            pictures = list(harness.images(document))
            assert all(isinstance(picture, Image.Image) for picture in pictures)
            wanted = [pixel_digest(location.decode()) for location in stored["images"]]
            assert [pixel_digest(picture) for picture in pictures] == wanted

    def test_nothing_in_a_document_holds_an_image(self, edition: Edition) -> None:
        for task in TASKS:
            for document in documents(edition, task.id, **HF):
                assert len(json.dumps(document)) < 4000

    @pytest.mark.parametrize("task", [task for task in TASKS if task.views[1] > 1], ids=lambda task: task.id)
    def test_dropping_images_is_refused(self, edition: Edition, task: Any) -> None:
        with pytest.raises(HarnessError, match=rf"task {task.id} shows up to \d+ images, .* passes on 1 and drops"):
            documents(edition, task.id, model="m", base_url="u")
        with pytest.raises(HarnessError, match=r"Add max_images=\d+ to --model_args \(max_images=10 is enough"):
            documents(edition, task.id, model="m", base_url="u", max_images=2)

    def test_one_image_passes_the_default(self, edition: Edition) -> None:
        assert len(documents(edition, "r1_1_a", model="m", base_url="u")) == 6

    def test_a_missing_edition_names_the_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("drivehierarchy_data.editions.SAMPLE", Path("/nowhere"))
        with pytest.raises(EditionNotFoundError, match="drivehierarchy data build --edition sim"):
            load(task="r1_1_a")
        with pytest.raises(EditionNotFoundError, match="drivehierarchy data import-release"):
            load(task="r1_1_a", edition="release")

    def test_an_edition_without_the_task_is_refused(self, tmp_path: Path) -> None:
        from drivehierarchy_data.editions import write_manifest

        write_manifest(tmp_path, "sim", {})
        with pytest.raises(DataError, match="has no test items of task 'r1_1_a'"):
            load(task="r1_1_a", edition=str(tmp_path))

    def test_the_sample_is_not_taken_for_results(
        self, edition: Edition, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr("drivehierarchy_data.editions.SAMPLE", edition.folder.parent)
        monkeypatch.setattr(harness, "SAMPLE", edition.folder.parent)
        harness._tell_edition.cache_clear()
        for _ in range(2):
            load(task="r1_1_a")
        told = [record.getMessage() for record in caplog.records if "small sample" in record.getMessage()]
        assert len(told) == 1
        assert told[0].startswith("no sim edition is built: using the small sample")
        assert "drivehierarchy data build --edition sim --size full --out" in told[0]
        caplog.clear()
        load(task="r1_1_a", edition=str(edition.folder))
        (asked_for,) = [record.getMessage() for record in caplog.records if "small sample" in record.getMessage()]
        assert asked_for.startswith("using the small sample")

    def test_items_with_damaged_images_are_left_out_and_still_counted(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        damaged = tiny_edition.build(tmp_path, items_per_task=3)
        items = damaged.documents("r2_1")
        flip_a_byte(items[1]["images"][3])
        rows = documents(damaged, "r2_1", **HF)
        assert [row["id"] for row in rows] == [items[0]["id"], items[2]["id"]]
        assert {row["edition_items"] for row in rows} == {3}
        assert f"item {items[1]['id']}: " in caplog.text
        assert "row 1, image 3: " in caplog.text
        assert "1 of 3 items of task r2_1 have damaged images and are left out" in caplog.text
        assert len(documents(damaged, "r2_1", check_images=False, **HF)) == 3

    def test_a_task_without_a_whole_item_is_refused(self, tmp_path: Path) -> None:
        damaged = tiny_edition.build(tmp_path, items_per_task=2)
        for item in damaged.documents("r1_3"):
            flip_a_byte(item["images"][0])
        with pytest.raises(HarnessError, match="no item of task r1_3 is left: all 2 have damaged images; rebuild"):
            documents(damaged, "r1_3", **HF)

    def test_a_missing_judge_is_told_at_the_start(self, edition: Edition, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            documents(edition, "r1_4", **HF)
        assert "task r1_4 and S_open will have no score: the judge is switched off" in caplog.text


class Answering(LM):
    """A model class that wants placeholders and answers with a function of the document."""

    MULTIMODAL = True

    def __init__(self, answer: Callable[[dict[str, Any]], str | None]) -> None:
        super().__init__()
        self.answer = answer
        self.seen: list[tuple[str, list[Any]]] = []

    tokenizer_name = "none"

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return json.dumps(chat_history)

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Any]:
        for request in requests:
            self.seen.append((request.args[0], request.args[2]["visual"][:]))
        return [self.answer(request.doc) for request in requests]

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any) -> Any:
        raise NotImplementedError


def run(model: LM, edition: Edition, tasks: list[str], **arguments: Any) -> Any:
    """lm-eval in this process, on our task files alone."""
    metadata = {"edition": str(edition.folder), "pretrained": "p"}
    manager = TaskManager(include_path=str(FOLDER), include_defaults=False, metadata=metadata)
    defaults = {"apply_chat_template": True, "fewshot_as_multiturn": True, "bootstrap_iters": 100}
    return lm_eval.simple_evaluate(model=model, tasks=tasks, task_manager=manager, **{**defaults, **arguments})


def stored(edition: Edition) -> dict[str, dict[str, Any]]:
    return {document["id"]: document for task in edition.tasks() for document in edition.documents(task)}


class TestRuns:
    """Whole evaluations inside this process."""

    def test_the_truth_scores_100_under_both_rules(self, edition: Edition) -> None:
        answer, known = baseline("oracle", edition), stored(edition)
        model = Answering(lambda document: answer(known[document["id"]]))
        results = run(model, edition, [LM_EVAL_GROUP])["results"]
        for task in TASKS:
            for rule in ("official", "flexible"):
                if task.kind == "text":
                    assert math.isnan(results[task.lm_eval_name][f"score,{rule}"])
                    assert results[task.lm_eval_name][f"lexical,{rule}"] == 100.0
                else:
                    assert results[task.lm_eval_name][f"score,{rule}"] == 100.0
                assert results[task.lm_eval_name][f"strict,{rule}"] == 1.0
                assert results[task.lm_eval_name][f"parse_fail,{rule}"] == 0.0
        assert results[rank_group(2)]["score,official"] == 100.0
        assert math.isnan(results[rank_group(1)]["score,official"])
        assert math.isnan(results[LM_EVAL_GROUP]["open,official"])
        prompts = {prompt for prompt, _ in model.seen}
        assert all(json.loads(prompt)[0]["role"] == "system" for prompt in prompts)
        assert sum(len(images) for _, images in model.seen) == sum(len(d["views"]) for d in known.values())

    def test_group_values_equal_ours(self, edition: Edition, monkeypatch: pytest.MonkeyPatch) -> None:
        """With answers that are right in part, and a judge that likes every second description."""

        class EveryOther(LingoJudge):
            def __init__(self) -> None:
                pass

            def probabilities(self, questions: Sequence[JudgeQuestion], rule: JudgeRule) -> list[float]:
                return [(index % 2) * 0.75 for index, _ in enumerate(questions)]

        judge = EveryOther()
        monkeypatch.setattr(harness, "find_judge", lambda: judge)
        answer, known = baseline("random", edition, 3), stored(edition)
        model = Answering(lambda document: answer(known[document["id"]]))
        found = run(model, edition, [LM_EVAL_GROUP], log_samples=True)
        replies = {
            task.id: [
                harness.reply_to(sample["doc"], sample["resps"][0][0])
                for sample in found["samples"][task.lm_eval_name]
                if sample["filter"] == "official"
            ]
            for task in TASKS
        }
        sets = ReplySet(Path("run"), "m", {t.id: TaskReplies(t, [], replies[t.id]) for t in TASKS})
        ours = score_replies(sets, judge)
        for rule in ("official", "flexible"):
            estimates = ours.open_loop(rule)  # type: ignore[arg-type]
            for task in TASKS:
                theirs = found["results"][task.lm_eval_name]
                assert theirs[f"score,{rule}"] == pytest.approx(estimates.tasks[task.id].value, abs=1e-9)
                assert theirs[f"score_stderr,{rule}"] == pytest.approx(
                    ours.tasks[task.id].rules[rule].stderr,
                    abs=1e-9,  # type: ignore[index]
                )
            for rank in RANKS:
                theirs = found["groups"][rank_group(rank)]
                assert theirs[f"score,{rule}"] == pytest.approx(estimates.ranks[rank].value, abs=1e-9)
                errors = [ours.tasks[task.id].rules[rule].stderr for task in tasks_of_rank(rank)]  # type: ignore[index]
                combined = math.sqrt(sum(error**2 for error in errors if error is not None)) / len(errors)
                assert theirs[f"score_stderr,{rule}"] == pytest.approx(combined, abs=1e-9)
            theirs = found["groups"][LM_EVAL_GROUP]
            assert theirs[f"open,{rule}"] == pytest.approx(estimates.open.value, abs=1e-9)
            assert 0 < theirs[f"open,{rule}"] < 100

    def test_missing_answers_are_left_out_and_counted(self, edition: Edition) -> None:
        answer, known = baseline("oracle", edition), stored(edition)
        missing = {"r1_1_b-test-0001", "r1_1_b-test-0004"}
        model = Answering(lambda d: None if d["id"] in missing else answer(known[d["id"]]))
        found = run(model, edition, ["drivehierarchy_r1_1_b"], log_samples=True)
        results = found["results"]["drivehierarchy_r1_1_b"]
        assert results["score,official"] == 100.0
        assert results["missing,official"] == pytest.approx(2 / 6)
        marked = [sample["doc"]["id"] for sample in found["samples"]["drivehierarchy_r1_1_b"] if sample["missing"]]
        assert set(marked) == missing

    def test_a_task_without_any_answer_ends_the_run(self, edition: Edition) -> None:
        with pytest.raises(HarnessError, match="not one of 6 items of task r1_1_b was answered, so nothing is scored"):
            run(Answering(lambda document: None), edition, ["drivehierarchy_r1_1_b"])

    def test_examples_are_refused(self, edition: Edition) -> None:
        with pytest.raises(HarnessError, match=r"zero-shot: run without --num_fewshot \(asked for 2\)"):
            run(Answering(lambda document: "x"), edition, ["drivehierarchy_r1_1_b"], num_fewshot=2)

    def test_logged_samples_hold_names_of_images(self, edition: Edition) -> None:
        found = run(Answering(lambda document: "3"), edition, ["drivehierarchy_r2_1"], log_samples=True)
        lines = [json.dumps(sample, default=str) for sample in found["samples"]["drivehierarchy_r2_1"]]
        assert max(map(len, lines)) < 8000
        names = [location.name for location in edition.documents("r2_1")[0]["images"]]
        assert found["samples"]["drivehierarchy_r2_1"][0]["arguments"][0][2] == {"visual": " ".join(names)}

    def test_cache_keys_see_prompts_and_images(self, edition: Edition) -> None:
        """`--use_cache` hashes the arguments of a request; it must neither fail nor decode."""
        model = Answering(lambda document: "3")
        manager = TaskManager(
            include_path=str(FOLDER), include_defaults=False, metadata={"edition": str(edition.folder), **HF}
        )
        task = manager.load(["drivehierarchy_r2_1"])["tasks"]["drivehierarchy_r2_1"]
        task.build_all_requests(
            apply_chat_template=True, fewshot_as_multiturn=True, chat_template=model.apply_chat_template
        )
        # All six items ask the same question, so only their images differ.
        assert len({request.args[0] for request in task.instances}) == 1
        assert len({hash_args("generate_until", request.args) for request in task.instances}) == 6

    def test_requests_cached_from_another_edition_are_refused(
        self, edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path / "cache"))
        other = tiny_edition.build(tmp_path / "other", items_per_task=5)
        model = Answering(lambda document: "3")
        run(model, edition, ["drivehierarchy_r1_1_b"], cache_requests=True)
        again = run(model, edition, ["drivehierarchy_r1_1_b"], cache_requests=True)
        assert again["results"]["drivehierarchy_r1_1_b"]["strict,official"] == 1.0
        with pytest.raises(HarnessError, match=r"come from a cache of another edition; .* --cache_requests refresh"):
            run(model, other, ["drivehierarchy_r1_1_b"], cache_requests=True, limit=5)

    def test_predict_only_keeps_the_replies(self, edition: Edition) -> None:
        found = run(Answering(lambda document: "3"), edition, ["drivehierarchy_r1_1_b"], predict_only=True)
        samples = found["samples"]["drivehierarchy_r1_1_b"]
        assert {sample["resps"][0][0] for sample in samples} == {"3"}

    def test_blind_answers_stay_near_chance(self, edition: Edition) -> None:
        answer, known = baseline("prior", edition), stored(edition)
        results = run(Answering(lambda d: answer(known[d["id"]])), edition, [LM_EVAL_GROUP])["results"]
        exact = [task for task in TASKS if task.kind in ("yes_no", "choice")]
        assert statistics.mean(results[task.lm_eval_name]["score,official"] for task in exact) < 60
        assert results["drivehierarchy_r3_2"]["score,official"] < 80
        assert all(results[task.lm_eval_name]["strict,official"] == 1.0 for task in TASKS if task.kind != "text")


def test_the_task_files_of_a_task_are_named_by_id() -> None:
    assert task_named("r2_2_b").lm_eval_name == "drivehierarchy_r2_2_b"
