"""Croissant metadata as mlcroissant uses them: every row of an edition can be read through them, without a network."""

from __future__ import annotations

import io
import shutil
import socket
from typing import Any

import pytest
from PIL import Image

from drivehierarchy_data.croissant import CROISSANT_FILE, SPLIT_FIELD, write_croissant
from drivehierarchy_data.editions import DATA_FOLDER, SAMPLE, Edition, open_edition, shard_path, write_manifest
from drivehierarchy_data.items import FEATURES, SPLITS, Split, row
from drivehierarchy_data.release import QUESTION_FILES
from drivehierarchy_data.shards import write_shard
from tests import tiny_edition

mlcroissant = pytest.importorskip("mlcroissant")

TASKS = [file.task for file in QUESTION_FILES]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the rows lie on this machine")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """All tasks in three splits, each of two files."""
    folder = tmp_path_factory.mktemp("splits")
    for file in QUESTION_FILES:
        for split in SPLITS:
            for index in range(2):
                items = [tiny_edition.item(file, 2 * index + i, split) for i in range(2)]
                write_shard(shard_path(folder / DATA_FOLDER, file.task, split, index), items, "test")
    write_manifest(folder / DATA_FOLDER, "sim", {})
    return _described(open_edition(folder))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """The committed items, described by the code as it is."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copytree(SAMPLE / DATA_FOLDER, folder / DATA_FOLDER)
    return _described(open_edition(folder))


def test_it_is_valid_and_warns_of_nothing(splits: Edition) -> None:
    issues = _open(splits).metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["sample", "splits"])
def test_records_are_the_rows(name: str, task: str, request: pytest.FixtureRequest) -> None:
    edition: Edition = request.getfixturevalue(name)
    expected = [read for split in SPLITS for read in _rows(edition, task, split)]
    assert [_plain(record, task) for record in _open(edition).records(task)] == expected
    assert expected


@pytest.mark.parametrize("split", SPLITS)
def test_one_split_can_be_asked_for(splits: Edition, split: Split) -> None:
    records = _open(splits).records("r2_1", filters={f"r2_1/{SPLIT_FIELD}": split})
    assert [_plain(record, "r2_1") for record in records] == _rows(splits, "r2_1", split)


def _described(edition: Edition) -> Edition:
    write_croissant(edition, edition.folder.parent)
    return edition


def _open(edition: Edition) -> Any:
    return mlcroissant.Dataset(jsonld=edition.folder.parent / CROISSANT_FILE)


def _rows(edition: Edition, task: str, split: Split) -> list[dict[str, Any]]:
    """What mlcroissant is to give for the rows of a task, in the form of `_plain`."""
    rows = []
    for item in edition.items(task, split):
        values = row(item)
        values["images"] = [_pixels(Image.open(io.BytesIO(image["bytes"]))) for image in values["images"]]
        rows.append({**values, SPLIT_FIELD: split})
    return rows


def _plain(record: dict[str, Any], task: str) -> dict[str, Any]:
    """A record by column, its text decoded and its images as pixels."""
    assert list(record) == [f"{task}/{name}" for name in (*FEATURES, SPLIT_FIELD)]
    return {name.partition("/")[2]: _value(value) for name, value in record.items()}


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(entry) for entry in value]
    if isinstance(value, Image.Image):
        return _pixels(value)
    return value.decode() if isinstance(value, bytes) else value


def _pixels(image: Image.Image) -> tuple[tuple[int, int], bytes]:
    return image.size, image.tobytes()
