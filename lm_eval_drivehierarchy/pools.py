"""A pool of models for calibration: task scores from a JSON or CSV table, or from result files and folders."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from drivehierarchy_gym.errors import DriveHierarchyError
from lm_eval_drivehierarchy.comparability import refuse
from lm_eval_drivehierarchy.parsing.parsed import ParseRule
from lm_eval_drivehierarchy.result_files import read_all
from lm_eval_drivehierarchy.tasks import TASKS, TASKS_BY_ID

MODEL_COLUMN = "model"


class PoolError(DriveHierarchyError, ValueError):
    """A table of scores that cannot be read."""


def read_pool(places: Iterable[str], rule: ParseRule = "official") -> dict[str, dict[str, float]]:
    """model -> task -> score from every place, in order.

    A ``.csv`` has a column "model" and one per task; a ``.json`` is {model: {task: score}} or a list of rows with a key
    "model". Columns that name no task are ignored. Everything else is read as results (see `result_files`), scored
    under `rule`. Raises PoolError naming file, row and value, and for a model that occurs twice.
    """
    pool: dict[str, dict[str, float]] = {}
    results = []
    for place in places:
        table = _table(Path(place))
        if table is None:
            results.append(place)
            continue
        for model, scores in table.items():
            _add(pool, model, scores, place)
    if results:
        found = read_all(results)
        refuse(found)
        for result in found:
            _add(pool, result.model, result.scores(rule), "the results")
    return pool


def common_tasks(pool: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Tasks that every model of the pool has a score for, in the order of the task table."""
    return [task.id for task in TASKS if all(task.id in scores for scores in pool.values())]


def _add(pool: dict[str, dict[str, float]], model: str, scores: Mapping[str, float], place: str) -> None:
    if model in pool:
        raise PoolError(f"{place}: model {model!r} is in the pool already; every model counts once")
    pool[model] = dict(scores)


def _table(path: Path) -> dict[str, dict[str, float]] | None:
    """Scores of a table; None when the file is something else."""
    if not path.is_file():
        return None
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _rows(list(csv.DictReader(file)), path)
    if path.suffix.lower() != ".json":
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PoolError(f"{path}: cannot be read as JSON ({error})") from error
    if isinstance(content, list):
        return _rows(content, path)
    if isinstance(content, dict) and content and all(isinstance(row, dict) for row in content.values()):
        rows = [{MODEL_COLUMN: model, **row} for model, row in content.items()]
        if any(key in TASKS_BY_ID for row in rows for key in row):
            return _rows(rows, path)
    return None


def _rows(rows: list[dict[str, Any]], path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, start=1):
        model = row.get(MODEL_COLUMN) if isinstance(row, dict) else None
        if not isinstance(model, str) or not model:
            raise PoolError(f"{path}, row {number}: no {MODEL_COLUMN!r}; every row needs a model's name")
        if model in found:
            raise PoolError(f"{path}, row {number}: model {model!r} occurs twice")
        scores = {}
        for task in TASKS_BY_ID:
            value = row.get(task)
            if value in (None, ""):
                continue
            try:
                scores[task] = float(value)
            except (TypeError, ValueError):
                raise PoolError(f"{path}, row {number} ({model}): {task} is {value!r}, not a number") from None
        if not scores:
            raise PoolError(f"{path}, row {number} ({model}): no column is a task; known: {', '.join(TASKS_BY_ID)}")
        found[model] = scores
    if not found:
        raise PoolError(f"{path}: no rows")
    return found
