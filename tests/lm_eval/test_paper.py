import json
from typing import get_args

import pytest
from typer.testing import CliRunner

from drivehierarchy_gym.scenarios.schema import Family
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.paper import Audit, audit, open_score, rank_scores
from lm_eval_drivehierarchy.paper_tables import PaperTables, paper_tables
from lm_eval_drivehierarchy.tasks import TASKS

FOUND = audit()


def section(found: Audit, start: str) -> list:
    return [check for check in found.checks if check.section.startswith(start)]


def edited(path: str, value: object) -> PaperTables:
    record = json.loads(paper_tables().model_dump_json())
    *parents, last = path.split(".")
    place = record
    for part in parents:
        place = place[int(part) if part.isdigit() else part]
    place[last] = value
    return PaperTables.model_validate(record)


def test_the_data_covers_every_task_family_and_model() -> None:
    paper = paper_tables()
    ids = {task.id for task in TASKS}
    assert len({row.model for row in paper.models}) == 15
    for row in paper.models:
        assert set(row.tasks) == ids
        assert tuple(row.families) == get_args(Family)
    for run in paper.table3.runs:
        assert set(run.tasks) == ids
    for run in paper.table4.runs:
        assert tuple(run.families) == get_args(Family)
    assert len(paper.table3.runs) == 9


@pytest.mark.parametrize(
    ("start", "numbers"),
    [
        ("Table 1, weights", 14),
        ("Table 1, averages", 15),
        ("Sections 4.3-4.4, rank correlations", 6),
        ("Table 2, averages", 15),
        ("Table 2, places", 15),
        ("Table 3, deficits", 15),
        ("Table 3, targets", 5),
        ("Table 3, averages", 9),
        ("Section 4.5, transfer", 3),
        ("Table 4, averages", 5),
        ("Section 4.5, R4 gains", 4),
    ],
)
def test_sections_agree_completely(start: str, numbers: int) -> None:
    checks = section(FOUND, start)
    assert len(checks) == numbers
    assert [check.name for check in checks if check.status != "agrees"] == []


def test_known_discrepancies_are_these() -> None:
    known = {(check.name, check.printed) for check in FOUND.checks if check.status == "known discrepancy"}
    assert known == {
        ("r1_2_a ~ r1_2_b", 0.961),
        ("r1_1_c ~ r3_1", 0.004),
        ("average", 45.1),
        ("B+R1_2_A+R1_2_B+R1_3: r1_3", 0.01),
        ("B+R2_1+R2_3: r2_1", -0.28),
        ("B+ALL: r2_1", -0.87),
    }
    assert FOUND.counts()["differs"] == 0
    rho = {check.name: round(check.recomputed, 3) for check in section(FOUND, "Section 4.3, task")}
    assert rho["r1_2_a ~ r1_2_b"] == 0.968
    assert rho["r1_1_c ~ r3_1"] == -0.104


@pytest.mark.parametrize(
    ("path", "value", "broken"),
    [
        ("models.0.open", 44.5, "Table 1, averages"),
        ("models.0.r4_rank", 13, "Table 2, places"),
        ("models.3.r4", 0.712, "Table 2, averages of the families"),
        ("table3.deficit.tasks.r1_3", -0.97, "Table 3, deficits"),
        ("table3.runs.0.open", 2.7, "Table 3, averages from the differences"),
        ("table3.runs.7.supervised", ["r3_1", "r3_2"], "Table 3, targets"),
        ("table4.runs.4.average", 8.12, "Table 4, averages of the families"),
        ("stated.rank_correlations.0.rho", 0.853, "Sections 4.3-4.4, rank correlations"),
        ("stated.r4_gains.B+ALL", 7.2, "Section 4.5, R4 gains"),
        ("stated.transfer.increased", 11, "Section 4.5, transfer"),
    ],
)
def test_a_changed_number_is_found(path: str, value: object, broken: str) -> None:
    found = audit(edited(path, value))
    assert broken in {check.section for check in found.checks if check.status == "differs"}


def test_a_changed_score_breaks_weights_and_average() -> None:
    found = audit(edited("models.14.tasks.r1_3", 0.5))
    broken = {check.section for check in found.checks if check.status == "differs"}
    assert {"Table 1, weights by Appendix F", "Table 1, averages"} <= broken


def test_rank_correlations_need_weighted_rank_scores() -> None:
    scores = paper_tables().open_scores()
    assert rank_scores(scores, weighted=True)[1] != rank_scores(scores, weighted=False)[1]
    notes = [check.note for check in section(FOUND, "Sections 4.3-4.4")]
    assert all("n = 15" in note and "interval" in note for note in notes)
    assert notes[0].endswith("0.900 from plain means")


def test_open_score_is_the_weighted_sum() -> None:
    assert open_score({task.id: 50.0 for task in TASKS}) == pytest.approx(50)
    assert open_score({task.id: 100.0 * (task.id == "r3_1") for task in TASKS}) == pytest.approx(23.3)


def test_command_prints_every_section_and_the_discrepancies() -> None:
    result = CliRunner().invoke(app, ["paper"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0
    for check in FOUND.checks:
        assert check.section in result.output
    assert "129 numbers: 123 agree, 6 known discrepancies, 0 differ" in result.output
    assert "unrounded weights of Appendix F give 45.09" in result.output
    assert "single deterministic runs" in result.output


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_command_cuts_no_number(width: str) -> None:
    for arguments in (["paper"], ["paper", "--brief"]):
        result = CliRunner().invoke(app, arguments, env={"COLUMNS": width, "TERM": "dumb"})
        assert "…" not in result.output
    full = CliRunner().invoke(app, ["paper"], env={"COLUMNS": width, "TERM": "dumb"}).output
    for check in FOUND.checks:
        if not isinstance(check.printed, str):
            assert f"{check.printed:.{check.decimals}f}" in full


def test_command_json_is_the_audit() -> None:
    result = CliRunner().invoke(app, ["paper", "--json"])
    record = json.loads(result.output)
    assert record["counts"] == {"agrees": 123, "known discrepancy": 6, "differs": 0}
    assert record["source"] == "arXiv:2609.31814v1"
    weight = next(check for check in record["checks"] if check["name"] == "r3_1")
    assert (weight["printed"], round(weight["recomputed"], 4)) == (0.233, 0.2327)
