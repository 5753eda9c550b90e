import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.pools import PoolError, read_pool
from lm_eval_drivehierarchy.results import ModelResult, ResultsError
from lm_eval_drivehierarchy.tasks import TASKS

from .made_results import model, stored

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
    for path in (table, mapping, rows):
        found = read_pool([str(path)])
        assert (found.scores, found.notes) == (SCORES, ())
        assert found.tasks == [task.id for task in TASKS]


def test_results_join_a_table(tmp_path: Path) -> None:
    record = tmp_path / "mine.json"
    mine = model("mine", 1)
    record.write_text(mine.model_dump_json(), encoding="utf-8")
    pool = read_pool([str(csv_of(SCORES, tmp_path / "pool.csv")), str(record)], "flexible")
    assert pool.scores["mine"] == pytest.approx(mine.scores("flexible"))
    assert len(pool.scores) == 16
    assert [note for note in pool.notes if "a table does not say on which edition" in note]


class TestOnlyWhatAReportWouldPutIntoOneTable:
    def test_other_questions_than_the_paper_s(self, tmp_path: Path) -> None:
        places = stored(tmp_path, model("mine", 1, edition="sim"))
        with pytest.raises(PoolError, match=r"edition differs \(mine \(sim\); the paper's models: release\)"):
            read_pool(places, paper=True)
        nameless = model("mine", 1).model_copy(update={"edition": None, "edition_hash": None})
        with pytest.raises(PoolError, match=r"mine \(unknown\)"):
            read_pool(stored(tmp_path, nameless), paper=True)

    def test_the_same_questions_join_the_paper_under_its_rule_only(self, tmp_path: Path) -> None:
        mine = model("mine", 1, edition="release")
        places = stored(tmp_path, mine)
        assert list(read_pool(places, paper=True).scores) == ["mine", *SCORES]
        with pytest.raises(PoolError, match="scored under the rule official, the others are taken under flexible"):
            read_pool(places, "flexible", paper=True)

    def test_two_editions(self, tmp_path: Path) -> None:
        places = stored(tmp_path, model("a", 1), model("b", 2, edition="release"))
        with pytest.raises(ResultsError, match=r"edition differs \(a: sim; b: release\)"):
            read_pool(places)

    def test_what_is_partial_or_missing_is_named(self, tmp_path: Path) -> None:
        places = stored(
            tmp_path,
            model("a", 1, lost=3),
            model("b", 2, without=["r1_4"]),
            model("c", 3),
            ModelResult(model="driver", closed_loop=model("d", 4).closed_loop),
        )
        found = read_pool(places)
        assert list(found.scores) == ["a", "b", "c"]
        assert found.tasks == [task.id for task in TASKS if task.id != "r1_4"]
        said = "\n".join(found.notes)
        assert "a: partial results for r1_1_a (47 of 50 items)" in said
        assert "b: r1_4 has no score: no judge was given" in said
        assert "r1_4 is left out of the pool: no score of b" in said
        assert "driver: no open-loop result, so it is not in the pool" in said
        assert "R4" not in said

    def test_a_table_beside_something_else_is_named(self, tmp_path: Path) -> None:
        table = csv_of({f"{name} again": row for name, row in SCORES.items()}, tmp_path / "pool.csv")
        assert "pool.csv: a table does not say on which edition" in read_pool([str(table)], paper=True).notes[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model,r1_1_a\nx,abc\n", r"row 1 \(x\): r1_1_a is 'abc', not a number"),
        ("model,r1_1_a\nx,nan\n", r"row 1 \(x\): r1_1_a is nan, not a number"),
        ("model,r1_1_a\nx,inf\n", r"row 1 \(x\): r1_1_a is inf, not a number"),
        ("model,r1_1_a,r1_1_a\nx,1,2\n", "column 'r1_1_a' occurs 2 times"),
        ("model,r1_1_a\nx,1\nx,2\n", "row 2: model 'x' occurs twice"),
        ("name,r1_1_a\nx,1\n", "row 1: no 'model'"),
        ("model,other\nx,1\n", "no column is a task"),
        ("model,r1_1_a\n", "no rows"),
        ("model,r1_1_a,r1_1_b\nx,50,5,40\n", "row 1: more cells than the 3 columns; .* decimals with a point"),
        ("model,r1_1_a\nx\udce9,1\n", "pool.csv: cannot be read as CSV in UTF-8"),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(PoolError, match=message):
        read_pool([str(path)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"x": {"r1_1_a": true}}', r"row 1 \(x\): r1_1_a is True, not a number"),
        ('{"x": {"r1_1_a": "50"}}', r"row 1 \(x\): r1_1_a is '50', not a number"),
        ('{"x": {"r1_1_a": NaN}}', r"row 1 \(x\): r1_1_a is nan, not a number"),
        ('{"x": {"r1_1_a": [1]}}', r"row 1 \(x\): r1_1_a is \[1\], not a number"),
        ('{"x": {"r1_1_a": 1}, "x": {"r1_1_a": 2}}', "'x' occurs 2 times in one object"),
        ('{"x": {"r1_1_a": 1, "r1_1_a": 2}}', "'r1_1_a' occurs 2 times in one object"),
        pytest.param("[" * 100_000, "pool.json: cannot be read as JSON", id="deep"),
    ],
)
def test_what_is_no_number_or_there_twice_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "pool.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PoolError, match=message):
        read_pool([str(path)])


def test_a_model_with_a_number_for_a_name(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("model,r1_1_a\n7,1\n8,2\n", encoding="utf-8")
    assert read_pool([str(path)]).scores == {"7": {"r1_1_a": 1.0}, "8": {"r1_1_a": 2.0}}


def test_a_model_in_two_places_is_refused(tmp_path: Path) -> None:
    table = csv_of(SCORES, tmp_path / "pool.csv")
    with pytest.raises(PoolError, match="is in the pool already"):
        read_pool([str(table), str(table)])


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
    assert "one pool of 15 models" in result.output.replace("\n", " ")


def test_command_on_a_small_pool_of_some_tasks(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("model,r1_1_a,r1_2_a,r2_1\na,1,2,3\nb,2,5,1\nc,9,4,2\nd,3,3,3\n", encoding="utf-8")
    result = invoke(str(path), "--json", "--bootstrap", "50")
    record = json.loads(result.output)
    assert sum(record["weights"].values()) == pytest.approx(1)
    assert set(record["weights"]) == {"r1_1_a", "r1_2_a", "r2_1"}
    assert record["stability"]["bootstrap"]["r2_1"]["low"] is None
    warned, *notes = record["provenance"]["notes"]
    assert warned == caveats.SMALL_POOL.format(models="4 models", few=5)
    assert notes == [
        f"no model of the pool has a score for {', '.join(t.id for t in TASKS if t.id not in record['weights'])}"
    ]


def test_command_words_its_note_from_the_pool_and_names_what_it_does_without(tmp_path: Path) -> None:
    models = [model(name, seed, without=["r1_4"] if seed == 2 else []) for seed, name in enumerate("abcd")]
    result = invoke(*stored(tmp_path, *models), "--bootstrap", "50", "--budgets", "0.2,0.3,0.5")
    said = result.output.replace("\n", " ")
    assert "one pool of 4 models" in said
    assert "15 models" not in said
    assert "budgets 0.2/0.3/0.5" in said
    assert "r1_4 is left out of the pool: no score of c" in said
    refused = invoke(*stored(tmp_path, *models), "--with-paper")
    assert refused.exit_code == 2
    assert "edition differs" in refused.output


def test_five_models_are_not_warned_of(tmp_path: Path) -> None:
    path = csv_of(dict(list(SCORES.items())[:5]), tmp_path / "pool.csv")
    assert "too few to calibrate with" not in invoke(str(path), "--bootstrap", "50").output


def test_command_puts_the_frozen_weight_beside_the_weight_at_80_columns() -> None:
    environment = {"COLUMNS": "80", "TERM": "dumb"}
    lines = CliRunner().invoke(app, ["calibrate", "--bootstrap", "50"], env=environment).output.splitlines()
    assert any(line.split()[:5] == ["task", "load", "weight", "frozen", "95"] for line in lines)


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_command_cuts_no_number_in_a_terminal_of_any_width(columns: int) -> None:
    result = CliRunner().invoke(app, ["calibrate", "--bootstrap", "50"], env={"COLUMNS": str(columns), "TERM": "dumb"})
    assert "…" not in result.output
    assert max(map(len, result.output.splitlines())) <= columns
    for task in TASKS:
        assert f"{task.weight:.3f}" in result.output


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
