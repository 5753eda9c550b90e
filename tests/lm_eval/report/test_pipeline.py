"""From replies on disk to the page, through the commands that a user types."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from drivehierarchy_data.editions import Edition
from lm_eval_drivehierarchy.baselines import baseline
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.tasks import TASKS_BY_ID

from ..test_reply_files import samples_of
from ..test_result_files import write_run


def write_replies(edition: Edition, agent: str, folder: Path) -> Path:
    """Prediction files as the release's scripts write them."""
    folder.mkdir(parents=True)
    answer = baseline(agent, edition)
    for task in edition.tasks():
        file = TASKS_BY_ID[task].release
        lines = []
        for document in edition.documents(task):
            truth = document["answer"]
            given = json.loads(truth) if document["answer_kind"] in ("box", "order") else truth
            record = {
                file.id_field: document["id"], "question": document["question"], "ground_truth": given,
                "model_prediction": answer(document),
            }  # fmt: skip
            lines.append(json.dumps(record) + "\n")
        (folder / file.prediction_file).write_text("".join(lines), encoding="utf-8")
    return folder


def command(*arguments: object):
    result = CliRunner().invoke(app, [str(part) for part in arguments], env={"COLUMNS": "160", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    return result


def test_replies_become_a_report_whose_numbers_lead_back_to_their_files(edition: Edition, tmp_path: Path) -> None:
    for agent in ("oracle", "random"):
        folder = write_replies(edition, agent, tmp_path / agent)
        command("score", folder, "--edition", edition.folder.parent, "--judge", "off")
    driven = write_run(tmp_path / "r4", "oracle")
    out = tmp_path / "report"
    command("report", tmp_path / "oracle", driven, tmp_path / "random", "--out", out)

    numbers = json.loads((out / "report.json").read_text(encoding="utf-8"))
    by_name = {entry["model"]: entry for entry in numbers["models"]}
    assert by_name["oracle"]["edition"] == edition.name
    assert by_name["oracle"]["edition_hash"] == edition.digest
    assert {task: e["value"] for task, e in by_name["oracle"]["estimates"]["official"]["tasks"].items()} == {
        task: 100.0 for task in edition.tasks() if task != "r1_4"
    }
    assert "judge" in by_name["oracle"]["absent"]["r1_4"]
    for task, estimate in by_name["random"]["estimates"]["flexible"]["tasks"].items():
        stored = json.loads((tmp_path / "random" / "evaluation" / "final_score.json").read_text(encoding="utf-8"))
        items = stored["drivehierarchy"]["result"]["tasks"][task]["items"]
        assert estimate["value"] == pytest.approx(np.mean([item["scores"]["flexible"] for item in items]))
    scores = [json.loads(path.read_text())["score_composed"] for path in sorted(driven.glob("*/*/scene_score.json"))]
    assert by_name["oracle"]["closed_loop"]["estimates"]["overall"]["value"] == pytest.approx(np.mean(scores))
    files = {record["path"]: record["sha256"] for record in by_name["oracle"]["files"]}
    assert sum(path.endswith("scene_score.json") for path in files) == 10
    assert any(path.endswith("final_score.json") for path in files)

    text = (out / "report.md").read_text(encoding="utf-8")
    assert "oracle, random: r1\\_4 has no score" in text
    assert "oracle (official), oracle (flexible), random (official), random (flexible): R1 incomplete" in text
    assert "100.0 on all 13 tasks" in text
    assert "25 % or more behind the best known on R" in text
    assert "want of a complete S\\_open or of R4 on a whole, known suite: oracle, random." in text
    assert "over the paper's 15 models alone" in text
    assert f"{np.mean(scores):.1f} [" in text


def test_samples_that_were_cut_are_named_and_do_not_enter_the_leaderboard(edition: Edition, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    samples_of(edition, folder)
    (path,) = folder.glob("samples_*_r3_1_*.jsonl")
    text = path.read_bytes()
    path.write_bytes(text[: len(text) // 3])
    # Where lines are broken depends on how long the folder's name is.
    shown = "".join(command("report", folder, "--no-paper", "--out", tmp_path / "out").output.split())
    assert re.search(rf"{path.name}:[1-4]:notJSON", shown)
    assert re.search(r"partialresultsfor.*r3_1\([1-4]of6items\)", shown)
    board = ["leaderboard", str(folder), "--no-r4", "--out", str(tmp_path / "board.html")]
    result = CliRunner().invoke(app, board, env={"COLUMNS": "300"})
    assert result.exit_code == 1
    assert re.search(r"not ranked org/model: r3_1 is partial: [1-4] of 6 items", result.output)


def test_an_incomplete_result_does_not_enter_the_leaderboard(edition: Edition, tmp_path: Path) -> None:
    folder = write_replies(edition, "oracle", tmp_path / "oracle")
    command("score", folder, "--edition", edition.folder.parent, "--judge", "off")
    result = CliRunner().invoke(
        app, ["leaderboard", str(folder), "--no-r4", "--out", str(tmp_path / "board.html")], env={"COLUMNS": "160"}
    )
    assert result.exit_code == 1
    assert "not ranked oracle: no score for r1_4" in result.output
