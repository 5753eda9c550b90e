"""Speed of reading and scoring: a full edition of replies under both rules, and the longest replies a model can give.

    python benchmarks/scoring.py [--items-per-task 1000]

Replies are a mixture, the same for every run, of what models write: the requested form, a sentence, a declaration after
an explanation, JSON, a reasoning block, nonsense. Free text is read but not judged. Times are of one process.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from typing import Any

from lm_eval_drivehierarchy.aggregation import TaskScore, open_score, rank_score, task_score
from lm_eval_drivehierarchy.parsing import PARSE_RULES, parse_answer, render
from lm_eval_drivehierarchy.scoring import Scored, score_answer
from lm_eval_drivehierarchy.tasks import RANKS, TASKS, Task

SIZE = (1600, 900)
OPTIONS = {
    "choice": ["A. moving.", "B. parked.", "C. stopped.", "D. No Change (It remains moving)."],
    "order": ["A", "B", "C", "D", "E"],
}
EXPLANATION = "The road is wet and the light is low, so I look at every lane from left to right before I decide. "


def truth_and_value(task: Task, random_: random.Random) -> tuple[Any, Any]:
    """A truth in the release's form, and a value near it that a model might answer."""
    if task.kind == "yes_no":
        return random_.choice(("Yes", "No")), random_.choice(("yes", "no"))
    if task.kind == "count":
        count = random_.randrange(1, 25)
        return str(count), max(0, count + random_.randrange(-2, 3))
    if task.kind == "metres":
        metres = random_.uniform(2, 120)
        return f"{metres:.2f} m", round(metres * random_.uniform(0.5, 2), 2)
    if task.kind == "choice":
        return random_.choice("ABCD"), random_.choice("ABCD")
    if task.kind == "box":
        x, y = random_.randrange(1400), random_.randrange(700)
        box = [x, y, x + random_.randrange(20, 200), y + random_.randrange(20, 200)]
        return {"bbox": box, "format": "xyxy"}, [corner + random_.randrange(-9, 10) for corner in box]
    if task.kind == "order":
        return random_.sample(OPTIONS["order"], 5), random_.sample(OPTIONS["order"], 5)
    return "I am turning left as the road bends.", "I turn left because the road bends that way."


def reply(task: Task, value: Any, random_: random.Random) -> str:
    """One of the forms in which models say a value."""
    plain = render(value, task.kind)
    form = random_.randrange(7)
    return (
        plain,
        f"The answer is {plain}.",
        f"{EXPLANATION * random_.randrange(1, 12)}\n\n**Answer:** {plain}",
        json.dumps({"reasoning": EXPLANATION, "answer": value}),
        f"<think>{EXPLANATION * random_.randrange(1, 40)}</think>\n{plain}",
        f"{EXPLANATION * 4} I cannot determine it.",
        f"```json\n{plain}\n```",
    )[form]


def full_edition(items_per_task: int) -> None:
    """Times every task under both rules and prints what a report needs."""
    random_ = random.Random(0)
    records = {}
    for task in TASKS:
        pairs = [truth_and_value(task, random_) for _ in range(items_per_task)]
        records[task.id] = [(truth, reply(task, value, random_)) for truth, value in pairs]
    total = items_per_task * len(TASKS)
    for rule in PARSE_RULES:
        start = time.perf_counter()
        scores: dict[str, TaskScore] = {}
        for task in TASKS:
            begin = time.perf_counter()
            scored: list[Scored] = [
                score_answer(
                    task.kind, truth, text, options=OPTIONS.get(task.kind), image_size=SIZE, rule=rule, question="What?"
                )
                for truth, text in records[task.id]
            ]
            found = task_score(scored, expected=items_per_task)
            if found is not None:
                scores[task.id] = found
            micros = (time.perf_counter() - begin) / items_per_task * 1e6
            print(f"  {rule:8s} {task.id:7s} {task.kind:6s} {micros:8.0f} us/answer")
        ranks = [rank_score(rank, scores) for rank in RANKS]
        seconds = time.perf_counter() - start
        print(
            f"{rule}: {total} answers in {seconds:.2f} s, {total / seconds:.0f}/s; S_open: {open_score(scores).remark}"
        )
        print("  " + ", ".join(f"R{rank} {found.value}" for rank, found in zip(RANKS, ranks, strict=True)))


def longest_replies(characters: int) -> None:
    """Times one long reply per kind, of ordinary words and of marks that invite looking back."""
    for name, filler in (
        ("words", EXPLANATION),
        ("numbers", "5, "),
        ("brackets", "({["),
        ("announcements", "answer is "),
    ):
        text = (filler * characters)[:characters]
        for kind in ("yes_no", "count", "metres", "choice", "box", "order", "text", "action"):
            begin = time.perf_counter()
            parse_answer(text, kind, options=OPTIONS.get(kind), image_size=SIZE)  # type: ignore[arg-type]
            print(f"  {characters} characters of {name:13s} {kind:7s} {time.perf_counter() - begin:6.3f} s")


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items-per-task", type=int, default=1000)
    parser.add_argument("--characters", type=int, default=100_000)
    arguments = parser.parse_args()
    full_edition(arguments.items_per_task)
    longest_replies(arguments.characters)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
