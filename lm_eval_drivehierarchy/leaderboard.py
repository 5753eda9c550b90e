"""Many models on one page: what a submission needs, who is admitted, and places that respect ties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.comparability import (
    bare_tasks,
    coverage,
    item_differences,
    of_tasks,
    protocol_differences,
    refusals,
    refuse_equal_names,
    same_files,
    some,
    unknowns,
)
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES, ParseRule
from lm_eval_drivehierarchy.report.analysis import pair_of
from lm_eval_drivehierarchy.report.cells import EMPTY, FEW_SCENES, estimate_cell, facts_of, family_name, few
from lm_eval_drivehierarchy.report.document import Block, Cell, Document, Note, Section, Text, table
from lm_eval_drivehierarchy.results import MIXED, ModelResult
from lm_eval_drivehierarchy.statistics.closed_loop import ClosedLoopEstimates
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.open_loop import OpenLoopEstimates
from lm_eval_drivehierarchy.tasks import RANKS, TASKS
from lm_eval_drivehierarchy.wording import counted


@dataclass(frozen=True, slots=True)
class Entry:
    """An admitted model. Its place by a score is one more than the number of models that are better by a paired test,
    so ties share places."""

    result: ModelResult
    open_loop: dict[ParseRule, OpenLoopEstimates]
    closed_loop: ClosedLoopEstimates | None
    place: int
    r4_place: int | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A submission that is not ranked, with every reason."""

    model: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    rule: ParseRule
    entries: tuple[Entry, ...]
    """By place, then by score."""
    refused: tuple[Refusal, ...]


def check_submission(model: ModelResult, *, closed_loop: bool = True) -> list[str]:
    """Every reason why a result is no complete submission; empty when it is one.

    Complete: measured, all fourteen tasks under both rules and one protocol, the score of every item of a named
    edition, and, if `closed_loop`, every planned R4 run of every scenario of a named suite.
    """
    reasons = []
    if model.kind != "measured":
        reasons.append("its scores are taken from a publication, not measured")
    missing = [task.id for task in TASKS if task.id not in model.tasks]
    if missing:
        why = [f"{task} ({model.absent[task]})" if task in model.absent else task for task in missing]
        reasons.append(f"no score for {', '.join(why)}")
    for task, result in model.tasks.items():
        absent = [rule for rule in PARSE_RULES if rule not in result.rules]
        if absent:
            reasons.append(f"{task} is not scored under the rule {' and '.join(absent)}")
        if result.n is None or result.expected is None:
            reasons.append(f"{task} does not say how many items were scored and how many there are")
        elif result.partial:
            reasons.append(f"{task} is partial: {result.n} of {result.expected} items")
    if bare := bare_tasks(model):
        reasons.append(
            f"per-item scores are missing for {of_tasks(model, bare)}, so nothing shows that the items are those of "
            "other results; score the replies with `drivehierarchy score`, or answer again with `drivehierarchy eval`"
        )
    mixed = [key for key, value in model.protocol.items() if value == MIXED]
    if mixed:
        reasons.append(f"setting {', '.join(mixed)} {MIXED}")
    reasons += unknowns(model if closed_loop else model.model_copy(update={"closed_loop": None}))
    run = model.closed_loop
    if closed_loop and run is None:
        reasons.append("no R4 result")
    elif closed_loop and run is not None:
        if (part := coverage(run)) is not None:
            reasons.append(part)
        if run.partial:
            runs = f"{len(run.episodes)} of {counted(run.planned, 'run')}"
            reasons.append(f"R4 is partial: {runs} ({some(run.missing)} missing)")
            reasons += run.left_out
    return reasons


def leaderboard(
    models: Sequence[ModelResult], *, rule: ParseRule = "official", closed_loop: bool = True, seed: int = 0
) -> Leaderboard:
    """Admit the complete submissions that agree with most others in edition, items, suite, scorers and protocol.

    Those form groups that agree; the largest is ranked, of equal ones that of the submission given first. A result
    under a second name is refused before it can make a group larger.

    Raises ResultsError when two submissions have one name.
    """
    refuse_equal_names(models)
    reasons = {model.model: check_submission(model, closed_loop=closed_loop) for model in models}
    for first, second in same_files(models):
        reasons[second.model].append(
            f"it was read from the same files as {first.model}: one result under two names; leave one out"
        )
    complete = [model for model in models if not reasons[model.model]]
    groups = _groups(complete, closed_loop)
    admitted = max(groups, key=len, default=[])
    for group in groups:
        if group is admitted:
            continue
        measure = _measure(admitted, groups, len(complete))
        for model in group:
            reasons[model.model] = [
                f"{measure}: {difference}" for difference in _differences(admitted[0], model, closed_loop)
            ]
    refused = [Refusal(name, tuple(found)) for name, found in reasons.items() if found]
    places = _places(admitted, rule, seed)
    entries = [
        Entry(
            result=model,
            open_loop={each: model.open_loop(each, seed=seed) for each in model.rules()},
            closed_loop=model.closed_loop.estimates() if model.closed_loop and model.closed_loop.episodes else None,
            place=1 + places[model.model, "open"],
            r4_place=1 + places[model.model, "R4"] if closed_loop else None,
        )
        for model in admitted
    ]
    entries.sort(key=lambda entry: (entry.place, -(entry.open_loop[rule].open.value or 0.0), entry.result.model))
    return Leaderboard(rule, tuple(entries), tuple(refused))


def _differences(first: ModelResult, second: ModelResult, closed_loop: bool) -> list[str]:
    """Why two complete submissions cannot be ranked together; complete ones name all that is compared here, so that
    those without a difference form groups."""
    both = [first, second]
    if not closed_loop:
        both = [each.model_copy(update={"closed_loop": None}) for each in both]
    return refusals(both) + protocol_differences(both) + item_differences(both)


def _groups(models: Sequence[ModelResult], closed_loop: bool) -> list[list[ModelResult]]:
    """Submissions that may be ranked together, in the order given."""
    groups: list[list[ModelResult]] = []
    for model in models:
        fitting = (group for group in groups if not _differences(group[0], model, closed_loop))
        found = next(fitting, None)
        if found is None:
            groups.append([model])
        else:
            found.append(model)
    return groups


def _measure(admitted: Sequence[ModelResult], groups: Sequence[Sequence[ModelResult]], complete: int) -> str:
    """Which submissions another one is measured by, and why."""
    names = some([model.model for model in admitted])
    if sum(len(group) == len(admitted) for group in groups) > 1:
        why = "given first, and no more submissions agree with each other"
    else:
        why = f"{len(admitted)} of {complete} complete submissions, the most that agree with each other"
    return f"not as {names} ({why})"


def _places(models: Sequence[ModelResult], rule: ParseRule, seed: int) -> Mapping[tuple[str, str], int]:
    """(model, "open" or "R4") -> number of models that are better by a paired test."""
    better = {(model.model, score): 0 for model in models for score in ("open", "R4")}
    for index, first in enumerate(models):
        for second in models[index + 1 :]:
            pair = pair_of(first, second, rule, seed=seed)
            for score in ("open", "R4"):
                comparison = pair.results.get(score) if pair is not None else None
                if comparison is not None and comparison.verdict in ("better", "worse"):
                    loser = first if comparison.verdict == "better" else second
                    better[loser.model, score] += 1
    return better


# --- the page --------------------------------------------------------------------------------------------------------


def page(board: Leaderboard, title: str = "DriveHierarchy leaderboard") -> Document:
    """The board as a page whose tables sort by any column."""
    sections = [Section("Ranking", tuple(_ranking(board)))]
    if board.entries:
        sections.append(Section("Tasks", (_task_table(board),)))
    if any(entry.closed_loop for entry in board.entries):
        sections.append(Section("R4 families", (_family_table(board),)))
    if board.refused:
        sections.append(Section("Not ranked", tuple(_refused(board))))
    if board.entries:
        sections.append(Section("Protocol", (_protocol(board),)))
    counts = f"{counted(len(board.entries), 'model')} ranked, {len(board.refused)} not"
    lead = f"{counts}; parsing rule {board.rule}. Click a column's head to sort."
    return Document(title, lead, tuple(sections))


def _ranking(board: Leaderboard) -> list[Block]:
    if not board.entries:
        return [Text("No submission could be ranked.")]
    rows = []
    for entry in board.entries:
        own = entry.open_loop[board.rule]
        other = next((entry.open_loop[rule] for rule in PARSE_RULES if rule != board.rule), None)
        rows.append(
            [
                Cell(entry.result.model),
                Cell(str(entry.place), entry.place),
                estimate_cell(own.open),
                estimate_cell(other.open) if other else EMPTY,
                *(estimate_cell(own.ranks[rank]) for rank in RANKS),
                *_r4_cells(entry),
            ]
        )
    other_rule = next(rule for rule in PARSE_RULES if rule != board.rule)
    columns = (
        "model", "place", "S_open", f"S_open, {other_rule}", *(f"R{rank}" for rank in RANKS), "R4", "place by R4",
    )  # fmt: skip
    return [
        table("ranking", "Scores 0-100 with 95 % intervals", columns, rows),
        Note(
            "Models that no paired test tells apart share a place, so the order within a place says nothing. A place "
            "is one more than the number of models that are better."
        ),
        *([Note(caveats.FEW_SCENES.format(few=FEW_SCENES))] if any(map(few, _shown(board))) else []),
        Note(caveats.OPEN_SCORE),
        Note(caveats.SCALES),
        Note(caveats.CLOSED_LOOP),
    ]


def _shown(board: Leaderboard) -> Iterator[Estimate]:
    """Every score of the ranking that has an interval."""
    for entry in board.entries:
        for found in entry.open_loop.values():
            yield from (found.open, *found.ranks.values())
        if entry.closed_loop is not None:
            yield entry.closed_loop.overall


def _r4_cells(entry: Entry) -> list[Cell]:
    if entry.closed_loop is None:
        return [EMPTY, EMPTY]
    place = EMPTY if entry.r4_place is None else Cell(str(entry.r4_place), entry.r4_place)
    return [estimate_cell(entry.closed_loop.overall), place]


def _task_table(board: Leaderboard) -> Block:
    rows = []
    for entry in board.entries:
        found = entry.open_loop[board.rule].tasks
        rows.append(
            [Cell(entry.result.model)] + [Cell(f"{found[task.id].value:.1f}", found[task.id].value) for task in TASKS]
        )
    return table("tasks", f"Task scores, rule {board.rule}", ("model", *(task.id for task in TASKS)), rows)


def _family_table(board: Leaderboard) -> Block:
    able = [entry for entry in board.entries if entry.closed_loop is not None]
    families = sorted({name for entry in able if entry.closed_loop for name in entry.closed_loop.families})
    rows = []
    for entry in able:
        found = entry.closed_loop.families if entry.closed_loop else {}
        cells = [
            Cell(f"{found[name].value:.1f}", found[name].value) if name in found else Cell("") for name in families
        ]
        rows.append([Cell(entry.result.model), *cells])
    return table("families", "R4 by family", ("model", *(family_name(name) for name in families)), rows)


def _refused(board: Leaderboard) -> list[Block]:
    rows = [[Cell(entry.model), Cell(reason)] for entry in board.refused for reason in entry.reasons]
    return [table("refused", "Submissions that are not ranked, and what they lack", ("model", "reason"), rows, 2)]


def _protocol(board: Leaderboard) -> Block:
    given = [facts_of(entry.result) for entry in board.entries]
    shared = {key: value for key, value in given[0].items() if all(facts.get(key) == value for facts in given)}
    rows = [[Cell(key), Cell(value)] for key, value in shared.items()]
    return table("protocol", "What all ranked submissions share", ("setting", "value"), rows, 2)
