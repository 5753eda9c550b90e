"""Baselines: the truth in the requested format, a blind guess that scores best, and a reproducible random one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from drivehierarchy_data.editions import DATA_FOLDER, Edition, open_edition, shard_path, write_manifest
from drivehierarchy_data.release import QUESTION_FILES
from drivehierarchy_data.shards import write_shard
from drivehierarchy_gym.errors import UnknownNameError
from lm_eval_drivehierarchy.baselines import BASELINES, baseline
from lm_eval_drivehierarchy.parsing import parse_answer
from lm_eval_drivehierarchy.tasks import TASKS
from tests import tiny_edition

BY_TASK = {file.task: file for file in QUESTION_FILES}


@pytest.mark.parametrize("name", BASELINES)
def test_every_reply_is_in_the_requested_format(edition: Edition, name: str) -> None:
    answer = baseline(name, edition)
    for task in TASKS:
        for document in edition.documents(task.id):
            options = tuple(document["options"]) or None
            parsed = parse_answer(answer(document), task.kind, options=options)
            assert parsed.status == "ok", (task.id, answer(document))


def test_the_prior_is_one_answer_per_task(edition: Edition) -> None:
    answer = baseline("prior", edition)
    for task in TASKS:
        replies = [answer(document) for document in edition.documents(task.id)]
        if task.kind == "order":
            assert all(json.loads(r) == d["options"] for r, d in zip(replies, edition.documents(task.id), strict=True))
        else:
            assert len(set(replies)) == 1


def test_the_prior_is_majority_or_median(edition: Edition) -> None:
    answer = baseline("prior", edition)
    counts = [int(document["answer"]) for document in edition.documents("r1_1_b")]
    assert answer(edition.documents("r1_1_b")[0]) == str(sorted(counts)[(len(counts) - 1) // 2])
    distances = sorted(float(document["answer"][:-2]) for document in edition.documents("r1_2_a"))
    assert distances[2] <= float(answer(edition.documents("r1_2_a")[0])) <= distances[3]
    letters = Counter(document["answer"] for document in edition.documents("r2_3"))
    assert letters[answer(edition.documents("r2_3")[0])] == max(letters.values())


def test_the_prior_comes_from_the_train_split_where_there_is_one(tmp_path: Path) -> None:
    file = BY_TASK["r1_1_b"]
    for split, index in (("test", 0), ("train", 4)):
        path = shard_path(tmp_path / DATA_FOLDER, file.task, split, 0)  # type: ignore[arg-type]
        write_shard(path, [tiny_edition.item(file, index, split)], "noise")  # type: ignore[arg-type]
    write_manifest(tmp_path / DATA_FOLDER, "sim", {})
    edition = open_edition(tmp_path)
    (document,) = edition.documents("r1_1_b")
    assert document["answer"] == "1"
    assert baseline("prior", edition)(document) == "5"


def test_random_answers_repeat_with_their_seed_only(edition: Edition) -> None:
    documents = [document for task in TASKS for document in edition.documents(task.id)]

    def answers(seed: int) -> list[str]:
        return [baseline("random", edition, seed)(document) for document in documents]

    assert answers(1) == answers(1)
    assert answers(1) != answers(2)


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(UnknownNameError, match="unknown agent 'Oracle'; did you mean 'oracle'"):
        baseline("Oracle", None)  # type: ignore[arg-type]
