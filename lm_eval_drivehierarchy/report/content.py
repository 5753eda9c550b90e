"""What the report says: an analysis put into sections, each caveat where it applies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES
from lm_eval_drivehierarchy.report.analysis import Analysis, ModelAnalysis
from lm_eval_drivehierarchy.report.cells import (
    EMPTY,
    FEW_SCENES,
    closed_loop_cell,
    closed_loop_text,
    estimate_cell,
    estimate_text,
    facts_of,
    few,
    joined,
    task_code,
)
from lm_eval_drivehierarchy.report.closed_loop_section import closed_loop
from lm_eval_drivehierarchy.report.comparison_sections import beside_paper, differences, open_against_closed
from lm_eval_drivehierarchy.report.document import Block, Cell, Document, Note, Section, Text, table
from lm_eval_drivehierarchy.report.open_loop_sections import boxes, power, profile, ranks, tasks, weak_tasks
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.targets import THRESHOLD
from lm_eval_drivehierarchy.tasks import RANKS, TASKS
from lm_eval_drivehierarchy.wording import counted


def report(analysis: Analysis, title: str = "DriveHierarchy report") -> Document:
    """The page about the models of `analysis`."""
    sections = [Section(name, tuple(blocks)) for name, build in SECTIONS.items() if (blocks := list(build(analysis)))]
    lead = counted(len(analysis.models), "measured model")
    if analysis.published:
        lead += f", beside the {len(analysis.published)} of the paper (arXiv:2609.31814)"
    lead += f". Profiles and comparisons use the parsing rule {analysis.rule}; 95 % intervals resample whole scenes."
    return Document(title, lead, tuple(sections))


def overview(analysis: Analysis) -> Iterator[Block]:
    """Totals of every model, a sentence on each, what holds for all of them, and what is missing."""
    rows = []
    for model in analysis.models:
        open_loop = model.open_loop.get(analysis.rule)
        cells = [Cell(model.result.model)]
        for rule in PARSE_RULES:
            found = model.open_loop.get(rule)
            cells.append(estimate_cell(found.open) if found else EMPTY)
        cells += [estimate_cell(open_loop.ranks[rank]) if open_loop else EMPTY for rank in RANKS]
        cells.append(closed_loop_cell(model))
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
    if any(few(estimate) for estimate in _estimates(analysis)):
        yield Note(caveats.FEW_SCENES.format(few=FEW_SCENES))
    if any(_flawless(estimate) for estimate in _estimates(analysis)):
        yield Note(caveats.FLAWLESS)
    yield Note(caveats.OPEN_SCORE)
    yield Note(caveats.HIERARCHY)
    yield Note(caveats.DATA)
    for warning in joined(analysis.warnings):
        yield Note(warning, warning=True)


def _estimates(analysis: Analysis) -> Iterator[Estimate]:
    """Every score of the measured models."""
    for model in analysis.models:
        for found in model.open_loop.values():
            yield from (found.open, *found.ranks.values(), *found.tasks.values())
        if model.closed_loop is not None:
            yield from (model.closed_loop.estimates.overall, *model.closed_loop.estimates.families.values())


def _flawless(estimate: Estimate) -> bool:
    """True for a score without spread that has an interval all the same."""
    return estimate.stderr == 0 and estimate.low is not None and estimate.low != estimate.high


def _summary(model: ModelAnalysis, analysis: Analysis) -> str:
    found = model.open_loop.get(analysis.rule)
    parts = []
    if found is not None:
        parts.append(
            f"S_open {estimate_text(found.open)}" if found.open.value is not None else f"S_open {found.open.reason}"
        )
        values = {task: estimate.value for task, estimate in found.tasks.items() if estimate.value is not None}
        if len(values) > 3:
            top, bottom = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
            parts.append(
                f"highest on {task_code(top)} ({values[top]:.1f}), lowest on {task_code(bottom)} ({values[bottom]:.1f})"
                if values[top] > values[bottom]
                else f"{values[top]:.1f} on all {len(values)} tasks"
            )
    if model.targets:
        parts.append(f"{-100 * THRESHOLD:.0f} % or more behind the best known on {_tasks_in_words(model)}")
    if model.closed_loop is not None:
        parts.append(f"R4 {closed_loop_text(model)}")
    return f"{model.result.model}: " + ("; ".join(parts) or "no scores") + "."


def _tasks_in_words(model: ModelAnalysis) -> str:
    if len(model.targets) == len(model.deficits):
        return "all tasks" if len(model.deficits) == len(TASKS) else f"all of {counted(len(model.deficits), 'task')}"
    return ", ".join(task_code(task) for task in model.targets)


def provenance(analysis: Analysis) -> Iterator[Block]:
    """Settings, versions, hashes and files behind the numbers."""
    facts = []
    for model in analysis.models:
        result = model.result
        entries = facts_of(result) | {f"version of {key}": value for key, value in sorted(result.versions.items())}
        facts += [[Cell(result.model), Cell(key), Cell(value)] for key, value in entries.items()]
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
    "Overview": overview,
    "Capability profile": profile,
    "Tasks": tasks,
    "Ranks": ranks,
    "Coordinate conventions": boxes,
    "Differences between models": differences,
    "Beside the paper's models": beside_paper,
    "Closed loop (R4)": closed_loop,
    "Open loop against closed loop": open_against_closed,
    "Weak tasks and targets": weak_tasks,
    "What the items can show": power,
    "Provenance": provenance,
}
"""Title -> builder, in the order of the page; a section without content is left out."""
