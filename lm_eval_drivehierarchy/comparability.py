"""May these results stand in one table? What forbids it is refused with a sentence, what weakens it is marked."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_drivehierarchy.results import (
    MIXED,
    PAPER_BACKEND,
    PAPER_EDITION,
    PAPER_SUITE,
    ClosedLoopResult,
    ModelResult,
    ResultsError,
    TaskResult,
)
from lm_eval_drivehierarchy.wording import agreeing, counted

Sentence = str
FREE_SETTINGS = frozenset({"model_class", "chat_template"})
"""Settings that belong to the model, not to the protocol: they may differ between models that are ranked together."""
AGENT_SETTINGS = frozenset({"agent", "agent_options", "agent_sources", "agent_timeout"})
"""R4 settings that make the driver. Its time limit is one: the world waits, so a longer one costs no other driver."""


def refusals(models: Sequence[ModelResult]) -> list[Sentence]:
    """Reasons why measured results cannot share a table: different questions, scorers, scenarios or evaluators.

    What a result does not name cannot differ here; `unknowns` names it, for a mark or a refusal.
    """
    measured = [model for model in models if model.kind == "measured"]
    found = []
    open_loop = [model for model in measured if model.tasks]
    for field, what in (("edition", "edition"), ("edition_hash", "content of the edition")):
        found += _differing(
            [(model.model, getattr(model, field)) for model in open_loop if getattr(model, field) is not None],
            f"{what} differs",
            "scores on different questions cannot share a table; make a report of each",
        )
    for task in dict.fromkeys(task for model in open_loop for task in model.tasks):
        versions = [(model.model, model.tasks[task].version) for model in open_loop if task in model.tasks]
        found += _differing(
            [(name, version) for name, version in versions if version is not None],
            f"version of task {task} differs",
            "score the older replies again with `drivehierarchy score`",
        )
    closed = [(model.model, model.closed_loop) for model in measured if model.closed_loop is not None]
    for field, what in (
        ("suite", "R4 suite"),
        ("suite_hash", "content of the R4 suite"),
        ("evaluator", "R4 evaluator"),
    ):
        found += _differing(
            [(name, getattr(run, field)) for name, run in closed if getattr(run, field) is not None],
            f"{what} differs",
            "run the older ones again, or make a report of each",
        )
    return found


def refuse(models: Sequence[ModelResult]) -> None:
    """Raise ResultsError with every reason against a common table."""
    refuse_equal_names(models)
    reasons = refusals(models)
    if reasons:
        raise ResultsError("; ".join(reasons))


def refuse_equal_names(models: Sequence[ModelResult]) -> None:
    """Raise ResultsError when two models have one name."""
    names = [model.model for model in models]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ResultsError(f"two models are called {twice[0]!r}; give one another name, as in NEWNAME=PATH")


def unknowns(model: ModelResult) -> list[Sentence]:
    """What a result does not name although it must be equal for results to be compared."""
    found = []
    if model.tasks:
        lacking = [name for name in ("edition", "edition_hash") if getattr(model, name) is None]
        if lacking:
            what = {"edition": "the edition of the data", "edition_hash": "the hash of the edition"}
            found.append(
                f"{' and '.join(what[name] for name in lacking)} {agreeing(len(lacking), 'is', 'are')} not known, so "
                "nothing shows that the questions are those of other results"
            )
        bare = [task for task, result in model.tasks.items() if result.version is None]
        if bare:
            which = of_tasks(model, bare)
            found.append(f"the version of the scores is not known for {which}; use `drivehierarchy score`")
    run = model.closed_loop
    if run is None:
        return found
    named = {"the R4 suite": run.suite, "the hash of the R4 suite": run.suite_hash}
    lacking = [what for what, value in named.items() if value is None]
    if lacking:
        found.append(
            f"{' and '.join(lacking)} {agreeing(len(lacking), 'is', 'are')} not known, so nothing shows that the "
            "scenarios are those of other results"
        )
    if run.suite_scenarios is None or run.repeats is None:
        found.append(
            "the R4 run does not record which scenarios its suite has, so nothing shows that it drove all of them; "
            "repeat the command that made it, which records them"
        )
    return found


def coverage(run: ClosedLoopResult) -> Sentence | None:
    """Which part of its suite an R4 run drove; None where it drove all or the suite is not known."""
    if not run.uncovered or run.suite_scenarios is None:
        return None
    return (
        f"R4 covers {len(run.scenarios)} of {counted(len(run.suite_scenarios), 'scenario')} of suite "
        f"{run.suite or 'unknown'} ({some(run.scenarios)}); "
        f"{some(run.uncovered)} {agreeing(len(run.uncovered), 'is', 'are')} missing"
    )


def of_tasks(model: ModelResult, tasks: Sequence[str]) -> str:
    """Some tasks of a model in words, for a sentence on what they lack."""
    return "any task" if len(tasks) == len(model.tasks) else some(tasks)


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def warnings(models: Sequence[ModelResult]) -> list[Sentence]:
    """What a reader must know about these results although they may stand together."""
    measured = [model for model in models if model.kind == "measured"]
    found = []
    for model in measured:
        partial = [f"{task} ({r.n} of {r.expected} items)" for task, r in model.tasks.items() if r.partial]
        if partial:
            found.append(f"{model.model}: partial results for {', '.join(partial)}")
        found += [f"{model.model}: {task} has no score: {why}" for task, why in model.absent.items()]
        found += [f"{model.model}: {sentence}" for sentence in unknowns(model)]
        mixed = [key for key, value in model.protocol.items() if value == MIXED]
        if mixed:
            found.append(f"{model.model}: setting {', '.join(mixed)} {MIXED}")
        run = model.closed_loop
        if run is not None:
            if (part := coverage(run)) is not None:
                found.append(f"{model.model}: {part}; its R4 score is not that of the suite")
            if run.partial:
                found.append(
                    f"{model.model}: R4 is partial: {len(run.episodes)} of {counted(run.planned, 'planned run')} "
                    f"{agreeing(len(run.episodes), 'has', 'have')} a result"
                )
            found += [
                f"{model.model}: {counted(number, 'void R4 attempt')} ({kind.replace('_', ' ')}) left out"
                for kind, number in run.void.items()
            ]
            found += [f"{model.model}: {sentence}" for sentence in run.left_out]
        found += [f"{model.model}: {note}" for note in model.notes]
        if bare := bare_tasks(model):
            found.append(
                f"{model.model}: per-item scores are missing for {of_tasks(model, bare)}, so tasks are taken as "
                "independent and no paired test is possible; run lm_eval with --log_samples"
            )
        elif any(item.scene is None for result in model.tasks.values() for item in result.items):
            found.append(f"{model.model}: some items name no scene and are taken as independent")
    found += [
        f"{first.model} and {model.model} were read from the same files: one result under two names"
        for first, model in same_files(measured)
    ]
    return found + protocol_differences(measured) + item_differences(measured)


def same_files(models: Sequence[ModelResult]) -> list[tuple[ModelResult, ModelResult]]:
    """Every model whose files have the contents of an earlier one's, after that one."""
    first: dict[frozenset[str], ModelResult] = {}
    found = []
    for model in models:
        contents = frozenset(file.sha256 for file in model.files)
        if contents and (earlier := first.setdefault(contents, model)) is not model:
            found.append((earlier, model))
    return found


def bare_tasks(model: ModelResult) -> list[str]:
    """Scored tasks that list no items."""
    return [task for task, result in model.tasks.items() if not result.items]


def protocol_differences(models: Sequence[ModelResult]) -> list[Sentence]:
    """Settings of the open-loop evaluation, and of R4, that are not the same for all models.

    Of R4 also the repeats and the scenarios driven.
    """
    found = []
    for key in sorted({key for model in models for key in model.protocol} - FREE_SETTINGS):
        values = [(model.model, repr(model.protocol.get(key))) for model in models if model.tasks]
        found += _differing(values, f"setting {key!r} differs", "")
    runs = [(model.model, model.closed_loop) for model in models if model.closed_loop is not None]
    for key in sorted({key for _, run in runs for key in run.settings} - AGENT_SETTINGS):
        found += _differing(
            [(name, repr(run.settings.get(key))) for name, run in runs], f"R4 setting {key!r} differs", ""
        )
    found += _differing([(name, str(run.repeats or "unknown")) for name, run in runs], "R4 repeats differ", "")
    sets = {frozenset(run.scenarios) for _, run in runs}
    common = frozenset.intersection(*sets) if sets else frozenset()
    if len(sets) > 1:
        sides = "; ".join(f"{name}: {len(run.scenarios)}, {some(sorted(run.scenarios))}" for name, run in runs)
        found.append(f"R4 scenarios differ ({sides}), {len(common)} in common: comparisons use the common ones only")
    return found


def item_differences(models: Sequence[ModelResult]) -> list[Sentence]:
    """Where a model did not answer the same items as one before it, although both may name one edition.

    Items are told by their ids where both results list them, else by their number. An item is another one where it is
    of another scene.
    """
    found = []
    measured = [model for model in models if model.kind == "measured" and model.tasks]
    for index, model in enumerate(measured):
        for first in measured[:index]:
            differences = _item_differences(first, model)
            found += differences
            if differences:
                break
    return found


def _item_differences(first: ModelResult, model: ModelResult) -> list[Sentence]:
    both = f"{first.model} and {model.model}"
    other, unlisted, sizes, moved = [], [], [], []
    common, only_first, only_model = 0, 0, 0
    for task, result in model.tasks.items():
        before = first.tasks.get(task)
        if before is None:
            continue
        named = f"{task} ({_count(before)} and {_count(result)} items)"
        if not result.items or not before.items:
            if (result.n, result.expected) != (before.n, before.expected):
                unlisted.append(named)
            continue
        mine = {item.id: item.scene for item in result.items}
        theirs = {item.id: item.scene for item in before.items}
        shared = mine.keys() & theirs.keys()
        if mine.keys() != theirs.keys():
            other.append(named)
            common += len(shared)
            only_first, only_model = only_first + len(theirs) - len(shared), only_model + len(mine) - len(shared)
        elif result.expected != before.expected:
            sizes.append(f"{task} ({before.expected or 'unknown'} and {result.expected or 'unknown'})")
        moved += [
            f"{task}, item {key} ({theirs[key] or 'no scene'} and {mine[key] or 'no scene'})"
            for key in sorted(shared)
            if mine[key] != theirs[key]
        ]
    found = []
    if other:
        found.append(
            f"{both} did not answer the same items of {some(other)}: {common} in common, "
            f"{only_first} only of {first.model}, {only_model} only of {model.model}"
        )
    if unlisted:
        found.append(
            f"{both} did not answer the same items of {some(unlisted)}: not both list them, so that no comparison is "
            "possible"
        )
    if sizes:
        found.append(
            f"{both} answered the same items, but differ in how many there are of {some(sizes)}: score both against "
            "the same edition"
        )
    if moved:
        found.append(
            f"{both} place {agreeing(len(moved), 'an item', f'{len(moved)} items')} in different scenes: "
            f"{some(moved)}; score both against the same edition"
        )
    return found


def _count(result: TaskResult) -> str:
    return f"{result.n}" if result.n == result.expected else f"{result.n} of {result.expected}"


DRIVER_SETTINGS = AGENT_SETTINGS | {"observation"}
"""R4 settings that change the driver and not the test: runs that differ in them may be compared by scenario."""


def same_drive(first: ClosedLoopResult, second: ClosedLoopResult) -> bool:
    """True when two R4 runs were one test, scenario by scenario: the same world, seed, limits, repeats and scoring."""
    for name in ("suite", "suite_hash", "evaluator", "repeats"):
        if getattr(first, name) != getattr(second, name):
            return False
    keys = (first.settings.keys() | second.settings.keys()) - DRIVER_SETTINGS
    return all(first.settings.get(key) == second.settings.get(key) for key in keys)


def driven_like_paper(run: ClosedLoopResult) -> bool:
    """True when R4 was run on the paper's scenarios and simulator."""
    return run.suite == PAPER_SUITE and run.settings.get("backend") == PAPER_BACKEND


def like_paper(model: ModelResult) -> bool:
    """True when the model answered the questions that Table 1 was measured on."""
    return model.kind == "published" or model.edition == PAPER_EDITION


def _differing(values: Sequence[tuple[str, str]], what: str, remedy: str) -> list[Sentence]:
    groups: dict[str, list[str]] = {}
    for name, value in values:
        groups.setdefault(value, []).append(name)
    if len(groups) < 2:
        return []
    sides = "; ".join(f"{', '.join(names)}: {value}" for value, names in groups.items())
    return [f"{what} ({sides})" + (f": {remedy}" if remedy else "")]
