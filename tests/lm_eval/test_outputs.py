"""What commands write lands whole in any folder, or is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.outputs import OutputError, write_json, write_text

from .made_results import model

COMMANDS = (
    ("report", "{a}", "--no-paper", "--out", "{out}"),
    ("leaderboard", "{a}", "--out", "{out}/board.html"),
    ("calibrate", "--bootstrap", "20", "--out", "{out}/weights.json"),
    ("sft", "compare", "{a}", "{b}", "--on", "b=r1_3", "--out", "{out}"),
)


@pytest.fixture
def results(tmp_path: Path) -> dict[str, str]:
    given = {}
    for name, seed in (("a", 1), ("b", 2)):
        path = tmp_path / f"{name}.json"
        path.write_text(model(name, seed).model_dump_json(), encoding="utf-8")
        given[name] = str(path)
    return given


def run(arguments: tuple[str, ...], results: dict[str, str], out: Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, [argument.format(out=out, **results) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_new_folder_is_made(arguments: tuple[str, ...], results: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    assert run(arguments, results, out)[0] == 0
    assert not [path for path in out.rglob("*") if path.name.startswith(".")]
    assert any(path.is_file() for path in out.rglob("*"))


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_place_that_cannot_be_written_is_refused(
    arguments: tuple[str, ...], results: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, output = run(arguments, results, tmp_path / "file" / "below")
    assert code == 2
    assert "Traceback" not in output
    assert "cannot be written (" in output
    assert "give another place" in output


def test_text_and_json_are_written_as_they_are(tmp_path: Path) -> None:
    write_text(tmp_path / "x", "a\n选\r\n")
    assert (tmp_path / "x").read_bytes() == "a\n选\r\n".encode()
    write_json(tmp_path / "y.json", {"name": "选", "n": 1})
    assert json.loads((tmp_path / "y.json").read_text(encoding="utf-8")) == {"name": "选", "n": 1}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "y.json", {"n": float("nan")})
    assert json.loads((tmp_path / "y.json").read_text(encoding="utf-8"))["n"] == 1
    with pytest.raises(OutputError, match=r"x/below: cannot be written \("):
        write_text(tmp_path / "x" / "below", "")
