"""Finds and reads the results of models: scores of `drivehierarchy score` and of the release's scorer, lm-eval's
output, R4 runs, and single records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.runner.collection import SceneResult, collect
from drivehierarchy_gym.runner.manifest import MANIFEST_FILE, Manifest, read_manifest
from drivehierarchy_gym.runner.records import SCORE_FILE
from lm_eval_drivehierarchy.final_score import FILE_NAME, result_of, score_replies
from lm_eval_drivehierarchy.judge import NoJudge
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES, ParseRule
from lm_eval_drivehierarchy.reply_files import SAMPLES, read_replies
from lm_eval_drivehierarchy.results import (
    MIXED,
    ClosedLoopResult,
    Episode,
    FileRecord,
    ModelResult,
    ResultsError,
    RuleScore,
    TaskResult,
    merge,
    run_label,
)
from lm_eval_drivehierarchy.tasks import TASKS, Task

REMEDY = "make it again with the command that wrote it, or leave it out"
SAMPLES_UNJUDGED = "no judge was at hand when these samples were logged; score them with `drivehierarchy score`"
SETTINGS = ("gen_kwargs", "limit")
"""What a results file of lm-eval says about the protocol."""
DEPTH = 3
"""Folders below the one given that are searched."""


def read_all(places: Iterable[str]) -> list[ModelResult]:
    """Results of every place, each a path or NAME=PATH, joined by model.

    A folder may hold several models and, for one model, open-loop and R4 results side by side. Raises ResultsError for
    a place without results, and where two places hold the same part of one model.
    """
    found: list[ModelResult] = []
    for place in places:
        name, path = _named(place)
        here = merge(read_place(path))
        if name is not None:
            if len(here) > 1:
                raise ResultsError(
                    f"{place}: holds {len(here)} models ({', '.join(m.model for m in here)}), which one name cannot "
                    "fit; give the folder of one of them"
                )
            here = [here[0].model_copy(update={"model": name})]
        found += here
    return merge(found)


def read_place(path: Path) -> list[ModelResult]:
    """Results in a file or folder, one per model and kind. Raises ResultsError when there is none."""
    if path.is_file():
        return [_writable(_read_file(path), path)]
    if not path.is_dir():
        raise ResultsError(f"{path}: no such file or folder of results")
    found = _search(path, DEPTH)
    if not found:
        raise ResultsError(
            f"{path}: no results below it; expected {FILE_NAME.name} of `drivehierarchy score`, samples_*.jsonl or "
            f"results_*.json of lm_eval, or <group>/<scenario>/{SCORE_FILE} of `drivehierarchy r4 run`"
        )
    return [_writable(result, path) for result in found]


def _writable(result: ModelResult, path: Path) -> ModelResult:
    """The result, if its texts can be written down again: JSON can hold halves of characters that no file can."""
    try:
        result.model_dump_json()
    except ValueError as error:
        raise ResultsError(
            f"{path}: model {result.model!r}: holds text that is no Unicode ({error}); {REMEDY}"
        ) from error
    return result


def _named(place: str) -> tuple[str | None, Path]:
    if Path(place).exists():
        return None, Path(place)
    name, separator, rest = place.partition("=")
    return (name, Path(rest)) if separator and name and rest else (None, Path(place))


def _search(folder: Path, depth: int) -> list[ModelResult]:
    """The nearest folders that hold results, from here down."""
    if (folder / MANIFEST_FILE).is_file() or any(folder.glob(f"*/*/{SCORE_FILE}")):
        return [closed_loop_result(folder)]
    for candidate in (folder / FILE_NAME, folder / FILE_NAME.name):
        if candidate.is_file():
            return [_read_file(candidate)]
    if any(SAMPLES.fullmatch(path.name) for path in folder.glob("samples_*.jsonl")):
        with _naming(folder):
            return [_read_samples(folder)]
    summaries = sorted(folder.glob("results_*.json"))
    if summaries:
        return [_read_summaries(summaries)]
    if depth == 0:
        return []
    return [
        result
        for child in sorted(folder.iterdir())
        if child.is_dir() and not child.name.startswith(".")
        for result in _search(child, depth - 1)
    ]


# --- files -----------------------------------------------------------------------------------------------------------


def _read_file(path: Path) -> ModelResult:
    content = _json(path)
    with _naming(path):
        if "drivehierarchy" in content:
            return _measured(result_of(content), path)
        if "per_file" in content:
            return _release_scores(content, path)
        if "results" in content and "n-samples" in content:
            return _read_summaries([path])
        if {"model", "tasks"} <= content.keys():
            return _measured(ModelResult.model_validate(content), path)
    raise ResultsError(
        f"{path}: none of the known kinds of result; expected `drivehierarchy score`'s or the release's "
        f"{FILE_NAME.name}, or results_*.json of lm_eval"
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: cannot be read as JSON ({error}); {REMEDY}") from error
    if not isinstance(content, dict):
        raise ResultsError(f"{path}: holds {type(content).__name__}, not the scores of a model; {REMEDY}")
    return content


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turns what a damaged or contradictory record raises into a ResultsError: file, field, value found, remedy."""
    try:
        yield
    except DriveHierarchyError:
        raise
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"]) or "file"
        value = fault["input"]
        scalar = value is None or isinstance(value, str | int | float)
        found = f", found {_short(value)}" if scalar and fault["type"] != "value_error" else ""
        message = fault["msg"].removeprefix("Value error, ")
        raise ResultsError(f"{path}: {where}: {message}{found}; {REMEDY}") from error
    except (OSError, KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ResultsError(f"{path}: not the scores of a model ({type(error).__name__}: {error}); {REMEDY}") from error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _measured(result: ModelResult, path: Path) -> ModelResult:
    if result.kind != "measured":
        raise ResultsError(f"{path}: kind: only measured results are read from files, found {result.kind!r}; {REMEDY}")
    return result.model_copy(update={"files": (*result.files, FileRecord.of(path))})


def _release_scores(content: Mapping[str, Any], path: Path) -> ModelResult:
    """`final_score.json` of the release's own scorer: means of the rule official, by question file."""
    summaries: Sequence[Mapping[str, Any]] = content["per_file"]
    stems = {task.release.stem.lower(): task for task in TASKS}
    tasks = {}
    for index, summary in enumerate(summaries):
        name = summary["source_file"]
        task = stems.get(Path(name).name.removesuffix(".jsonl").removesuffix("_pred").lower())
        if task is None:
            raise ResultsError(
                f"{path}: per_file[{index}].source_file: {name}: no task has a question file of that name"
            )
        if task.id in tasks:
            raise ResultsError(f"{path}: per_file[{index}].source_file: {name}: {task.id} is there already; {REMEDY}")
        number = int(summary["n"])
        if number == 0:  # the release writes a mean of 0 for an empty file
            continue
        failed = summary.get("parse_fail")
        share = float(failed) / number if failed is not None else None
        score = RuleScore(score=float(summary["mean"]), parse_fail=share)
        tasks[task.id] = TaskResult(task=task.id, n=number, rules={"official": score})
    folder = path.parent.parent if path.parent.name == FILE_NAME.parent.name else path.parent
    return ModelResult(
        model=folder.resolve().name,
        tasks=tasks,
        files=(FileRecord.of(path),),
        notes=("scored by the release's evaluator, which keeps no items: no intervals, and the edition is not known",),
    )


# --- lm-eval ---------------------------------------------------------------------------------------------------------


def _read_samples(folder: Path) -> ModelResult:
    """Replies that lm-eval logged, scored here; descriptions keep the judgement they were logged with."""
    return score_replies(read_replies(folder), NoJudge(SAMPLES_UNJUDGED))


def _read_summaries(paths: Sequence[Path]) -> ModelResult:
    """lm-eval's results files of one model, without samples. A task that several hold counts from the newest."""
    tasks: dict[str, TaskResult] = {}
    sources: dict[str, tuple[Path, Mapping[str, Any]]] = {}
    for path in paths:
        content = _json(path)
        with _naming(path):
            for task in TASKS:
                scored = _summary_of(content, task)
                if scored is not None:
                    tasks[task.id] = scored
                    sources[task.id] = (path, content)
    if not tasks:
        raise ResultsError(f"{paths[-1]}: no result of a DriveHierarchy task in it; {REMEDY}")
    used = dict(sources.values())
    with _naming(paths[-1]):
        names = {str(content.get("model_name") or path.parent.name): path for path, content in used.items()}
        if len(names) > 1:
            one, other = list(names)[:2]
            raise ResultsError(
                f"{names[other]}: model_name: found {other!r}, {names[one].name} beside it is of {one!r}; put the "
                "files of each model into a folder of its own"
            )
        return ModelResult(
            model=next(iter(names)),
            protocol={key: _shared([(c.get("config") or {}).get(key) for c in used.values()]) for key in SETTINGS},
            versions={
                "lm-eval": str(_shared([content.get("lm_eval_version", "unknown") for content in used.values()]))
            },
            tasks=tasks,
            files=tuple(FileRecord.of(path) for path in used),
        )


def _summary_of(content: Mapping[str, Any], task: Task) -> TaskResult | None:
    """One task of a results file; None where it has no score."""
    row = content["results"].get(task.lm_eval_name)
    if row is None:
        return None
    rules = {rule: score for rule in PARSE_RULES if (score := _summary_score(row, rule)) is not None}
    if not rules:
        return None
    count = content["n-samples"][task.lm_eval_name]
    missing = round(float(row.get("missing,official", 0.0)) * count["effective"])
    version = content.get("versions", {}).get(task.lm_eval_name)
    return TaskResult(
        task=task.id,
        n=count["effective"] - missing,
        expected=count["original"],
        rules=rules,
        version=None if version is None else str(version),
    )


def _shared(values: Sequence[Any]) -> Any:
    """What the runs of all tasks agree in, or that they do not."""
    return values[0] if all(value == values[0] for value in values) else MIXED


def _summary_score(row: Mapping[str, Any], rule: ParseRule) -> RuleScore | None:
    score = row.get(f"score,{rule}")
    if not isinstance(score, int | float) or score != score:
        return None
    stderr = row.get(f"score_stderr,{rule}")
    return RuleScore(
        score=score,
        stderr=stderr if isinstance(stderr, int | float) else None,
        parse_fail=row.get(f"parse_fail,{rule}"),
        strict=row.get(f"strict,{rule}"),
    )


# --- R4 --------------------------------------------------------------------------------------------------------------


def closed_loop_result(folder: Path) -> ModelResult:
    """R4 results of the model whose folder this is; in a tree of the release the folder's name is the model's.

    Raises ResultsError for a run that its manifest does not plan or that is of another suite.
    """
    with _naming(folder / MANIFEST_FILE):
        return _closed_loop_result(folder)


def _closed_loop_result(folder: Path) -> ModelResult:
    found = collect([folder])
    (model,) = found.models
    manifest = read_manifest(folder / MANIFEST_FILE) if (folder / MANIFEST_FILE).is_file() else None
    results = found.of(model)
    if manifest is not None:
        _check_plan(manifest, results)
    settings = dict(manifest.settings) if manifest is not None else {}
    environment = settings.pop("environment", {})
    evaluator = settings.pop("evaluator", None)
    suites = {result.score.extra.get("suite") for result in results} - {None}
    suite = settings.pop("suite", None) or (suites.pop() if len(suites) == 1 else None)
    suite_hash = settings.pop("suite_hash", None)
    closed = ClosedLoopResult(
        suite=suite,
        suite_hash=suite_hash,
        evaluator=_evaluator(evaluator),
        suite_scenarios=_suite_scenarios(manifest),
        settings={key: value for key, value in {**settings, **environment}.items() if value not in (None, {}, [])},
        repeats=manifest.repeats if manifest is not None else None,
        planned=len(found.planned.get(model, ())),
        episodes=tuple(_episode(result) for result in results),
        missing=tuple(run_label(*run) for run in found.missing(model)),
        void=dict(sorted(Counter(void.kind for void in found.voids.get(model, ())).items())),
        left_out=tuple(found.notes),
    )
    files = [result.path for result in results] + ([folder / MANIFEST_FILE] if manifest is not None else [])
    return ModelResult(
        model=model,
        closed_loop=closed,
        versions=dict(manifest.versions) if manifest is not None else {},
        files=tuple(FileRecord.of(path) for path in files),
    )


def _suite_scenarios(manifest: Manifest | None) -> tuple[str, ...] | None:
    if manifest is None or manifest.suite_scenarios is None:
        return None
    return tuple(scenario for ids in manifest.suite_scenarios.values() for scenario in ids)


def _check_plan(manifest: Manifest, results: Sequence[SceneResult]) -> None:
    suite_hash = manifest.settings.get("suite_hash")
    for result in results:
        label = run_label(result.group, result.scenario, result.repeat)
        if result.scenario not in manifest.planned.get(result.group, ()) or result.repeat >= manifest.repeats:
            raise ResultsError(
                f"{result.path}: {label} is not among the runs that {MANIFEST_FILE} plans; delete it, or repeat the "
                "command that made it"
            )
        own = result.score.extra.get("suite_hash")
        if own and suite_hash and own != suite_hash:
            raise ResultsError(
                f"{result.path}: extra.suite_hash: found {own}, {MANIFEST_FILE} says {suite_hash}; repeat the command "
                "that made it, which runs it again, or delete it"
            )


def _evaluator(identity: object) -> str:
    if not isinstance(identity, dict):
        return "the release's evaluator"
    return f"version {identity.get('version')}, hash {identity.get('hash')}, SUMO {identity.get('sumo')}"


def _episode(result: SceneResult) -> Episode:
    score, extra = result.score, result.score.extra
    faults = extra.get("agent_faults")
    return Episode(
        family=extra.get("family") or result.group,
        scenario=result.scenario,
        repeat=result.repeat,
        score=score.score_composed,
        route=score.score_route,
        safety=score.score_safety,
        efficiency=score.score_efficiency,
        termination=score.termination_reason,
        events=tuple(str(event.get("type", "unknown")) for event in score.events),
        decisions=extra.get("decisions"),
        faults=sum(faults.values()) if isinstance(faults, dict) else None,
    )
