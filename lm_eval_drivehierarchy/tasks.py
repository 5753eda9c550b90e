"""The one table of the fourteen open-loop tasks.

Everything that differs between tasks is declared here and nowhere else: YAMLs, prompts, parsing, scores, aggregation,
the dataset card's configurations and the reports derive from it or are proved equal to it by a test.

Sources: paper §3.2 (tasks and families), Table 1 (frozen weights), Appendix D (answer kinds), Appendix F (rank
budgets); the release's question files (file names, id prefixes, answer fields).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from drivehierarchy_data import items
from drivehierarchy_data.questions import QUESTIONS
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


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """Where the authors' release keeps a task, with the quirks of its ids.

    `stem` names the question file `<stem>.jsonl` and the prediction file `<stem>_pred.jsonl`. `id_prefix` starts the
    ids inside (`<id_prefix><n>`); those of R2_1, R2_2_A and R2_2_B disagree with the file name. `id_field` and
    `truth_field` say which fields hold the id and the answer.
    """

    stem: str
    id_prefix: str
    id_field: Literal["Question_id", "task_id"] = "Question_id"
    truth_field: Literal["answer", "ground_truth", "ground_truth_order"] = "answer"

    @property
    def refined_id(self) -> str:
        """`refined_subtask_id` of its records, for example "R2-1-B" in R2_2_A."""
        return self.id_prefix.rstrip("_").replace("_", "-")

    @property
    def question_file(self) -> str:
        """File name of the questions, for example "R1_1_A_Existence.jsonl"."""
        return f"{self.stem}.jsonl"

    @property
    def prediction_file(self) -> str:
        """File name of a model's predictions, for example "R1_1_A_Existence_pred.jsonl"."""
        return f"{self.stem}_pred.jsonl"


@dataclass(frozen=True, slots=True)
class Task:
    """One open-loop task.

    `weight` is the frozen share in S_open (Table 1). `views` is the smallest and the largest number of images an item
    has.
    """

    id: str
    rank: Literal[1, 2, 3]
    family: str
    title: str
    kind: AnswerKind
    weight: float
    views: tuple[int, int]
    release: ReleaseFile

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
    Task(
        id="r1_1_a",
        rank=1,
        family="recognition",
        title="existence",
        kind="yes_no",
        weight=0.030,
        views=(1, 1),
        release=ReleaseFile("R1_1_A_Existence", "R1_1_A_"),
    ),
    Task(
        id="r1_1_b",
        rank=1,
        family="recognition",
        title="counting",
        kind="count",
        weight=0.027,
        views=(1, 1),
        release=ReleaseFile("R1_1_B_Counting", "R1_1_B_"),
    ),
    Task(
        id="r1_1_c",
        rank=1,
        family="recognition",
        title="state attribute",
        kind="choice",
        weight=0.056,
        views=(1, 1),
        release=ReleaseFile("R1_1_C_State_Attribute", "R1_1_C_"),
    ),
    Task(
        id="r1_2_a",
        rank=1,
        family="distance",
        title="nearest distance",
        kind="metres",
        weight=0.035,
        views=(1, 1),
        release=ReleaseFile("R1_2_A_Nearest_Object", "R1_2_A_"),
    ),
    Task(
        id="r1_2_b",
        rank=1,
        family="distance",
        title="distance of the object at a pixel",
        kind="metres",
        weight=0.036,
        views=(1, 1),
        release=ReleaseFile("R1_2_B_Certain_Object", "R1_2_B_"),
    ),
    Task(
        id="r1_2_c",
        rank=1,
        family="distance",
        title="count in a distance bucket",
        kind="count",
        weight=0.029,
        views=(1, 1),
        release=ReleaseFile("R1_2_C_Distance_Bucket", "R1_2_C_"),
    ),
    Task(
        id="r1_3",
        rank=1,
        family="grounding",
        title="localisation",
        kind="box",
        weight=0.056,
        views=(1, 1),
        release=ReleaseFile("R1_3_Location_Questions", "R1_3_", id_field="task_id", truth_field="ground_truth"),
    ),
    Task(
        id="r1_4",
        rank=1,
        family="description",
        title="situation description",
        kind="text",
        weight=0.031,
        views=(5, 5),
        release=ReleaseFile("R1_4_Situation_Description", "R1_4_"),
    ),
    Task(
        id="r2_1",
        rank=2,
        family="multi-view memory",
        title="unique count over six cameras",
        kind="count",
        weight=0.064,
        views=(6, 6),
        release=ReleaseFile("R2_1_Multi_view_Memory", "R2_1_A_"),
    ),
    Task(
        id="r2_2_a",
        rank=2,
        family="temporal memory",
        title="unique count over a clip",
        kind="count",
        weight=0.079,
        views=(10, 10),
        release=ReleaseFile("R2_2_A_Temporal_Counting", "R2_1_B_"),
    ),
    Task(
        id="r2_2_b",
        rank=2,
        family="temporal memory",
        title="state change over a clip",
        kind="choice",
        weight=0.067,
        views=(5, 9),
        release=ReleaseFile("R2_2_B_Temporal_Status_Recognition", "R2_1_C_"),
    ),
    Task(
        id="r2_3",
        rank=2,
        family="spatial relations",
        title="relative position of two objects",
        kind="choice",
        weight=0.090,
        views=(1, 1),
        release=ReleaseFile("R2_3_Spatial_Relations", "R2_3_"),
    ),
    Task(
        id="r3_1",
        rank=3,
        family="outcome prediction",
        title="outcome prediction",
        kind="choice",
        weight=0.233,
        views=(1, 1),
        release=ReleaseFile("R3_1_Outcome_Prediction", "R3_1_"),
    ),
    Task(
        id="r3_2",
        rank=3,
        family="sequence planning",
        title="frame ordering",
        kind="order",
        weight=0.167,
        views=(3, 5),
        release=ReleaseFile("R3_2_Sequential_Planning", "R3_2_", truth_field="ground_truth_order"),
    ),
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
