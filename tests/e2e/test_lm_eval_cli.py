"""The real command lines against real processes: lm_eval, drivehierarchy serve, eval, score."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drivehierarchy_data.editions import Edition
from lm_eval_drivehierarchy.final_score import FILE_NAME, result_of
from lm_eval_drivehierarchy.tasks import LM_EVAL_GROUP, TASKS, rank_group
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
    assert "task r2_1 shows up to 6 images, but this model class passes on 1 and drops the others" in done.stderr
    assert "Add max_images=6 to --model_args" in done.stderr


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
    asked = Counter(entry["id"] for entry in entries(log))
    assert len(asked) == len(TASKS) * ITEMS
    assert sum(asked.values()) <= len(TASKS) * ITEMS + 1  # the request under way when the first run was killed
    assert len(entries(answers)) == len(TASKS) * ITEMS

    result = result_of(json.loads((out / FILE_NAME).read_text()))
    assert not result.tasks["r1_1_a"].partial
    assert result.absent == {"r1_4": "the judge is switched off (DRIVEHIERARCHY_JUDGE=off)"}
    exact = [task.id for task in TASKS if task.kind in ("yes_no", "choice")]
    assert sum(result.scores("official")[task] for task in exact) / len(exact) < 60
    assert all(entry.rules["official"].strict == 1.0 for entry in result.tasks.values())
    assert "S_open has no value: incomplete: no score for r1_4" in done.stdout


def test_errors_are_one_line(run: Callable[..., Any], tmp_path: Path) -> None:
    nothing = run("drivehierarchy", "score", str(tmp_path))
    assert nothing.returncode == 2
    assert nothing.stderr.startswith("error: ")
    assert nothing.stderr.count("\n") == 1
    unknown = run("drivehierarchy", "serve", "--agent", "oracel")
    assert (unknown.returncode, unknown.stderr) == (2, "error: unknown agent 'oracel'; did you mean 'oracle'?\n")
    folder = run("drivehierarchy", "tasks-dir")
    assert (Path(folder.stdout.strip()) / "_group.yaml").is_file()
