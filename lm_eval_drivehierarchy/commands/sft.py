"""`drivehierarchy sft`: which tasks to train on, the training set, and what training did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from drivehierarchy_gym.runner.terminal import print_table
from lm_eval_drivehierarchy.commands.options import RULE_HELP, parse_rule
from lm_eval_drivehierarchy.commands.sft_export import check_command, export_command
from lm_eval_drivehierarchy.comparability import like_paper, refuse
from lm_eval_drivehierarchy.outputs import write_text
from lm_eval_drivehierarchy.report.document import Document, Note, Table, Text
from lm_eval_drivehierarchy.report.html import html
from lm_eval_drivehierarchy.report.markdown import markdown
from lm_eval_drivehierarchy.result_files import read_all
from lm_eval_drivehierarchy.targets import CONTROLS, THRESHOLD, best_known, deficits, target_groups, targets
from lm_eval_drivehierarchy.tasks import TASKS_BY_ID
from lm_eval_drivehierarchy.transfer import TransferError, page, paper_transfer, transfer

app = typer.Typer(no_args_is_help=True, help="Training from weak tasks: targets, training sets, comparisons.")
app.command("export")(export_command)
app.command("check")(check_command)


@app.command("targets")
def targets_command(
    run: Annotated[str, typer.Argument(help="Results of the model to improve, or NAME=PATH.")],
    against: Annotated[list[str] | None, typer.Option(help="Results of further models to compare with.")] = None,
    rule: Annotated[str, typer.Option(help=RULE_HELP)] = "official",
    threshold: Annotated[float, typer.Option(help="Relative deficit that makes a target.")] = THRESHOLD,
    as_json: Annotated[bool, typer.Option("--json", help="Print the targets as JSON and nothing else.")] = False,
) -> None:
    """List the tasks on which a model lies furthest behind the best known result, and the training groups they form."""
    chosen = parse_rule(rule)
    model, *others = [*read_all([run]), *read_all(against or [])]
    refuse([model, *others])
    pool = {result.model: result.scores(chosen) for result in [model, *others]}
    with_paper = like_paper(model)
    if not with_paper and not others:
        raise TransferError(
            f"{model.model} was measured on edition {model.edition}, for which no other result is known; give results "
            "of other models on it with --against"
        )
    found = deficits(pool[model.model], best_known(pool, paper=with_paper))
    picked = targets(found, threshold)
    groups = target_groups(picked)
    if as_json:
        record = {
            "model": model.model,
            "deficits": {task: deficit.relative for task, deficit in found.items()},
            "targets": list(picked),
            "groups": {name: list(tasks) for name, tasks in groups.items()},
        }
        typer.echo(json.dumps(record, indent=1, allow_nan=False))
        return
    console = Console()
    rows = []
    for task, deficit in found.items():
        relative = "undefined" if deficit.relative is None else f"{100 * deficit.relative:+.0f} %"
        scores = (f"{deficit.score:.2f}", f"{deficit.best.score:.2f}")
        rows.append([task, TASKS_BY_ID[task].title, *scores, deficit.best.model, relative])
    columns = ("task", "", "score", "best known", "by", "deficit")
    styles = ["bold" if task in picked else "" for task in found]
    print_table(console, columns, rows, text=(0, 1, 4), styles=styles)
    for name, tasks in groups.items():
        console.print(f"{name}: {','.join(tasks)}")
    if not groups:
        console.print(f"no task lies {-100 * threshold:.0f} % or more behind the best known")
    for deficit in found.values():
        if deficit.caveat and deficit.task in picked:
            console.print(f"[yellow]note:[/] {deficit.task}: {deficit.caveat}")
    if groups:
        console.print("controls: " + "; ".join(CONTROLS))


@app.command("compare")
def compare_command(
    base: Annotated[str | None, typer.Argument(help="Results of the base model, or NAME=PATH.")] = None,
    tuned: Annotated[list[str] | None, typer.Argument(help="Results of the trained models, or NAME=PATH.")] = None,
    on: Annotated[list[str] | None, typer.Option(help="NAME=TASK,TASK: what a model was trained on; repeat.")] = None,
    rule: Annotated[str, typer.Option(help=RULE_HELP)] = "official",
    paper: Annotated[bool, typer.Option("--paper", help="Show the paper's training runs too.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the page, as HTML and Markdown.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
) -> None:
    """Compare trained models with their base: Tables 3 and 4 of the paper, supervised and other tasks apart."""
    chosen = parse_rule(rule)
    start, models = None, []
    if base is not None:
        start, *spare = read_all([base])
        if spare:
            raise TransferError(f"{base}: holds several models; name the folder of the base model alone")
        models = read_all(tuned or [])
        if not models:
            raise TransferError("give at least one trained model after the base")
    elif not paper:
        raise TransferError("give a base model and its trained ones, or --paper for the paper's runs")
    found = transfer(start, models, _scopes(on or []), rule=chosen, seed=seed) if start is not None else []
    document = page(start, [*found, *(paper_transfer() if paper else [])], chosen, models)
    _print(document, Console())
    if out is not None:
        write_text(out / "transfer.html", html(document))
        write_text(out / "transfer.md", markdown(document))
        typer.echo(f"page: {out / 'transfer.html'}")


def _scopes(given: list[str]) -> dict[str, list[str]]:
    scopes = {}
    for entry in given:
        name, separator, tasks = entry.rpartition("=")
        if not separator or not name or not tasks:
            raise TransferError(f"--on {entry!r}: expected NAME=TASK,TASK, for example tuned=r1_2_a,r1_3")
        scopes[name] = [task.strip().lower() for task in tasks.split(",")]
    return scopes


def _print(document: Document, console: Console) -> None:
    console.print(f"{escape(document.title)}\n{escape(document.lead)}")
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                rows = [[block.shown(cell) for cell in row] for row in block.rows]
                title = f"{section.title}. {block.caption}"
                print_table(console, block.columns, rows, text=range(block.text_columns), title=title)
                for note, mark in block.footnotes.items():
                    console.print(f"{mark}: {escape(note)}")
            elif isinstance(block, Text):
                console.print(escape(block.text))
            elif isinstance(block, Note):
                console.print(f"[{'yellow' if block.warning else 'dim'}]note: {escape(block.text)}[/]")
