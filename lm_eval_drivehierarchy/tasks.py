"""The one table of the fourteen open-loop tasks.

Everything that differs between tasks is declared here or, where building data needs it too, in `questions` and
`release.QUESTION_FILES` of the data package: YAMLs, prompts, parsing, scores, aggregation, the dataset card and the
reports derive from these tables or are proved equal to them by a test.

Sources: paper §3.2 (tasks and families), Table 1 (frozen weights), Appendix F (rank budgets).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from drivehierarchy_data import items
from drivehierarchy_data.questions import QUESTIONS, TITLES
from drivehierarchy_data.release import QUESTION_FILES, QuestionFile
from drivehierarchy_gym.errors import unknown_name

from .parsing.parsed import AnswerKind

FORMAT_INSTRUCTIONS: Final = MappingProxyType(
    {
        "yes_no": "Reply with yes or no in lower case and nothing else.",
        "count": "Reply with the number alone, as a whole number without a unit, and nothing else.",
        "metres": "Reply with the number of metres alone, without a unit, and nothing else.",
        "choice": "Reply with the letter of the correct option (A, B, C, ...) and nothing else.",
        "box": "Reply with the bounding box in pixels as [x1, y1, x2, y2] and nothing else.",
        "order": 'Reply with the labels in the right order as a JSON list, ["A", "B", ...], and nothing else.',
        "text": "Reply with the answer alone, without an explanation.",
    }
)
"""Answer kind -> the sentence that tells the model how to reply (the release has one such sentence a kind)."""

RANK_BUDGETS: Final = MappingProxyType({1: 0.3, 2: 0.3, 3: 0.4})
"""Rank -> sum of its tasks' weights (paper, Eq. 21)."""


_FILES: Final = MappingProxyType({file.task: file for file in QUESTION_FILES})


@dataclass(frozen=True, slots=True)
class Task:
    """One open-loop task.

    `weight` is the frozen share in S_open (Table 1). `views` is the smallest and the largest number of images an item
    has.
    """

    id: str
    family: str
    weight: float
    views: tuple[int, int]

    @property
    def release(self) -> QuestionFile:
        """Where the authors' release keeps the task; the source of its rank and kind too."""
        return _FILES[self.id]

    @property
    def rank(self) -> int:
        """1, 2 or 3."""
        return int(self.release.rank.removeprefix("R"))

    @property
    def title(self) -> str:
        """What the task asks for, in a few words."""
        return TITLES[self.id]

    @property
    def kind(self) -> AnswerKind:
        """What a reply must contain."""
        return self.release.answer_kind

    @property
    def questions(self) -> tuple[str, ...]:
        """Templates of the question for `str.format`; an item uses one of them."""
        return QUESTIONS[self.id]

    @property
    def format_instruction(self) -> str:
        """The sentence that fixes the form of the reply."""
        return FORMAT_INSTRUCTIONS[self.kind]

    @property
    def lm_eval_name(self) -> str:
        """Name under which lm-eval knows the task, for example "drivehierarchy_r1_1_a"."""
        return f"{LM_EVAL_GROUP}_{self.id}"

    def truth(self, answer: str, meta: Mapping[str, Any]) -> Any:
        """What scoring takes as true, of an item's columns `answer` and `meta`: of a description every reference."""
        return items.references(answer, meta) if self.kind == "text" else items.truth(self.kind, answer)


LM_EVAL_GROUP: Final = "drivehierarchy"
"""lm-eval group of all tasks; the ranks are "drivehierarchy_r1" to "drivehierarchy_r3"."""


def rank_group(rank: int) -> str:
    """lm-eval group of a rank: 1 -> "drivehierarchy_r1"."""
    return f"{LM_EVAL_GROUP}_r{rank}"


TASKS: Final[tuple[Task, ...]] = (
    Task(id="r1_1_a", family="recognition", weight=0.030, views=(1, 1)),
    Task(id="r1_1_b", family="recognition", weight=0.027, views=(1, 1)),
    Task(id="r1_1_c", family="recognition", weight=0.056, views=(1, 1)),
    Task(id="r1_2_a", family="distance", weight=0.035, views=(1, 1)),
    Task(id="r1_2_b", family="distance", weight=0.036, views=(1, 1)),
    Task(id="r1_2_c", family="distance", weight=0.029, views=(1, 1)),
    Task(id="r1_3", family="grounding", weight=0.056, views=(1, 1)),
    Task(id="r1_4", family="description", weight=0.031, views=(5, 5)),
    Task(id="r2_1", family="multi-view memory", weight=0.064, views=(6, 6)),
    Task(id="r2_2_a", family="temporal memory", weight=0.079, views=(10, 10)),
    Task(id="r2_2_b", family="temporal memory", weight=0.067, views=(5, 9)),
    Task(id="r2_3", family="spatial relations", weight=0.090, views=(1, 1)),
    Task(id="r3_1", family="outcome prediction", weight=0.233, views=(1, 1)),
    Task(id="r3_2", family="sequence planning", weight=0.167, views=(3, 5)),
)

TASKS_BY_ID: Final = MappingProxyType({task.id: task for task in TASKS})
"""Task id -> task."""

RANKS: Final[tuple[int, ...]] = tuple(RANK_BUDGETS)


def task(task_id: str) -> Task:
    """The task called `task_id`. Raises UnknownNameError, naming the nearest known ones, when there is none."""
    if task_id not in TASKS_BY_ID:
        raise unknown_name("task", task_id, TASKS_BY_ID)
    return TASKS_BY_ID[task_id]


def tasks_of_rank(rank: int) -> tuple[Task, ...]:
    """The tasks of rank 1, 2 or 3 in the paper's order; `ValueError` for another rank (R4 is the closed loop)."""
    found = tuple(entry for entry in TASKS if entry.rank == rank)
    if not found:
        raise ValueError(f"rank {rank!r} has no open-loop tasks; known: {', '.join(map(str, RANKS))}")
    return found
