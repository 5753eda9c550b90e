"""May these results stand in one table? What forbids it is refused with a sentence, what weakens it is marked."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_drivehierarchy.results import PAPER_EDITION, ModelResult, ResultsError

Sentence = str
FREE_SETTINGS = frozenset({"model_class", "chat_template"})
"""Settings that belong to the model, not to the protocol: they may differ between models that are ranked together."""
AGENT_SETTINGS = frozenset({"agent", "agent_options"})
"""R4 settings that name the driver."""


def refusals(models: Sequence[ModelResult]) -> list[Sentence]:
    """Reasons why measured results cannot share a table: different questions, scorers, scenarios or evaluators."""
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
    names = [model.model for model in models]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ResultsError(f"two models are called {twice[0]!r}; give one another name, as in NEWNAME=PATH")
    reasons = refusals(models)
    if reasons:
        raise ResultsError("; ".join(reasons))


def warnings(models: Sequence[ModelResult]) -> list[Sentence]:
    """What a reader must know about these results although they may stand together."""
    measured = [model for model in models if model.kind == "measured"]
    found = []
    for model in measured:
        partial = [f"{task} ({r.n} of {r.expected} items)" for task, r in model.tasks.items() if r.partial]
        if partial:
            found.append(f"{model.model}: partial results for {', '.join(partial)}")
        found += [f"{model.model}: {task} has no score: {why}" for task, why in model.absent.items()]
        run = model.closed_loop
        if run is not None:
            if run.partial:
                found.append(f"{model.model}: R4 is partial, {len(run.episodes)} of {run.planned} runs have a result")
            found += [
                f"{model.model}: {number} void R4 attempts ({kind}) left out" for kind, number in run.void.items()
            ]
        found += [f"{model.model}: {note}" for note in model.notes]
        if model.tasks and any(not result.items for result in model.tasks.values()):
            found.append(
                f"{model.model}: per-item scores are missing for some tasks, so tasks are taken as independent and no "
                "paired test is possible; run lm_eval with --log_samples"
            )
        elif any(item.scene is None for result in model.tasks.values() for item in result.items):
            found.append(f"{model.model}: some items name no scene and are taken as independent")
    return found + protocol_differences(measured)


def protocol_differences(models: Sequence[ModelResult]) -> list[Sentence]:
    """Settings of the open-loop evaluation, and of R4, that are not the same for all models."""
    found = []
    for key in sorted({key for model in models for key in model.protocol} - FREE_SETTINGS):
        values = [(model.model, repr(model.protocol.get(key))) for model in models if model.tasks]
        found += _differing(values, f"setting {key!r} differs", "")
    runs = [(model.model, model.closed_loop.settings) for model in models if model.closed_loop is not None]
    for key in sorted({key for _, settings in runs for key in settings} - AGENT_SETTINGS):
        found += _differing(
            [(name, repr(settings.get(key))) for name, settings in runs], f"R4 setting {key!r} differs", ""
        )
    return found


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
