"""Tables of a summary for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from drivehierarchy_gym.runner.summary import CONFIDENCE, ModelSummary, Row
from drivehierarchy_gym.runner.terminal import print_table
from drivehierarchy_gym.runner.wording import agreeing, counted

FOOTNOTE = (
    "S is the mean over scenarios of each run's route x safety x efficiency, not the product of the other columns. "
    f"Brackets: {CONFIDENCE:.0%} bootstrap interval over scenarios and repeats."
)


def print_summary(console: Console, summary: ModelSummary) -> None:
    """Print the table by family, the notes below it and the table by termination reason."""
    rows = [*(_cells(row, row.group) for row in summary.rows), _cells(summary.total, "all")]
    styles = [""] * len(summary.rows) + ["bold"]
    columns = ("family", "runs", "route", "safety", "efficiency", "S")
    print_table(console, columns, rows, title=f"{summary.model}: closed-loop driving (R4)", styles=styles)
    for line in notes(summary):
        console.print(Text(line))
    reasons = [(row.reason, str(row.count), f"{row.composed:.2f}") for row in summary.reasons]
    print_table(console, ("reason", "runs", "mean S"), reasons, title="how runs ended")


def notes(summary: ModelSummary) -> list[str]:
    """Sentences below the table: how to read it, agent faults, and everything that is missing from it."""
    lines = [FOOTNOTE]
    if summary.faults:
        kinds = ", ".join(f"{count} {kind}" for kind, count in summary.faults.items())
        lines.append(
            f"Agent faults in {counted(summary.decisions, 'decision')}: {kinds}. The car held its last control."
        )
    if summary.left_out:
        names = _listed([scenario for _, scenario in summary.left_out])
        lines.append(f"PART OF A SUITE: no run was planned of {names}. S is of the others alone.")
    if summary.missing:
        low, high = summary.total.bounds
        have = agreeing(len(summary.missing), "has", "have")
        lines.append(
            f"INCOMPLETE: {len(summary.missing)} of {counted(summary.total.planned, 'run')} {have} no result "
            f"({_names(summary)}); with all of them S lies between {low:.2f} and {high:.2f}."
        )
    if summary.void:
        kinds = ", ".join(f"{count} {kind}" for kind, count in summary.void.items())
        lines.append(f"Void attempts, never averaged: {kinds}. The same command runs them again.")
    return lines


def _names(summary: ModelSummary) -> str:
    names = [f"{scenario}#{repeat}" if repeat else scenario for _, scenario, repeat in summary.missing]
    return _listed(names)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 5 else ", ".join([*names[:5], f"{len(names) - 5} more"])


def _cells(row: Row, name: str) -> tuple[str, ...]:
    runs = str(row.scored) if row.scored == row.planned else f"{row.scored} of {row.planned}"
    if row.scored == 0:
        return name, runs, "-", "-", "-", "-"
    interval = "" if row.interval is None else f" [{row.interval[0]:.1f}, {row.interval[1]:.1f}]"
    return name, runs, f"{row.route:.2f}", f"{row.safety:.3f}", f"{row.efficiency:.3f}", f"{row.composed:.2f}{interval}"
