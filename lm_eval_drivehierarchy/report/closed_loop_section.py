"""The section on R4: families, parts of the score, how runs ended, and what varied between repeats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.report import figures
from lm_eval_drivehierarchy.report.analysis import Analysis, ClosedLoopAnalysis, ModelAnalysis
from lm_eval_drivehierarchy.report.cells import (
    MODELS_A_FIGURE,
    chunks,
    estimate_cell,
    family_name,
    spoken,
)
from lm_eval_drivehierarchy.report.document import Block, Cell, Note, Picture, Text, slug, table
from lm_eval_drivehierarchy.report.figures import Profile
from lm_eval_drivehierarchy.wording import agreeing, counted

FEWEST_SCENARIOS = 8
"""Scenarios from which on a family's interval is drawn in the figure; the statistics call fewer too few to resample."""


def closed_loop(analysis: Analysis) -> Iterator[Block]:
    """R4 by family with its parts, endings, events, faults, void and missing runs."""
    able = [model for model in analysis.models if model.closed_loop is not None]
    if not able:
        return
    for number, part in enumerate(chunks(able, MODELS_A_FIGURE), start=1):
        families = dict.fromkeys(row.family for model in part if model.closed_loop for row in model.closed_loop.rows)
        profiles = [
            Profile(model.result.model, model.closed_loop.estimates.families, _scenarios(model))
            for model in part
            if model.closed_loop
        ]
        yield Picture(
            f"families-{number}",
            f"R4 score by scenario family, with 95 % intervals over scenarios from {FEWEST_SCENARIOS} of them on; with "
            "fewer, each is a mark of its own (intervals are in the tables)",
            "Bar chart of R4 scores by family. " + "; ".join(f"{p.name}: {spoken(p)}" for p in profiles),
            figures.png(figures.bars(profiles, {name: family_name(name) for name in families}, unit="R4 score")),
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


def _scenarios(model: ModelAnalysis) -> dict[str, list[float]]:
    """Family -> score of each of its scenarios, repeats averaged, for families too small for a telling interval."""
    run = model.result.closed_loop
    assert run is not None
    scores: dict[str, dict[str, list[float]]] = {}
    for episode in run.episodes:
        scores.setdefault(episode.family, {}).setdefault(episode.scenario, []).append(episode.score)
    return {
        family: [float(np.mean(repeats)) for repeats in scenarios.values()]
        for family, scenarios in scores.items()
        if len(scenarios) < FEWEST_SCENARIOS
    }


def _family_table(model: ModelAnalysis, closed: ClosedLoopAnalysis) -> Block:
    rows = [
        [
            Cell(family_name(row.family)),
            Cell(str(row.scenarios), row.scenarios),
            estimate_cell(row.score),
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
            estimate_cell(overall),
            Cell(f"{means[0]:.1f}", means[0]),
            Cell(f"{means[1]:.3f}", means[1]),
            Cell(f"{means[2]:.3f}", means[2]),
        ]
    )
    return table(
        f"r4-{slug(model.result.model)}",
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
        f"r4-endings-{slug(model.result.model)}",
        f"{model.result.model}: how its {counted(total, 'run')} ended, and in how many each event occurred",
        ("", "what", "runs", "share"),
        rows,
        text_columns=2,
    )


def _closed_loop_summary(model: ModelAnalysis, closed: ClosedLoopAnalysis) -> str:
    run = model.result.closed_loop
    assert run is not None
    whole = f" of the suite's {len(run.suite_scenarios)}" if run.uncovered and run.suite_scenarios else ""
    have = agreeing(len(run.episodes), "has", "have")
    parts = [
        f"{model.result.model}: R4 {closed.estimates.overall.format(2)} over "
        f"{counted(closed.estimates.overall.clusters, 'scenario')}{whole} ({len(run.episodes)} of "
        f"{counted(run.planned, 'planned run')} {'of them ' if whole else ''}{have} a result)"
    ]
    repeats = closed.estimates.overall_repeats
    if closed.estimates.repeat_sd is not None:
        parts.append(
            f"repeats of one scenario differ by a standard deviation of {closed.estimates.repeat_sd:.2f}; over repeats "
            f"of these scenarios the score is {repeats.format(2)}"
        )
    if closed.decisions:
        parts.append(
            f"{closed.faults} of {counted(closed.decisions, 'decision')} "
            f"({100 * closed.faults / closed.decisions:.1f} %) had no usable answer, so the last control was kept"
            if closed.faults
            else f"{counted(closed.decisions, 'decision')}, each with a usable answer"
        )
    if run.void:
        void = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in run.void.items())
        parts.append(f"void attempts left out: {void}")
    return "; ".join(parts) + "."
