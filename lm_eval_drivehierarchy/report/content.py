"""What the report says: an analysis put into sections, each caveat where it applies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.comparability import like_paper
from lm_eval_drivehierarchy.paper import rank_scores
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES
from lm_eval_drivehierarchy.report import figures
from lm_eval_drivehierarchy.report.analysis import Analysis, ClosedLoopAnalysis, ModelAnalysis, Pair
from lm_eval_drivehierarchy.report.document import Block, Cell, Document, Mark, Note, Picture, Section, Text, table
from lm_eval_drivehierarchy.report.figures import Band, Point, Profile
from lm_eval_drivehierarchy.results import RuleScore, TaskResult
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.paired import Comparison
from lm_eval_drivehierarchy.targets import CONTROLS, THRESHOLD
from lm_eval_drivehierarchy.tasks import RANKS, TASKS, TASKS_BY_ID

MODELS_A_FIGURE = 4
CONVENTIONS = {"pixels": "pixels (scored)", "fractions": "0-1", "thousandths": "0-1000"}
"""Coordinate conventions of a box, as keys of `TaskResult.boxes`, with their column heads."""
SUSPECT_GAIN = 10.0
"""IoU points that another convention must gain before the report suspects one."""
EMPTY = Cell("", mark="missing")


def report(analysis: Analysis, title: str = "DriveHierarchy report") -> Document:
    """The page about the models of `analysis`."""
    sections = [Section(name, tuple(blocks)) for name, build in SECTIONS.items() if (blocks := list(build(analysis)))]
    count = len(analysis.models)
    lead = f"{count} measured model{'s' if count != 1 else ''}"
    if analysis.published:
        lead += f", beside the {len(analysis.published)} of the paper (arXiv:2609.31814)"
    lead += f". Profiles and comparisons use the parsing rule {analysis.rule}; 95 % intervals resample whole scenes."
    return Document(title, lead, tuple(sections))


# --- sections --------------------------------------------------------------------------------------------------------


def _overview(analysis: Analysis) -> Iterator[Block]:
    rows = []
    for model in analysis.models:
        open_loop = model.open_loop.get(analysis.rule)
        cells = [Cell(model.result.model)]
        for rule in PARSE_RULES:
            found = model.open_loop.get(rule)
            cells.append(_estimate(found.open) if found else EMPTY)
        cells += [_estimate(open_loop.ranks[rank]) if open_loop else EMPTY for rank in RANKS]
        cells.append(_estimate(model.closed_loop.estimates.overall) if model.closed_loop else EMPTY)
        cells.append(Cell(f"{len(model.result.tasks)} of {len(TASKS)}", len(model.result.tasks)))
        cells.append(Cell(model.result.edition or ""))
        rows.append(cells)
    columns = (
        "model",
        *(f"S_open, {rule}" for rule in PARSE_RULES),
        *(f"R{r}" for r in RANKS),
        "R4",
        "tasks",
        "edition",
    )
    yield table("overview", f"Scores 0-100 with 95 % intervals; ranks under the rule {analysis.rule}", columns, rows)
    for model in analysis.models:
        yield Text(_summary(model, analysis))
    yield Note(caveats.OPEN_SCORE)
    yield Note(caveats.HIERARCHY)
    yield Note(caveats.DATA)
    for warning in analysis.warnings:
        yield Note(warning, warning=True)


def _profile(analysis: Analysis) -> Iterator[Block]:
    able = [model for model in analysis.models if analysis.rule in model.open_loop]
    band = _band(analysis)
    labels = {task.id: f"{_code(task.id)} {task.title}" for task in TASKS}
    wrapped = {task.id: f"{_code(task.id)}\n{task.title}" for task in TASKS}
    for number, part in enumerate(_chunks(able, MODELS_A_FIGURE), start=1):
        names = ", ".join(model.result.model for model in part)
        profiles = [Profile(model.result.model, model.open_loop[analysis.rule].tasks) for model in part]
        behind = " The grey band spans the paper's 15 models under the rule official." if band else ""
        spoken = "; ".join(f"{p.name}: {_spoken(p)}" for p in profiles)
        yield Picture(
            f"profile-{number}",
            f"Capability profile of {names}.{behind} A gap is a task without a score.",
            f"Radar chart of task scores. {spoken}",
            figures.png(figures.radar(profiles, wrapped, band)),
        )
        yield Picture(
            f"tasks-{number}",
            f"Task scores of {names} with 95 % intervals.{behind}",
            f"Bar chart of task scores. {spoken}",
            figures.png(figures.bars(profiles, labels, band)),
        )
    if able and band and not all(like_paper(model.result) for model in able):
        yield Note(_other_edition(analysis))


def _tasks(analysis: Analysis) -> Iterator[Block]:
    for model in analysis.models:
        if not model.result.tasks:
            continue
        rows = [_task_row(model, task.id) for task in TASKS]
        columns = ("task", "what", "n", *PARSE_RULES, *(f"no answer, {rule}" for rule in PARSE_RULES), "as asked")
        yield table(
            f"tasks-{_slug(model.result.model)}",
            f"{model.result.model}: score under both parsing rules, replies without an answer, and replies in exactly "
            "the form asked for",
            columns,
            rows,
            text_columns=2,
        )
        yield from _gap_between_rules(model)
    if any(model.result.tasks for model in analysis.models):
        yield Note(caveats.PARSING)
        yield Note(caveats.REASONING)
    if any("r1_4" in model.result.tasks for model in analysis.models):
        yield Note(caveats.JUDGE)


def _task_row(model: ModelAnalysis, task: str) -> list[Cell]:
    result = model.result.tasks.get(task)
    cells = [Cell(_code(task)), Cell(TASKS_BY_ID[task].title)]
    if result is None:
        return [*cells, Cell("not scored", mark="missing"), *[EMPTY] * (2 * len(PARSE_RULES) + 1)]
    cells.append(_count(result))
    for rule in PARSE_RULES:
        found = model.open_loop.get(rule)
        cells.append(_estimate(found.tasks[task]) if found and task in found.tasks else EMPTY)
    scores = [result.rules.get(rule) for rule in PARSE_RULES]
    cells += [_share(score.parse_fail if score else None, 0.05) for score in scores]
    cells.append(_share(_strict(scores)))
    return cells


def _gap_between_rules(model: ModelAnalysis) -> Iterator[Block]:
    both = [model.result.scores(rule) for rule in PARSE_RULES]
    wide = [
        f"{_code(task)} ({both[0][task]:.1f} and {both[1][task]:.1f})"
        for task in both[0]
        if task in both[1] and abs(both[0][task] - both[1][task]) >= 5
    ]
    if wide:
        yield Text(
            f"For {model.result.model} the rules differ by five points or more on {', '.join(wide)}: there the score "
            "depends on the form of the replies, not only on what they say."
        )


def _ranks(analysis: Analysis) -> Iterator[Block]:
    rows = []
    for model in analysis.models:
        for rule, found in model.open_loop.items():
            rows.append(
                [Cell(model.result.model), Cell(rule)]
                + [_estimate(found.ranks[rank]) for rank in RANKS]
                + [_estimate(found.open)]
            )
    if rows:
        yield table(
            "ranks",
            "Rank scores (plain mean of a rank's tasks, Eq. 14) and S_open (weighted sum, Eq. 15)",
            ("model", "rule", *(f"R{rank}" for rank in RANKS), "S_open"),
            rows,
            text_columns=2,
        )
        for model in analysis.models:
            for rule, found in model.open_loop.items():
                reasons = [
                    f"R{rank} {estimate.reason}" for rank, estimate in found.ranks.items() if estimate.value is None
                ]
                if reasons:
                    yield Note(f"{model.result.model}, {rule}: {'; '.join(reasons)}.", warning=True)


def _boxes(analysis: Analysis) -> Iterator[Block]:
    able = [(model, found) for model in analysis.models if (found := _box_scores(model))]
    if not able:
        return
    rows = []
    for model, found in able:
        scored = found.get("pixels", 0.0)
        rows.append(
            [Cell(model.result.model)]
            + [
                Cell(f"{found[key]:.1f}", found[key], "weak" if found[key] >= scored + SUSPECT_GAIN else None)
                if key in found
                else EMPTY
                for key in CONVENTIONS
            ]
        )
    yield table(
        "boxes",
        "R1-3 localisation: mean 100 IoU of the same replies under each declared coordinate convention",
        ("model", *CONVENTIONS.values()),
        rows,
    )
    for model, found in able:
        scored = found.get("pixels", 0.0)
        other = {key: value for key, value in found.items() if key != "pixels"}
        if other and max(other.values()) >= scored + SUSPECT_GAIN:
            key = max(other, key=other.__getitem__)
            yield Text(
                f"{model.result.model} scores {other[key]:.1f} when its boxes are read as {CONVENTIONS[key]} and "
                f"{scored:.1f} in pixels: the localisation score shows its coordinate convention."
            )
    yield Note(caveats.BOXES)


def _differences(analysis: Analysis) -> Iterator[Block]:
    if not analysis.pairs:
        return
    rows = []
    for pair in analysis.pairs:
        tasks = [comparison for name, comparison in pair.results.items() if name in TASKS_BY_ID]
        total, driven = pair.results.get("open"), pair.results.get("R4")
        verdicts = [comparison.verdict for comparison in tasks]
        rows.append(
            [
                Cell(f"{pair.second} against {pair.first}"),
                _verdict(total) if total else Cell("S_open incomplete", mark="missing"),
                *([_difference(total), _p_value(total)] if total else [EMPTY, EMPTY]),
                *(Cell(str(verdicts.count(kind)), verdicts.count(kind)) for kind in ("better", "worse", "tie")),
                Cell(str(pair.common), pair.common),
                _difference(driven) if driven else EMPTY,
                Cell(driven.verdict) if driven else EMPTY,
            ]
        )
    yield table(
        "differences",
        "Paired comparison on common items: S_open, and in how many tasks the first named is better, worse or tied",
        (
            "models",
            "S_open",
            "difference",
            "p",
            "better",
            "worse",
            "tied",
            "common items",
            "R4 difference",
            "R4 verdict",
        ),
        rows,
        text_columns=2,
    )
    for pair in analysis.pairs:
        yield _pair_table(pair)
    yield Note(caveats.TIES)


def _pair_table(pair: Pair) -> Block:
    rows = [
        [
            Cell(_score_name(name)),
            _verdict(comparison),
            _difference(comparison),
            _p_value(comparison),
            Cell(f"{comparison.p_adjusted:.3f}", comparison.p_adjusted),
            Cell(str(comparison.difference.n), comparison.difference.n),
        ]
        for name, comparison in pair.results.items()
    ]
    dropped = f"; {pair.left_out} items that only one of them answered are left out" if pair.left_out else ""
    return table(
        f"difference-{_slug(pair.second)}-{_slug(pair.first)}",
        f"{pair.second} minus {pair.first}{dropped}",
        ("score", "verdict", "difference", "p", "p, Holm", "items"),
        rows,
        text_columns=2,
    )


def _paper(analysis: Analysis) -> Iterator[Block]:
    if not analysis.published:
        return
    published = {model.model: model.scores("official") for model in analysis.published}
    plain = rank_scores(published, weighted=False)
    entries: list[tuple[float, list[Cell]]] = []
    for index, model in enumerate(analysis.published):
        printed = model.published
        assert printed is not None
        entries.append(
            (
                printed.open,
                [Cell(model.model), Cell("paper"), Cell(f"{printed.open:.2f}", printed.open)]
                + [Cell(f"{plain[rank][index]:.1f}", plain[rank][index]) for rank in RANKS]
                + [Cell(f"{printed.r4:.3f}", printed.r4)],
            )
        )
    for measured in analysis.models:
        found = measured.open_loop.get("official")
        if found is None:
            continue
        closed = measured.closed_loop
        entries.append(
            (
                found.open.value if found.open.value is not None else -1.0,
                [Cell(measured.result.model, mark="weak"), Cell("measured"), _estimate(found.open)]
                + [_estimate(found.ranks[rank]) for rank in RANKS]
                + [_estimate(closed.estimates.overall) if closed else EMPTY],
            )
        )
    entries.sort(key=lambda entry: -entry[0])
    yield table(
        "paper",
        "S_open and rank means under the rule official, by S_open; S_open and R4 as printed for the paper's models",
        ("model", "source", "S_open", *(f"R{rank}" for rank in RANKS), "R4"),
        [row for _, row in entries],
        text_columns=2,
    )
    for measured in analysis.models:
        place = measured.place
        if place is not None:
            tied = f"cannot be told from {', '.join(place.tied)}" if place.tied else "is told apart from all of them"
            yield Text(
                f"{measured.result.model}: {len(place.above)} of the paper's models are above it, {len(place.below)} "
                f"below, and it {tied}."
            )
    if not all(like_paper(model.result) for model in analysis.models if model.result.tasks):
        yield Note(_other_edition(analysis))
    yield Note(caveats.PUBLISHED)


def _closed_loop(analysis: Analysis) -> Iterator[Block]:
    able = [model for model in analysis.models if model.closed_loop is not None]
    if not able:
        return
    for number, part in enumerate(_chunks(able, MODELS_A_FIGURE), start=1):
        families = dict.fromkeys(row.family for model in part if model.closed_loop for row in model.closed_loop.rows)
        profiles = [
            Profile(model.result.model, model.closed_loop.estimates.families) for model in part if model.closed_loop
        ]
        yield Picture(
            f"families-{number}",
            "R4 score by scenario family with 95 % intervals over scenarios",
            "Bar chart of R4 scores by family. " + "; ".join(f"{p.name}: {_spoken(p)}" for p in profiles),
            figures.png(figures.bars(profiles, {name: _family(name) for name in families}, unit="R4 score")),
        )
    for model in able:
        closed = model.closed_loop
        assert closed is not None
        yield _family_table(model, closed)
        yield _endings_table(model, closed)
        yield Text(_closed_loop_summary(model, closed))
    yield Note(caveats.PRODUCT)
    yield Note(caveats.CLOSED_LOOP)
    if any(m.closed_loop and m.closed_loop.estimates.repeat_sd is None for m in able):
        yield Note(caveats.SINGLE_RUN)


def _family_table(model: ModelAnalysis, closed: ClosedLoopAnalysis) -> Block:
    rows = [
        [
            Cell(_family(row.family)),
            Cell(str(row.scenarios), row.scenarios),
            _estimate(row.score),
            Cell(f"{row.route:.1f}", row.route),
            Cell(f"{row.safety:.3f}", row.safety),
            Cell(f"{row.efficiency:.3f}", row.efficiency),
        ]
        for row in closed.rows
    ]
    overall = closed.estimates.overall
    means = [float(np.mean([getattr(row, part) for row in closed.rows])) for part in ("route", "safety", "efficiency")]
    rows.append(
        [
            Cell("all families"),
            Cell(str(overall.clusters), overall.clusters),
            _estimate(overall),
            Cell(f"{means[0]:.1f}", means[0]),
            Cell(f"{means[1]:.3f}", means[1]),
            Cell(f"{means[2]:.3f}", means[2]),
        ]
    )
    return table(
        f"r4-{_slug(model.result.model)}",
        f"{model.result.model}: R4 by family; the score of a run is route x safety x efficiency, so means of the parts "
        "do not multiply to the mean score",
        ("family", "scenarios", "score", "route", "safety", "efficiency"),
        rows,
    )


def _endings_table(model: ModelAnalysis, closed: ClosedLoopAnalysis) -> Block:
    total = closed.estimates.overall.n
    rows = [
        [Cell(kind), Cell(name.replace("_", " ")), Cell(str(count), count), Cell(f"{100 * count / total:.0f} %", count)]
        for kind, found in (("ended by", closed.terminations), ("event", closed.events))
        for name, count in found.items()
    ]
    return table(
        f"r4-endings-{_slug(model.result.model)}",
        f"{model.result.model}: how its {total} runs ended, and in how many each event occurred",
        ("", "what", "runs", "share"),
        rows,
        text_columns=2,
    )


def _closed_loop_summary(model: ModelAnalysis, closed: ClosedLoopAnalysis) -> str:
    run = model.result.closed_loop
    assert run is not None
    parts = [
        f"{model.result.model}: R4 {closed.estimates.overall.format(2)} over {closed.estimates.overall.clusters} "
        f"scenarios ({len(run.episodes)} of {run.planned} planned runs have a result)"
    ]
    repeats = closed.estimates.overall_repeats
    if closed.estimates.repeat_sd is not None:
        parts.append(
            f"repeats of one scenario differ by a standard deviation of {closed.estimates.repeat_sd:.2f}; over repeats "
            f"of these scenarios the score is {repeats.format(2)}"
        )
    if closed.decisions:
        parts.append(
            f"{closed.faults} of {closed.decisions} decisions ({100 * closed.faults / closed.decisions:.1f} %) had no "
            "usable answer, so the last control was kept"
        )
    if run.void:
        void = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in run.void.items())
        parts.append(f"void attempts left out: {void}")
    return "; ".join(parts) + "."


def _open_closed(analysis: Analysis) -> Iterator[Block]:
    points = [
        Point(
            model.model,
            Estimate(model.published.open, reason="published"),
            Estimate(model.published.r4, reason="published"),
            reference=True,
        )
        for model in analysis.published
        if model.published is not None
    ]
    for model in analysis.models:
        found = model.open_loop.get(analysis.reference_rule)
        if found and model.closed_loop and found.open.value is not None:
            points.append(Point(model.result.model, found.open, model.closed_loop.estimates.overall, reference=False))
    if len(points) >= 3:
        spoken = "; ".join(f"{p.name} {p.open.format()}, {p.closed.format()}" for p in points)
        yield Picture(
            "open-closed",
            "Open-loop score against R4. Grey: the paper's models on the paper's own data and scenarios.",
            f"Scatter plot of S_open and R4: {spoken}",
            figures.png(figures.scatter(points)),
        )
        yield Note(caveats.SCALES)
    found_correlations = analysis.correlations
    if found_correlations is None:
        return
    names = {"R1": "R1", "R2": "R2", "R3": "R3"}
    if any(found_correlations.ranks[name, "R4"].value is not None for name in names):
        names["R4"] = "R4"
    size = len(found_correlations.pool)
    yield Picture(
        "rank-correlations",
        f"Spearman correlations of rank scores over {size} models, with 95 % intervals. A rank's score is the weighted "
        "sum of its tasks, as in the paper.",
        "Heat map: " + _spoken_correlations(found_correlations.ranks, list(names)),
        figures.png(figures.heat_map(found_correlations.ranks, names, f"Ranks, {size} models")),
    )
    yield Picture(
        "task-correlations",
        f"Spearman correlations of task scores over {size} models",
        "Heat map: " + _spoken_correlations(found_correlations.tasks, [task.id for task in TASKS]),
        figures.png(
            figures.heat_map(
                found_correlations.tasks,
                {task.id: f"{_code(task.id)} {task.title}" for task in TASKS},
                f"Tasks, {size} models",
            )
        ),
    )
    between = found_correlations.open_closed
    if between.value is not None:
        yield Text(f"S_open and R4: Spearman's rho {between.format(3)}, n = {between.n}.")
    rows = []
    for i, first in enumerate(names):
        for second in list(names)[i + 1 :]:
            estimate = found_correlations.ranks[first, second]
            rows.append([Cell(f"{first} and {second}"), _estimate(estimate, 3), Cell(str(estimate.n), estimate.n)])
    yield table("rank-correlations", "Rank correlations with 95 % intervals", ("ranks", "rho", "n"), rows)
    yield Note(caveats.CORRELATION)


def _targets(analysis: Analysis) -> Iterator[Block]:
    able = [model for model in analysis.models if model.deficits]
    for model in able:
        rows = [
            [
                Cell(_code(task)),
                Cell(TASKS_BY_ID[task].title),
                Cell(f"{deficit.score:.1f}", deficit.score),
                Cell(f"{deficit.best.score:.1f}", deficit.best.score),
                Cell(deficit.best.model),
                Cell(
                    "undefined" if deficit.relative is None else f"{100 * deficit.relative:+.0f} %",
                    deficit.relative,
                    "weak" if task in model.targets else None,
                ),
            ]
            for task, deficit in model.deficits.items()
        ]
        yield table(
            f"deficits-{_slug(model.result.model)}",
            f"{model.result.model}: relative deficit against the best known result, (score - best) / best, under the "
            f"rule {analysis.reference_rule}; a target at {100 * THRESHOLD:.0f} % or below",
            ("task", "what", "score", "best known", "by", "deficit"),
            rows,
            text_columns=2,
        )
        if model.targets:
            groups = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in model.target_groups.items())
            yield Text(f"Target groups of {model.result.model}: {groups}.")
        else:
            yield Text(f"{model.result.model} has no task {-100 * THRESHOLD:.0f} % or more behind the best known.")
        for deficit in model.deficits.values():
            if deficit.caveat:
                yield Note(f"{model.result.model}, {_code(deficit.task)}: {deficit.caveat}.", warning=True)
    if any(model.targets for model in able):
        yield Note("Controls for a training study: " + "; ".join(CONTROLS) + ".")
        yield Note(caveats.TRANSFER)
    elif not able and any(model.result.tasks for model in analysis.models):
        yield Text("No deficits: no other model's result on the same edition is known to compare with.")


def _power(analysis: Analysis) -> Iterator[Block]:
    rows = []
    for model in analysis.models:
        for task in TASKS:
            power = model.power.get(task.id)
            if power is not None:
                rows.append(
                    [
                        Cell(model.result.model),
                        Cell(_code(task.id)),
                        Cell(str(power.n), power.n),
                        Cell(f"{power.design_effect:.2f}", power.design_effect),
                        Cell(f"{power.detectable:.1f}", power.detectable),
                        Cell(f"{power.items_for_one_point:,}", power.items_for_one_point),
                    ]
                )
    if rows:
        yield table(
            "power",
            "Smallest difference between two models that these items show (80 % power, 5 % level), and items needed "
            "for one point, if the two models' errors are unrelated; paired errors need fewer",
            ("model", "task", "items", "design effect", "detectable difference", "items for 1 point"),
            rows,
            text_columns=2,
        )


def _provenance(analysis: Analysis) -> Iterator[Block]:
    facts = []
    for model in analysis.models:
        result = model.result
        entries = {"edition": result.edition, "edition hash": result.edition_hash}
        entries |= {f"setting {key}": str(value) for key, value in sorted(result.protocol.items())}
        entries |= {f"version of {key}": value for key, value in sorted(result.versions.items())}
        run = result.closed_loop
        if run is not None:
            entries |= {"R4 suite": run.suite, "R4 suite hash": run.suite_hash, "R4 evaluator": run.evaluator}
            entries |= {f"R4 setting {key}": str(value) for key, value in sorted(run.settings.items())}
        facts += [[Cell(result.model), Cell(key), Cell(value)] for key, value in entries.items() if value is not None]
    if facts:
        yield table("settings", "What was run", ("model", "what", "value"), facts, text_columns=3)
    files = [
        [Cell(model.result.model), Cell(record.path), Cell(record.sha256[:16])]
        for model in analysis.models
        for record in model.result.files
    ]
    if files:
        yield table(
            "files", "Files that the numbers come from, with the start of their SHA-256", ("model", "file", "SHA-256"),
            files, text_columns=3,
        )  # fmt: skip


SECTIONS: dict[str, Callable[[Analysis], Iterator[Block]]] = {
    "Overview": _overview,
    "Capability profile": _profile,
    "Tasks": _tasks,
    "Ranks": _ranks,
    "Coordinate conventions": _boxes,
    "Differences between models": _differences,
    "Beside the paper's models": _paper,
    "Closed loop (R4)": _closed_loop,
    "Open loop against closed loop": _open_closed,
    "Weak tasks and targets": _targets,
    "What the items can show": _power,
    "Provenance": _provenance,
}
"""Title -> builder, in the order of the page; a section without content is left out."""


# --- words and cells -------------------------------------------------------------------------------------------------


def _summary(model: ModelAnalysis, analysis: Analysis) -> str:
    found = model.open_loop.get(analysis.rule)
    parts = []
    if found is not None:
        parts.append(f"S_open {found.open.format()}" if found.open.value is not None else f"S_open {found.open.reason}")
        ordered = sorted(found.tasks, key=lambda task: -(found.tasks[task].value or 0.0))
        if len(ordered) > 3:
            parts.append(
                f"highest on {_code(ordered[0])} ({found.tasks[ordered[0]].value:.1f}), lowest on "
                f"{_code(ordered[-1])} ({found.tasks[ordered[-1]].value:.1f})"
            )
    if model.targets:
        parts.append(f"furthest behind the best known on {', '.join(_code(task) for task in model.targets)}")
    if model.closed_loop is not None:
        parts.append(f"R4 {model.closed_loop.estimates.overall.format()}")
    return f"{model.result.model}: " + ("; ".join(parts) or "no scores") + "."


def _band(analysis: Analysis) -> Band | None:
    if not analysis.published:
        return None
    rows = [model.scores("official") for model in analysis.published]
    ranges = {}
    for task in TASKS:
        values = [row[task.id] for row in rows]
        ranges[task.id] = (min(values), float(np.median(values)), max(values))
    return Band("the paper's 15 models", ranges)


def _other_edition(analysis: Analysis) -> str:
    editions = sorted({m.result.edition or "unknown" for m in analysis.models if not like_paper(m.result)})
    return caveats.OTHER_EDITION.format(edition=", ".join(editions))


def _estimate(estimate: Estimate, decimals: int = 1) -> Cell:
    if estimate.value is None:
        return Cell(estimate.format(), mark="missing")
    return Cell(estimate.format(decimals), estimate.value)


def _difference(comparison: Comparison) -> Cell:
    estimate = comparison.difference
    if estimate.value is None:
        return EMPTY
    text = f"{estimate.value:+.1f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{estimate.low:+.1f}, {estimate.high:+.1f}]"
    return Cell(text, estimate.value)


def _verdict(comparison: Comparison) -> Cell:
    marks: dict[str, Mark | None] = {"better": "good", "worse": "bad", "tie": None}
    return Cell(comparison.verdict, mark=marks[comparison.verdict])


def _p_value(comparison: Comparison) -> Cell:
    return Cell(f"{comparison.p_value:.4f}", comparison.p_value)


def _count(result: TaskResult) -> Cell:
    if result.n is None:
        return EMPTY
    if result.partial:
        return Cell(f"{result.n} of {result.expected}", result.n, "missing")
    return Cell(str(result.n), result.n)


def _share(share: float | None, worrying: float | None = None) -> Cell:
    if share is None:
        return EMPTY
    return Cell(f"{100 * share:.1f} %", share, "bad" if worrying is not None and share > worrying else None)


def _strict(scores: Sequence[RuleScore | None]) -> float | None:
    return next((score.strict for score in reversed(scores) if score is not None and score.strict is not None), None)


def _box_scores(model: ModelAnalysis) -> dict[str, float] | None:
    task = model.result.tasks.get("r1_3")
    return dict(task.boxes) if task is not None and task.boxes else None


def _spoken(profile: Profile) -> str:
    return ", ".join(f"{name} {e.value:.1f}" for name, e in profile.values.items() if e.value is not None)


def _spoken_correlations(found: dict[tuple[str, str], Estimate], names: Sequence[str]) -> str:
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    values = [(a, b, found[a, b].value) for a, b in pairs]
    return ", ".join(f"{a} and {b} {value:.2f}" for a, b, value in values if value is not None)


def _code(task: str) -> str:
    return task.upper().replace("_", "-")


def _score_name(name: str) -> str:
    """Name of a comparison: a task, a rank, S_open, or an R4 family."""
    return _code(name) if name in TASKS_BY_ID else "S_open" if name == "open" else _family(name)


def _family(name: str) -> str:
    return name.replace("_", " ")


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def _chunks(models: Sequence[ModelAnalysis], size: int) -> Iterator[Sequence[ModelAnalysis]]:
    for start in range(0, len(models), size):
        yield models[start : start + size]
