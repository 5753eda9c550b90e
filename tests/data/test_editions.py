"""Editions: what the manifest promises is checked, and a missing edition says how to make it."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import pytest

from drivehierarchy_data import editions
from drivehierarchy_data.editions import DATA_FOLDER, MANIFEST, Edition, find_edition, open_edition, write_manifest
from drivehierarchy_data.errors import DataError, EditionNotFoundError
from drivehierarchy_data.release import QUESTION_FILES
from tests import tiny_edition

TASKS = tuple(sorted(file.task for file in QUESTION_FILES))


def test_lists_tasks_sizes_and_documents(edition: Edition) -> None:
    assert edition.tasks() == TASKS
    assert edition.tasks("train") == ()
    assert {edition.size(task) for task in TASKS} == {6}
    assert [document["id"] for document in edition.documents("r1_3")] == [f"r1_3-test-{i:04d}" for i in range(6)]
    assert [item.id for item in edition.items("r3_2")] == [f"r3_2-test-{i:04d}" for i in range(6)]


def test_folder_or_its_data_folder_opens(edition: Edition) -> None:
    assert open_edition(edition.folder.parent) == open_edition(edition.folder) == edition


def test_builds_are_reproducible(edition: Edition, tmp_path: Path) -> None:
    again = tiny_edition.build(tmp_path)
    assert (again.folder / MANIFEST).read_bytes() == (edition.folder / MANIFEST).read_bytes()


def test_datasets_loads_a_task_by_folder(edition: Edition, tmp_path: Path) -> None:
    loaded = datasets.load_dataset(str(edition.folder / "r1_1_a"), cache_dir=str(tmp_path))
    assert len(loaded["test"]) == 6


def test_an_absent_task_or_split_is_named(edition: Edition) -> None:
    with pytest.raises(DataError, match="has no train items of task 'r1_3'; it has: none"):
        edition.documents("r1_3", "train")
    with pytest.raises(DataError, match="has no test items of task 'r9'; it has: r1_1_a, "):
        edition.documents("r9")


def test_missing_and_cut_files_are_named(own_edition: Edition) -> None:
    shard = own_edition.shards("r2_3")[0]
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"test-00000.parquet has \d+ bytes where manifest.json says"):
        own_edition.documents("r2_3")
    shard.unlink()
    with pytest.raises(DataError, match=r"test-00000\.parquet is missing, though manifest\.json lists it"):
        own_edition.documents("r2_3")


def test_problems_reads_every_byte(own_edition: Edition) -> None:
    assert own_edition.problems() == []
    changed, gone, extra = (own_edition.shards(task)[0] for task in ("r1_1_a", "r1_1_b", "r1_1_c"))
    content = bytearray(changed.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    gone.unlink()
    unreadable = own_edition.shards("r1_2_a")[0]
    unreadable.write_bytes(bytes(unreadable.stat().st_size))
    extra.with_name("train-00000.parquet").write_bytes(extra.read_bytes())
    assert own_edition.problems() == [
        "r1_1_a/test-00000.parquet: differs from its checksum",
        "r1_1_b/test-00000.parquet: missing",
        "r1_2_a/test-00000.parquet: differs from its checksum",
        "r1_1_c/train-00000.parquet: not in manifest.json",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not a manifest"), ("{}", "not a manifest"), ('{"format": 99}', "format 99, this version reads 2")],
)
def test_an_unreadable_manifest_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(DataError, match=f"{MANIFEST}: {message}"):
        open_edition(tmp_path)


def test_the_manifest_is_the_last_thing_a_build_writes(own_edition: Edition) -> None:
    (own_edition.folder / MANIFEST).unlink()
    with pytest.raises(EditionNotFoundError, match="An unfinished build has none yet: run its command again"):
        open_edition(own_edition.folder.parent)
    write_manifest(own_edition.folder, "sim", {"seed": 0})
    assert open_edition(own_edition.folder) == own_edition


class TestFindEdition:
    """Folder, name, environment variable, default - in that order."""

    @pytest.fixture(autouse=True)
    def _nowhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv(editions.ENVIRONMENT_VARIABLE, raising=False)
        monkeypatch.setattr(editions, "SAMPLE", tmp_path / "no sample")

    def test_a_folder(self, edition: Edition) -> None:
        assert find_edition(edition.folder.parent) == edition
        assert find_edition(str(edition.folder)) == edition

    def test_the_environment_variable(self, edition: Edition, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(editions.ENVIRONMENT_VARIABLE, str(edition.folder))
        assert find_edition() == edition

    def test_a_name_in_the_cache_comes_before_the_sample(
        self, tmp_path: Path, edition: Edition, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(editions, "SAMPLE", edition.folder.parent)
        assert find_edition() == find_edition("sim") == edition
        built = tiny_edition.build(tmp_path / "cache" / "editions" / "sim", items_per_task=1)
        assert find_edition("sim") == built

    def test_a_missing_edition_says_which_command_makes_it(self, tmp_path: Path) -> None:
        with pytest.raises(EditionNotFoundError, match="drivehierarchy data build --edition sim --size mini --out"):
            find_edition()
        with pytest.raises(EditionNotFoundError, match="drivehierarchy data import-release --release DIR"):
            find_edition("release")

    def test_an_unknown_name_lists_the_known(self) -> None:
        with pytest.raises(EditionNotFoundError, match="neither a folder nor one of sim, release"):
            find_edition("simulation")

    def test_a_folder_without_manifest(self, tmp_path: Path) -> None:
        with pytest.raises(EditionNotFoundError, match="holds no edition"):
            find_edition(tmp_path)


def test_manifest_holds_counts_and_provenance(edition: Edition) -> None:
    content = json.loads((edition.folder / MANIFEST).read_text())
    assert content["provenance"] == {"seed": 0}
    record = content["files"]["r2_1/test-00000.parquet"]
    assert (record["items"], record["images"]) == (4, 24)
    assert edition.folder.name == DATA_FOLDER
