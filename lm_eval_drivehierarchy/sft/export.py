"""Writing a training set, and checking one that was written.

OUT/train.jsonl, validation.jsonl   the samples, in the form that the framework reads
OUT/images/<digest>.jpg             the images, named by their content
OUT/items.jsonl                     of each sample: split, item, task, source, scene, images
OUT/run.sh and its settings         the training run
OUT/manifest.json                   what was exported from what, what was left out, checksums; written last

The same edition and arguments give the same bytes. An export that was broken off keeps the images that are there.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivehierarchy_data.build import Progress
from drivehierarchy_data.editions import Edition
from drivehierarchy_data.images import content_name
from drivehierarchy_data.shards import ImageLocation

from ..chat_model import jpeg
from ..outputs import write_bytes, write_json, write_text
from ..tasks import TASKS
from ..tasks import task as task_named
from ..wording import counted
from .errors import SftError
from .leakage import Overlap, Tests, TestSplit, hashes_by_name
from .likeness import hashes_of
from .recipe import PAPER, RUN_SCRIPT, SCRIPTS, TRAIN_FILE, VALIDATION_FILE, Framework
from .rows import ROWS, dataset_info
from .samples import Sample, SceneKey, sample_of, scene_of
from .split import draw, held_out_scenes

FORMAT = 1
"""Version of the layout; a reader refuses others."""
IMAGES_FOLDER, ITEMS_FILE, MANIFEST = "images", "items.jsonl", "manifest.json"
FILES = {"train": TRAIN_FILE, "validation": VALIDATION_FILE}
LOOSE = frozenset({".jsonl", ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".parquet"})
"""Suffixes of samples and pictures."""
VALIDATION_SHARE = 0.05
"""Share of the training scenes held out; the paper's share of the training samples."""


@dataclass(frozen=True, slots=True)
class Export:
    """A finished export: its manifest, and per reason the items that were left out with what they meet in a test."""

    folder: Path
    manifest: Mapping[str, Any]
    left_out: Mapping[str, Mapping[str, str]]


def export(
    edition: Edition,
    tasks: Sequence[str],
    framework: Framework,
    out: Path,
    *,
    progress: Progress,
    validation: float = VALIDATION_SHARE,
    samples: int | None = None,
    seed: int = 0,
    against: Sequence[Edition] = (),
) -> Export:
    """Writes the training items of `tasks` to `out` for `framework`.

    Items of the edition's train split are used, never others. What shares a scene, an image file or a picture with a
    test split - the edition's own, and those of `against` - is left out. `validation` is the share of the scenes that
    is held out, `samples` the number of training samples, equally many of each task; without it all.

    Raises SftError when nothing can be exported or `out` holds another export, DataError for a damaged edition.
    """
    wanted = [task.id for task in TASKS if task.id in {task_named(name).id for name in tasks}]
    scenes = _training_scenes(edition, wanted)
    tests = Tests([TestSplit.of(entry, progress) for entry in (edition, *against)])
    left_out: dict[str, dict[str, str]] = defaultdict(dict)
    found = _apart(_samples(edition, wanted), tests, left_out, progress)
    apart = [scene for scene in scenes if tests.scene(scene) is None]
    held_out = held_out_scenes(apart or scenes, validation, seed)
    chosen = {
        "train": draw([sample for sample in found if sample.scene not in held_out], samples, seed),
        "validation": draw([sample for sample in found if sample.scene in held_out], None, seed),
    }
    for split, entries in chosen.items():
        missing = [task for task in wanted if task not in {sample.task for sample in entries}]
        if not entries or (split == "train" and missing):
            raise SftError(
                f"edition {edition.name} in {edition.folder} gives no {split} samples of "
                f"{', '.join(missing or wanted)}: {counted(sum(map(len, left_out.values())), 'item')} left out, "
                f"{len(held_out)} of {counted(len(scenes), 'scene')} "
                "held out for validation; build a larger edition, or change --validation"
            )
    identity = {
        "format": FORMAT,
        "framework": framework,
        "edition": {"name": edition.name, "digest": edition.digest},
        "tests": [
            {"name": split.edition, "digest": split.digest, "images": len(split.names), "scenes": len(split.scenes)}
            for split in tests.splits
        ],
        "tasks": wanted,
        "validation": validation,
        "samples": samples,
        "seed": seed,
    }
    _refuse_another(out, identity)
    return _write(out, chosen, identity, left_out, progress)


def check_export(folder: Path, editions: Sequence[Edition], progress: Progress) -> list[str]:
    """What is wrong with an export, one line each: changed and added files, shared scenes, anything shared with a test
    split.

    Reads every byte again and trusts the manifest for nothing but its checksums and the names of what was exported.
    `editions` are those whose test splits count. All that the export was kept apart from must be among them, with the
    recorded digest: another build of an edition asks other questions about other pictures. Raises SftError when one is
    not, when one of them differs from its own manifest, or when there is no export.
    """
    manifest = read_manifest(folder)
    _refuse_other_tests(folder, manifest, editions)
    problems = []
    for name, digest in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name}: missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            problems.append(f"{name}: differs from its checksum")
    if problems:
        return problems
    records = [json.loads(line) for line in (folder / ITEMS_FILE).read_text(encoding="utf-8").splitlines()]
    shown = {split: _images_of(folder / file) for split, file in FILES.items()}
    for split, rows in shown.items():
        if rows != [record["images"] for record in records if record["split"] == split]:
            problems.append(f"{FILES[split]}: shows other images than {ITEMS_FILE} says")
    paths = sorted({path for rows in shown.values() for images in rows for path in images})
    damaged = [path for path in paths if not _is_intact(folder / path)]
    problems += [f"{path}: missing, or not the image it was recorded as" for path in damaged]
    listed = [*paths, *(path for record in records for path in record["images"])]
    problems += [f"{path}: is not of this export; take it away" for path in _unlisted(folder, manifest, listed)]
    if damaged:
        return problems
    scenes = {split: {_scene(record) for record in records if record["split"] == split} for split in FILES}
    problems += [
        f"scene {scene[1]} is trained and validated on" for scene in sorted(scenes["train"] & scenes["validation"])
    ]
    tests = Tests([TestSplit.of(edition, progress) for edition in editions])
    for scene in sorted(scenes["train"] | scenes["validation"]):
        if (overlap := tests.scene(scene)) is not None:
            problems.append(f"{overlap.reason}: {overlap.test}")
    step = "pictures of the export"
    readers = [_file_reader(folder / path) for path in paths]
    hashes = hashes_of(readers, lambda done: progress(step, done, len(paths)))
    overlaps = tests.pictures([Path(path).name for path in paths], hashes)
    problems += [f"{overlap.reason}: {name} meets {overlap.test}" for name, overlap in sorted(overlaps.items())]
    return problems


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of an export. Raises SftError when there is none that this version understands."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SftError(
            f"{folder} holds no finished export: {MANIFEST} is missing; run the export again, it resumes"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise SftError(f"{path}: not a manifest ({error}); export again into an empty folder") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise SftError(f"{path}: not an export of format {FORMAT}; export again with this version")
    return manifest


def recorded_tests(folder: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Digest -> name of every edition whose test split an export was kept apart from, its own first.

    Raises SftError where the manifest does not name them.
    """
    try:
        own = manifest["edition"]["digest"]
        found = {test["digest"]: test["name"] for test in manifest["tests"]}
    except (KeyError, TypeError) as error:
        raise SftError(f"{folder / MANIFEST}: {error!r}: does not name its editions; export again") from error
    if own not in found or not all(isinstance(part, str) for pair in found.items() for part in pair):
        raise SftError(
            f"{folder / MANIFEST}: tests {manifest['tests']!r} lacks the edition that was exported; export again into "
            "an empty folder"
        )
    return {own: found.pop(own), **found}


def _refuse_other_tests(folder: Path, manifest: Mapping[str, Any], editions: Sequence[Edition]) -> None:
    available = {edition.digest for edition in editions}
    for digest, name in recorded_tests(folder, manifest).items():
        if digest not in available:
            others = [f"{other.name} in {other.folder} has digest {other.digest[:16]}" for other in editions]
            raise SftError(
                f"{folder} was kept apart from the test split of edition {name} with digest {digest[:16]}, but "
                f"{'; '.join(others) or 'no such edition was found'}. So it cannot be checked: name the folder of that "
                "very build with --edition or --against, or export again from one that you have"
            )
    for edition in editions:
        if problems := edition.problems():
            raise SftError(
                f"edition {edition.name} in {edition.folder} cannot be checked against: {problems[0]}"
                + (f" and {counted(len(problems) - 1, 'more problem')}" if len(problems) > 1 else "")
                + "; rebuild or re-copy the edition"
            )


# --- which items -----------------------------------------------------------------------------------------------------


def _training_scenes(edition: Edition, wanted: Sequence[str]) -> set[SceneKey]:
    """Scenes of the whole train split. Raises SftError for a task that has none."""
    available = edition.tasks("train")
    missing = [task for task in wanted if task not in available]
    if missing or not wanted:
        raise SftError(
            f"edition {edition.name} in {edition.folder} has no train items of "
            f"{', '.join(missing) or 'no task at all'}; it has: {', '.join(available) or 'none'}. "
            "The full size of the sim edition has a train split: "
            "drivehierarchy data build --edition sim --size full"
        )
    return {scene_of(document) for task in available for document in edition.documents(task, "train")}


def _samples(edition: Edition, tasks: Sequence[str]) -> Iterator[Sample]:
    for task in tasks:
        for document in edition.documents(task, "train"):
            yield sample_of(document)


def _apart(
    samples: Iterator[Sample], tests: Tests, left_out: dict[str, dict[str, str]], progress: Progress
) -> list[Sample]:
    """The samples that share nothing with a test split; the others go to `left_out`."""
    found = []
    for sample in samples:
        if (overlap := tests.scene(sample.scene)) is not None:
            left_out[overlap.reason][sample.item] = overlap.test
        else:
            found.append(sample)
    images = {location.name: location for sample in found for location in sample.images}
    names = sorted(images)
    step = "pictures of the train split"
    hashes = hashes_by_name(images, lambda done: progress(step, done, len(names)))
    overlaps = tests.pictures(names, hashes)
    kept = []
    for sample in found:
        met: Overlap | None = next((overlaps[i.name] for i in sample.images if i.name in overlaps), None)
        if met is not None:
            left_out[met.reason][sample.item] = met.test
        else:
            kept.append(sample)
    return kept


# --- writing ---------------------------------------------------------------------------------------------------------


def _refuse_another(out: Path, identity: Mapping[str, Any]) -> None:
    if not (out / MANIFEST).is_file():
        return
    found = read_manifest(out)
    differing = sorted(key for key, value in identity.items() if found.get(key) != json.loads(json.dumps(value)))
    if differing:
        raise SftError(
            f"{out} holds another export (different: {', '.join(differing)}); give another folder with --out, "
            "or remove that one"
        )


def _write(
    out: Path,
    chosen: Mapping[str, Sequence[Sample]],
    identity: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, str]],
    progress: Progress,
) -> Export:
    framework: Framework = identity["framework"]
    total = sum(map(len, chosen.values()))
    texts: dict[str, str] = {**SCRIPTS[framework](PAPER)}
    if framework == "llamafactory":
        texts["dataset_info.json"] = dataset_info()
    records, kept = [], set()
    done = 0
    for split, samples in chosen.items():
        rows = []
        for sample in samples:
            images = [_write_image(out, location) for location in sample.images]
            kept |= set(images)
            rows.append(ROWS[framework](sample, images))
            source, scene = sample.scene
            records.append(
                {
                    "split": split,
                    "item": sample.item,
                    "task": sample.task,
                    "source": source,
                    "scene_id": scene,
                    "images": images,
                }
            )
            done += 1
            progress("samples written", done, total)
        texts[FILES[split]] = _lines(rows)
    texts[ITEMS_FILE] = _lines(records)
    for path in (out / IMAGES_FOLDER).iterdir():
        if path.is_file() and f"{IMAGES_FOLDER}/{path.name}" not in kept:
            path.unlink()  # of an unfinished export with other arguments
    for name, text in texts.items():
        write_text(out / name, text)
    (out / RUN_SCRIPT).chmod(0o755)
    manifest = {
        **identity,
        "counts": {
            split: dict(sorted(Counter(sample.task for sample in samples).items())) for split, samples in chosen.items()
        },
        "scenes": {split: len({sample.scene for sample in samples}) for split, samples in chosen.items()},
        "images": len(kept),
        "left_out": {reason: dict(sorted(items.items())) for reason, items in sorted(left_out.items())},
        "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(texts.items())},
    }
    write_json(out / MANIFEST, manifest)
    return Export(out, manifest, left_out)


def _write_image(out: Path, location: ImageLocation) -> str:
    """Writes an image unless it is there, whole; returns its path below `out`. Raises ImageError for a damaged one."""
    data = jpeg(location)
    name = f"{IMAGES_FOLDER}/{content_name(data, 'jpg')}"
    if not _is_intact(out / name):
        write_bytes(out / name, data)
    return name


def _is_intact(path: Path) -> bool:
    return path.is_file() and content_name(path.read_bytes(), "jpg") == path.name


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# --- checking --------------------------------------------------------------------------------------------------------


def _images_of(file: Path) -> list[list[str]]:
    return [json.loads(line)["images"] for line in file.read_text(encoding="utf-8").splitlines()]


def _scene(record: Mapping[str, Any]) -> SceneKey:
    return record["source"], record["scene_id"]


def _unlisted(folder: Path, manifest: Mapping[str, Any], images: Sequence[str]) -> list[str]:
    """Pictures and samples that the export does not name, which a training run could pick up unchecked.

    All below the folder of images counts; beside it only such files do, since training writes its output there.
    """
    inside = [path for path in (folder / IMAGES_FOLDER).rglob("*") if path.is_symlink() or not path.is_dir()]
    beside = [path for path in folder.iterdir() if path.is_file() and path.suffix.lower() in LOOSE]
    found = {path.relative_to(folder).as_posix() for path in (*inside, *beside)}
    return sorted(found - {*images, *manifest["files"]})


def _file_reader(path: Path) -> Any:
    return lambda: (path.read_bytes(), str(path))
