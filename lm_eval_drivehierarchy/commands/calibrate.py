"""`drivehierarchy calibrate`: weights of a pool of models, and how much the ranking hangs on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from drivehierarchy_gym.runner.terminal import print_table
from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.calibration import FEW_MODELS, Calibration, CalibrationError, Scheme, calibrate
from lm_eval_drivehierarchy.commands.options import RULE_HELP, parse_rule
from lm_eval_drivehierarchy.outputs import write_json
from lm_eval_drivehierarchy.pools import read_pool
from lm_eval_drivehierarchy.stability import Stability, stability
from lm_eval_drivehierarchy.tasks import RANK_BUDGETS, TASKS, TASKS_BY_ID
from lm_eval_drivehierarchy.wording import counted

PAPER_BUDGETS = ",".join(f"{share:g}" for share in RANK_BUDGETS.values())
PAPER_POOL = "the paper's 15 models (arXiv:2609.31814, Table 1)"


def calibrate_command(
    pool: Annotated[
        list[str] | None,
        typer.Argument(help="Tables (.csv, .json) or results of models; default: the paper's 15 models."),
    ] = None,
    with_paper: Annotated[bool, typer.Option("--with-paper", help="Add the paper's models to the pool.")] = False,
    rule: Annotated[str, typer.Option(help=RULE_HELP)] = "official",
    budgets: Annotated[str, typer.Option(help="Shares of R1, R2, R3 in S_open.")] = PAPER_BUDGETS,
    same: Annotated[float, typer.Option(help="Penalty on redundancy within a rank.")] = 1.0,
    cross: Annotated[float, typer.Option(help="Penalty on redundancy across ranks.")] = 0.35,
    gamma: Annotated[float, typer.Option(help="Exponent on positive correlations.")] = 2.0,
    bootstrap: Annotated[int, typer.Option(min=20, help="Resampled pools.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")] = None,
) -> None:
    """Estimate task weights from a pool of models (Appendix F) and show how stable weights and ranking are.

    The frozen weights of S_open never change; this shows what another pool or another choice would give. A table of
    scores (0-100) is taken as it is; results that a report refuses to put into one table are refused here too, and the
    paper's models join only results on their edition.
    """
    chosen = parse_rule(rule)
    taken = read_pool(pool or (), chosen, paper=with_paper or not pool)
    scores, tasks = taken.scores, taken.tasks
    if not tasks:
        raise CalibrationError("the models of this pool have no task in common: " + "; ".join(taken.notes))
    scheme = Scheme(_budgets(budgets), same, cross, gamma)
    found = calibrate(scores, tasks, scheme)
    complete = len(tasks) == len(TASKS)
    frozen = {task.id: task.weight for task in TASKS}
    stable = stability(
        scores, tasks, scheme=scheme, reference=frozen if complete else None, replicates=bootstrap, seed=seed
    )
    source = PAPER_POOL if not pool else ", ".join(pool) + (f" and {PAPER_POOL}" if with_paper else "")
    notes = taken.notes
    if len(found.models) < FEW_MODELS:
        models = counted(len(found.models), "model")
        notes = (caveats.SMALL_POOL.format(models=models, few=FEW_MODELS), *notes)
    record = as_record(found, stable, source, notes)
    if out is not None:
        write_json(out, record)
    if as_json:
        typer.echo(json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False))
        return
    _print(found, stable, source, notes, complete, Console())
    if out is not None:
        typer.echo(f"written: {out}")


def as_record(found: Calibration, stable: Stability, source: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Calibration and stability as plain JSON types."""
    return {
        "provenance": {
            "pool": source,
            "models": list(found.models),
            "notes": list(notes),
            "method": "arXiv:2609.31814, Appendix F, Eq. 21-25",
            "scheme": {
                "budgets": {f"R{rank}": share for rank, share in found.scheme.budgets.items()},
                "same": found.scheme.same,
                "cross": found.scheme.cross,
                "gamma": found.scheme.gamma,
            },
        },
        "weights": found.weights,
        "load": dict(zip(found.tasks, found.load.tolist(), strict=True)),
        "uniqueness": dict(zip(found.tasks, found.uniqueness.tolist(), strict=True)),
        "correlations": {
            task: dict(zip(found.tasks, row, strict=True))
            for task, row in zip(found.tasks, found.correlations.tolist(), strict=True)
        },
        "stability": {
            "reference": asdict(stable.reference),
            "alternatives": [asdict(alternative) for alternative in stable.alternatives],
            "leave_one_out": stable.leave_one_out,
            "bootstrap": {task: asdict(estimate) for task, estimate in stable.bootstrap.items()},
            "undefined_replicates": stable.undefined_replicates,
            "place_range": {model: list(places) for model, places in stable.place_range.items()},
            "bootstrap_places": {model: list(places) for model, places in stable.bootstrap_places.items()},
        },
    }


def _print(
    found: Calibration, stable: Stability, source: str, notes: Sequence[str], complete: bool, console: Console
) -> None:
    models = counted(len(found.models), "model")
    console.print(f"Pool: {escape(source)}; {models}, {counted(len(found.tasks), 'task')}")
    for note in notes:
        console.print(f"[yellow]note:[/] {escape(note)}")
    rows = []
    for task, load in zip(found.tasks, found.load, strict=True):
        estimate = stable.bootstrap[task]
        interval = f"{estimate.low:.3f} to {estimate.high:.3f}" if estimate.low is not None else "undefined"
        others = [row[task] for row in stable.leave_one_out.values()]
        span = f"{min(others):.3f} to {max(others):.3f}" if others else "undefined"
        weights = [f"{found.weights[task]:.3f}", *([f"{TASKS_BY_ID[task].weight:.3f}"] if complete else [])]
        rows.append([task, TASKS_BY_ID[task].title, f"{load:.2f}", *weights, interval, span])
    columns = ["task", "", "load", "weight", *(["frozen"] if complete else []), "95 % (pools)", "one left out"]
    print_table(console, columns, rows, text=(0, 1), title="Weights")
    first = stable.bootstrap[found.tasks[0]]
    if first.low is None:
        console.print(f"No bootstrap over pools: {first.reason}")

    rows = []
    for model in sorted(found.models, key=lambda name: stable.reference.places[name]):
        drawn = stable.bootstrap_places.get(model)
        rows.append(
            [
                model,
                f"{stable.reference.open_scores[model]:.2f}",
                f"{stable.reference.places[model]:g}",
                _range(stable.place_range[model]),
                "undefined" if drawn is None else _range(drawn),
            ]
        )
    reference = "frozen weights" if complete else "weights of this pool"
    columns = ["model", "S_open", "place", "any choice below", "95 % over pools"]
    print_table(console, columns, rows, title=f"Places by {reference}")

    rows = []
    for alternative in stable.alternatives:
        moved = sorted(alternative.moved.items(), key=lambda entry: -abs(entry[1][1] - entry[1][0]))
        shown = ", ".join(f"{model} {before:g}→{after:g}" for model, (before, after) in moved[:4])
        more = f" and {len(moved) - 4} more" if len(moved) > 4 else ""
        tau = "undefined" if alternative.kendall_tau is None else f"{alternative.kendall_tau:.3f}"
        rows.append([alternative.name, tau, shown + more or "none"])
    columns = ["weights", "Kendall's tau", "models that move (place there)"]
    print_table(console, columns, rows, text=(0, 2), title="Other choices")
    budgets = "/".join(f"{share:.2g}" for share in found.scheme.budgets.values())
    console.print(caveats.POOL_WEIGHTS.format(models=models, budgets=budgets))


def _range(places: tuple[float, float]) -> str:
    best, worst = places
    return f"{best:g}" if best == worst else f"{best:g} to {worst:g}"


def _budgets(text: str) -> dict[int, float]:
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        raise CalibrationError(f"--budgets {text!r}: three numbers with commas, such as 0.3,0.3,0.4") from None
    if len(shares) != len(RANK_BUDGETS):
        raise CalibrationError(f"--budgets {text!r} names {counted(len(shares), 'share')}; R1, R2 and R3 need one each")
    return dict(zip(RANK_BUDGETS, shares, strict=True))
