"""How the report words and lays out small numbers: few scenes, single runs, flawless scores, pools of correlations."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.report import figures, open_loop_sections
from lm_eval_drivehierarchy.report.analysis import Power, analyse
from lm_eval_drivehierarchy.report.cells import FEW_SCENES, difference_cell, estimate_cell, estimate_text, p_value_cell
from lm_eval_drivehierarchy.report.content import report
from lm_eval_drivehierarchy.report.document import Cell, Document, Picture, Section, Table, table
from lm_eval_drivehierarchy.report.html import STYLE, html
from lm_eval_drivehierarchy.report.markdown import markdown
from lm_eval_drivehierarchy.results import ClosedLoopResult, ItemScore, ModelResult, RuleScore, TaskResult
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.paired import Comparison
from lm_eval_drivehierarchy.tasks import TASKS

from ..made_results import closed_loop, model, stored


def text_of(*models: ModelResult, **options: bool) -> str:
    return markdown(report(analyse(models, **options)))


def flawless(name: str, scenes: int) -> ModelResult:
    """All right, three items a scene."""
    rules = {rule: RuleScore(score=100, stderr=0, parse_fail=0, strict=1) for rule in ("official", "flexible")}
    tasks = {}
    for task in TASKS:
        items = tuple(
            ItemScore(id=f"{task.id}-{n}", scene=f"s{n % scenes}", scores={"official": 100, "flexible": 100})
            for n in range(3 * scenes)
        )
        tasks[task.id] = TaskResult(
            task=task.id, n=len(items), expected=len(items), rules=rules, items=items, version="1"
        )
    return ModelResult(model=name, edition="sim", edition_hash="ab12", tasks=tasks)


class TestFewScenes:
    def test_their_number_stands_beside_the_interval(self) -> None:
        shape = {"value": 50.0, "low": 40.0, "high": 60.0, "stderr": 5.0, "n": 90}
        assert estimate_text(Estimate(**shape, clusters=FEW_SCENES - 1)) == "50.0 [40.0, 60.0] n=29"
        assert estimate_text(Estimate(**shape, clusters=FEW_SCENES)) == "50.0 [40.0, 60.0]"
        assert estimate_text(Estimate(50.0, n=90, clusters=3, reason="none")) == "50.0"

    def test_it_is_explained_where_it_occurs_and_only_there(self) -> None:
        said = caveats.FEW_SCENES.format(few=FEW_SCENES)
        assert said in text_of(flawless("few", 5), paper=False)
        assert said not in text_of(flawless("many", FEW_SCENES), paper=False)

    def test_a_flawless_score_has_a_bound_and_its_reason(self) -> None:
        said = text_of(flawless("oracle", 10), paper=False)
        assert "100.0 [69.2, 100.0] n=10" in said
        assert caveats.FLAWLESS in said
        assert not re.search(r"\| 100\.0 \|", said)
        assert caveats.FLAWLESS not in text_of(model("usual", 1), paper=False)


class TestMissingIntervals:
    """A value without an interval has its reason under the table."""

    reason = "all items of t come from one scene, so nothing says how scenes differ"
    bare = Estimate(50.0, n=9, clusters=1, reason=reason)
    whole = Estimate(50.0, 40.0, 60.0, stderr=5.0, n=9, clusters=9)

    def test_every_cell_says_why(self) -> None:
        other = Estimate(20.0, n=9, clusters=1, reason="for another reason")
        cells = [estimate_cell(each) for each in (self.bare, self.whole, other, self.bare)]
        cells.append(difference_cell(Comparison(self.bare, 1.0, 1.0, "undecided")))
        cells.append(estimate_cell(Estimate(None, reason="incomplete: no r1_4")))
        found = table("t", "T", [f"c{n}" for n in range(7)], [[Cell("m"), *cells]])
        assert [found.shown(cell) for cell in found.rows[0]] == [
            "m", "50.0 †1", "50.0 [40.0, 60.0] n=9", "20.0 †2", "50.0 †1", "+50.0 †1", "incomplete",
        ]  # fmt: skip
        page = Document("D", "", (Section("S", (found,)),))
        for shown in (markdown(page), html(page)):
            assert shown.count(f"†1: {self.reason}") == 1
            assert shown.count("†2: for another reason") == 1

    def test_in_a_report_of_one_scene_no_estimate_is_left_bare(self) -> None:
        one = model("one", 1)
        tasks = {
            name: task.model_copy(update={"items": tuple(i.model_copy(update={"scene": "s"}) for i in task.items)})
            for name, task in one.tasks.items()
        }
        found = report(analyse([one.model_copy(update={"tasks": tasks})], paper=False))
        tables = {b.name: b for s in found.sections for b in s.blocks if isinstance(b, Table)}
        scores = tables["tasks-one"]
        for row in scores.rows:
            for cell in row[3:5]:
                assert re.fullmatch(r"[\d.]+ †\d+", scores.shown(cell))
        overview = tables["overview"]
        assert all("†" in overview.shown(cell) for cell in overview.rows[0][1:6])
        assert "come from one scene" in html(found)


class TestPower:
    def cells(self, **given: float) -> list[str]:
        shape = {"n": 50, "design_effect": 1.0, "detectable": 12.34, "items_for_one_point": 1234}
        return [cell.text for cell in open_loop_sections._power_cells(Power(**shape | given))]

    def test_what_cannot_be_said_is_not_said(self) -> None:
        assert self.cells() == ["12.3", "1,234"]
        assert self.cells(n=2, detectable=1155.0, items_for_one_point=2) == ["more than 100", "too few items to say"]
        assert self.cells(detectable=100.1)[1] == "too few items to say"
        assert self.cells(n=9) == ["too few items to say"] * 2
        assert self.cells(n=10, detectable=100.0)[0] == "100.0"


@pytest.mark.parametrize(
    ("estimate", "single"),
    [
        (Estimate(0.0, 0.0, 30.0, stderr=0.0, n=9, clusters=9), ()),
        (Estimate(0.2, 0.0, 1.0, stderr=0.1, n=90, clusters=90), ()),
        (Estimate(0.0, 0.0, 90.0, stderr=0.0, n=2, clusters=2), (0.0, 0.4)),
        (Estimate(0.0, reason="none"), ()),
    ],
)
def test_the_number_of_a_short_bar_is_not_struck_through(estimate: Estimate, single: tuple[float, ...]) -> None:
    figure = figures.bars([figures.Profile("m", {"a": estimate}, {"a": single} if single else {})], {"a": "A"})
    figures.png(figure)
    plot = figure.axes[0]
    (label,) = plot.texts
    left = plot.transData.inverted().transform(label.get_window_extent().get_points())[0][0]
    assert left > max([0.0, *(x for line in plot.lines for x in line.get_xdata())])
    assert left < 40


def test_no_p_value_is_shown_as_zero() -> None:
    assert p_value_cell(0.0001).text == "<0.001"
    weak, strong = model("weak", 5, level=20), model("strong", 5, level=80)
    page = report(analyse([weak, strong], paper=False))
    tables = [b for s in page.sections for b in s.blocks if isinstance(b, Table) and b.name.startswith("difference")]
    shown = [
        row[column].text
        for found in tables
        for column, name in enumerate(found.columns)
        if name in ("p", "p, Holm")
        for row in found.rows
    ]
    assert "<0.001" in shown
    assert not [text for text in shown if re.fullmatch(r"0\.0+", text)]


class TestSingleNumbers:
    alone = ModelResult(
        model="driver",
        closed_loop=ClosedLoopResult(
            **closed_loop(60, 1, per_family=1, repeats=1).model_dump()
            | {"episodes": closed_loop(60, 1, per_family=1, repeats=1).episodes[:1], "planned": 1}
            | {"suite_scenarios": closed_loop(60, 1, per_family=1, repeats=1).episodes[0].scenario.split()}
        ),
    )

    def test_one_run_is_no_runs(self) -> None:
        said = text_of(self.alone)
        assert "how its 1 run ended" in said
        assert "over 1 scenario (1 of 1 planned run has a result)" in said
        assert "1 measured model," in said
        assert not re.search(r"(?<![\d,.-])1 (runs|scenarios|models|items|tasks|decisions)\b", said)

    def test_scenarios_of_the_suite_are_told_from_planned_runs(self) -> None:
        run = closed_loop(60, 1, per_family=1, repeats=1)
        part = run.model_copy(update={"episodes": run.episodes[:3], "planned": 3})
        suite = tuple(episode.scenario for episode in run.episodes)
        given = ModelResult(model="part", closed_loop=part.model_copy(update={"suite_scenarios": suite}))
        said = text_of(given, paper=False)
        assert f"over 3 scenarios of the suite's {len(suite)} (3 of 3 planned runs of them have a result)" in said

    def test_r4_alone_has_no_edition(self) -> None:
        said = text_of(self.alone, model("both", 1, driving=None))
        assert caveats.OTHER_EDITION.format(edition="sim") in said
        assert "unknown" not in said


class TestCorrelations:
    def captions(self, document: Document) -> dict[str, str]:
        pictures = [b for s in document.sections for b in s.blocks if isinstance(b, Picture)]
        return {picture.name: picture.caption for picture in pictures if "correlations" in picture.name}

    def test_those_of_the_paper_alone_say_so_and_why(self) -> None:
        page = report(analyse([model("mine", 1), model("yours", 2)]))
        captions = self.captions(page)
        assert set(captions) == {"rank-correlations", "task-correlations"}
        assert all("the paper's 15 models alone, none of them measured here" in text for text in captions.values())
        said = markdown(page)
        assert "the measured models answered other questions (edition sim)" in said
        assert "need three models with a score on every task; there are 2 such models" in said

    def test_three_measured_models_have_their_own(self) -> None:
        pool = [model(f"m{n}", n, level=30 + 10 * n) for n in range(4)] + [model("partial", 9, without=["r1_4"])]
        found = analyse(pool)
        assert found.correlations.pool == tuple(m.model for m in found.published)
        assert found.measured_correlations.pool == ("m0", "m1", "m2", "m3")
        alone = analyse(pool, paper=False)
        assert found.measured_correlations.ranks == alone.correlations.ranks
        assert alone.measured_correlations is None
        captions = self.captions(report(found))
        assert "over 4 measured models (m0, m1, m2, m3), with 95 % intervals" in captions["rank-correlations-measured"]
        three = self.captions(report(analyse(pool[:3])))
        assert "so few models allow no intervals" in three["rank-correlations-measured"]

    def test_on_the_paper_s_questions_there_is_one_pool(self) -> None:
        found = analyse([model(f"m{n}", n, edition="release") for n in range(3)])
        assert len(found.correlations.pool) == 18
        assert found.measured_correlations is None
        assert "none of them measured here" not in markdown(report(found))


class TestFigureOfFamilies:
    def drawn(self, profile: figures.Profile) -> list[tuple[list[float], str]]:
        """Data and marker of every line in the figure."""
        figure = figures.bars([profile], {"a": "A"})
        return [(list(line.get_xdata()), str(line.get_marker())) for line in figure.axes[0].lines]

    def test_few_scenarios_are_marks_instead_of_an_interval(self) -> None:
        estimate = Estimate(50.0, 1.0, 99.0, stderr=20.0, n=2, clusters=2)
        single = self.drawn(figures.Profile("m", {"a": estimate}, {"a": [20.0, 80.0]}))
        assert [data for data, marker in single if marker != "None"] == [[20.0, 80.0]]
        assert not any(1.0 in data for data, _ in single)
        assert [1.0, 99.0] in [data for data, _ in self.drawn(figures.Profile("m", {"a": estimate}))]

    def test_the_report_draws_each_scenario_of_small_families_with_repeats_averaged(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[figures.Profile] = []
        original = figures.bars

        def watch(profiles: list[figures.Profile], *rest: object, **options: object) -> object:
            seen.extend(profiles)
            return original(profiles, *rest, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(figures, "bars", watch)
        few, many = (
            model("few", 1),
            model("many", 1).model_copy(update={"closed_loop": closed_loop(60, 1, per_family=8)}),
        )
        report(analyse([few]))
        report(analyse([many]))
        drawn = {profile.name: profile.single for profile in seen if "03_turning" in profile.values}
        scores: dict[str, list[float]] = {}
        for episode in few.closed_loop.episodes:
            if episode.family == "03_turning":
                scores.setdefault(episode.scenario, []).append(episode.score)
        assert drawn["few"]["03_turning"] == pytest.approx([np.mean(repeats) for repeats in scores.values()])
        assert drawn["many"] == {}

    def test_the_picture_is_one(self) -> None:
        estimate = Estimate(50.0, 1.0, 99.0, stderr=20.0, n=2, clusters=2)
        figure = figures.bars([figures.Profile("m", {"a": estimate}, {"a": [20.0, 80.0]})], {"a": "A"})
        assert Image.open(BytesIO(figures.png(figure))).width >= 700


class TestPage:
    def test_every_table_scrolls_in_a_box_of_its_own(self) -> None:
        page = html(report(analyse([model("mine", 1), model("yours", 2)])))
        assert page.count("<table") == page.count('<div class="scroll" tabindex="0"><table')
        assert ".scroll { overflow-x: auto;" in STYLE
        assert "white-space: nowrap" not in re.sub(r"nav a \{[^}]*\}", "", STYLE)

    def test_a_number_breaks_only_before_its_interval_and_its_n(self) -> None:
        page = html(report(analyse([model("mine", 1)])))
        numbers = re.findall(r'<td(?: class="(?!text)[^"]*")? data-sort="[^"]+">([^<]*)</td>', page)
        assert any(re.fullmatch(r"[\d.]+ \[[\d.]+,\xa0[\d.]+\] n=25", number) for number in numbers)
        assert {part for number in numbers for part in re.findall(r" (.)", number)} == {"[", "n"}


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_terminal_cuts_no_number(tmp_path: Path, columns: int) -> None:
    models = [model("a-vision-language-model-7B-instruct", 1), model("b", 2, without=["r1_4"])]
    paths = stored(tmp_path, *models)
    environment = {"COLUMNS": str(columns), "TERM": "dumb"}
    result = CliRunner().invoke(app, ["report", *paths, "--out", str(tmp_path / "out")], env=environment)
    assert result.exit_code == 0, result.output
    table = result.output.partition("note:")[0]
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= columns
    found = analyse(models).models[0]
    for rule in ("official", "flexible"):
        assert estimate_text(found.open_loop[rule].open) in table
    for estimate in (*found.open_loop["official"].ranks.values(), found.closed_loop.estimates.overall):
        assert estimate_text(estimate) in table
    for line in table.splitlines():
        assert line.count("[") == line.count("]")
