"""The build: same bytes however it is run, resumed where it was broken off, and nothing half-made is readable."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import datasets
import pytest

from drivehierarchy_data import build as build_module
from drivehierarchy_data.build import WORK_FOLDER, BuildResult, ClipMaker, build_sim
from drivehierarchy_data.builders import BUILDERS
from drivehierarchy_data.card import CARD_FILE
from drivehierarchy_data.croissant import CROISSANT_FILE
from drivehierarchy_data.editions import DATA_FOLDER, MANIFEST, Edition, find_edition, open_edition
from drivehierarchy_data.errors import DataError, EditionNotFoundError
from drivehierarchy_data.gates import Gate, GateReport
from drivehierarchy_data.release import QUESTION_FILES
from tests.data.slow_build import STAMP
from tests.data.toy_drives import failing_clip, toy_clip, twin_clip, unlucky_clip


def build(out: Path, workers: int = 1, seed: int = 0, clip_of: ClipMaker = toy_clip) -> BuildResult:
    return build_sim(out, "sample", seed, workers, lambda *_: None, clip_of)


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module", autouse=True)
def _fixed_code() -> Iterator[None]:
    """Builds of these tests have one stamp, also when a source file is edited while they run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "code_stamp", lambda: STAMP)
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuildResult:
    """A finished build of the smallest size; do not write into it."""
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture
def folder(built: BuildResult) -> Path:
    return built.edition.folder.parent


def test_every_task_is_there(built: BuildResult) -> None:
    edition = built.edition
    assert set(edition.tasks()) == set(BUILDERS) == {file.task for file in QUESTION_FILES}
    assert {edition.size(task) for task in BUILDERS} == {2}
    assert built.report.passed
    assert edition.problems() == []
    assert sum(1 for task in BUILDERS for _ in edition.items(task)) == 28


def test_nothing_is_left_of_the_work(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {DATA_FOLDER, CARD_FILE, CROISSANT_FILE}


def test_two_workers_write_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    build(tmp_path, workers=2)
    assert content(tmp_path) == content(folder)


def test_drives_that_were_closed_are_opened_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_module, "OPEN_DRIVES", 1)
    build(tmp_path)
    assert content(tmp_path) == content(folder)


def test_another_seed_gives_another_edition(built: BuildResult, tmp_path: Path) -> None:
    assert build(tmp_path, seed=1).edition.digest != built.edition.digest


def test_datasets_loads_a_task_by_its_name(folder: Path, tmp_path: Path) -> None:
    items = datasets.load_dataset(str(folder), "r2_1", split="test", cache_dir=str(tmp_path))
    assert len(items) == 2
    assert items[0]["images"][0].size == (1600, 900)


def test_a_finished_edition_is_left_alone(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert build(folder, clip_of=failing_clip).report.passed
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_another_edition_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(DataError, match=r"holds another edition \(different: seed\)"):
        build(folder, seed=1)


def test_a_failing_drive_is_named_and_nothing_is_published(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"(?s)drive test-0000\d-\w+ failed 2 times; .*the world fell down"):
        build(tmp_path, clip_of=failing_clip)
    with pytest.raises(EditionNotFoundError, match="run its command again, it resumes"):
        open_edition(tmp_path)


def test_a_failed_gate_is_named_and_nothing_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = build_module.check_edition

    def strict(edition: Edition) -> GateReport:
        gates = [Gate("r1_3", "test", "boxes outside", 3, 0), *check(edition).gates]
        return GateReport(tuple(gates))

    monkeypatch.setattr(build_module, "check_edition", strict)
    with pytest.raises(DataError, match=r"(?s)does not pass its gates:\nr1_3 \(test\): boxes outside is 3, at most 0"):
        build(tmp_path)
    assert not (tmp_path / DATA_FOLDER / MANIFEST).exists()


def test_resumes_after_being_killed(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.data.slow_build", str(tmp_path)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    try:
        deadline = time.monotonic() + 60
        while len(list((tmp_path / WORK_FOLDER).glob("*.zip"))) < 2:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = sorted((tmp_path / WORK_FOLDER).glob("*.zip"))
    finished[0].write_bytes(finished[0].read_bytes()[:-40])
    kept = finished[1].stat().st_mtime_ns
    seen: list[int] = []

    def progress(what: str, done: int, total: int) -> None:
        if not seen and what == "test drives":
            seen.extend((done, finished[1].stat().st_mtime_ns))

    build_sim(tmp_path, "sample", 0, 1, progress, toy_clip)
    assert seen[0] >= 1
    assert seen[1] == kept
    assert content(tmp_path) == content(folder)


def test_stale_drives_are_made_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "code_stamp", lambda: "older")
    with pytest.raises(RuntimeError, match="stop"):
        build_sim(tmp_path, "sample", 0, 1, _stop_at_the_end, toy_clip)
    monkeypatch.undo()
    assert list((tmp_path / WORK_FOLDER).glob("*.zip"))
    build(tmp_path)
    assert content(tmp_path) == content(folder)


def test_what_a_killed_writer_left_is_removed(folder: Path, tmp_path: Path) -> None:
    leftover = tmp_path / DATA_FOLDER / "r1_3" / ".partial-abc" / "test-00000.parquet"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")
    for folder_above in (tmp_path, tmp_path / DATA_FOLDER):
        (folder_above / ".partial-def").mkdir()
    (tmp_path / DATA_FOLDER / "r1_3" / "train-00000.parquet").write_bytes(b"of another build")
    build(tmp_path)
    assert content(tmp_path) == content(folder)
    (tmp_path / WORK_FOLDER).mkdir()  # killed between the manifest and the tidying up
    build(tmp_path, clip_of=failing_clip)
    assert not (tmp_path / WORK_FOLDER).exists()


def test_a_drive_whose_simulator_fails_once_is_tried_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_MARKS", str(tmp_path / "marks"))
    (tmp_path / "marks").mkdir()
    build(tmp_path / "out", clip_of=unlucky_clip)
    assert list((tmp_path / "marks").iterdir())
    assert content(tmp_path / "out") == content(folder)


def _stop_at_the_end(what: str, done: int, total: int) -> None:
    if what == "items written" and done == total:
        raise RuntimeError("stop")


def test_the_manifest_says_what_it_was_made_from(built: BuildResult) -> None:
    manifest = built.edition.manifest
    assert manifest.edition == "sim"
    assert manifest.provenance["seed"] == 0
    assert manifest.provenance["size"] == "sample"
    assert manifest.provenance["drives"]["test"] >= 8
    assert all(record.items == 2 for record in manifest.files.values())
    assert str(os.getcwd()) not in (built.edition.folder / MANIFEST).read_text()


def test_items_carry_their_evidence(built: BuildResult) -> None:
    for task in BUILDERS:
        for document in built.edition.documents(task):
            assert document["meta"]["seed"].startswith("drive:0:test:")
            assert document["meta"]["builder_version"] == 1
            assert document["source"] == "toy"


def test_the_sample_of_the_sources_is_complete_and_small() -> None:
    sample = find_edition(Path(build_module.__file__).parents[1])
    assert sample.name == "sim"
    assert set(sample.tasks()) == set(BUILDERS)
    assert sample.problems() == []
    assert sum(record.bytes for record in sample.manifest.files.values()) < 4_000_000


def _damage_pictures(work: Path) -> None:
    """Flip a bit in every picture of every drive that was made."""
    for path in work.glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            places = [entry.header_offset + entry.file_size // 2 for entry in archive.infolist() if entry.file_size]
        content = bytearray(path.read_bytes())
        for place in places[:-1]:  # the drafts come last
            content[place] ^= 0xFF
        path.write_bytes(content)


def test_a_drive_damaged_under_the_build_is_named(folder: Path, tmp_path: Path) -> None:
    def damage_when_made(what: str, done: int, total: int) -> None:
        if what == "test drives" and done == total:
            _damage_pictures(tmp_path / WORK_FOLDER)

    with pytest.raises(DataError, match=r"-\w+\.zip is damaged \(Bad CRC-32 .*\); run the build again, which"):
        build_sim(tmp_path, "sample", 0, 1, damage_when_made, toy_clip)
    build(tmp_path)
    assert content(tmp_path) == content(folder)


def _rename_in_directory(work: Path) -> None:
    """The names of the pictures in the archives' directories, as a flipped bit would leave them."""
    for path in work.glob("*.zip"):
        path.write_bytes(path.read_bytes().replace(b"-CAM_FRONT.jpg", b"-CAM_FRONT.jpf"))


def _cut(work: Path) -> None:
    for path in work.glob("*.zip"):
        path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize("damage", [_damage_pictures, _rename_in_directory, _cut])
def test_drives_damaged_between_two_runs_are_made_again(
    damage: Callable[[Path], None], folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match="stop"):
        build_sim(tmp_path, "sample", 0, 1, _stop_at_the_end, toy_clip)
    shutil.rmtree(tmp_path / DATA_FOLDER)
    damage(tmp_path / WORK_FOLDER)
    build(tmp_path)
    assert content(tmp_path) == content(folder)


def _flip(path: Path, part: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * part)] ^= 0x5A
    path.write_bytes(data)


def _swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def test_files_damaged_between_two_runs_are_written_again(folder: Path, tmp_path: Path) -> None:
    """Pictures, text and whole files: nothing of what a build that was broken off left is trusted."""
    with pytest.raises(RuntimeError, match="stop"):
        build_sim(tmp_path, "sample", 0, 1, _stop_at_the_end, toy_clip)
    files = sorted((tmp_path / DATA_FOLDER).glob("*/*.parquet"))
    for path, part in zip(files, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9), strict=False):
        _flip(path, part)
    _swap(files[6], files[7])
    build(tmp_path)
    assert content(tmp_path) == content(folder)


def test_what_cannot_be_written_is_refused_before_any_drive(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/drives")):
        with pytest.raises(DataError, match=r" cannot be written to \(.+\); give another folder with --out"):
            build(out, clip_of=failing_clip)


def test_pictures_of_an_earlier_scene_are_not_asked_about_again(tmp_path: Path) -> None:
    edition = build(tmp_path, clip_of=twin_clip).edition
    scenes: dict[str, set[str]] = {}
    for task in BUILDERS:
        for document in edition.documents(task):
            for image in document["images"]:
                scenes.setdefault(image.name, set()).add(document["scene_id"])
    assert max(map(len, scenes.values())) == 1
    numbers = {int(scene.split("-")[1]) for names in scenes.values() for scene in names}
    assert {number % 2 for number in numbers} == {0}
