"""An edition: a folder of Parquet files, one folder per task, and the manifest that says what belongs there.

FOLDER/README.md                       the card, so that `load_dataset("FOLDER", "r1_1_a")` works
FOLDER/data/manifest.json
FOLDER/data/r1_1_a/test-00000.parquet  and so on
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from drivehierarchy_gym.road.cache import cache_folder, write_text_atomically

from .errors import DataError, EditionNotFoundError
from .items import SPLITS, Item, Split
from .shards import ShardRecord, checksum, read_documents, read_items, shard_record

FORMAT = 2
"""Version of the layout; a reader refuses others."""

SIM_EDITION = "sim"
"""Name of the edition that `build` makes: the only one that the gates judge and that can be pushed."""

DATA_FOLDER = "data"
MANIFEST = "manifest.json"
ENVIRONMENT_VARIABLE = "DRIVEHIERARCHY_DATA"
"""Folder, or name, of the edition that is used when none is asked for."""

SHARD = re.compile(rf"(?P<split>{'|'.join(SPLITS)})-(?P<index>\d{{5}})\.parquet")
"""Names of the Parquet files."""

BUILD_COMMANDS = {
    "sim": "drivehierarchy data build --edition sim --size mini --out {folder}",
    "release": "drivehierarchy data import-release --release DIR --nuscenes DIR --drama DIR --lingoqa DIR "
    "--navsim DIR --out {folder}",
}
"""The editions that have a name, and the command that makes each."""


@dataclass(frozen=True)
class Manifest:
    """What an edition holds. `files` maps paths below `data/` to their records; `excluded` counts, per task and
    reason, the records of the source that did not become items; `provenance` is whatever the builder wrote down."""

    edition: str
    files: Mapping[str, ShardRecord]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    excluded: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Edition:
    """A readable edition. `folder` is the one that holds the manifest."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """Name of the edition: sim, release, …"""
        return self.manifest.edition

    @property
    def digest(self) -> str:
        """Identifies the content: two editions with the same digest hold the same items, to the byte of every image."""
        files = {file: record.content for file, record in self.manifest.files.items()}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()

    def tasks(self, split: Split = "test") -> tuple[str, ...]:
        """Tasks that have items in `split`, sorted."""
        return tuple(sorted({file.partition("/")[0] for file in self.manifest.files if _split_of(file) == split}))

    def size(self, task: str, split: Split = "test") -> int:
        """Number of items of a task."""
        return sum(self.manifest.files[file].items for file in self._files(task, split))

    def shards(self, task: str, split: Split = "test") -> list[Path]:
        """The files of a task in order. Raises DataError for a file that is missing or was cut."""
        paths = []
        for file in self._files(task, split):
            path, record = self.folder / file, self.manifest.files[file]
            if not path.is_file():
                raise DataError(f"{path} is missing, though {MANIFEST} lists it; rebuild or re-copy the edition")
            if (size := path.stat().st_size) != record.bytes:
                raise DataError(
                    f"{path} has {size} bytes where {MANIFEST} says {record.bytes}; rebuild or re-copy the edition"
                )
            paths.append(path)
        return paths

    def documents(self, task: str, split: Split = "test") -> list[dict[str, Any]]:
        """The rows of a task without pixels, see `shards.read_documents`. Raises DataError where the task is absent."""
        shards = self.shards(task, split)
        if not shards:
            raise DataError(
                f"edition {self.name!r} in {self.folder} has no {split} items of task {task!r}; "
                f"it has: {', '.join(self.tasks(split)) or 'none'}"
            )
        return [document for shard in shards for document in read_documents(shard)]

    def items(self, task: str, split: Split = "test") -> Iterator[Item]:
        """The complete items of a task, images included."""
        for shard in self.shards(task, split):
            yield from read_items(shard)

    def problems(self) -> list[str]:
        """What differs from the manifest, one line each: missing, changed and unlisted files. Reads every byte."""
        lines = []
        for file, record in sorted(self.manifest.files.items()):
            path = self.folder / file
            if not path.is_file():
                lines.append(f"{file}: missing")
            elif path.stat().st_size != record.bytes or checksum(path) != record.sha256:
                lines.append(f"{file}: differs from its checksum")
        listed = set(self.manifest.files)
        found = {path.relative_to(self.folder).as_posix() for path in _parquet_files(self.folder)}
        lines += [f"{file}: not in {MANIFEST}" for file in sorted(found - listed)]
        return lines

    def _files(self, task: str, split: str) -> list[str]:
        return sorted(file for file in self.manifest.files if file.startswith(f"{task}/") and _split_of(file) == split)


def shard_path(data_folder: Path, task: str, split: Split, index: int) -> Path:
    """Path of the `index`-th file of a task."""
    return data_folder / task / f"{split}-{index:05d}.parquet"


def make_manifest(
    data_folder: Path,
    edition: str,
    provenance: Mapping[str, Any],
    excluded: Mapping[str, Mapping[str, int]] | None = None,
) -> Manifest:
    """Records every Parquet file that lies in `data_folder`.

    Holds no date and no machine, so that equal builds have equal manifests.
    """
    files = {path.relative_to(data_folder).as_posix(): shard_record(path) for path in _parquet_files(data_folder)}
    return Manifest(edition, files, dict(provenance), dict(excluded or {}))


def save_manifest(data_folder: Path, manifest: Manifest) -> None:
    """Writes the manifest of a folder; the last step of a build, and what makes it readable."""
    content = {"format": FORMAT, **asdict(manifest)}
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    write_text_atomically(data_folder / MANIFEST, text)


def write_manifest(
    data_folder: Path,
    edition: str,
    provenance: Mapping[str, Any],
    excluded: Mapping[str, Mapping[str, int]] | None = None,
) -> Manifest:
    """Makes and saves the manifest of a folder."""
    manifest = make_manifest(data_folder, edition, provenance, excluded)
    save_manifest(data_folder, manifest)
    return manifest


def open_edition(folder: Path) -> Edition:
    """The edition in `folder`, which holds the manifest itself or in its `data/`.

    Raises EditionNotFoundError where there is no manifest, DataError where it cannot be understood.
    """
    for candidate in (folder, folder / DATA_FOLDER):
        if (candidate / MANIFEST).is_file():
            return Edition(candidate.resolve(), _read_manifest(candidate / MANIFEST))
    raise EditionNotFoundError(
        f"{folder} holds no edition: neither {MANIFEST} nor {DATA_FOLDER}/{MANIFEST} is there. "
        "An unfinished build has none yet: run its command again, it resumes."
    )


def find_edition(requested: str | os.PathLike[str] | None = None) -> Edition:
    """The edition called `requested` (sim or release), or lying in the folder `requested`.

    Without `requested`, the environment variable DRIVEHIERARCHY_DATA, else sim. A name is looked for among the
    editions built in the cache folder; sim also in the sample that comes with the sources.

    Raises EditionNotFoundError, saying where it looked and which command makes the edition.
    """
    wanted = os.fspath(requested or os.environ.get(ENVIRONMENT_VARIABLE) or "sim")
    if wanted not in BUILD_COMMANDS:
        folder = Path(wanted).expanduser()
        if not folder.is_dir():
            raise EditionNotFoundError(
                f"no edition {wanted!r}: it is neither a folder nor one of {', '.join(BUILD_COMMANDS)}"
            )
        return open_edition(folder)
    places = [edition_folder(wanted)]
    if wanted == "sim":
        places.append(SAMPLE)
    for place in places:
        if any((candidate / MANIFEST).is_file() for candidate in (place, place / DATA_FOLDER)):
            return open_edition(place)
    raise EditionNotFoundError(
        f"the {wanted} edition is not built: looked in {' and '.join(map(str, places))}. "
        f"Build it with: {BUILD_COMMANDS[wanted].format(folder=edition_folder(wanted))}"
    )


def edition_folder(name: str) -> Path:
    """Where an edition with a name is built when no other folder is given."""
    return cache_folder() / "editions" / name


def _sample_folder() -> Path:
    package = Path(__file__).resolve().parent
    in_sources = package.parent
    return in_sources if (in_sources / DATA_FOLDER / MANIFEST).is_file() else package / "sample"


SAMPLE = _sample_folder()
"""A dataset folder whose `data/` holds a small sample of the sim edition: that of the sources, or what was installed
beside this module."""


def _read_manifest(path: Path) -> Manifest:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise DataError(f"{path}: format {content['format']}, this version reads {FORMAT}; rebuild the edition")
        files = {file: ShardRecord(**record) for file, record in content["files"].items()}
        return Manifest(content["edition"], files, content["provenance"], content["excluded"])
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a manifest ({error!r}); run the build again") from error


def _parquet_files(data_folder: Path) -> list[Path]:
    return sorted(path for path in data_folder.glob("*/*.parquet") if SHARD.fullmatch(path.name))


def _split_of(file: str) -> str:
    match = SHARD.fullmatch(file.rpartition("/")[2])
    return match["split"] if match else ""
