"""`final_score.json`: the release's own fields, and beside them the result with both rules, intervals and reasons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from .aggregation import task_score
from .formulas import (
    COUNT_FLOOR,
    COUNT_SCALE,
    COUNT_TOLERANCE,
    METRES_OFFSET,
    METRES_SCALE,
    METRES_TOLERANCE,
)
from .judge import LingoJudge, NoJudge
from .parsing import PARSE_RULES, ParseRule
from .replies import BOX_METRICS, Outcome, outcomes
from .reply_files import ReplySet, TaskReplies
from .results import FileRecord, ItemScore, ModelResult, RuleScore, TaskResult
from .scoring import Scored
from .tasks import TASKS, Task
from .wording import agreeing, counted

FILE_NAME = Path("evaluation/final_score.json")
"""Where the release's scorer writes, below the folder of the predictions."""

TASK_VERSION = "1.0"
"""Version of tasks and scores; equal to that of the YAMLs."""

RELEASE_METRICS: Final = MappingProxyType(
    {
        "yes_no": ("yes_no", "em_yes_no"),
        "count": ("numeric_count", "count_exp_decay"),
        "metres": ("numeric_distance", "distance_log_ratio_exp_decay"),
        "choice": ("multi_choice", "em_multi_choice"),
        "box": ("bbox", "bbox_iou"),
        "order": ("sequence_order", "sequence_kendall"),
        "text": ("text_lingo_judge", "lingo_judge_probability"),
    }
)
"""Answer kind -> the release's names of the task type and of its metric."""

JUDGE_THRESHOLD = 0.5
"""Probability from which the release counts a description as passed (`pass_rate`)."""

JUDGE_FILE_MISSING = "l1_4_result_file_missing"
"""What the release gives as the reason when there is no file of descriptions."""

NO_REPLY = "no reply: not one item was answered"


def score_replies(found: ReplySet, judge: LingoJudge | NoJudge) -> ModelResult:
    """Scores every reply under both rules. Missing replies lower n; a task without a score is in `absent`."""
    tasks: dict[str, TaskResult] = {}
    absent: dict[str, str] = {}
    notes = [*found.problems, *found.superseded]
    for task in TASKS:
        replies = found.tasks.get(task.id)
        if replies is None:
            continue
        notes += replies.problems
        answered = [reply for reply in replies.replies if reply.text is not None]
        if missing := len(replies.replies) - len(answered):
            have, are = agreeing(missing, "has", "have"), agreeing(missing, "it is", "they are")
            notes.append(
                f"{task.id}: {counted(missing, 'item')} {have} no reply; {are} left out, run the evaluation again"
            )
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


def final_score(
    found: ReplySet, result: ModelResult, path: Path, judge: LingoJudge | NoJudge, *, seed: int = 0
) -> dict[str, Any]:
    """Content of the `final_score.json` that is to lie at `path`.

    Every key but `drivehierarchy` is the release's, in its shape: rule official, scores 0-100, every record of every
    file counted alike in `overall` and `per_task`. Four values differ in meaning. `created_at` is when the newest file
    of replies was changed, so that the same replies give the same bytes (null without files). Where nothing was
    scored, `mean`, `p50` and `p90` are null instead of 0. `source_file` is the release's file name of a task, also for
    replies that lm-eval logged. Reasons for a file without scores are sentences.

    `drivehierarchy` holds the estimates of tasks, ranks and S_open under both rules, and the whole result, from which
    `result_of` makes a ModelResult again.
    """
    scored = [(task, result.tasks[task.id]) for task in TASKS if task.id in result.tasks]
    per_type: dict[str, list[TaskResult]] = {}
    for task, entry in scored:
        per_type.setdefault(RELEASE_METRICS[task.kind][0], []).append(entry)
    return {
        "created_at": _newest_change(found),
        "result_dir": str(found.folder),
        "output_file": str(path),
        "config": _config(result, judge),
        "scored_files": len(scored),
        "skipped_files": [
            {"source_file": task.release.prediction_file, "reason": result.absent[task.id]}
            for task in TASKS
            if task.id in result.absent
        ],
        "overall": _summary([entry for _, entry in scored]),
        "per_task": [{"task_type": name, **_summary(per_type[name])} for name in sorted(per_type)],
        "per_file": [_file_summary(task, entry) for task, entry in scored],
        "drivehierarchy": {
            "estimates": {rule: result.open_loop(rule, seed=seed).as_record() for rule in result.rules()},
            "result": result.model_dump(mode="json"),
        },
    }


def _newest_change(found: ReplySet) -> str | None:
    """When the newest file of replies was changed, ISO 8601 in UTC; None without files."""
    changes = [path.stat().st_mtime for replies in found.tasks.values() for path in replies.files]
    return datetime.fromtimestamp(max(changes), tz=timezone.utc).isoformat() if changes else None


def _config(result: ModelResult, judge: LingoJudge | NoJudge) -> dict[str, Any]:
    """The release's record of its constants; `model_name` is null where only logged judgements were at hand."""
    described = [task.id for task in TASKS if task.kind == "text"]
    enabled = any(task in result.tasks for task in described)
    reasons = [result.absent[task] for task in described if task in result.absent]
    return {
        "count_c": COUNT_FLOOR,
        "count_tau": COUNT_TOLERANCE,
        "count_sigma": COUNT_SCALE,
        "distance_epsilon": METRES_OFFSET,
        "distance_tau": METRES_TOLERANCE,
        "distance_sigma": METRES_SCALE,
        "l1_4": {
            "enabled": enabled,
            "skip_reason": None if enabled else (reasons[0] if reasons else JUDGE_FILE_MISSING),
            "model_name": judge.name if isinstance(judge, LingoJudge) else None,
            "device": "auto",
            "threshold": JUDGE_THRESHOLD,
        },
    }


def _file_summary(task: Task, entry: TaskResult) -> dict[str, Any]:
    task_type, metric = RELEASE_METRICS[task.kind]
    summary = {
        "source_file": task.release.prediction_file,
        "task_type": task_type,
        "metric": metric,
        **_summary([entry]),
    }
    if task.kind == "text":
        summary["pass_rate"] = _mean([item.scores["official"] >= 100 * JUDGE_THRESHOLD for item in entry.items])
    return summary


def _summary(entries: Sequence[TaskResult]) -> dict[str, int | float | None]:
    scores = [item.scores["official"] for entry in entries for item in entry.items]
    failed = sum(round((entry.rules["official"].parse_fail or 0.0) * len(entry.items)) for entry in entries)
    return {
        "n": len(scores),
        "parse_fail": failed,
        "mean": _mean(scores) if scores else None,
        "p50": float(np.percentile(scores, 50)) if scores else None,
        "p90": float(np.percentile(scores, 90)) if scores else None,
    }


def result_of(content: dict[str, Any]) -> ModelResult:
    """The result inside a `final_score.json`. Raises KeyError for a file of the release's own scorer."""
    return ModelResult.model_validate(content["drivehierarchy"]["result"])
