"""The task table against the paper, the release's files and the data package."""

from __future__ import annotations

import string

import pytest

from drivehierarchy_data.items import RANKS as ITEM_RANKS
from drivehierarchy_data.questions import QUESTIONS, TITLES
from drivehierarchy_data.release import QUESTION_FILES
from drivehierarchy_gym.errors import UnknownNameError
from lm_eval_drivehierarchy.paper_tables import paper_tables
from lm_eval_drivehierarchy.tasks import (
    FORMAT_INSTRUCTIONS,
    RANK_BUDGETS,
    RANKS,
    TASKS,
    rank_group,
    task,
    tasks_of_rank,
)


def test_fourteen_tasks_in_the_order_of_table_1() -> None:
    assert [entry.id for entry in TASKS] == list(next(iter(paper_tables().models)).tasks)
    assert [len(tasks_of_rank(rank)) for rank in RANKS] == [8, 4, 2]


def test_weights_fill_the_budget_of_each_rank() -> None:
    for rank in RANKS:
        assert sum(entry.weight for entry in tasks_of_rank(rank)) == pytest.approx(RANK_BUDGETS[rank], abs=1e-9)


def test_every_task_has_its_file_of_the_release_and_no_file_is_left() -> None:
    assert [entry.release for entry in TASKS] == list(QUESTION_FILES)
    assert [entry.id for entry in TASKS] == [file.task for file in QUESTION_FILES]
    assert tuple(f"R{rank}" for rank in RANKS) == ITEM_RANKS
    assert {file.answer_kind for file in QUESTION_FILES} == set(FORMAT_INSTRUCTIONS)


def test_ids_that_disagree_with_their_file() -> None:
    release = task("r2_2_a").release
    assert (release.question_file, release.prediction_file, release.id_prefix) == (
        "R2_2_A_Temporal_Counting.jsonl",
        "R2_2_A_Temporal_Counting_pred.jsonl",
        "R2_1_B_",
    )
    assert [entry.id for entry in TASKS if entry.release.id_field != "Question_id"] == ["r1_3"]


def test_titles_tell_tasks_apart_and_fit_into_a_table() -> None:
    assert list(TITLES) == [entry.id for entry in TASKS]
    titles = {entry.title for entry in TASKS}
    assert len(titles) == len(TASKS)
    assert max(map(len, titles)) <= 33


def test_every_task_has_questions_and_a_format() -> None:
    assert list(QUESTIONS) == [entry.id for entry in TASKS]
    for entry in TASKS:
        assert entry.questions
        assert entry.format_instruction == FORMAT_INSTRUCTIONS[entry.kind]
        assert entry.lm_eval_name == f"drivehierarchy_{entry.id}"
        for template in entry.questions:
            fields = {name for _, name, _, _ in string.Formatter().parse(template) if name}
            assert template.format(**dict.fromkeys(fields, "7")).count("{") == 0
    assert rank_group(2) == "drivehierarchy_r2"


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'r1_1_a'"):
        task("r1_1_aa")
    with pytest.raises(ValueError, match="rank 4"):
        tasks_of_rank(4)
