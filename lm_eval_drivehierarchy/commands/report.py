"""`drivehierarchy report`: what results say about models, as a page, as Markdown and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from drivehierarchy_gym.runner.terminal import print_table
from lm_eval_drivehierarchy.commands.options import RULE_HELP, parse_rule
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES
from lm_eval_drivehierarchy.report.analysis import Analysis, analyse
from lm_eval_drivehierarchy.report.cells import closed_loop_text, estimate_text
from lm_eval_drivehierarchy.report.files import write_report
from lm_eval_drivehierarchy.result_files import read_all
from lm_eval_drivehierarchy.tasks import RANKS

RUNS_HELP = (
    "Results: a folder or file of `drivehierarchy score`, of lm_eval or of `drivehierarchy r4 run`, or NAME=PATH. "
    "Open-loop and R4 results of one model are joined by its name."
)


def report(
    runs: Annotated[list[str], typer.Argument(help=RUNS_HELP)],
    out: Annotated[Path, typer.Option(help="Folder to write the report into.")] = Path("report"),
    rule: Annotated[str, typer.Option(help=RULE_HELP)] = "official",
    paper: Annotated[bool, typer.Option(help="Show the paper's 15 models beside the measured ones.")] = True,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "DriveHierarchy report",
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
) -> None:
    """Turn the results of one or many models into a report.

    Results on different editions, with different scorers, R4 suites or evaluators are refused; what is missing or
    partial is marked.
    """
    found = analyse(read_all(runs), rule=parse_rule(rule), paper=paper, seed=seed)
    written = write_report(out, found, title)
    _print(found, Console())
    typer.echo(f"report: {written[0]}")


def _print(found: Analysis, console: Console) -> None:
    columns = ["model", *(f"S_open, {rule}" for rule in PARSE_RULES), *(f"R{rank}" for rank in RANKS), "R4"]
    rows = []
    for model in found.models:
        totals = [estimate_text(model.open_loop[rule].open) if rule in model.open_loop else "" for rule in PARSE_RULES]
        own = model.open_loop.get(found.rule)
        ranks = [estimate_text(own.ranks[rank]) if own else "" for rank in RANKS]
        closed = closed_loop_text(model)
        rows.append([model.result.model, *totals, *ranks, closed])
    print_table(console, columns, rows, caption=f"scores 0-100 with 95 % intervals; ranks under the rule {found.rule}")
    for warning in found.warnings:
        console.print(f"[yellow]note:[/] {escape(warning)}")
