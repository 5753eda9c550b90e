"""What is printed: plurals and p-values in words, and tables in terminals of any width."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from drivehierarchy_gym.runner.terminal import print_table
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.commands.score import print_result
from lm_eval_drivehierarchy.wording import agreeing, counted, p_value

from .made_results import model


@pytest.mark.parametrize(("number", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1600, "1600 runs")])
def test_numbers_agree_with_their_nouns(number: int, text: str) -> None:
    assert counted(number, "run") == text


@pytest.mark.parametrize(("number", "word"), [(0, "have"), (1, "has"), (2, "have")])
def test_verbs_agree_with_their_numbers(number: int, word: str) -> None:
    assert agreeing(number, "has", "have") == word


def test_a_plural_of_its_own() -> None:
    assert [counted(n, "entry", "entries") for n in (1, 3)] == ["1 entry", "3 entries"]


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "<0.001"), (0.0001, "<0.001"), (0.00099999, "<0.001"), (0.001, "0.001"), (0.0496, "0.050"), (1.0, "1.000")],
)
def test_no_p_value_is_shown_as_zero(p: float, text: str) -> None:
    assert p_value(p) == text


COLUMNS = ("who", "what it is", *(f"score {n}" for n in range(7)))
ROWS = [
    ("a-vision-language-name-without-a-space", "some words that may wrap", *(f"{n}.5 [1.0, 99.0]" for n in range(7))),
    ("b", "", *(f"-{n}.25 ▲" for n in range(7))),
]


def printed(width: int, text: tuple[int, ...] = (0, 1)) -> str:
    file = StringIO()
    print_table(Console(file=file, width=width), COLUMNS, ROWS, text=text, title="A title", caption="a caption")
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 250])
@pytest.mark.parametrize("text", [(0, 1), (0,)])
def test_no_number_is_cut_or_broken(width: int, text: tuple[int, ...]) -> None:
    shown = printed(width, text)
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    for row in ROWS:
        for cell in row[2:]:
            assert cell in shown
    assert shown.count("A title") == shown.count("a caption") == 1


def test_a_table_that_is_too_wide_goes_on_below_with_its_first_column() -> None:
    wide, narrow = printed(250), printed(60)
    assert wide.count("who") == 1
    assert narrow.count("who") > 2
    assert "".join(re.findall(r"score \d", narrow.replace("\n", ""))) == "".join(f"score {n}" for n in range(7))
    assert all(re.search(r"^ *b ", block, re.MULTILINE) for block in narrow.split("who")[1:])


def test_markup_in_cells_stays_text() -> None:
    file = StringIO()
    print_table(Console(file=file, width=80), ("model", "n"), [("[red]x[/]", "1")])
    assert "[red]x[/]" in file.getvalue()


def test_a_name_is_kept_in_one_piece_where_its_number_can_go_below() -> None:
    file = StringIO()
    rows = [["pedestrian_encounter_01", "100.00", "destination_reached", "0.00", "collision_pedestrian"]]
    columns = ("scenario", "S one", "ended by", "S other", "ended by")
    print_table(Console(file=file, width=80), columns, rows, text=(0, 2, 4))
    assert all(cell in file.getvalue() for cell in rows[0])


def test_the_leaderboard_cuts_neither_name_nor_number(tmp_path: Path) -> None:
    given = model("a-vision-language-model-of-a-long-name-7B-instruct", 1)
    path = tmp_path / "model.json"
    path.write_text(given.model_dump_json(), encoding="utf-8")
    arguments = ["leaderboard", str(path), "--out", str(tmp_path / "board.html")]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    assert "…" not in result.output
    assert given.open_loop("official").open.format() in result.output
    assert given.closed_loop.estimates().overall.format() in result.output
    column = re.findall(r"^ {2}(?:1| ) +([\w-]+)", result.output, re.MULTILINE)
    assert given.model in "".join(column)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_scores_of_a_model_are_cut_in_no_terminal(width: int) -> None:
    given = model("m", 1, without=["r1_4"])
    file = StringIO()
    print_result(given, Console(file=file, width=width))
    shown = file.getvalue()
    assert "…" not in shown
    for rule in ("official", "flexible"):
        found = given.open_loop(rule)
        assert all(estimate.format() in shown for estimate in (*found.tasks.values(), *found.ranks.values()))
    assert len(re.findall(r"^ +R2 ", shown, re.MULTILINE)) == len(re.findall(r"^ +S_open ", shown, re.MULTILINE))
    assert len(re.findall(r"^ +r1_4 .*no score", shown, re.MULTILINE)) >= 1
