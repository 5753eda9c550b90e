"""`drivehierarchy data build`, `gates`, `info` and `check` as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from drivehierarchy_data import build as build_module
from drivehierarchy_data.cli import app
from drivehierarchy_data.editions import open_edition
from tests.data.toy_drives import toy_clip


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_build_then_look_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "sim_clip", toy_clip)
    out = str(tmp_path / "edition")
    said = run("build", "--size", "sample", "--out", out, "--workers", "1", "--seed", "4")
    assert "r3_2" in said
    assert "FAILED" not in said
    assert "items written: 28 of 28" in said
    assert said.count("test drives: ") >= 2
    edition = open_edition(Path(out))
    assert edition.digest[:16] in said
    assert edition.manifest.provenance["seed"] == 4
    assert "blind" in run("gates", out)
    assert "r2_2_a" in run("info", out)
    assert f"{len(edition.manifest.files)} files are as recorded" in run("check", out)


def test_unknown_sizes_and_editions_are_refused(tmp_path: Path) -> None:
    for arguments in (["--size", "huge"], ["--edition", "nuscenes"], ["--workers", "0"], ["--seed", "-1"]):
        result = CliRunner().invoke(app, ["build", "--out", str(tmp_path), *arguments])
        assert result.exit_code == 2, arguments
    assert list(tmp_path.iterdir()) == []
