"""S_t, S_r and S_open from scored replies, with standard errors and a word about everything that is not there.

The closed forms of Eq. 13-15; intervals that know about scenes are in `statistics`. lm-eval prints the same means, but
its group error is weighted by size and its groups average whatever is there; here an incomplete rank has no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .scoring import Scored
from .tasks import TASKS, tasks_of_rank
from .wording import counted


@dataclass(frozen=True, slots=True)
class TaskScore:
    """S_t (Eq. 13): mean score 0-100 over `n` scored items of `expected` (None: not known).

    `stderr` is the standard error of the mean, sample deviation over sqrt(n), None for a single item. `parse_fail` and
    `strict` are the shares of unparseable replies and of replies in the requested format.
    """

    value: float
    stderr: float | None
    n: int
    expected: int | None
    parse_fail: float
    strict: float

    @property
    def partial(self) -> bool:
        """True when items are missing: a limit, failed generations, broken records."""
        return self.expected is not None and self.n < self.expected


@dataclass(frozen=True, slots=True)
class Combined:
    """A sum over tasks: S_r or S_open. `value` is None while tasks are missing; `stderr` also when a task has none.

    `missing` are the tasks without a score, `partial` those scored on a part of their items, as (task, n, expected).
    """

    value: float | None
    stderr: float | None
    missing: tuple[str, ...] = ()
    partial: tuple[tuple[str, int, int], ...] = ()

    @property
    def complete(self) -> bool:
        """True when every task is there with all its items."""
        return not self.missing and not self.partial

    @property
    def remark(self) -> str:
        """What to print beside the value; "" when nothing is missing."""
        parts = []
        if self.missing:
            parts.append(f"incomplete: no score for {', '.join(self.missing)}")
        if self.partial:
            parts.append("partial: " + ", ".join(f"{task} {n} of {expected}" for task, n, expected in self.partial))
        return "; ".join(parts)


def task_score(scored: Sequence[Scored], expected: int | None = None) -> TaskScore | None:
    """S_t of the replies to one task; None when one of them could not be scored (no judge), or there are none.

    `expected` is the number of items the task has. Raises ValueError when it is smaller than the number of replies:
    then an item was counted twice.
    """
    if expected is not None and expected < len(scored):
        raise ValueError(
            f"{counted(len(scored), 'reply', 'replies')} to {counted(expected, 'item')}: an item is there twice"
        )
    scores = [reply.score for reply in scored if reply.score is not None]
    if not scores or len(scores) < len(scored):
        return None
    return TaskScore(
        value=math.fsum(scores) / len(scores),
        stderr=standard_error(scores),
        n=len(scores),
        expected=expected,
        parse_fail=sum(reply.status == "unparseable" for reply in scored) / len(scored),
        strict=sum(reply.status == "ok" for reply in scored) / len(scored),
    )


def standard_error(values: Sequence[float]) -> float | None:
    """Standard error of a mean of independent values; None for fewer than two."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))


def rank_weights(rank: int) -> dict[str, float]:
    """Weights of S_r (Eq. 14): every task of the rank alike."""
    tasks = tasks_of_rank(rank)
    return {task.id: 1.0 / len(tasks) for task in tasks}


def open_weights() -> dict[str, float]:
    """Weights of S_open (Eq. 15): the frozen ones of all fourteen tasks."""
    return {task.id: task.weight for task in TASKS}


def weighted_sum(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Sum of w_t values_t over the tasks of `weights`."""
    return math.fsum(weight * values[task] for task, weight in weights.items())


def weighted_error(errors: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Standard error of a weighted sum of tasks taken as independent: sqrt(sum (w_t se_t)^2)."""
    return math.hypot(*(weight * errors[task] for task, weight in weights.items()))


def rank_score(rank: int, scores: Mapping[str, TaskScore]) -> Combined:
    """S_r (Eq. 14): plain mean over the rank's tasks, its error sqrt(sum se_t^2) / T."""
    return combined(scores, rank_weights(rank))


def open_score(scores: Mapping[str, TaskScore]) -> Combined:
    """S_open (Eq. 15): sum of w_t S_t over all fourteen tasks, its error sqrt(sum (w_t se_t)^2)."""
    return combined(scores, open_weights())


def combined(scores: Mapping[str, TaskScore], weights: Mapping[str, float]) -> Combined:
    """Weighted sum of task scores, the tasks taken as independent."""
    missing = tuple(task for task in weights if task not in scores)
    found = {task: scores[task] for task in weights if task in scores}
    partial = tuple((task, s.n, s.expected) for task, s in found.items() if s.partial and s.expected is not None)
    if missing:
        return Combined(None, None, missing, partial)
    errors = {task: score.stderr for task, score in found.items() if score.stderr is not None}
    return Combined(
        weighted_sum({task: score.value for task, score in found.items()}, weights),
        weighted_error(errors, weights) if len(errors) == len(found) else None,
        missing,
        partial,
    )
