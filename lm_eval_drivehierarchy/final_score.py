"""`final_score.json`: the release's own fields, and beside them the result with both rules, intervals and reasons."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from drivehierarchy_gym.road.cache import write_atomically

from .aggregation import task_score
from .judge import LingoJudge, NoJudge
from .parsing import PARSE_RULES, ParseRule
from .replies import BOX_METRICS, Outcome, outcomes
from .reply_files import ReplySet, TaskReplies
from .results import FileRecord, ItemScore, ModelResult, RuleScore, TaskResult
from .scoring import Scored
from .tasks import TASKS

FILE_NAME = Path("evaluation/final_score.json")
"""Where the release's scorer writes, below the folder of the predictions."""

TASK_VERSION = "1.0"
"""Version of tasks and scores; equal to that of the YAMLs."""

RELEASE_TASKS = {
    "yes_no": "yes_no",
    "count": "count",
    "metres": "distance",
    "choice": "multi_choice",
    "box": "bbox",
    "order": "sequence_order",
    "text": "text",
}
"""Answer kind -> its name in the release's summary."""

NO_REPLY = "no reply: not one item was answered"


def score_replies(found: ReplySet, judge: LingoJudge | NoJudge) -> ModelResult:
    """Scores every reply under both rules. Missing replies lower n; a task without a score is in `absent`."""
    tasks: dict[str, TaskResult] = {}
    absent: dict[str, str] = {}
    notes = list(found.problems)
    for task in TASKS:
        replies = found.tasks.get(task.id)
        if replies is None:
            continue
        notes += replies.problems
        answered = [reply for reply in replies.replies if reply.text is not None]
        if missing := len(replies.replies) - len(answered):
            notes.append(f"{task.id}: {missing} items have no reply; they are left out, run the evaluation again")
        if not answered:
            absent[task.id] = NO_REPLY
            continue
        by_rule = {rule: _outcomes(replies, rule, judge) for rule in PARSE_RULES}
        summaries = {rule: _summary_of(scored, replies.expected) for rule, scored in by_rule.items()}
        if None in summaries.values():
            assert isinstance(judge, NoJudge)
            absent[task.id] = judge.reason
            continue
        tasks[task.id] = TaskResult(
            task=task.id,
            n=len(answered),
            expected=replies.expected,
            rules={rule: summary for rule, summary in summaries.items() if summary is not None},
            items=tuple(
                ItemScore(
                    id=reply.item,
                    scene=reply.scene,
                    scores={rule: by_rule[rule][index].score for rule in PARSE_RULES},
                )
                for index, reply in enumerate(answered)
            ),
            boxes=_boxes(by_rule["flexible"]),
            version=TASK_VERSION,
        )
    return ModelResult(
        model=found.model,
        edition=found.edition,
        edition_hash=found.edition_hash,
        protocol=found.protocol,
        versions=found.versions,
        tasks=tasks,
        absent=absent,
        files=tuple(FileRecord.of(path) for replies in found.tasks.values() for path in replies.files),
        notes=tuple(notes),
    )


def _outcomes(replies: TaskReplies, rule: ParseRule, judge: LingoJudge | NoJudge) -> list[Outcome]:
    """Outcomes of the answered items. Without a judge, what lm-eval logged when it had one still stands."""
    answered = [reply for reply in replies.replies if reply.text is not None]
    scored = outcomes(answered, rule, judge if isinstance(judge, LingoJudge) else None)
    for index, (reply, outcome) in enumerate(zip(answered, scored, strict=True)):
        logged = replies.logged.get((reply.item, rule), math.nan)
        if outcome.score is None and math.isfinite(logged):
            scored[index] = Outcome(outcome.status, outcome.value, logged, outcome.extra)
    return scored


def _summary_of(scored: Sequence[Outcome], expected: int | None) -> RuleScore | None:
    """S_t of a task; None when a reply could not be scored."""
    found = task_score([Scored(o.score, o.status, o.value) for o in scored if o.status != "missing"], expected)
    if found is None:
        return None
    return RuleScore(score=found.value, stderr=found.stderr, parse_fail=found.parse_fail, strict=found.strict)


def _boxes(scored: Sequence[Outcome]) -> dict[str, float] | None:
    """Mean diagnostic per convention of box coordinates; None where the image size of an item is not known."""
    found = {}
    for name, metric in BOX_METRICS.items():
        values = [outcome.extra[metric] for outcome in scored if metric in outcome.extra]
        if len(values) == len(scored):
            found[name] = _mean(values)
    return found or None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


# --- the file --------------------------------------------------------------------------------------------------------


def final_score(found: ReplySet, result: ModelResult, *, seed: int = 0) -> dict[str, Any]:
    """Content of `final_score.json`.

    `overall`, `per_task` and `per_file` are the release's: rule official, 0-100, every record of every file counted
    alike. `drivehierarchy` holds the estimates of tasks, ranks and S_open under both rules, and the whole result, from
    which `result_of` makes a ModelResult again.
    """
    per_kind: dict[str, list[TaskResult]] = {}
    for task in TASKS:
        if task.id in result.tasks:
            per_kind.setdefault(RELEASE_TASKS[task.kind], []).append(result.tasks[task.id])
    everything = [item.scores["official"] for entry in result.tasks.values() for item in entry.items]
    return {
        "overall": _mean(everything) if everything else None,
        "per_task": {name: _summary(entries) for name, entries in per_kind.items()},
        "per_file": {task.release.stem: _summary([result.tasks[task.id]]) for task in TASKS if task.id in result.tasks},
        "drivehierarchy": {
            "estimates": {rule: _estimates(result, rule, seed) for rule in result.rules()},
            "result": result.model_dump(mode="json"),
        },
    }


def _summary(entries: Sequence[TaskResult]) -> dict[str, float]:
    scores = [item.scores["official"] for entry in entries for item in entry.items]
    failed = sum((entry.rules["official"].parse_fail or 0.0) * len(entry.items) for entry in entries)
    return {
        "n": len(scores),
        "parse_fail": round(failed),
        "mean": _mean(scores),
        "p50": float(np.percentile(scores, 50)),
        "p90": float(np.percentile(scores, 90)),
    }


def _estimates(result: ModelResult, rule: ParseRule, seed: int) -> dict[str, Any]:
    found = result.open_loop(rule, seed=seed)
    return {
        "tasks": {task: asdict(estimate) for task, estimate in found.tasks.items()},
        "ranks": {f"R{rank}": asdict(estimate) for rank, estimate in found.ranks.items()},
        "open": asdict(found.open),
    }


def write_final_score(path: Path, content: dict[str, Any]) -> None:
    """Writes the file whole or not at all."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def write(partial: Path) -> None:
        partial.write_text(text, encoding="utf-8")

    write_atomically(path, write)


def result_of(content: dict[str, Any]) -> ModelResult:
    """The result inside a `final_score.json`. Raises KeyError for a file of the release's own scorer."""
    return ModelResult.model_validate(content["drivehierarchy"]["result"])
