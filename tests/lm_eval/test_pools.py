import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.pools import PoolError, common_tasks, read_pool
from lm_eval_drivehierarchy.tasks import TASKS

from .made_results import model

SCORES = paper_tables().open_scores()


def csv_of(scores: dict[str, dict[str, float]], path: Path) -> Path:
    names = [task.id for task in TASKS]
    lines = [",".join(["model", "note", *names])]
    lines += [",".join([name, "x", *(str(row[task]) for task in names)]) for name, row in scores.items()]
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    return path


def test_csv_mapping_and_rows_are_the_same_pool(tmp_path: Path) -> None:
    table = csv_of(SCORES, tmp_path / "pool.csv")
    mapping = tmp_path / "mapping.json"
    mapping.write_text(json.dumps(SCORES), encoding="utf-8")
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([{"model": name, "open": 1, **row} for name, row in SCORES.items()]), encoding="utf-8")
    assert read_pool([str(table)]) == read_pool([str(mapping)]) == read_pool([str(rows)]) == SCORES


def test_results_join_a_table(tmp_path: Path) -> None:
    record = tmp_path / "mine.json"
    mine = model("mine", 1)
    record.write_text(mine.model_dump_json(), encoding="utf-8")
    pool = read_pool([str(csv_of(SCORES, tmp_path / "pool.csv")), str(record)], "flexible")
    assert pool["mine"] == pytest.approx(mine.scores("flexible"))
    assert len(pool) == 16


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model,r1_1_a\nx,abc\n", r"row 1 \(x\): r1_1_a is 'abc', not a number"),
        ("model,r1_1_a\nx,1\nx,2\n", "row 2: model 'x' occurs twice"),
        ("name,r1_1_a\nx,1\n", "row 1: no 'model'"),
        ("model,other\nx,1\n", "no column is a task"),
        ("model,r1_1_a\n", "no rows"),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PoolError, match=message):
        read_pool([str(path)])


def test_a_model_in_two_places_is_refused(tmp_path: Path) -> None:
    table = csv_of(SCORES, tmp_path / "pool.csv")
    with pytest.raises(PoolError, match="is in the pool already"):
        read_pool([str(table), str(table)])


def test_common_tasks() -> None:
    assert common_tasks({"a": {"r3_1": 1, "r1_1_a": 2}, "b": {"r3_1": 3, "r2_1": 0}}) == ["r3_1"]


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["calibrate", *arguments], env={"COLUMNS": "160", "TERM": "dumb"})


def test_command_without_a_pool_reproduces_the_frozen_weights(tmp_path: Path) -> None:
    out = tmp_path / "weights.json"
    result = invoke("--bootstrap", "50", "--out", str(out))
    assert result.exit_code == 0, result.output
    record = json.loads(out.read_text(encoding="utf-8"))
    assert {task: round(weight, 3) for task, weight in record["weights"].items()} == {t.id: t.weight for t in TASKS}
    assert record["provenance"]["scheme"]["cross"] == 0.35
    assert "equal tasks" in result.output
    assert "modelling choice" in result.output


def test_command_on_a_small_pool_of_some_tasks(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("model,r1_1_a,r1_2_a,r2_1\na,1,2,3\nb,2,5,1\nc,9,4,2\nd,3,3,3\n", encoding="utf-8")
    result = invoke(str(path), "--json", "--bootstrap", "50")
    record = json.loads(result.output)
    assert sum(record["weights"].values()) == pytest.approx(1)
    assert set(record["weights"]) == {"r1_1_a", "r1_2_a", "r2_1"}
    assert record["stability"]["bootstrap"]["r2_1"]["low"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budgets", "a,b,c"], "three numbers"),
        (["--budgets", "0.5,0.5"], "need one each"),
        (["--budgets", "0.5,0.5,0.5"], "sum to 1"),
        (["--rule", "offical"], "did you mean 'official'"),
        (["missing.csv"], "no such file"),
    ],
)
def test_command_refuses_bad_options_in_one_line(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
