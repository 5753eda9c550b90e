import json
import re
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.report.analysis import analyse
from lm_eval_drivehierarchy.report.cells import joined
from lm_eval_drivehierarchy.report.content import report
from lm_eval_drivehierarchy.report.document import Cell, Document, Note, Section, Table, table
from lm_eval_drivehierarchy.report.html import html
from lm_eval_drivehierarchy.report.markdown import markdown
from lm_eval_drivehierarchy.results import ModelResult, ResultsError
from lm_eval_drivehierarchy.statistics.paired import Verdict
from lm_eval_drivehierarchy.tasks import TASKS

from ..made_results import closed_loop, model, stored

MODELS = [
    model("alpha-7B", 1, level=45),
    model("beta-7B", 2, level=60, without=["r1_4"]),
    model("gamma-3B", 3, level=45, lost=3, driving=None),
]
ANALYSIS = analyse(MODELS)
PAGE = report(ANALYSIS)


def part_of_suite(given: ModelResult, scenarios: int) -> ModelResult:
    run = given.closed_loop
    kept = [e for e in run.episodes if e.scenario in run.scenarios[:scenarios]]
    part = run.model_copy(update={"episodes": tuple(kept), "planned": len(kept)})
    return given.model_copy(update={"closed_loop": part})


def blocks(document: Document, kind: type) -> list:
    return [block for section in document.sections for block in section.blocks if isinstance(block, kind)]


def table_named(document: Document, name: str) -> Table:
    return next(block for block in blocks(document, Table) if block.name == name)


def notes(document: Document) -> str:
    return "\n".join(note.text for note in blocks(document, Note))


class TestAnalysis:
    def test_scores_are_the_models_own(self) -> None:
        for analysed, given in zip(ANALYSIS.models, MODELS, strict=True):
            for rule, found in analysed.open_loop.items():
                for task, estimate in found.tasks.items():
                    assert estimate.value == pytest.approx(given.tasks[task].rules[rule].score)

    def test_pairs_use_common_items_and_name_the_rest(self) -> None:
        first = next(pair for pair in ANALYSIS.pairs if (pair.first, pair.second) == ("alpha-7B", "gamma-3B"))
        assert (first.common, first.left_out) == (14 * 47, 14 * 3)
        difference = first.results["r3_1"].difference
        mine, theirs = ({i.id: i.scores["official"] for i in MODELS[k].tasks["r3_1"].items} for k in (0, 2))
        assert difference.value == pytest.approx(np.mean([theirs[key] - mine[key] for key in theirs]))
        assert "open" not in next(p for p in ANALYSIS.pairs if p.second == "beta-7B").results

    def test_r4_is_compared_by_scenario(self) -> None:
        pair = next(pair for pair in ANALYSIS.pairs if (pair.first, pair.second) == ("alpha-7B", "beta-7B"))
        assert pair.results["R4"].difference.value == pytest.approx(MODELS[1].r4() - MODELS[0].r4())
        assert pair.results["R4"].difference.clusters == 20

    def test_a_part_of_a_suite_is_marked_and_compared_on_common_scenarios(self) -> None:
        part = part_of_suite(MODELS[1], 3)
        found = analyse([MODELS[0], part])
        assert any(line.startswith("beta-7B: R4 covers 3 of 20 scenarios of suite open") for line in found.warnings)
        (pair,) = found.pairs
        assert (pair.scenarios, pair.scenarios_left_out) == (3, 17)
        driven = set(part.closed_loop.scenarios)
        mine, theirs = (
            {n: np.mean([e.score for e in m.closed_loop.episodes if e.scenario == n]) for n in driven}
            for m in (MODELS[0], part)
        )
        by_family = [[theirs[n] - mine[n] for n in driven if n.startswith(family)] for family in ("01", "02")]
        assert pair.results["R4"].difference.value == pytest.approx(np.mean([np.mean(d) for d in by_family]))

    @pytest.mark.parametrize(
        "change",
        [
            {"settings": {"backend": "sumo", "seed": 1}},
            {"settings": {"backend": "sumo", "seed": 0, "profile": "strict"}},
            {"settings": {}},
            {"suite_hash": None},
            {"repeats": None},
        ],
    )
    def test_r4_runs_that_were_not_one_test_are_not_compared(self, change: dict[str, object]) -> None:
        run = MODELS[1].closed_loop.model_copy(update=change)
        (pair,) = analyse([MODELS[0], MODELS[1].model_copy(update={"closed_loop": run})]).pairs
        assert "R4" not in pair.results
        assert "r3_1" in pair.results
        assert (pair.scenarios, pair.scenarios_left_out) == (0, 20)

    def test_what_the_driver_sees_does_not_make_another_test(self) -> None:
        own = {"observation": "state", "agent": "expert", "agent_sources": "1", "agent_options": {"gap": 2}}
        run = MODELS[1].closed_loop.model_copy(update={"settings": MODELS[1].closed_loop.settings | own})
        (pair,) = analyse([MODELS[0], MODELS[1].model_copy(update={"closed_loop": run})]).pairs
        assert "R4" in pair.results

    def test_only_whole_runs_of_one_test_enter_a_correlation(self) -> None:
        pool = [model(f"m{n}", n, level=30 + 10 * n, driving=40 + 10 * n) for n in range(4)]
        assert analyse(pool, paper=False).correlations.open_closed.n == 4
        assert analyse([*pool[:3], part_of_suite(pool[3], 3)], paper=False).correlations.open_closed.n == 3
        run = pool[3].closed_loop.model_copy(update={"settings": {"backend": "sumo", "seed": 1}})
        reseeded = pool[3].model_copy(update={"closed_loop": run})
        assert analyse([*pool[:3], reseeded], paper=False).correlations.open_closed.n == 0

    def test_r4_on_the_paper_s_suite_and_simulator_joins_its_models(self) -> None:
        mine = model("mine", 1, edition="release")
        like = {"suite": "release", "settings": {"backend": "carla", "seed": 0}}
        found = analyse([mine.model_copy(update={"closed_loop": mine.closed_loop.model_copy(update=like)})])
        assert found.correlations.ranks["R1", "R4"].n == 16

    def test_deficits_on_another_edition_ignore_the_paper(self) -> None:
        assert {best.model for best in ANALYSIS.best.values()} <= {m.model for m in MODELS}
        assert analyse(MODELS[:1]).models[0].deficits == {}
        assert analyse(MODELS[:1]).models[0].place is None

    def test_on_the_release_edition_the_paper_counts(self) -> None:
        found = analyse([model("mine", 1, edition="release")])
        mine = found.models[0]
        assert {best.model for best in found.best.values()} > {"mine"}
        place = mine.place
        assert len(place.above) + len(place.tied) + len(place.below) == 15
        assert found.correlations.pool[-1] == "mine"
        assert found.correlations.ranks["R1", "R3"].n == 16
        assert found.correlations.ranks["R1", "R4"].n == 15  # another suite than the paper's

    def test_beside_the_paper_deficits_and_correlations_use_its_rule(self) -> None:
        mine = model("mine", 1, edition="release")
        found = analyse([mine], rule="flexible")
        assert found.models[0].deficits["r3_1"].score == mine.scores("official")["r3_1"]
        alone = analyse([model("a", 1), model("b", 2)], rule="flexible", paper=False)
        assert alone.models[0].deficits["r3_1"].score == model("a", 1).scores("flexible")["r3_1"]

    def test_without_measured_items_the_paper_correlations_are_its_own(self) -> None:
        found = ANALYSIS.correlations
        assert len(found.pool) == 15
        assert round(found.ranks["R1", "R2"].value, 3) == 0.843
        assert round(found.ranks["R3", "R4"].value, 3) == 0.418

    def test_a_model_named_like_one_of_the_paper_is_told_apart(self) -> None:
        found = analyse([model("Qwen3-VL(8B)", 1)])
        assert found.models[0].result.model == "Qwen3-VL(8B) (measured)"

    def test_same_seed_same_numbers(self) -> None:
        assert analyse(MODELS[:2]) == analyse(MODELS[:2])

    def test_what_must_not_stand_together_is_refused(self) -> None:
        with pytest.raises(ResultsError, match="edition differs"):
            analyse([model("a", 1), model("b", 2, edition="release")])
        with pytest.raises(ResultsError, match="nothing to report"):
            analyse([])

    def test_many_models_are_compared_with_the_best_only(self) -> None:
        many = [model(f"m{n}", n, level=20 + 8 * n, driving=None) for n in range(7)]
        found = analyse(many, paper=False)
        assert len(found.pairs) == 6
        assert len({pair.first for pair in found.pairs}) == 1
        assert found.correlations.open_closed.value is None

    def test_verdicts_follow_the_differences(self) -> None:
        weak, strong = model("weak", 5, level=20), model("strong", 5, level=70)
        pair = analyse([weak, strong]).pairs[0]
        verdicts: list[Verdict] = [comparison.verdict for comparison in pair.results.values() if comparison]
        assert verdicts.count("better") > 10
        assert pair.results["open"].verdict == "better"


class TestContent:
    def test_sections_in_order(self) -> None:
        assert [section.title for section in PAGE.sections] == [
            "Overview", "Capability profile", "Tasks", "Ranks", "Coordinate conventions", "Differences between models",
            "Beside the paper's models", "Closed loop (R4)", "Open loop against closed loop",
            "Weak tasks and targets", "What the items can show", "Provenance",
        ]  # fmt: skip

    def test_both_rules_parse_failures_and_counts_stand_beside_scores(self) -> None:
        rows = {row[0].text: row for row in table_named(PAGE, "tasks-alpha-7b").rows}
        scored = MODELS[0].tasks["r2_1"]
        row = rows["R2-1"]
        assert row[2].text == "50"
        assert row[3].sort == pytest.approx(scored.rules["official"].score)
        assert row[4].sort == pytest.approx(scored.rules["flexible"].score)
        assert row[5].text == f"{100 * scored.rules['official'].parse_fail:.1f} %"
        assert row[7].text == "93.0 %"
        assert row[3].text.startswith(f"{scored.rules['official'].score:.1f} [")

    def test_missing_and_partial_results_are_marked(self) -> None:
        rows = {row[0].text: row for row in table_named(PAGE, "tasks-beta-7b").rows}
        assert rows["R1-4"][2].shown == "not scored"
        overview = {row[0].text: row for row in table_named(PAGE, "overview").rows}
        assert overview["beta-7B"][1].text == "incomplete"
        partial = {row[0].text: row for row in table_named(PAGE, "tasks-gamma-3b").rows}
        assert partial["R3-2"][2].shown == "47 of 50"
        assert "beta-7B: r1_4 has no score: no judge was given" in notes(PAGE)
        assert "R1 incomplete: no score for r1_4" in notes(PAGE)

    @pytest.mark.parametrize(
        "caveat",
        [
            caveats.OPEN_SCORE, caveats.HIERARCHY, caveats.DATA, caveats.PARSING, caveats.REASONING, caveats.JUDGE,
            caveats.BOXES, caveats.TIES, caveats.PUBLISHED, caveats.PRODUCT, caveats.CLOSED_LOOP, caveats.SCALES,
            caveats.CORRELATION, caveats.TRANSFER, caveats.OTHER_EDITION.format(edition="sim"),
            caveats.OTHER_SUITE.format(suite="suite open", backend="sumo"),
        ],
    )  # fmt: skip
    def test_caveats_stand_where_they_apply(self, caveat: str) -> None:
        assert caveat in notes(PAGE)

    def test_caveats_stay_away_where_they_do_not(self) -> None:
        release = report(analyse([model("mine", 1, edition="release", driving=None)]))
        said = notes(release)
        assert "other questions and images" not in said
        assert caveats.CLOSED_LOOP not in said
        assert caveats.TIES not in said
        alone = ModelResult(model="driver", closed_loop=closed_loop(60, 1, repeats=1))
        driving = report(analyse([alone]))
        assert caveats.SINGLE_RUN in notes(driving)
        assert caveats.PARSING not in notes(driving)
        assert caveats.SINGLE_RUN not in notes(PAGE)

    def test_r4_on_a_part_of_a_suite_is_marked_wherever_it_stands(self) -> None:
        page = report(analyse([MODELS[0], part_of_suite(MODELS[1], 3)]))
        for name, column in (("overview", 6), ("paper", 6)):
            cells = {row[0].text: row[column].text for row in table_named(page, name).rows}
            assert cells["beta-7B"].endswith(" on 3 of 20 scenarios")
            assert "scenarios" not in cells["alpha-7B"]
        assert (
            "R4: 17 scenarios that only one of them drove" in table_named(page, "difference-beta-7b-alpha-7b").caption
        )
        assert {row[2].text for row in table_named(page, "settings").rows if row[1].text == "R4 scenarios"} == {
            "20 of 20",
            "3 of 20",
        }
        assert "beta-7B" not in next(p for p in page.pictures() if p.name == "open-closed").alt
        assert "R4 covers 3 of 20 scenarios of suite open" in notes(page)

    def test_r4_shows_parts_endings_and_faults(self) -> None:
        run = MODELS[0].closed_loop
        rows = {row[0].text: row for row in table_named(PAGE, "r4-alpha-7b").rows}
        first = [e for e in run.episodes if e.family == "01_pedestrian_encounter"]
        row = rows["01 pedestrian encounter"]
        assert row[2].sort == pytest.approx(np.mean([e.score for e in first]))
        assert row[3].sort == pytest.approx(np.mean([e.route for e in first]))
        assert row[4].sort == pytest.approx(np.mean([e.safety for e in first]))
        assert rows["all families"][2].sort == pytest.approx(MODELS[0].r4())
        endings = table_named(PAGE, "r4-endings-alpha-7b").rows
        ended = {row[1].text: int(row[2].text) for row in endings if row[0].text == "ended by"}
        assert sum(ended.values()) == 40
        assert ended["collision vehicle"] == sum(e.termination == "collision_vehicle" for e in run.episodes)

    def test_a_run_without_faults_says_so(self) -> None:
        run = MODELS[0].closed_loop
        episodes = [episode.model_copy(update={"faults": 0}) for episode in run.episodes]
        given = MODELS[0].model_copy(update={"closed_loop": run.model_copy(update={"episodes": episodes})})
        text = markdown(report(analyse([given])))
        assert f"{80 * len(episodes)} decisions, each with a usable answer" in text
        assert "had no usable answer" not in text
        assert f"of {80 * len(episodes)} decisions" in markdown(PAGE)

    def test_the_coordinate_convention_is_named(self) -> None:
        low = model("low", 1, level=20)
        task = low.tasks["r1_3"]
        boxes = {"pixels": task.rules["official"].score, "fractions": 2.0, "thousandths": 77.0}
        tasks = low.tasks | {"r1_3": task.model_copy(update={"boxes": boxes})}
        page = report(analyse([low.model_copy(update={"tasks": tasks})]))
        row = table_named(page, "boxes").rows[0]
        assert (row[3].text, row[3].mark) == ("77.0", "weak")
        assert "scores 77.0 when its boxes are read as 0-1000" in json.dumps(
            [block.text for block in page.sections[4].blocks if hasattr(block, "text")]
        )

    def test_provenance_names_versions_hashes_and_files(self) -> None:
        settings = {(row[0].text, row[1].text): row[2].text for row in table_named(PAGE, "settings").rows}
        assert settings["alpha-7B", "edition hash"] == "ab12"
        assert settings["alpha-7B", "version of lm-eval"] == "0.4.13"
        assert settings["alpha-7B", "R4 suite hash"] == "5f0c"
        files = [row[1].text for row in table_named(PAGE, "files").rows]
        assert "runs/beta-7B/final_score.json" in files

    def test_the_paper_models_are_listed_with_printed_scores(self) -> None:
        rows = {row[0].text: row for row in table_named(PAGE, "paper").rows}
        assert len(rows) == 18
        assert rows["Qwen2.5-VL(72B)"][2].text == "54.47"
        assert rows["Gemma-3-it(27B)"][6].text == "12.619"
        ordered = [row[2].sort for row in table_named(PAGE, "paper").rows if row[2].sort is not None]
        assert ordered == sorted(ordered, reverse=True)


class Page(HTMLParser):
    """Collects what must hold of the page: balanced tags, no outside resources, ids, cells."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.sources: list[str] = []
        self.alts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"] or "")
        if tag == "a":
            self.links.append(values["href"] or "")
        if tag in ("img", "script", "link", "iframe"):
            self.sources.append(values.get("src") or values.get("href") or "")
        if tag == "img":
            self.alts.append(values["alt"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestWriters:
    def test_html_is_whole_and_self_contained(self) -> None:
        page = Page()
        page.feed(html(PAGE))
        assert page.open == []
        assert all(source == "" or source.startswith("data:image/png;base64,") for source in page.sources)
        assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
        assert len(page.ids) == len(set(page.ids))
        assert len(page.alts) == len(PAGE.pictures())
        assert all(page.alts)

    def test_markup_in_names_stays_text(self) -> None:
        name = "<b>m|x_y*</b>"
        document = Document("t", "l", (Section("s & <i>", (table("t", "c", ("a",), [[Cell(name)]]),)),))
        assert "<b>m" not in html(document)
        assert "&lt;b&gt;m|x_y*&lt;/b&gt;" in html(document)
        assert r"\<b\>m\|x\_y\*\</b\>" in markdown(document)

    def test_a_name_full_of_markup_is_shown_everywhere_and_changes_nothing(self, tmp_path: Path) -> None:
        name = "_<script>alert(1)</script>|x\n$\\frac$ **b** [l](http://e) ![i](http://e/p.png) \x1b[2J"
        paths = []
        for number, given in enumerate((model("x", 1).model_dump(mode="json") | {"model": name}, model("ok", 2))):
            paths.append(tmp_path / f"{number}.json")
            text = given.model_dump_json() if isinstance(given, ModelResult) else json.dumps(given)
            paths[-1].write_text(text, encoding="utf-8")
        out, board = tmp_path / "out", tmp_path / "board.html"
        for command, where in (("report", out), ("leaderboard", board)):
            found = CliRunner().invoke(app, [command, *map(str, paths), "--out", str(where)], env={"COLUMNS": "300"})
            assert found.exit_code == 0, found.output
            assert "\x1b[2J" not in found.output
        shown = "_<script>alert(1)</script>|x $\\frac$ **b** [l](http://e) ![i](http://e/p.png) [2J"
        for page in (out / "report.html", board):
            text = page.read_text(encoding="utf-8")
            assert "<script>alert" not in text
            assert shown in re.sub(r"<[^>]*>", "", text).replace("&lt;", "<").replace("&gt;", ">")
        text = (out / "report.md").read_text(encoding="utf-8")
        assert (
            r"\_\<script\>alert(1)\</script\>\|x \$\\frac\$ \*\*b\*\* [l]\(http://e) ![i]\(http://e/p.png) [2J" in text
        )
        assert {target.partition("/")[0] for target in re.findall(r"(?<!\\)\]\((.*?)\)", text)} == {"figures"}

    def test_html_cells_carry_numbers_to_sort_by(self) -> None:
        cells = re.findall(r'data-sort="([^"]*)"', html(PAGE))
        assert len(cells) > 300
        assert all(cell == "" or float(cell) == float(cell) for cell in cells)

    def test_markdown_tables_are_rectangular(self) -> None:
        text = markdown(PAGE)
        for part in text.split("\n\n"):
            lines = part.splitlines()
            if lines[0].startswith("|"):
                assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1

    def test_what_several_share_is_told_once(self) -> None:
        said = ["a: no judge", "b: one item", "everything: differs", "b: no judge", "a sentence", "a: no judge"]
        assert joined(said) == ["a, b: no judge", "b: one item", "everything: differs", "a sentence"]

    def test_missing_values_have_words_or_a_dash(self) -> None:
        assert [Cell(text, mark="missing").shown for text in ("incomplete", "")] == ["incomplete", "–"]

    def test_a_ragged_table_is_refused(self) -> None:
        with pytest.raises(ValueError, match="2 cells for 1 columns"):
            table("t", "c", ("a",), [[Cell("1"), Cell("2")]])

    def test_pictures_are_pictures_and_the_same_each_time(self) -> None:
        again = {picture.name: picture.png for picture in report(ANALYSIS).pictures()}
        for picture in PAGE.pictures():
            image = Image.open(BytesIO(picture.png))
            assert image.width >= 700
            grey = np.asarray(image.convert("L"))
            assert 0.3 < (grey > 250).mean() < 0.995
            assert again[picture.name] == picture.png


class TestCommand:
    def run(self, tmp_path: Path, *extra: str):
        return CliRunner().invoke(
            app,
            ["report", *stored(tmp_path, *MODELS), "--out", str(tmp_path / "out"), *extra],
            env={"COLUMNS": "180", "TERM": "dumb"},
        )

    def test_numbers_of_every_format_come_from_the_result_files(self, tmp_path: Path) -> None:
        result = self.run(tmp_path)
        assert result.exit_code == 0, result.output
        out = tmp_path / "out"
        numbers = json.loads((out / "report.json").read_text(encoding="utf-8"))
        text = (out / "report.md").read_text(encoding="utf-8")
        page = (out / "report.html").read_text(encoding="utf-8").replace("\xa0", " ")
        for given, found in zip(MODELS, numbers["models"], strict=True):
            for task in TASKS:
                if task.id not in given.tasks:
                    continue
                items = json.loads((tmp_path / f"{given.model}.json").read_text())["tasks"][task.id]["items"]
                for rule in ("official", "flexible"):
                    mean = np.mean([item["scores"][rule] for item in items])
                    estimate = found["estimates"][rule]["tasks"][task.id]
                    assert estimate["value"] == pytest.approx(mean)
                    shown = f"{mean:.1f} [{estimate['low']:.1f}, {estimate['high']:.1f}]"
                    assert shown in text
                    assert shown in page
            assert found["closed_loop"] is None or found["closed_loop"]["estimates"]["overall"]["value"] == given.r4()
        assert {path.name for path in (out / "figures").iterdir()} == {f"{p.name}.png" for p in PAGE.pictures()}
        assert set(re.findall(r"\(figures/(.*?)\)", text)) == {f"{p.name}.png" for p in PAGE.pictures()}
        assert "partial results for r1_1_a" in result.output

    def test_without_the_paper_and_under_the_other_rule(self, tmp_path: Path) -> None:
        result = self.run(tmp_path, "--no-paper", "--rule", "flexible", "--title", "Mine & <yours>")
        assert result.exit_code == 0, result.output
        text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
        assert "Qwen2.5-VL" not in text
        assert "parsing rule flexible" in text
        assert "<title>Mine &amp; &lt;yours&gt;</title>" in (tmp_path / "out" / "report.html").read_text("utf-8")

    def test_results_that_must_not_mix_end_in_one_line(self, tmp_path: Path) -> None:
        for name, edition in (("a", "sim"), ("b", "release")):
            (tmp_path / f"{name}.json").write_text(model(name, 1, edition=edition).model_dump_json(), encoding="utf-8")
        result = CliRunner().invoke(app, ["report", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
        assert result.exit_code == 2
        assert "edition differs (a: sim; b: release)" in result.output
        assert "Traceback" not in result.output
