"""A pool of models for calibration: task scores from a JSON or CSV table, from result files and folders, or from the
paper, under the rules by which a report lets results stand together."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivehierarchy_gym.errors import DriveHierarchyError
from lm_eval_drivehierarchy.calibration import is_number
from lm_eval_drivehierarchy.comparability import Sentence, like_paper, refuse, warnings
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.parsing.parsed import ParseRule
from lm_eval_drivehierarchy.result_files import read_all
from lm_eval_drivehierarchy.results import PAPER_EDITION, ModelResult
from lm_eval_drivehierarchy.tasks import TASKS, TASKS_BY_ID
from lm_eval_drivehierarchy.wording import counted

MODEL_COLUMN = "model"
PAPER_RULE: ParseRule = "official"
"""Parsing rule of the paper's scores."""


class PoolError(DriveHierarchyError, ValueError):
    """A table of scores that cannot be read."""


@dataclass(frozen=True)
class Pool:
    """Models whose scores may be compared, and what a reader must know about them all the same."""

    scores: dict[str, dict[str, float]]
    """model -> task -> score, in the order given."""
    notes: tuple[Sentence, ...]

    @property
    def tasks(self) -> list[str]:
        """Tasks that every model has a score for, in the order of the task table."""
        return [task.id for task in TASKS if all(task.id in scores for scores in self.scores.values())]


def read_pool(places: Iterable[str], rule: ParseRule = "official", *, paper: bool = False) -> Pool:
    """Scores from every place, in order, and of the paper's models with `paper`.

    A ``.csv`` has a column "model" and one per task; a ``.json`` is {model: {task: score}} or a list of rows with a key
    "model". Columns that name no task are ignored. Everything else is read as results (see `result_files`), scored
    under `rule`. Every task that some models have and others lack is named in the notes, as is all that weakens the
    results. Raises PoolError naming file, row and value, and for a model that occurs twice; ResultsError for results
    that a report would not put into one table, PoolError for those that do not belong with the paper's.
    """
    scores: dict[str, dict[str, float]] = {}
    notes: list[Sentence] = []
    results, tables = [], []
    for place in places:
        table = _table(Path(place))
        if table is None:
            results.append(place)
            continue
        tables.append(place)
        for model, row in table.items():
            _add(scores, model, row, place)
    found = read_all(results) if results else []
    refuse(found)
    notes += [f"{model.model}: no open-loop result, so it is not in the pool" for model in found if not model.tasks]
    found = [model for model in found if model.tasks]
    if paper:
        _refuse_beside_paper(found, rule)
    for result in found:
        _add(scores, result.model, result.scores(rule), "the results")
    notes += warnings([result.model_copy(update={"closed_loop": None}) for result in found])
    if paper:
        for model, printed in paper_tables().open_scores().items():
            _add(scores, model, printed, "the paper")
    if tables and (found or paper or len(tables) > 1):
        notes.append(
            f"{', '.join(tables)}: a table does not say on which edition its scores were measured, so nothing shows "
            "that its models answered the same questions as the others"
        )
    return Pool(scores, (*notes, *_incomplete(scores)))


def _refuse_beside_paper(found: Sequence[ModelResult], rule: ParseRule) -> None:
    other = [f"{model.model} ({model.edition or 'unknown'})" for model in found if not like_paper(model)]
    if other:
        raise PoolError(
            f"edition differs ({', '.join(other)}; the paper's models: {PAPER_EDITION}): scores on different questions "
            "cannot share a pool; leave the paper's models out, or evaluate on the release edition"
        )
    if found and rule != PAPER_RULE:
        raise PoolError(
            f"the paper's models were scored under the rule {PAPER_RULE}, the others are taken under {rule}; leave the "
            f"paper's models out, or use --rule {PAPER_RULE}"
        )


def _incomplete(scores: Mapping[str, Mapping[str, float]]) -> list[Sentence]:
    """One sentence for each task that the pool has to do without because some of its models lack it."""
    found = []
    for task in TASKS:
        lacking = [model for model, row in scores.items() if task.id not in row]
        if lacking and len(lacking) < len(scores):
            found.append(f"{task.id} is left out of the pool: no score of {', '.join(lacking)}")
    absent = [task.id for task in TASKS if not any(task.id in row for row in scores.values())]
    if absent:
        found.append(f"no model of the pool has a score for {', '.join(absent)}")
    return found


def _add(pool: dict[str, dict[str, float]], model: str, scores: Mapping[str, float], place: str) -> None:
    if model in pool:
        raise PoolError(
            f"{place}: model {model!r} is in the pool already; every model counts once, so rename one or leave it out"
        )
    pool[model] = dict(scores)


def _table(path: Path) -> dict[str, dict[str, float]] | None:
    """Scores of a table; None when the file is something else."""
    if not path.is_file():
        return None
    if path.suffix.lower() == ".csv":
        return _rows(_csv_rows(path), path)
    if path.suffix.lower() != ".json":
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=lambda pairs: _once(pairs, path))
    except PoolError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise PoolError(f"{path}: cannot be read as JSON ({error}); correct it or leave it out") from error
    if isinstance(content, list):
        return _rows(content, path)
    if isinstance(content, dict) and content and all(isinstance(row, dict) for row in content.values()):
        rows = [{MODEL_COLUMN: model, **row} for model, row in content.items()]
        if any(key in TASKS_BY_ID for row in rows for key in row):
            return _rows(rows, path)
    return None


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file, the cells of tasks as numbers where they spell one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = list(reader.fieldnames or [])
            found = list(reader)
    except (OSError, ValueError, csv.Error) as error:
        raise PoolError(f"{path}: cannot be read as CSV in UTF-8 ({error}); correct it or leave it out") from error
    twice = [name for name in (MODEL_COLUMN, *TASKS_BY_ID) if columns.count(name) > 1]
    if twice:
        raise PoolError(f"{path}: column {twice[0]!r} occurs {columns.count(twice[0])} times; keep one")
    for number, row in enumerate(found, start=1):
        if None in row:  # the cells beyond the last column: which of them is one too many, nobody knows
            raise PoolError(
                f"{path}, row {number}: more cells than the {counted(len(columns), 'column')}; quote a cell that holds "
                "a comma, and write decimals with a point"
            )
    return [{key: _number(cell) if key in TASKS_BY_ID else cell for key, cell in row.items()} for row in found]


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
            if not is_number(value):
                raise PoolError(f"{path}, row {number} ({model}): {task} is {value!r}, not a number")
            scores[task] = float(value)
        if not scores:
            raise PoolError(f"{path}, row {number} ({model}): no column is a task; known: {', '.join(TASKS_BY_ID)}")
        found[model] = scores
    if not found:
        raise PoolError(f"{path}: no rows")
    return found


def _number(value: Any) -> Any:
    """The number that a cell of a CSV file spells, else the cell."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _once(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    """A JSON object whose keys differ: of two equal ones, Python would drop the first without a word."""
    keys = [key for key, _ in pairs]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise PoolError(f"{path}: {twice[0]!r} occurs {keys.count(twice[0])} times in one object; keep one")
    return dict(pairs)
