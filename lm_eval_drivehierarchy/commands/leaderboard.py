"""`drivehierarchy leaderboard`: many results on one sortable page, incomplete ones refused with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from drivehierarchy_gym.runner.terminal import print_table
from lm_eval_drivehierarchy.commands.options import RULE_HELP, parse_rule
from lm_eval_drivehierarchy.commands.report import RUNS_HELP
from lm_eval_drivehierarchy.leaderboard import leaderboard, page
from lm_eval_drivehierarchy.outputs import write_text
from lm_eval_drivehierarchy.report.cells import estimate_text
from lm_eval_drivehierarchy.report.html import html
from lm_eval_drivehierarchy.result_files import read_all


def leaderboard_command(
    runs: Annotated[list[str], typer.Argument(help=RUNS_HELP)],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("leaderboard.html"),
    rule: Annotated[str, typer.Option(help=RULE_HELP)] = "official",
    r4: Annotated[bool, typer.Option(help="Require complete R4 results.")] = True,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "DriveHierarchy leaderboard",
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
) -> None:
    """Rank complete submissions on one page. Models that no paired test tells apart share a place.

    Exit code 1 when a submission was refused; the page and the terminal say what each one lacks.
    """
    board = leaderboard(read_all(runs), rule=parse_rule(rule), closed_loop=r4, seed=seed)
    write_text(out, html(page(board, title)))
    console = Console()
    rows = []
    for entry in board.entries:
        closed = estimate_text(entry.closed_loop.overall) if entry.closed_loop else ""
        rows.append([str(entry.place), entry.result.model, estimate_text(entry.open_loop[board.rule].open), closed])
    print_table(console, ("place", "model", "S_open", "R4"), rows, text=(0, 1))
    for refusal in board.refused:
        for reason in refusal.reasons:
            console.print(f"[red]not ranked[/] {escape(refusal.model)}: {escape(reason)}")
    typer.echo(f"leaderboard: {out}")
    if board.refused:
        raise typer.Exit(1)
