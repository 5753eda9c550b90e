"""`drivehierarchy sft export` and `check` as commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from drivehierarchy_data.editions import Edition
from drivehierarchy_gym.errors import DriveHierarchyError
from lm_eval_drivehierarchy.commands.sft import app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    if result.exception is not None:
        raise result.exception
    return result.output


def test_export_then_check(train_edition: Edition, tmp_path: Path) -> None:
    edition = str(train_edition.folder)
    shown = run("export", "--tasks", "r1_3, R2_1", "--format", "trl", "--edition", edition, "--out", str(tmp_path))
    assert next(line.split("│")[1:4] for line in shown.splitlines() if "r2_1" in line)[1:] == [
        " 4     ",
        " 2          ",
    ]
    assert str(tmp_path / "run.sh") in shown.replace("\n", "")
    assert "nothing is shared with the test split of sim" in run("check", str(tmp_path), "--edition", edition)
    image = min((tmp_path / "images").iterdir())
    image.write_bytes(b"")
    with pytest.raises(DriveHierarchyError, match="1 problems; do not train on it"):
        run("check", str(tmp_path), "--edition", edition)


def test_an_unknown_format_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DriveHierarchyError, match="unknown format 'swift'; did you mean 'ms-swift'"):
        run("export", "--tasks", "r1_3", "--format", "swift", "--out", str(tmp_path))
