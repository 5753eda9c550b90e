"""A model's reply to an item, and what a parsing rule makes of it: status, value, score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .formulas import within_scale
from .judge import JudgeQuestion, LingoJudge, lexical_overlap
from .parsing import ParseRule, ParseStatus
from .scoring import box_conventions, score_answer
from .tasks import TASKS, Task
from .tasks import task as task_named

Status = ParseStatus | Literal["missing"]
"""`missing`: there is no reply. It is not an answer, so it has no score and does not count as a parse failure."""

BOX_METRICS = {name: f"iou_{name}" for name in ("pixels", "fractions", "thousandths")}
"""Convention of box coordinates -> name of the diagnostic."""

LEXICAL_METRIC = "lexical"


@dataclass(frozen=True, slots=True)
class Reply:
    """One item and what the model said to it. `text` is None where a generation is missing; `truth` is as in the
    release, for a description a list of its reference answers; `options`, `image_size` (width, height) and `scene` are
    None where they are not known. `images` are (label, path or name), labelled only where they are to be put in order.
    """

    item: str
    task: str
    text: str | None
    truth: Any
    question: str = ""
    options: tuple[str, ...] | None = None
    image_size: tuple[int, int] | None = None
    scene: str | None = None
    images: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A reply under one rule. `score` is 0-100; None for a missing reply, and where a judge is needed and absent.

    `extra` holds diagnostics that are no scores: words shared with a reference answer (r1_4) and 100 IoU under each
    coordinate convention (r1_3). `partial` is true when the task has missing replies.
    """

    status: Status
    value: Any = None
    score: float | None = None
    extra: Mapping[str, float] = field(default_factory=dict)
    partial: bool = False

    def metrics(self, task: Task) -> dict[str, float]:
        """What lm-eval averages. `open` is 14 w_t times the score: its plain mean over the 14 tasks is S_open.

        A missing reply only counts as missing, so that no other mean includes it; where none is missing there is no
        such metric. A reply that was read but could not be judged is NaN, so that rank and S_open show that they have
        no value instead of leaving the task out. Shares are 0-1.
        """
        if self.status == "missing":
            return {"missing": 1.0}
        score = math.nan if self.score is None else self.score
        return {
            "score": score,
            "open": len(TASKS) * task.weight * score,
            "parse_fail": float(self.status == "unparseable"),
            "strict": float(self.status == "ok"),
            **({"missing": 0.0} if self.partial else {}),
            **self.extra,
        }

    def __str__(self) -> str:
        return self.status if self.value is None else str(self.value)


def outcomes(replies: Sequence[Reply], rule: ParseRule, judge: LingoJudge | None) -> list[Outcome]:
    """Every reply read and scored under `rule`; descriptions are judged together, in batches.

    Raises TruthError for a record whose truth cannot be read.
    """
    partial = any(reply.text is None for reply in replies)
    found = [replace(_outcome(reply, rule), partial=partial) for reply in replies]
    waiting = [
        index
        for index, (reply, outcome) in enumerate(zip(replies, found, strict=True))
        if outcome.score is None and outcome.status != "missing"
    ]
    if judge is not None and waiting:
        questions = [_judge_question(replies[index], found[index], rule) for index in waiting]
        for index, probability in zip(waiting, judge.probabilities(questions, rule), strict=True):
            found[index] = replace(found[index], score=within_scale(100.0 * probability))
    return found


def _outcome(reply: Reply, rule: ParseRule) -> Outcome:
    if reply.text is None:
        return Outcome("missing")
    kind = task_named(reply.task).kind
    scored = score_answer(
        kind,
        reply.truth,
        reply.text,
        options=reply.options,
        image_size=reply.image_size,
        rule=rule,
        question=reply.question,
    )
    extra: dict[str, float] = {}
    if kind == "box" and reply.image_size is not None:
        conventions = box_conventions(reply.truth, reply.text, reply.image_size)
        extra = {metric: conventions.get(name, 0.0) for name, metric in BOX_METRICS.items()}
    elif kind == "text":
        extra = {LEXICAL_METRIC: lexical_overlap(scored.value or "", _references(reply))}
    return Outcome(scored.status, scored.value, scored.score, extra)


def _judge_question(reply: Reply, outcome: Outcome, rule: ParseRule) -> JudgeQuestion:
    """The release compares with one reference answer, the benchmark that it comes from with all of them."""
    references = _references(reply)
    return JudgeQuestion(reply.question, tuple(references[:1] if rule == "official" else references), outcome.value)


def _references(reply: Reply) -> list[str]:
    return [reply.truth] if isinstance(reply.truth, str) else list(reply.truth)
