import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from drivehierarchy_gym.errors import UnknownNameError
from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.report.analysis import analyse
from lm_eval_drivehierarchy.report.content import report
from lm_eval_drivehierarchy.report.document import Note, Table
from lm_eval_drivehierarchy.report.markdown import markdown
from lm_eval_drivehierarchy.results import ModelResult, RuleScore, TaskResult
from lm_eval_drivehierarchy.transfer import TransferError, page, paper_transfer, transfer

from .made_results import closed_loop, model, stored, task_result

BASE = model("base", 1, level=40, driving=30)


def tuned(name: str = "tuned", **levels: float) -> ModelResult:
    """The base with other results on the named tasks, better driving, and all else equal."""
    tasks = BASE.tasks | {task: task_result(task, level, 1) for task, level in levels.items()}
    return BASE.model_copy(update={"model": name, "tasks": tasks, "closed_loop": closed_loop(80, 1)})


def test_gains_inside_and_losses_outside_are_told_apart() -> None:
    (found,) = transfer(BASE, [tuned(r1_2_a=90, r3_1=8)], {"tuned": ["r1_2_a"]})
    assert set(found.scope(inside=True)) == {"r1_2_a"}
    assert len(found.scope(inside=False)) == 13
    assert found.tasks["r1_2_a"].verdict == "better"
    assert found.tasks["r3_1"].verdict == "worse"
    assert found.tasks["r2_1"].verdict == "tie"
    assert found.tasks["r2_1"].difference.value == 0
    change = 90 - 8
    assert found.tasks["r1_2_a"].difference.value - found.tasks["r3_1"].difference.value > change / 2
    assert found.r4.verdict == "better"
    assert len(found.families) == 10


def test_without_items_the_comparison_is_unpaired_and_without_errors_untested() -> None:
    def bare(name: str, score: float, stderr: float | None) -> ModelResult:
        result = TaskResult(task="r3_1", n=100, rules={"official": RuleScore(score=score, stderr=stderr)})
        return ModelResult(model=name, edition="sim", tasks={"r3_1": result})

    (found,) = transfer(bare("b", 40, 3.0), [bare("t", 60, 4.0)], {"t": ["r3_1"]})
    assert found.tasks["r3_1"].difference.stderr == pytest.approx(5)
    assert found.tasks["r3_1"].verdict == "better"
    (untested,) = transfer(bare("b", 40, None), [bare("t", 60, None)], {"t": ["r3_1"]})
    assert untested.tasks["r3_1"].verdict is None
    assert untested.open is None


def test_the_paper_runs_are_tables_3_and_4() -> None:
    found = {run.run: run for run in paper_transfer()}
    assert len(found) == 9
    one = found["B+R1_2_B (paper)"]
    outside = [change.difference.value for change in one.scope(inside=False).values()]
    assert (sum(value > 0 for value in outside), len(outside), min(outside)) == (10, 13, -2.09)
    gains = {run.run.removesuffix(" (paper)"): run.r4.difference.value for run in found.values() if run.r4}
    assert gains == pytest.approx(paper_tables().stated.r4_gains)
    assert all(change.verdict is None for change in one.tasks.values())


def test_the_scope_must_be_known() -> None:
    with pytest.raises(TransferError, match="--on tuned=r1_2_a,r2_1"):
        transfer(BASE, [tuned()], {})
    with pytest.raises(UnknownNameError, match="did you mean 'tuned'"):
        transfer(BASE, [tuned()], {"tuend": ["r1_3"]})
    with pytest.raises(UnknownNameError, match="did you mean 'r1_3'"):
        transfer(BASE, [tuned()], {"tuned": ["r13"]})


def test_the_page_highlights_negative_transfer_and_suggests_controls() -> None:
    run = tuned(r1_2_a=90, r3_1=8)
    document = page(BASE, transfer(BASE, [run], {"tuned": ["r1_2_a"]}), "official", [run])
    tables = {b.name: b for section in document.sections for b in section.blocks if isinstance(b, Table)}
    outside = {row[0].text: row[2] for row in tables["outside"].rows}
    assert outside["r3_1"].mark == "bad"
    assert outside["r2_1"].mark is None
    assert tables["inside"].rows[0][2].mark == "good"
    assert tables["summary"].rows[0][5].text == "1"
    text = json.dumps([getattr(b, "text", "") for section in document.sections for b in section.blocks])
    assert "negative transfer on r3_1" in text
    assert "same number of training samples" in text
    notes = [b.text for section in document.sections for b in section.blocks if isinstance(b, Note)]
    assert caveats.TRANSFER in notes
    assert caveats.PAPER_TRANSFER not in notes


class TestTooFewToDecide:
    def first(self, given: ModelResult, items: int, driven: int) -> ModelResult:
        """The result with the first items of every task, each in a scene of its own, and the first scenarios alone."""
        tasks = {
            name: task.model_copy(
                update={
                    "n": items,
                    "expected": items,
                    "items": tuple(
                        item.model_copy(update={"scene": f"s{n}"}) for n, item in enumerate(task.items[:items])
                    ),
                }
            )
            for name, task in given.tasks.items()
        }
        run = given.closed_loop
        scenarios = list(dict.fromkeys(episode.scenario for episode in run.episodes))[:driven]
        episodes = tuple(episode for episode in run.episodes if episode.scenario in scenarios)
        part = run.model_copy(update={"episodes": episodes, "planned": len(episodes)})
        return given.model_copy(update={"tasks": tasks, "closed_loop": part})

    def test_nothing_is_denied_that_could_not_have_been_seen(self) -> None:
        base, run = (self.first(given, 2, 3) for given in (BASE, tuned(r1_2_a=90, r3_1=8)))
        found = transfer(base, [run], {"tuned": ["r1_2_a"]})
        assert {change.verdict for change in found[0].tasks.values()} == {"undecided"}
        assert found[0].r4.verdict == "undecided"
        said = markdown(page(base, found, "official", [run]))
        assert "no negative transfer" not in said
        assert "on any task outside the supervision negative transfer cannot be decided (n = 2)" in said
        assert caveats.TIES in said

    def test_the_report_tells_them_from_ties(self) -> None:
        few, many = [
            markdown(report(analyse([self.first(given, items, 3), self.first(other, items, 3)], paper=False)))
            for given, other, items in ((BASE, tuned(r3_1=8), 2), (BASE, tuned(r3_1=8), 60))
        ]
        assert "cannot be decided (n = 2)" in few
        assert "cannot be decided (n = 3)" in few  # R4
        assert not re.search(r"\| tie \|", few)
        assert "cannot be decided (n = 3)" in many
        assert re.search(r"\| tie \|", many)


def test_settings_that_differ_are_said() -> None:
    run = tuned(r1_2_a=90).model_copy(update={"protocol": {"temperature": 0.7, "system prompt": "1"}})
    document = page(BASE, transfer(BASE, [run], {"tuned": ["r1_2_a"]}), "official", [run])
    warnings = [b.text for section in document.sections for b in section.blocks if isinstance(b, Note) and b.warning]
    assert warnings == ["setting 'temperature' differs (base: 0.0; tuned: 0.7)"]


class TestCommands:
    def invoke(self, *arguments: str):
        return CliRunner().invoke(app, ["sft", *arguments], env={"COLUMNS": "200", "TERM": "dumb"})

    def test_compare_with_the_paper_beside(self, tmp_path: Path) -> None:
        paths = stored(tmp_path, BASE, tuned(r1_2_a=90, r3_1=8))
        out = tmp_path / "out"
        result = self.invoke("compare", *paths, "--on", "tuned=R1_2_A", "--paper", "--out", str(out))
        assert result.exit_code == 0, result.output
        assert "negative transfer on r3_1" in result.output
        assert "B+ALL (paper)" in result.output
        assert "kept as" in (out / "transfer.md").read_text(encoding="utf-8")
        assert (out / "transfer.html").read_text(encoding="utf-8").startswith("<!doctype html>")

    def test_the_paper_alone(self) -> None:
        result = self.invoke("compare", "--paper")
        assert result.exit_code == 0
        assert "+79.45" in result.output
        assert "10 of 13" in result.output

    @pytest.mark.parametrize("columns", [60, 80, 100])
    def test_no_number_is_cut_in_a_narrow_terminal(self, columns: int) -> None:
        environment = {"COLUMNS": str(columns), "TERM": "dumb"}
        output = CliRunner().invoke(app, ["sft", "compare", "--paper"], env=environment).output
        assert "…" not in output
        assert max(map(len, output.splitlines())) <= columns
        for run in paper_transfer():
            for change in run.tasks.values():
                assert f"{change.difference.value:+.2f}" in output
            if run.r4 is not None:
                assert f"{run.r4.difference.value:+.3f}" in output

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["compare"], "give a base model"),
            (["compare", "{base}"], "at least one trained model"),
            (["compare", "{base}", "{tuned}"], "--on tuned=r1_2_a,r2_1"),
            (["compare", "{base}", "{tuned}", "--on", "tuned"], "expected NAME=TASK,TASK"),
            (["targets", "{base}"], "--against"),
        ],
    )
    def test_what_is_missing_is_asked_for(self, tmp_path: Path, arguments: list[str], message: str) -> None:
        base, run = stored(tmp_path, BASE, tuned(r1_2_a=90))
        result = self.invoke(*(argument.format(base=base, tuned=run) for argument in arguments))
        assert result.exit_code == 2
        assert message in result.output.replace("\n", " ")

    def test_targets_of_the_paper_s_base_model(self, tmp_path: Path) -> None:
        tasks = {
            task: TaskResult(task=task, n=1000, rules={"official": RuleScore(score=score)})
            for task, score in paper_tables().table3.baseline.tasks.items()
        }
        (path,) = stored(tmp_path, ModelResult(model="base", edition="release", tasks=tasks))
        result = self.invoke("targets", path, "--json")
        record = json.loads(result.output)
        assert record["groups"] == {
            "R1": ["r1_2_a", "r1_2_b", "r1_3"],
            "R2": ["r2_1", "r2_3"],
            "R3": ["r3_1"],
            "ALL": ["r1_2_a", "r1_2_b", "r1_3", "r2_1", "r2_3", "r3_1"],
        }
        shown = self.invoke("targets", path)
        assert "R2: r2_1,r2_3" in shown.output
        assert "convention" in shown.output

    def test_targets_on_another_edition_need_rivals(self, tmp_path: Path) -> None:
        base, rival = stored(tmp_path, BASE, model("rival", 2, level=90, driving=None))
        result = self.invoke("targets", base, "--against", rival, "--json", "--threshold", "-0.5")
        record = json.loads(result.output)
        assert record["targets"]
        assert all(record["deficits"][task] <= -0.5 for task in record["targets"])
