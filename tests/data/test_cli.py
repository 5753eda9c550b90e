"""`drivehierarchy data`: import, info, check."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from drivehierarchy_data.editions import Edition, open_edition
from lm_eval_drivehierarchy.cli import app
from tests.data import release_records


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("DRIVEHIERARCHY_RELEASE", raising=False)
    monkeypatch.delenv("DRIVEHIERARCHY_DATA", raising=False)
    return CliRunner()


def test_import_puts_the_edition_where_lm_eval_finds_it(runner: CliRunner, tmp_path: Path) -> None:
    questions = release_records.write_questions(tmp_path / "release" / "Open_Loop_Evaluation")
    roots = release_records.write_images(tmp_path / "sets", questions)
    options = [part for name, root in roots.items() for part in (f"--{name}", str(root))]
    done = runner.invoke(app, ["data", "import-release", "--release", str(tmp_path / "release"), *options])
    assert done.exit_code == 0, done.output
    assert "R3_3_MultiAgent_Intent.jsonl is not a task of the benchmark" in done.output
    edition = open_edition(tmp_path / "cache" / "editions" / "release")
    assert edition.size("r2_1") == 3
    shown = runner.invoke(app, ["data", "info", "release"])
    assert "release: " in shown.output
    assert "r2_2_b" in shown.output
    checked = runner.invoke(app, ["data", "check", "release"])
    assert checked.output.strip().endswith("14 files are as recorded")
    judged = runner.invoke(app, ["data", "gates", "release"])
    assert judged.exit_code == 2
    assert "the gates judge sim editions" in judged.output
    assert "Traceback" not in judged.output


def test_what_is_left_out_is_shown(runner: CliRunner, tmp_path: Path) -> None:
    questions = release_records.write_questions(tmp_path / "questions")
    roots = release_records.write_images(tmp_path / "sets", questions)
    done = runner.invoke(
        app,
        [
            *("data", "import-release", "--release", str(questions), "--out", str(tmp_path / "out")),
            *("--nuscenes", str(roots["nuscenes"])),
        ],
    )
    assert done.exit_code == 0, done.output
    rows = {line.split()[1]: line for line in done.output.splitlines() if line.startswith("│ r")}
    assert "missing image 3" in rows["r1_4"]
    assert "missing image" not in rows["r1_1_a"]


def test_a_folder_that_is_none_is_named(runner: CliRunner, tmp_path: Path) -> None:
    questions = release_records.write_questions(tmp_path / "questions")
    done = runner.invoke(app, ["data", "import-release", "--release", str(questions), "--drama", str(tmp_path / "no")])
    assert done.exit_code == 2
    assert f"--drama {tmp_path / 'no'}: no such folder" in done.output


def test_check_names_what_changed(runner: CliRunner, own_edition: Edition) -> None:
    own_edition.shards("r1_1_a")[0].unlink()
    done = runner.invoke(app, ["data", "check", str(own_edition.folder)])
    assert done.exit_code == 2
    assert "r1_1_a/test-00000.parquet: missing" in done.output
    assert "1 file is not as recorded" in done.output
