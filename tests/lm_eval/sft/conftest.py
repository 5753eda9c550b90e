"""Editions with a train split: one of noise with all tasks, one made of the pictures of the committed sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from drivehierarchy_data.editions import DATA_FOLDER, SAMPLE, Edition, open_edition, shard_path, write_manifest
from drivehierarchy_data.items import Item
from drivehierarchy_data.release import QUESTION_FILES
from drivehierarchy_data.shards import write_shard
from tests import tiny_edition

FIRST_TRAIN_INDEX = 50
"""Far enough from the test items that no picture of noise is drawn twice."""


def add_split(folder: Path, split: str, items: list[Item]) -> None:
    """Write items of one split; `write_manifest` makes them part of the edition."""
    for task in {item.task for item in items}:
        entries = [item for item in items if item.task == task]
        write_shard(shard_path(folder / DATA_FOLDER, task, split, 0), entries, "test")  # type: ignore[arg-type]


def noise_edition(folder: Path, train: int = 6) -> Edition:
    """All tasks: 6 test items in 3 scenes, `train` training items in half as many."""
    tiny_edition.build(folder)
    items = [
        tiny_edition.item(file, FIRST_TRAIN_INDEX + index, "train") for file in QUESTION_FILES for index in range(train)
    ]
    add_split(folder, "train", items)
    write_manifest(folder / DATA_FOLDER, "sim", {"seed": 0})
    return open_edition(folder)


@pytest.fixture(scope="session")
def train_edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """Do not write into it."""
    return noise_edition(tmp_path_factory.mktemp("train-edition"))


@pytest.fixture(scope="session")
def sim_items() -> list[Item]:
    """All items of the committed sample of the sim edition."""
    sample = open_edition(SAMPLE)
    return [item for task in sample.tasks() for item in sample.items(task)]


Assemble = Callable[[list[Item], list[Item]], Edition]


@pytest.fixture
def assemble(tmp_path: Path) -> Assemble:
    """Makes an edition of test and training items."""

    def make(test: list[Item], train: list[Item]) -> Edition:
        folder = tmp_path / "assembled"
        add_split(folder, "test", test)
        add_split(folder, "train", train)
        write_manifest(folder / DATA_FOLDER, "sim", {"seed": 0})
        return open_edition(folder)

    return make


def silent(step: str, done: int, total: int) -> None:
    """Progress that nobody watches."""
    assert 0 <= done <= total, step
