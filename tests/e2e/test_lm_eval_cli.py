"""The real command lines against real processes: lm_eval, drivehierarchy serve, eval, score."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from drivehierarchy_data.editions import DATA_FOLDER, Edition, open_edition
from lm_eval_drivehierarchy.baselines import true_value
from lm_eval_drivehierarchy.final_score import FILE_NAME, result_of
from lm_eval_drivehierarchy.parsing import render
from lm_eval_drivehierarchy.tasks import LM_EVAL_GROUP, TASKS, rank_group
from lm_eval_drivehierarchy.tasks import task as task_named
from tests import tiny_edition

BIN = Path(sys.executable).parent
ITEMS = 12
LIMIT = 240.0
"""Seconds after which a command counts as hanging."""


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    return tiny_edition.build(tmp_path_factory.mktemp("edition"), items_per_task=ITEMS)


@pytest.fixture(scope="module")
def environment(edition: Edition, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DRIVEHIERARCHY")}
    return kept | {
        "DRIVEHIERARCHY_DATA": str(edition.folder.parent),
        "DRIVEHIERARCHY_JUDGE": "off",
        "DRIVEHIERARCHY_CACHE": str(tmp_path_factory.mktemp("cache")),
        "HF_HUB_OFFLINE": "1",
        "OPENAI_API_KEY": "none",
        "COLUMNS": "200",
    }


@pytest.fixture(scope="module")
def run(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(command: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / command, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, timeout=LIMIT
        )

    return call


@pytest.fixture(scope="module")
def serve(environment: dict[str, str]) -> Iterator[Callable[[str, Path], str]]:
    """Starts `drivehierarchy serve` on a free port and gives its base URL."""
    running: list[subprocess.Popen[str]] = []

    def start(agent: str, log: Path) -> str:
        command = [BIN / "drivehierarchy", "serve", "--agent", agent, "--port", "0", "--log", log]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert f"{agent} answers for edition sim" in line
        return line.split()[-1]

    yield start
    for process in running:
        process.terminate()
        assert process.wait(timeout=30) == 0


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_local_chat_completions_against_the_truth(
    run: Callable[..., Any], serve: Callable[[str, Path], str], edition: Edition, tmp_path: Path
) -> None:
    """All score 100 under both rules; every image arrives, in order; a folder called like the group is no harm."""
    log = tmp_path / "requests.jsonl"
    url = serve("oracle", log)
    (tmp_path / "cwd" / LM_EVAL_GROUP).mkdir(parents=True)
    arguments = f"model=oracle,base_url={url}/chat/completions,max_images=10,num_concurrent=4"
    done = run(
        "lm_eval",
        *("--model", "local-chat-completions", "--model_args", arguments, "--tasks", LM_EVAL_GROUP),
        *("--apply_chat_template", "--log_samples", "--output_path", str(tmp_path / "out")),
        cwd=tmp_path / "cwd",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (results_file,) = (tmp_path / "out" / "oracle").glob("results_*.json")
    results = json.loads(results_file.read_text())
    assert sum(task.kind != "text" for task in TASKS) == 13
    for task in TASKS:
        for rule in ("official", "flexible"):
            found = results["results"][task.lm_eval_name]
            assert found[f"strict,{rule}"] == 1.0
            if task.kind == "text":
                assert found[f"score,{rule}"] != found[f"score,{rule}"]  # NaN: there is no judge
            else:
                assert found[f"score,{rule}"] == 100.0
    assert results["groups"][rank_group(3)]["score,official"] == 100.0
    assert "task r1_4 and S_open will have no score: the judge is switched off" in done.stderr

    requests = entries(log)
    assert Counter(entry["task"] for entry in requests) == {task.id: ITEMS for task in TASKS}
    assert not any("<image>" in entry["text"] or "error" in entry for entry in requests)
    shown = {document["id"]: document["views"] for document in edition.documents("r2_1")}
    six = [entry for entry in requests if entry["task"] == "r2_1"]
    # The server answers only when the images are those of the item, in its order.
    assert all(entry["images"] == 6 and entry["views"] == shown[entry["id"]] for entry in six)

    scored = run("drivehierarchy", "score", str(tmp_path / "out"), "--write-pred", str(tmp_path / "pred"))
    assert scored.returncode == 0, scored.stderr
    assert "r1_4 has no score: the judge is switched off" in scored.stdout
    content = json.loads((tmp_path / "out" / FILE_NAME).read_text())
    assert content["overall"]["mean"] == 100.0
    assert {entry["source_file"] for entry in content["per_file"]} == {
        task.release.prediction_file for task in TASKS if task.kind != "text"
    }
    result = result_of(content)
    assert {task: entry.n for task, entry in result.tasks.items()} == {t.id: ITEMS for t in TASKS if t.kind != "text"}

    again = run("drivehierarchy", "score", str(tmp_path / "pred"), "--edition", str(edition.folder))
    assert again.returncode == 0, again.stderr
    assert json.loads((tmp_path / "pred" / FILE_NAME).read_text())["per_file"] == content["per_file"]


def test_dropping_images_is_refused(run: Callable[..., Any]) -> None:
    done = run(
        "lm_eval",
        *(
            "--model",
            "local-chat-completions",
            "--model_args",
            "model=m,base_url=http://127.0.0.1:9/v1/chat/completions",
        ),
        *("--tasks", "drivehierarchy_r2", "--apply_chat_template"),
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "error: task r2_1 shows up to 6 images, but this model class passes on 1 and drops the others"
    )
    assert "Add max_images=6 to --model_args" in last


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--metadata", '{"edition": "/nowhere"}'), "error: no edition '/nowhere': it is neither a folder nor one of "),
        (("--num_fewshot", "1"), "error: the tasks of DriveHierarchy are zero-shot: run without --num_fewshot"),
    ],
)
def test_refusals_of_lm_eval_end_in_one_sentence(
    run: Callable[..., Any], options: tuple[str, ...], sentence: str
) -> None:
    arguments = "model=m,base_url=http://127.0.0.1:9/v1/chat/completions,max_images=10"
    done = run(
        "lm_eval",
        *("--model", "local-chat-completions", "--model_args", arguments, "--apply_chat_template"),
        *("--tasks", "drivehierarchy_r1_1_a", *options),
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(sentence)


def test_eval_checks_edition_and_endpoint_before_anything_else(
    run: Callable[..., Any], serve: Callable[[str, Path], str], tmp_path: Path
) -> None:
    url = serve("random", tmp_path / "log.jsonl")
    out = tmp_path / "run"

    def refused(model: str, base_url: str, *options: str) -> str:
        begun = time.monotonic()
        done = run("drivehierarchy", "eval", "--model", model, "--base-url", base_url, "--out", str(out), *options)
        assert time.monotonic() - begun < 60
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert not out.exists()
        return str(done.stderr)

    unknown = refused("random", url, "--tasks", "drivehierarchy_r1,nosuch")
    assert unknown.startswith("error: --tasks: no task 'nosuch'; known: drivehierarchy, drivehierarchy_r1, ")
    assert unknown.rstrip().endswith("drivehierarchy_r3_2")
    assert refused("random", url, "--", "--num_fewshot", "2").startswith("error: --num_fewshot: ")
    assert refused("random", url, "--", "--num_fewshot=2").startswith("error: --num_fewshot=2: ")
    assert refused("random", url, "--edition", "/nowhere").startswith("error: no edition '/nowhere'")
    named = refused("Qwen/Qwen3-VL-8B-Instruct", url)
    assert "no model 'Qwen/Qwen3-VL-8B-Instruct'; it has random; give its name as the model (--model)" in named
    down = refused("random", "http://127.0.0.1:9/v1")
    assert down.startswith("error: http://127.0.0.1:9/v1/models: ")
    assert "start the endpoint or correct --base-url" in down


def test_validate(run: Callable[..., Any]) -> None:
    done = run("lm_eval", "validate", "--tasks", LM_EVAL_GROUP)
    assert done.returncode == 0, done.stderr
    assert "All tasks found and valid" in done.stdout


def test_eval_survives_kill_9_and_asks_nothing_twice(
    run: Callable[..., Any], serve: Callable[[str, Path], str], environment: dict[str, str], tmp_path: Path
) -> None:
    log, out = tmp_path / "requests.jsonl", tmp_path / "run"
    url = serve("prior", log)
    command = ["eval", "--model", "prior", "--base-url", url, "--out", str(out), "--concurrency", "1"]
    first = subprocess.Popen(
        [BIN / "drivehierarchy", *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    answers = out / "answers.jsonl"
    deadline = time.monotonic() + LIMIT
    while not answers.exists() or answers.read_bytes().count(b"\n") < 5:
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    kept = answers.read_bytes().count(b"\n")
    assert kept < len(TASKS) * ITEMS
    assert not (out / FILE_NAME).exists()

    done = run("drivehierarchy", *command)
    assert done.returncode == 0, done.stderr[-3000:]
    # Of a request that the kill cut off, the server may have read half, which has no id.
    asked = Counter(entry["id"] for entry in entries(log) if "id" in entry)
    assert len(entries(log)) - asked.total() <= 1
    assert len(asked) == len(TASKS) * ITEMS
    assert sum(asked.values()) <= len(TASKS) * ITEMS + 1  # the request under way when the first run was killed
    assert len(entries(answers)) == len(TASKS) * ITEMS

    result = result_of(json.loads((out / FILE_NAME).read_text()))
    assert not result.tasks["r1_1_a"].partial
    assert result.absent == {"r1_4": "the judge is switched off (DRIVEHIERARCHY_JUDGE=off)"}
    # Answers and letters of this edition are balanced, so whoever does not look is at chance exactly.
    chance = {"r1_1_a": 50.0, "r1_1_c": 100 / 3, "r2_2_b": 25.0, "r2_3": 25.0, "r3_1": 25.0}
    assert set(chance) == {task.id for task in TASKS if task.kind in ("yes_no", "choice")}
    for rule in ("official", "flexible"):
        scores = result.scores(rule)
        assert {task: scores[task] for task in chance} == pytest.approx(chance)
        assert scores["r3_2"] == pytest.approx(50.0, abs=15)
        assert all(scores[task.id] < 60 for task in TASKS if task.kind in ("count", "metres"))
    assert all(entry.rules["official"].strict == 1.0 for entry in result.tasks.values())
    assert "S_open has no value: incomplete: no score for r1_4" in done.stdout


def damage(edition: Edition, task: str, copy: Path) -> str:
    """A copy of an edition in which one byte of the first image of a task is flipped; the item's id."""
    shutil.copytree(edition.folder, copy / DATA_FOLDER)
    document = open_edition(copy).documents(task)[0]
    location = document["images"][0]
    content = bytearray(Path(location.shard).read_bytes())
    start = content.find(location.read())
    assert start > 0
    content[start + 40] ^= 0xFF
    Path(location.shard).write_bytes(content)
    return str(document["id"])


def test_damaged_images_are_named_left_out_counted_and_asked_again(
    run: Callable[..., Any], serve: Callable[[str, Path], str], edition: Edition, tmp_path: Path
) -> None:
    url = serve("oracle", tmp_path / "log.jsonl")
    damaged = tmp_path / "damaged"
    item = damage(edition, "r1_1_a", damaged)
    named = rf"item {item}: .*/r1_1_a/test-00000\.parquet, row 0, image 0: "
    out = tmp_path / "run"
    command = ["eval", "--model", "oracle", "--base-url", url, "--out", str(out), "--tasks", "drivehierarchy_r1_1_a"]
    done = run("drivehierarchy", *command, "--edition", str(damaged))
    assert done.returncode == 1, done.stderr[-3000:]
    assert re.search(named, done.stderr)
    result = result_of(json.loads((out / FILE_NAME).read_text())).tasks["r1_1_a"]
    assert (result.n, result.expected, result.rules["official"].score) == (ITEMS - 1, ITEMS, 100.0)
    assert "r1_1_a: 1 item has no reply" in done.stdout

    shutil.rmtree(damaged)
    shutil.copytree(edition.folder, damaged / DATA_FOLDER)
    asked = len(entries(tmp_path / "log.jsonl"))
    again = run("drivehierarchy", *command, "--edition", str(damaged))
    assert again.returncode == 0, again.stderr[-3000:]
    assert [entry["id"] for entry in entries(tmp_path / "log.jsonl")[asked:]] == [item]
    assert result_of(json.loads((out / FILE_NAME).read_text())).tasks["r1_1_a"].n == ITEMS


def test_damaged_images_do_not_end_a_run_of_lm_eval(
    run: Callable[..., Any], serve: Callable[[str, Path], str], edition: Edition, tmp_path: Path
) -> None:
    url = serve("oracle", tmp_path / "log.jsonl")
    item = damage(edition, "r1_1_b", tmp_path / "damaged")
    done = run(
        "lm_eval",
        *("--model", "local-chat-completions", "--tasks", "drivehierarchy_r1_1_b", "--apply_chat_template"),
        *("--model_args", f"model=oracle,base_url={url}/chat/completions,max_images=10"),
        *("--metadata", json.dumps({"edition": str(tmp_path / "damaged")})),
        *("--log_samples", "--output_path", str(tmp_path / "out")),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(rf"item {item}: .*row 0, image 0: .*; left out", done.stderr)
    assert f"1 of {ITEMS} items of task r1_1_b have damaged images and are left out" in done.stderr
    scored = run("drivehierarchy", "score", str(tmp_path / "out"))
    assert scored.returncode == 1
    assert "partial results: r1_1_b" in scored.stdout
    result = result_of(json.loads((tmp_path / "out" / FILE_NAME).read_text())).tasks["r1_1_b"]
    assert (result.n, result.expected, result.rules["flexible"].score) == (ITEMS - 1, ITEMS, 100.0)


def predictions(edition: Edition, folder: Path, tasks: Sequence[str]) -> None:
    """Prediction files of a model that is always right."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in map(task_named, tasks):
        lines = []
        for document in edition.documents(task.id):
            given = json.loads(document["answer"]) if task.kind in ("box", "order") else document["answer"]
            record = {task.release.id_field: document["id"], "question": document["question"], "ground_truth": given}
            record["model_prediction"] = render(true_value(document), document["answer_kind"])
            lines.append(json.dumps(record) + "\n")
        (folder / task.release.prediction_file).write_text("".join(lines))


def test_score_says_by_its_exit_code_whether_anything_was_left_out(
    run: Callable[..., Any], edition: Edition, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    predictions(edition, folder, ["r1_1_a", "r2_3"])
    command = ("score", str(folder), "--edition", str(edition.folder), "--judge", "off")
    assert run("drivehierarchy", *command).returncode == 0

    file = folder / task_named("r2_3").release.prediction_file
    lines = file.read_text().splitlines()
    first = json.loads(lines[0])
    for changed, sentence, n in (
        (lines[:-1], "", ITEMS - 1),
        ([*lines, json.dumps(first | {"model_prediction": "Z"})], "was answered before; this line is left out", ITEMS),
        ([lines[0][:30], *lines[1:]], "not JSON", ITEMS - 1),
        ([json.dumps(first | {"model_prediction": None}), *lines[1:]], "r2_3: 1 item has no reply", ITEMS - 1),
    ):
        file.write_text("".join(line + "\n" for line in changed))
        done = run("drivehierarchy", *command)
        assert done.returncode == 1, done.stderr
        assert sentence in done.stdout
        result = result_of(json.loads((folder / FILE_NAME).read_text())).tasks["r2_3"]
        assert (result.n, result.rules["official"].score) == (n, 100.0)  # of two records the first counts

    nothing = run("drivehierarchy", "score", str(tmp_path / "empty"))
    assert (nothing.returncode, nothing.stderr) == (2, f"error: {tmp_path / 'empty'}: no such folder\n")
    told = run("drivehierarchy", "score", "--help").stdout
    assert "Exit code 0" in told
    assert "of an item the first counts" in " ".join(told.split()).lower()


@pytest.mark.parametrize("delay", [0.4, 1.2, 2.0])
def test_score_survives_kill_9(
    run: Callable[..., Any], environment: dict[str, str], edition: Edition, tmp_path: Path, delay: float
) -> None:
    """Killed at any time, it leaves no scores or whole ones, and the same command gives the same bytes."""
    folder = tmp_path / "model"
    predictions(edition, folder, [task.id for task in TASKS])
    command = ["score", str(folder), "--edition", str(edition.folder), "--write-pred", str(tmp_path / "pred")]
    killed = subprocess.Popen(
        [BIN / "drivehierarchy", *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(delay)
    killed.kill()
    killed.wait()
    path = folder / FILE_NAME
    before = path.read_bytes() if path.exists() else None
    assert run("drivehierarchy", *command).returncode == 0
    assert before in (None, path.read_bytes())
    written = sorted(file.name for file in (tmp_path / "pred").iterdir() if not file.name.startswith("."))
    assert written == sorted(task.release.prediction_file for task in TASKS)
    assert all(len(entries(tmp_path / "pred" / name)) == ITEMS for name in written)


def test_errors_are_one_line(run: Callable[..., Any], tmp_path: Path) -> None:
    nothing = run("drivehierarchy", "score", str(tmp_path))
    assert nothing.returncode == 2
    assert nothing.stderr.startswith("error: ")
    assert nothing.stderr.count("\n") == 1
    unknown = run("drivehierarchy", "serve", "--agent", "oracel")
    assert (unknown.returncode, unknown.stderr) == (2, "error: unknown agent 'oracel'; did you mean 'oracle'?\n")
    folder = run("drivehierarchy", "tasks-dir")
    assert (Path(folder.stdout.strip()) / "_group.yaml").is_file()
