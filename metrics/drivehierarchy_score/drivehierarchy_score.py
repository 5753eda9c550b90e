"""DriveHierarchy's scores as an `evaluate` module: `evaluate.load("metrics/drivehierarchy_score")`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from lm_eval_drivehierarchy.aggregation import open_score, rank_score, task_score
from lm_eval_drivehierarchy.parsing.json_values import MISSING, decode
from lm_eval_drivehierarchy.scoring import Scored, score_answer
from lm_eval_drivehierarchy.tasks import RANKS, TASKS_BY_ID, task

_DESCRIPTION = """\
Scores of DriveHierarchy (ranks R1-R3): yes/no and multiple choice by exact match, counts and distances by a bounded
decay of the relative error, boxes by intersection over union, frame orders by pairwise inversions; each 0-100. Replies
are read by the rule "flexible" (what a fair reader would take) or "official" (the released evaluator).
"""

_CITATION = """\
@article{drivehierarchy2026,
  title = {DriveHierarchy: A Benchmark for Diagnosing VLM Driving Capabilities from Open-Loop Understanding to
           Closed-Loop Execution},
  year = {2026},
  eprint = {2609.31814},
  archivePrefix = {arXiv},
}
"""

_KWARGS_DESCRIPTION = """\
Args:
    predictions (list of str): the models' replies, as they are.
    references (list): the true answers as the release stores them: "Yes", "5", "17.77 m", "C" or "C. Turn left.",
        {"bbox": [x1, y1, x2, y2], "format": "xyxy"}, ["B", "A", "C"]. Objects and lists may be given as JSON.
    kinds (str or list of str): yes_no, count, metres, choice, box or order; one for all or one each. Leave it out when
        tasks are given.
    tasks (str or list of str): task ids such as "r1_1_a", one for all or one each; the result then also has entries for
        tasks, ranks and S_open.
    options (list): per item the options shown, or the labels of an order, or None.
    image_sizes (list): per item (width, height) in pixels, or None.
    rule (str): "flexible" (default) or "official".
Returns:
    score: mean of all items, 0-100; stderr: its standard error (None for one item); n: number of items;
    parse_fail: share of replies that could not be read; strict: share of replies in the requested format;
    scores: the score of each item; tasks, ranks, open: with tasks only. A rank with a missing task, and S_open unless
    all fourteen are there, is None, and `missing` names the tasks.
Examples:
    >>> score = evaluate.load("metrics/drivehierarchy_score")
    >>> score.compute(predictions=["There are 6 cars."], references=["5"], kinds="count")["score"]
    50.0
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class DriveHierarchyScore(evaluate.Metric):
    """Mean score of replies to DriveHierarchy questions."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
        )

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> dict[str, Any] | None:
        """As documented above. References that are objects or lists travel through evaluate's table as JSON."""
        if references is not None:
            references = [entry if isinstance(entry, str) else json.dumps(entry) for entry in references]
        return super().compute(predictions=predictions, references=references, **kwargs)

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        kinds: str | Sequence[str] | None = None,
        tasks: str | Sequence[str] | None = None,
        options: Sequence[Sequence[str] | None] | None = None,
        image_sizes: Sequence[Sequence[int] | None] | None = None,
        rule: str = "flexible",
    ) -> dict[str, Any]:
        count = len(predictions)
        if (kinds is None) == (tasks is None):
            raise ValueError("give either kinds=… or tasks=…, so that the replies can be read")
        task_ids = _each("tasks", tasks, count) if tasks is not None else []
        item_kinds = [task(name).kind for name in task_ids] if task_ids else _each("kinds", kinds, count)
        item_options = _each("options", options, count)
        item_sizes = _each("image_sizes", image_sizes, count)
        scored = []
        for index, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
            if item_kinds[index] in ("text", "action"):
                raise ValueError(
                    f"item {index}: replies of kind {item_kinds[index]!r} are not scored from the answer alone "
                    "(text: `drivehierarchy score` runs Lingo-Judge; action: the closed loop scores episodes)"
                )
            size = item_sizes[index]
            scored.append(
                score_answer(
                    item_kinds[index],
                    _truth(reference),
                    prediction,
                    options=item_options[index],
                    image_size=tuple(size) if size is not None else None,
                    rule=rule,
                )
            )
        whole = task_score(scored)
        assert whole is not None, "only text and actions can lack a score"
        result = {
            "score": whole.value,
            "stderr": whole.stderr,
            "n": whole.n,
            "parse_fail": whole.parse_fail,
            "strict": whole.strict,
            "scores": [reply.score for reply in scored],
        }
        return result | (_by_task(task_ids, scored) if task_ids else {})


def _each(name: str, given: Any, count: int) -> list[Any]:
    """One entry per item, from one for all or a list."""
    if given is None or isinstance(given, str):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} entries for {count} predictions")
    return list(given)


def _truth(reference: str) -> Any:
    value = decode(reference) if reference[:1] in ("{", "[") else MISSING
    return reference if value is MISSING else value


def _by_task(task_ids: Sequence[str], scored: Sequence[Scored]) -> dict[str, Any]:
    replies: dict[str, list[Scored]] = {name: [] for name in TASKS_BY_ID if name in task_ids}
    for name, reply in zip(task_ids, scored, strict=True):
        replies[name].append(reply)
    scores = {name: found for name, given in replies.items() if (found := task_score(given)) is not None}
    ranks = {f"r{rank}": rank_score(rank, scores) for rank in RANKS}
    whole = open_score(scores)
    return {
        "tasks": {name: {"score": s.value, "stderr": s.stderr, "n": s.n} for name, s in scores.items()},
        "ranks": {name: {"score": s.value, "stderr": s.stderr} for name, s in ranks.items()},
        "open": {"score": whole.value, "stderr": whole.stderr},
        "missing": list(whole.missing),
    }
