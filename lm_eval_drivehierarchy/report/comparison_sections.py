"""Sections that put models side by side: paired differences, the paper's models, open loop against closed loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.comparability import like_paper
from lm_eval_drivehierarchy.paper import rank_scores
from lm_eval_drivehierarchy.report import figures
from lm_eval_drivehierarchy.report.analysis import Analysis, Correlations, Pair
from lm_eval_drivehierarchy.report.cells import (
    EMPTY,
    closed_loop_cell,
    difference_cell,
    estimate_cell,
    other_edition,
    other_suite,
    p_value_cell,
    score_name,
    task_code,
    verdict_cell,
)
from lm_eval_drivehierarchy.report.document import Block, Cell, Note, Picture, Text, slug, table
from lm_eval_drivehierarchy.report.figures import Point
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.paired import Verdict
from lm_eval_drivehierarchy.tasks import RANKS, TASKS, TASKS_BY_ID
from lm_eval_drivehierarchy.wording import agreeing, counted

VERDICTS: tuple[Verdict, ...] = ("better", "worse", "tie", "undecided")
MOST_NAMED = 6
"""Models of a pool that a caption names; of a larger pool it gives the number."""


def differences(analysis: Analysis) -> Iterator[Block]:
    """Paired tests between the models."""
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
                verdict_cell(total) if total else Cell("S_open incomplete", mark="missing"),
                *([difference_cell(total), p_value_cell(total.p_value)] if total else [EMPTY, EMPTY]),
                *(Cell(str(verdicts.count(kind)), verdicts.count(kind)) for kind in VERDICTS),
                Cell(str(pair.common), pair.common),
                difference_cell(driven) if driven else EMPTY,
                verdict_cell(driven) if driven else EMPTY,
            ]
        )
    yield table(
        "differences",
        "Paired comparison on common items: S_open, and in how many tasks the first named is better, worse, tied, or "
        "the items are too few to decide",
        (
            "models",
            "S_open",
            "difference",
            "p",
            "better",
            "worse",
            "tied",
            "undecided",
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
            Cell(score_name(name)),
            verdict_cell(comparison),
            difference_cell(comparison),
            p_value_cell(comparison.p_value),
            p_value_cell(comparison.p_adjusted),
            Cell(str(comparison.difference.n), comparison.difference.n),
        ]
        for name, comparison in pair.results.items()
    ]
    dropped = f"; {counted(pair.left_out, 'item')} that only one of them answered left out" if pair.left_out else ""
    if pair.scenarios_left_out:
        apart = "uncompared, as the runs were not one test or share none"
        why = "that only one of them drove" if pair.scenarios else apart
        dropped += f"; R4: {counted(pair.scenarios_left_out, 'scenario')} {why}"
    return table(
        f"difference-{slug(pair.second)}-{slug(pair.first)}",
        f"{pair.second} minus {pair.first}{dropped}",
        ("score", "verdict", "difference", "p", "p, Holm", "items"),
        rows,
        text_columns=2,
    )


def beside_paper(analysis: Analysis) -> Iterator[Block]:
    """The models among the paper's fifteen."""
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
        entries.append(
            (
                found.open.value if found.open.value is not None else -1.0,
                [Cell(measured.result.model, mark="weak"), Cell("measured"), estimate_cell(found.open)]
                + [estimate_cell(found.ranks[rank]) for rank in RANKS]
                + [closed_loop_cell(measured)],
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
                f"{measured.result.model}: of the paper's models, {len(place.above)} above it and {len(place.below)} "
                f"below; it {tied}."
            )
    if not all(like_paper(model.result) for model in analysis.models if model.result.tasks):
        yield Note(other_edition(analysis))
    if (suite := other_suite(analysis)) is not None:
        yield Note(suite)
    yield Note(caveats.PUBLISHED)


def open_against_closed(analysis: Analysis) -> Iterator[Block]:
    """Scatter of S_open and R4, and the rank correlations of tasks and ranks."""
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
        run = model.result.closed_loop
        if found and model.closed_loop and run and run.whole and found.open.value is not None:
            points.append(Point(model.result.model, found.open, model.closed_loop.estimates.overall, reference=False))
    if len(points) >= 3:
        values = "; ".join(f"{p.name} {p.open.format()}, {p.closed.format()}" for p in points)
        yield Picture(
            "open-closed",
            "Open-loop score against R4. Grey: the paper's models on the paper's own data and scenarios.",
            f"Scatter plot of S_open and R4: {values}",
            figures.png(figures.scatter(points)),
        )
        shown = {point.name for point in points}
        absent = [m.result.model for m in analysis.models if m.result.model not in shown]
        if absent:
            yield Text(
                "Not in the figure, for want of a complete S_open or of R4 on a whole, known suite: "
                f"{', '.join(absent)}."
            )
        yield Note(caveats.SCALES)
        if analysis.published and (suite := other_suite(analysis)) is not None:
            yield Note(suite)
    published = {model.model for model in analysis.published}
    if analysis.correlations is not None:
        alone = set(analysis.correlations.pool) == published
        size = len(analysis.correlations.pool)
        pool = f"the paper's {size} models alone, none of them measured here" if alone else counted(size, "model")
        yield from _correlated(analysis.correlations, pool, "")
        if alone:
            yield Note(_why_alone(analysis))
    if analysis.measured_correlations is not None:
        names = analysis.measured_correlations.pool
        members = f" ({', '.join(names)})" if len(names) <= MOST_NAMED else ""
        yield from _correlated(
            analysis.measured_correlations, f"{counted(len(names), 'measured model')}{members}", "-measured"
        )
    if analysis.correlations is not None or analysis.measured_correlations is not None:
        yield Note(caveats.CORRELATION)


def _why_alone(analysis: Analysis) -> str:
    """What keeps the measured models out of the correlations over the paper's, and out of correlations of their own."""
    measured = [model.result for model in analysis.models if model.result.tasks]
    other = [model for model in measured if not like_paper(model)]
    complete = [model for model in measured if len(model.scores(analysis.reference_rule)) == len(TASKS)]
    why = "no measured model has a score on every task"
    if other:
        edition = ", ".join(sorted({model.edition or "unknown" for model in other}))
        why = f"the measured models answered other questions (edition {edition})"
    text = f"Correlations over the paper's models say nothing about the measured ones: {why}."
    if other and analysis.measured_correlations is None:
        text += (
            f" Correlations of their own need three models with a score on every task; there "
            f"{agreeing(len(complete), 'is', 'are')} {counted(len(complete), 'such model')}."
        )
    return text


def _correlated(found: Correlations, pool: str, suffix: str) -> Iterator[Block]:
    """Figures and table of the correlations over the models that `pool` names; `suffix` tells their ids apart."""
    names = {"R1": "R1", "R2": "R2", "R3": "R3"}
    if any(found.ranks[name, "R4"].value is not None for name in names):
        names["R4"] = "R4"
    size = counted(len(found.pool), "model")
    bounded = any(estimate.low is not None for estimate in found.ranks.values())
    intervals = ", with 95 % intervals" if bounded else "; so few models allow no intervals"
    yield Picture(
        f"rank-correlations{suffix}",
        f"Spearman correlations of rank scores over {pool}{intervals}. A rank's score is the weighted sum of its "
        "tasks, as in the paper.",
        "Heat map: " + _spoken_correlations(found.ranks, list(names)),
        figures.png(figures.heat_map(found.ranks, names, f"Ranks, {size}")),
    )
    yield Picture(
        f"task-correlations{suffix}",
        f"Spearman correlations of task scores over {pool}",
        "Heat map: " + _spoken_correlations(found.tasks, [task.id for task in TASKS]),
        figures.png(
            figures.heat_map(
                found.tasks, {task.id: f"{task_code(task.id)} {task.title}" for task in TASKS}, f"Tasks, {size}"
            )
        ),
    )
    between = found.open_closed
    if between.value is not None:
        yield Text(f"S_open and R4 over {pool}: Spearman's rho {between.format(3)}, n = {between.n}.")
    rows = []
    for i, first in enumerate(names):
        for second in list(names)[i + 1 :]:
            estimate = found.ranks[first, second]
            rows.append([Cell(f"{first} and {second}"), estimate_cell(estimate, 3), Cell(str(estimate.n), estimate.n)])
    yield table(f"rank-correlations{suffix}", f"Rank correlations over {pool}{intervals}", ("ranks", "rho", "n"), rows)


def _spoken_correlations(found: dict[tuple[str, str], Estimate], names: Sequence[str]) -> str:
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    values = [(a, b, found[a, b].value) for a, b in pairs]
    return ", ".join(f"{a} and {b} {value:.2f}" for a, b, value in values if value is not None)
