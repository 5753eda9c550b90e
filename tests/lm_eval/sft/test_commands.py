"""`drivehierarchy sft export` and `check` as commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from drivehierarchy_data.editions import Edition
from drivehierarchy_gym.errors import DriveHierarchyError
from lm_eval_drivehierarchy.commands.sft import app
from lm_eval_drivehierarchy.sft.errors import SftError
from tests.lm_eval.sft.conftest import noise_edition


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    if result.exception is not None:
        raise result.exception
    return result.output


def test_export_then_check(train_edition: Edition, tmp_path: Path) -> None:
    edition = str(train_edition.folder)
    shown = run("export", "--tasks", "r1_3, R2_1", "--format", "trl", "--edition", edition, "--out", str(tmp_path))
    assert next(line.split() for line in shown.splitlines() if "r2_1" in line) == ["r2_1", "4", "2"]
    assert f"train with: {tmp_path / 'run.sh'}" in shown
    said = run("check", str(tmp_path), "--edition", edition)
    assert f"nothing is shared with the test split of sim (digest {train_edition.digest[:16]})" in said
    image = min((tmp_path / "images").iterdir())
    image.write_bytes(b"")
    with pytest.raises(DriveHierarchyError, match="1 problem; do not train on it"):
        run("check", str(tmp_path), "--edition", edition)


class TestCheckAgainstTheRecordedEdition:
    @pytest.fixture
    def exported(self, train_edition: Edition, tmp_path: Path) -> Path:
        out = tmp_path / "out"
        run("export", "--tasks", "r1_3", "--edition", str(train_edition.folder), "--out", str(out))
        return out

    def test_it_is_found_where_it_is_the_default(
        self, exported: Path, train_edition: Edition, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DRIVEHIERARCHY_DATA", str(train_edition.folder))
        assert f"(digest {train_edition.digest[:16]})" in run("check", str(exported))

    @pytest.mark.parametrize("named", [True, False])
    def test_another_build_under_its_name_proves_nothing(
        self, named: bool, exported: Path, train_edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = noise_edition(tmp_path / "other", train=8)
        assert other.name == train_edition.name
        if not named:
            monkeypatch.setenv("DRIVEHIERARCHY_DATA", str(other.folder))
        with pytest.raises(SftError) as error:
            run("check", str(exported), *(["--edition", str(other.folder)] if named else []))
        said = str(error.value)
        assert f"edition sim with digest {train_edition.digest[:16]}" in said
        assert f"sim in {other.folder} has digest {other.digest[:16]}" in said
        assert "cannot be checked" in said
        assert said.count(str(other.folder)) == 1

    def test_a_further_edition_of_the_export_is_asked_for_too(self, train_edition: Edition, tmp_path: Path) -> None:
        other = noise_edition(tmp_path / "other", train=8)
        out = tmp_path / "both"
        edition, against = str(train_edition.folder), str(other.folder)
        run("export", "--tasks", "r1_3", "--edition", edition, "--against", against, "--out", str(out))
        with pytest.raises(SftError, match=f"with digest {other.digest[:16]}, but"):
            run("check", str(out), "--edition", edition)
        assert "nothing is shared" in run("check", str(out), "--edition", edition, "--against", against)


def test_an_unknown_format_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DriveHierarchyError, match="unknown format 'swift'; did you mean 'ms-swift'"):
        run("export", "--tasks", "r1_3", "--format", "swift", "--out", str(tmp_path))
