from pathlib import Path

import pytest
from typer.testing import CliRunner

from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.leaderboard import check_submission, leaderboard, page
from lm_eval_drivehierarchy.report.document import Table
from lm_eval_drivehierarchy.results import ModelResult, ResultsError

from .made_results import closed_loop, model

STRONG, MIDDLE, WEAK = model("strong", 5, level=75), model("middle", 5, level=45), model("weak", 5, level=20)


def test_a_complete_submission_lacks_nothing() -> None:
    assert check_submission(STRONG) == []


@pytest.mark.parametrize(
    ("submission", "reason"),
    [
        (model("m", 1, without=["r1_4"]), "no score for r1_4 (no judge was given)"),
        (model("m", 1, lost=1), "r1_1_a is partial: 49 of 50 items"),
        (model("m", 1, driving=None), "no R4 result"),
        (STRONG.model_copy(update={"closed_loop": closed_loop(50, 1, missing=2)}), "R4 is partial: 38 of 40 runs"),
        (STRONG.model_copy(update={"edition_hash": None}), "the edition of the data and its hash are not named"),
        (
            STRONG.model_copy(update={"closed_loop": STRONG.closed_loop.model_copy(update={"suite_hash": None})}),
            "the R4 suite and its hash are not named",
        ),
    ],
)
def test_what_a_submission_lacks_is_said(submission: ModelResult, reason: str) -> None:
    assert any(found.startswith(reason) for found in check_submission(submission))


def test_without_r4_only_the_open_loop_must_be_complete() -> None:
    assert check_submission(model("m", 1, driving=None), closed_loop=False) == []
    board = leaderboard([model("m", 1, driving=None)], closed_loop=False)
    assert board.entries[0].r4_place is None


def test_places_order_the_clearly_different() -> None:
    board = leaderboard([WEAK, STRONG, MIDDLE])
    assert [(entry.result.model, entry.place) for entry in board.entries] == [("strong", 1), ("middle", 2), ("weak", 3)]
    assert board.refused == ()


def test_models_that_no_test_tells_apart_share_a_place() -> None:
    twin = STRONG.model_copy(update={"model": "twin"})
    board = leaderboard([STRONG, twin, WEAK])
    assert [(entry.result.model, entry.place) for entry in board.entries] == [("strong", 1), ("twin", 1), ("weak", 3)]
    assert [entry.r4_place for entry in board.entries][:2] == [1, 1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"edition_hash": "zz"}, "content of the edition differs"),
        ({"protocol": {"temperature": 1.0, "system prompt": "1"}}, "setting 'temperature' differs"),
        (
            {"closed_loop": STRONG.closed_loop.model_copy(update={"suite_hash": "zz"})},
            "content of the R4 suite differs",
        ),
        (
            {"closed_loop": STRONG.closed_loop.model_copy(update={"settings": {"backend": "carla", "seed": 0}})},
            "R4 setting 'backend' differs",
        ),
    ],
)
def test_a_submission_unlike_the_first_is_refused(change: dict[str, object], reason: str) -> None:
    board = leaderboard([STRONG, MIDDLE.model_copy(update=change)])
    assert [entry.result.model for entry in board.entries] == ["strong"]
    assert reason in board.refused[0].reasons[0]
    assert board.refused[0].reasons[0].startswith("not as strong: ")


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ResultsError, match="two submissions are called 'strong'"):
        leaderboard([STRONG, STRONG])


def test_the_page_ranks_and_lists_the_refused() -> None:
    document = page(leaderboard([STRONG, WEAK, model("short", 1, without=["r1_4"])]))
    tables = {b.name: b for section in document.sections for b in section.blocks if isinstance(b, Table)}
    assert [row[0].text for row in tables["ranking"].rows] == ["strong", "weak"]
    assert tables["ranking"].rows[0][2].sort == pytest.approx(STRONG.open_loop("official").open.value)
    assert tables["refused"].rows[0][1].text == "no score for r1_4 (no judge was given)"
    assert {row[0].text: row[1].text for row in tables["protocol"].rows}["R4 suite hash"] == "5f0c"
    assert tables["tasks"].columns[-1] == "r3_2"
    empty = page(leaderboard([model("short", 1, without=["r1_4"])]))
    assert empty.sections[0].blocks[0].text == "No submission could be ranked."


def test_command_writes_the_page_and_fails_on_a_refusal(tmp_path: Path) -> None:
    paths = []
    for given in (STRONG, WEAK, model("short", 1, without=["r1_4"])):
        paths.append(tmp_path / f"{given.model}.json")
        paths[-1].write_text(given.model_dump_json(), encoding="utf-8")
    out = tmp_path / "board.html"
    good = CliRunner().invoke(app, ["leaderboard", *map(str, paths[:2]), "--out", str(out)], env={"COLUMNS": "150"})
    assert good.exit_code == 0, good.output
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "strong" in text
    refused = CliRunner().invoke(app, ["leaderboard", *map(str, paths), "--out", str(out)], env={"COLUMNS": "150"})
    assert refused.exit_code == 1
    assert "not ranked short: no score for r1_4" in refused.output
