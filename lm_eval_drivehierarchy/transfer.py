"""What training on some tasks did to all of them: differences from a base model, inside and outside the supervision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from drivehierarchy_gym.errors import DriveHierarchyError, unknown_name
from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.comparability import protocol_differences, refuse
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.parsing.parsed import ParseRule
from lm_eval_drivehierarchy.report.analysis import pair_of
from lm_eval_drivehierarchy.report.cells import (
    FEW_SCENES,
    VERDICT_MARKS,
    difference_text,
    family_name,
    few,
    undecided_text,
    why_bare,
)
from lm_eval_drivehierarchy.report.document import Block, Cell, Document, Note, Section, Text, table
from lm_eval_drivehierarchy.results import ModelResult
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.paired import Verdict, unpaired, unpaired_verdict
from lm_eval_drivehierarchy.targets import CONTROLS
from lm_eval_drivehierarchy.tasks import TASKS, TASKS_BY_ID

PRINTED = "printed without an interval"


class TransferError(DriveHierarchyError, ValueError):
    """A comparison of training runs that cannot be made."""


@dataclass(frozen=True, slots=True)
class Change:
    """Tuned minus base on one score. `verdict` is None where no test was possible; then only the sign is known."""

    difference: Estimate
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Transfer:
    """One tuned model against its base."""

    run: str
    supervised: tuple[str, ...]
    tasks: dict[str, Change]
    open: Change | None
    families: dict[str, Change]
    r4: Change | None

    def scope(self, *, inside: bool) -> dict[str, Change]:
        """Changes of the supervised tasks, or of the others."""
        return {task: change for task, change in self.tasks.items() if (task in self.supervised) is inside}


def transfer(
    base: ModelResult,
    tuned: Sequence[ModelResult],
    supervised: Mapping[str, Iterable[str]],
    *,
    rule: ParseRule = "official",
    seed: int = 0,
) -> list[Transfer]:
    """Compare every tuned model with the base.

    `supervised` names the tasks that each model was trained on. Differences are paired where both results hold items,
    otherwise unpaired from standard errors. Raises TransferError for a model without its tasks, ResultsError for
    results that must not be compared.
    """
    refuse([base, *tuned])
    known = {model.model for model in tuned}
    for name in supervised:
        if name not in known:
            raise unknown_name("tuned model", name, known)
    found = []
    for model in tuned:
        trained = tuple(supervised.get(model.model, ()))
        if not trained:
            raise TransferError(
                f"{model.model}: say which tasks it was trained on, --on {model.model}=r1_2_a,r2_1, so that gains "
                "inside and outside the supervision can be told apart"
            )
        for task in trained:
            if task not in TASKS_BY_ID:
                raise unknown_name("task", task, TASKS_BY_ID)
        found.append(_against(base, model, trained, rule, seed))
    return found


def _against(base: ModelResult, tuned: ModelResult, trained: tuple[str, ...], rule: ParseRule, seed: int) -> Transfer:
    pair = pair_of(base, tuned, rule, seed=seed)
    paired = dict(pair.results) if pair is not None else {}
    changes = {name: Change(comparison.difference, comparison.verdict) for name, comparison in paired.items()}
    before, after = base.open_loop(rule, seed=seed), tuned.open_loop(rule, seed=seed)
    tasks = {}
    for task in TASKS:
        if task.id in changes:
            tasks[task.id] = changes[task.id]
        elif task.id in before.tasks and task.id in after.tasks:
            tasks[task.id] = _by_errors(before.tasks[task.id], after.tasks[task.id])
    total = changes.get("open")
    if total is None and before.open.value is not None and after.open.value is not None:
        total = _by_errors(before.open, after.open)
    families = {name: change for name, change in changes.items() if name[:2].isdigit()}
    return Transfer(tuned.model, trained, tasks, total, families, changes.get("R4"))


def _by_errors(before: Estimate, after: Estimate) -> Change:
    difference = unpaired(before, after)
    return Change(difference, unpaired_verdict(difference))


def paper_transfer() -> list[Transfer]:
    """Tables 3 and 4 of the paper in the same form; no interval, so no verdict."""
    paper = paper_tables()
    closed = {run.run: run for run in paper.table4.runs}
    start = next(run for run in paper.table4.runs if not run.supervised)

    def printed(value: float) -> Change:
        return Change(Estimate(value, reason=PRINTED), None)

    found = []
    for run in paper.table3.runs:
        driven = closed.get(run.run)
        families = {} if driven is None else {n: printed(v - start.families[n]) for n, v in driven.families.items()}
        found.append(
            Transfer(
                run=f"{run.run} (paper)",
                supervised=run.supervised,
                tasks={task: printed(value) for task, value in run.tasks.items()},
                open=printed(run.open),
                families=families,
                r4=None if driven is None else printed(driven.average - start.average),
            )
        )
    return found


# --- the page --------------------------------------------------------------------------------------------------------


def page(
    base: ModelResult | None, found: Sequence[Transfer], rule: ParseRule, tuned: Sequence[ModelResult] = ()
) -> Document:
    """Tables 3 and 4 with supervised and other tasks apart; `base` is None for the paper's runs alone."""
    name = base.model if base is not None else paper_tables().table3.model
    sections = [
        Section("Summary", tuple(_summary(found))),
        Section("Supervised tasks", tuple(_scope_tables(found, inside=True))),
        Section("Tasks outside the supervision", tuple(_scope_tables(found, inside=False))),
    ]
    if any(run.r4 for run in found):
        sections.append(Section("Closed loop (R4)", (_family_table(found), Note(caveats.CLOSED_LOOP))))
    notes: list[Block] = [Note(caveats.TRANSFER), Note("Controls: " + "; ".join(CONTROLS) + ".")]
    if any(run.run.endswith("(paper)") for run in found):
        notes.append(Note(caveats.PAPER_TRANSFER))
    if any(change.verdict for run in found for change in run.tasks.values()):
        notes.append(Note(caveats.TIES))
    differences = [change.difference for run in found for change in [*run.tasks.values(), run.open, run.r4] if change]
    if any(few(difference) for difference in differences):
        notes.append(Note(caveats.FEW_SCENES.format(few=FEW_SCENES)))
    if base is not None:
        notes += [Note(sentence, warning=True) for sentence in protocol_differences([base, *tuned])]
    sections.append(Section("Reading this", tuple(notes)))
    lead = f"Differences from {name}, parsing rule {rule}; 95 % intervals resample whole scenes."
    return Document(f"Transfer from training, against {name}", lead, tuple(sections))


def _summary(found: Sequence[Transfer]) -> Iterable[Block]:
    rows = []
    for run in found:
        outside = run.scope(inside=False)
        values = [change.difference.value or 0.0 for change in outside.values()]
        rows.append(
            [
                Cell(run.run),
                Cell(", ".join(run.supervised)),
                _change(run.open),
                Cell(f"{sum(value > 0 for value in values)} of {len(values)}", sum(value > 0 for value in values)),
                *(_count(outside, verdict) for verdict in ("better", "worse", "undecided")),
                _change(run.r4, 3),
            ]
        )
    columns = (
        "run", "trained on", "S_open", "others up", "others better", "others worse", "others undecided", "R4",
    )  # fmt: skip
    caption = (
        "Change of the totals, and of the others, the tasks that a run was not trained on: how many rose at all (up), "
        "rose or fell by the paired test (better, worse), and have too few items for it (undecided); (paper): printed "
        "without intervals"
    )
    yield table("summary", caption, columns, rows, 2)
    for run in found:
        yield Text(_sentence(run))


def _sentence(run: Transfer) -> str:
    outside = run.scope(inside=False)
    tested = {task: change for task, change in outside.items() if change.verdict is not None}
    if tested:
        lost = [task for task, change in tested.items() if change.verdict == "worse"]
        short = {task: change.difference for task, change in tested.items() if change.verdict == "undecided"}
        parts = []
        if lost:
            parts.append(f"negative transfer on {', '.join(lost)}")
        elif len(short) < len(tested):
            parts.append("no negative transfer beyond the noise" + (" on the other tasks" if short else ""))
        if short:
            where = ", ".join(short) if len(short) < len(tested) else "any task outside the supervision"
            fewest = min(short.values(), key=lambda difference: difference.clusters or difference.n)
            parts.append(f"on {where} negative transfer {undecided_text(fewest)}")
        return f"{run.run}: {'; '.join(parts)}."
    down = sorted((change.difference.value or 0.0, task) for task, change in outside.items())
    worst = ", ".join(f"{task} ({value:+.2f})" for value, task in down[:3] if value < 0)
    return f"{run.run}: no intervals; largest decreases outside the supervision: {worst or 'none'}."


def _scope_tables(found: Sequence[Transfer], *, inside: bool) -> Iterable[Block]:
    tasks = [task.id for task in TASKS if any(task.id in run.scope(inside=inside) for run in found)]
    rows = []
    for task in tasks:
        cells = [Cell(task), Cell(TASKS_BY_ID[task].title)]
        for run in found:
            cells.append(_change(run.scope(inside=inside).get(task)))
        rows.append(cells)
    where = "trained on" if inside else "not trained on"
    yield table(
        "inside" if inside else "outside",
        f"Change on tasks that a run was {where}; ▲ better and ▼ worse by a paired test, ? cannot be decided "
        "with so few scenes, no mark: a tie or untested",
        ("task", "what", *(run.run for run in found)),
        rows,
        text_columns=2,
    )


def _family_table(found: Sequence[Transfer]) -> Block:
    runs = [run for run in found if run.r4 is not None]
    names = list(dict.fromkeys(name for run in runs for name in run.families))
    rows = [[Cell(family_name(name))] + [_change(run.families.get(name), 3) for run in runs] for name in names]
    rows.append([Cell("mean of the families"), *(_change(run.r4, 3) for run in runs)])
    return table(
        "r4", "Change of R4 by family; no R4 scenario is ever trained on", ("family", *(r.run for r in runs)), rows
    )


def _change(change: Change | None, decimals: int = 2) -> Cell:
    if change is None or change.difference.value is None:
        return Cell("", mark="missing")
    estimate = change.difference
    mark = VERDICT_MARKS[change.verdict] if change.verdict is not None else None
    note = why_bare(estimate) if estimate.reason != PRINTED else None
    return Cell(difference_text(estimate, decimals), estimate.value, mark, note)


def _count(changes: Mapping[str, Change], verdict: Verdict) -> Cell:
    if not any(change.verdict for change in changes.values()):
        return Cell("", mark="missing")
    number = sum(change.verdict == verdict for change in changes.values())
    return Cell(str(number), number)
