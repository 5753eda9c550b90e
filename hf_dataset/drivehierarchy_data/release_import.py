"""The release edition: the authors' records with the user's own copies of the images, as Parquet."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from drivehierarchy_gym.road.cache import code_digest, write_text_atomically

from . import images, items, shards
from .editions import DATA_FOLDER, FORMAT, Edition, open_edition, shard_path, write_manifest
from .errors import DataError, ImageError
from .image_roots import ImageRoots
from .images import read_image
from .items import Item
from .release import NOT_A_TASK, QUESTION_FILES, QuestionFile, QuestionSet, Record, scan_questions
from .release_card import write_release_card
from .shards import is_finished, write_shard

RECORDS_PER_SHARD = 100
EXCLUDED_FILE = "excluded.jsonl"
"""Beside the manifest: one line for each record that did not become an item, with its reason."""

MISSING_FILE, UNUSABLE_FILE, UNREADABLE_RECORD, MISSING_IMAGE, UNUSABLE_IMAGE = (
    "missing question file",
    "unusable question file",
    "unreadable record",
    "missing image",
    "unusable image",
)
"""Why a record is left out. A question file is unusable when it cannot be opened or is empty, an image when it does not
decode or has another size than the record says."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One record, or one file, that did not become items."""

    task: str
    record: str
    reason: str
    detail: str


@dataclass(frozen=True)
class ImportReport:
    """What an import did: the edition it wrote, and what was left out of it and why."""

    edition: Edition
    excluded: list[Exclusion]
    notes: list[str]

    def counts(self) -> dict[str, dict[str, int]]:
        """Task -> reason -> number of records left out."""
        return _counts(self.excluded)


def import_release(
    questions_folder: Path,
    out: Path,
    roots: ImageRoots,
    *,
    progress: Callable[[str, int, int], None] = lambda task, done, total: None,
) -> ImportReport:
    """Writes the edition `release` and its card into `out`: every record whose images are all on this machine.

    Files that are already there and were made of the same records and images are kept, so an interrupted import goes
    on where it stopped, and one that lacked images picks them up when it is run again. `progress` receives task,
    records done, records in all. Raises DataError when no record at all could be imported, or when `out` is a
    folder of the release.
    """
    if questions_folder.resolve().is_relative_to(out.resolve()):
        raise DataError(
            f"{out} holds the release, whose README.md would be overwritten; give another folder with --out"
        )
    data_folder = out / DATA_FOLDER
    excluded: list[Exclusion] = []
    notes: list[str] = []
    if (questions_folder / f"{NOT_A_TASK}.jsonl").is_file():
        notes.append(f"{NOT_A_TASK}.jsonl is not a task of the benchmark (it has no images) and is not imported")
    for file in QUESTION_FILES:
        questions, left_out = _questions(questions_folder, file)
        excluded += left_out
        batches = list(_batches(questions.records))
        done = 0
        for index, batch in enumerate(batches):
            excluded += _import_batch(batch, file, shard_path(data_folder, file.task, "test", index), roots)
            done += len(batch)
            progress(file.task, done, len(questions.records))
        _remove_shards(data_folder, file.task, len(batches))
    _write_exclusions(data_folder / EXCLUDED_FILE, excluded)
    manifest = write_manifest(data_folder, "release", {"source": "authors' release"}, _counts(excluded))
    if not manifest.files:
        first = "; ".join(f"{exclusion.record}: {exclusion.detail}" for exclusion in excluded[:2])
        every = data_folder / EXCLUDED_FILE
        raise DataError(f"not one record of {questions_folder} could be imported ({first}); all reasons are in {every}")
    edition = open_edition(out)
    write_release_card(edition, out, EXCLUDED_FILE)
    return ImportReport(edition, excluded, notes)


def _questions(folder: Path, file: QuestionFile) -> tuple[QuestionSet, list[Exclusion]]:
    """What can be read of one question file, and what of it cannot, line by line."""
    path = folder / file.question_file
    try:
        questions = scan_questions(folder, file)
    except DataError as error:
        reason = UNUSABLE_FILE if path.exists() else MISSING_FILE
        return QuestionSet(file), [Exclusion(file.task, path.name, reason, str(error))]
    if not questions.records and not questions.rejected:
        return questions, [Exclusion(file.task, path.name, UNUSABLE_FILE, f"{path} is empty")]
    return questions, [
        Exclusion(file.task, line.partition(": ")[0], UNREADABLE_RECORD, line) for line in questions.rejected
    ]


def _counts(excluded: Sequence[Exclusion]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for exclusion in excluded:
        counts.setdefault(exclusion.task, Counter())[exclusion.reason] += 1
    return {task: dict(reasons) for task, reasons in sorted(counts.items())}


def _batches(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    for start in range(0, len(records), RECORDS_PER_SHARD):
        yield records[start : start + RECORDS_PER_SHARD]


def _import_batch(batch: Sequence[Record], file: QuestionFile, path: Path, roots: ImageRoots) -> list[Exclusion]:
    """Writes the records of one file of the edition, unless it is there already; returns what was left out of it."""
    excluded: list[Exclusion] = []
    located: list[tuple[Record, list[Path]]] = []
    for record in batch:
        try:
            located.append((record, [roots.locate(p, file.source, record.meta) for p in record.image_paths]))
        except ImageError as error:
            excluded.append(Exclusion(file.task, record.id, MISSING_IMAGE, str(error)))
    recipe = _recipe(located)
    if is_finished(path, recipe):
        return excluded
    usable: list[Item] = []
    for record, paths in located:
        try:
            usable.append(_item(record, paths))
        except ImageError as error:
            excluded.append(Exclusion(file.task, record.id, UNUSABLE_IMAGE, str(error)))
    if usable:
        # A file that lacks an unusable image is never final: the next run looks at that image again.
        write_shard(path, usable, recipe if len(usable) == len(located) else "")
    else:
        path.unlink(missing_ok=True)
    return excluded


def _item(record: Record, paths: Sequence[Path]) -> Item:
    pictures = tuple(read_image(path) for path in paths)
    for image, path in zip(pictures, paths, strict=True):
        if (size := record.image_size) and (image.width, image.height) != size:
            # Pixel coordinates in question and answer would mean other places.
            raise ImageError(f"{path} is {image.width}x{image.height}, but the record is about {size[0]}x{size[1]}")
    return Item(
        id=record.id,
        task=record.file.task,
        rank=record.file.rank,
        source=record.file.source,
        scene_id=record.scene_id,
        question=record.question,
        answer=record.answer,
        answer_kind=record.file.answer_kind,
        images=pictures,
        views=record.views,
        options=record.options,
        meta={**record.meta, "image_paths": list(record.image_paths)},
    )


def _recipe(located: Sequence[tuple[Record, list[Path]]]) -> str:
    """Digest of everything that decides a file's content: the records, size and time of each image file, and the code
    that makes rows of them."""
    code = code_digest(images, items, shards, sys.modules[__name__])
    digest = hashlib.sha256(f"release format {FORMAT}, code {code}".encode())
    for record, paths in located:
        digest.update(json.dumps(asdict(record)).encode())
        for path in paths:
            stat = path.stat()
            digest.update(f"{path}|{stat.st_size}|{stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def _remove_shards(data_folder: Path, task: str, first: int) -> None:
    """Removes files of an earlier import with more records."""
    index = first
    while (path := shard_path(data_folder, task, "test", index)).is_file():
        path.unlink()
        index += 1


def _write_exclusions(path: Path, excluded: Sequence[Exclusion]) -> None:
    lines = "".join(json.dumps(asdict(exclusion), ensure_ascii=False) + "\n" for exclusion in excluded)
    write_text_atomically(path, lines)
