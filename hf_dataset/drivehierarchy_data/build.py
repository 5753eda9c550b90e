"""Building the sim edition: drives made by worker processes, kept one by one, then chosen from and written.

OUT/.build/<scene>.zip   a finished drive: its drafts and the images that they show; made atomically, found again after
                         a kill, removed when the edition is complete
OUT/data/…               the Parquet files, and last of all the manifest

Which drives are made does not depend on the number of workers, and neither does a single byte of the edition.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.road.cache import write_atomically
from drivehierarchy_gym.runner.pool import Finished, Lost, Report, run_locally

from .builders import BUILDER_VERSION, BUILDERS
from .card import write_card
from .code_stamp import code_stamp
from .croissant import write_croissant
from .drafts import Draft, ViewRef
from .editions import DATA_FOLDER, SIM_EDITION, Edition, make_manifest, open_edition, save_manifest, shard_path
from .errors import DataError, EditionNotFoundError, one_line
from .gates import GateReport, check_edition
from .images import EncodedImage
from .items import SPLITS, Split
from .scene import Clip
from .selection import Candidate, Plan, compose, select, thin_out
from .shards import write_shard
from .sizes import SIZES, Size, SizeName
from .sources.drives import DriveRecipe, recipe

WORK_FOLDER = ".build"
ITEMS_PER_SHARD = 100
MOST_DRIVES = 4.0
"""A split that is not complete after so many times its first number of drives is given up."""
ATTEMPTS = 2
"""How often a drive is tried whose worker dies or whose simulator fails."""
SILENCE = 600.0
"""Seconds after which a worker that has not finished its drive counts as hung."""
OPEN_DRIVES = 64
"""Files of finished drives that are open at a time while items are written."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A finished build."""

    edition: Edition
    report: GateReport


@dataclass(frozen=True, slots=True)
class _Job:
    recipe: DriveRecipe
    width: int
    target: Path
    stamp: str
    clip_of: ClipMaker


ClipMaker = Callable[[DriveRecipe, int], Clip | None]
"""A module-level function: recipe and width of the images -> clip, None for a drive that ended too early."""
Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


def build_sim(
    out: Path,
    size_name: SizeName,
    seed: int,
    workers: int,
    progress: Progress,
    clip_of: ClipMaker | None = None,
) -> BuildResult:
    """Builds the sim edition in `out`, or finishes a build that was broken off; equal arguments, equal bytes.

    An edition that is there already and was built by the same recipe is left as it is. `clip_of` makes the clip of a
    recipe with images of a width, in a worker process; the default drives it in the simulated world.

    Raises DataError when `out` holds another edition, a drive fails, the rules of the selection cannot be met, or a
    quality gate is not passed.
    """
    size = SIZES[size_name]
    provenance = {
        "source": "drivehierarchy sim",
        "size": size_name,
        "seed": seed,
        "builder": BUILDER_VERSION,
        "package": version("lm-eval-drivehierarchy"),
        "simulator": f"SUMO {version('eclipse-sumo')}",
        "code": code_stamp(),
    }
    finished = _finished(out, provenance)
    if finished is not None:
        shutil.rmtree(out / WORK_FOLDER, ignore_errors=True)
        return BuildResult(finished, check_edition(finished))
    stamp = json.dumps(provenance, sort_keys=True)
    work = out / WORK_FOLDER
    _refuse_unwritable(work)
    chosen: dict[Split, dict[str, list[Plan]]] = {}
    drives: dict[Split, int] = {}
    maker = _DriveMaker(work, size.width, seed, stamp, workers, progress, clip_of or sim_clip)
    for split, wanted in size.items.items():
        chosen[split], drives[split] = _make_split(maker, size, split, wanted)
    archive = _Archive(work)
    total = sum(len(plans) for tasks in chosen.values() for plans in tasks.values())
    written = 0
    for split, tasks in chosen.items():
        for task, plans in tasks.items():
            for index, begin in enumerate(range(0, len(plans), ITEMS_PER_SHARD)):
                part = plans[begin : begin + ITEMS_PER_SHARD]
                path = shard_path(out / DATA_FOLDER, task, split, index)
                # Written anew by every run: that takes seconds, and what lies there may have been damaged since.
                write_shard(path, [plan.item(archive.image) for plan in part], stamp)
                written += len(part)
                progress("items written", written, total)
    _remove_strangers(out / DATA_FOLDER, chosen)
    edition, report = _publish(out, {**provenance, "drives": drives}, {"drives": archive.unusable()})
    archive.close()
    shutil.rmtree(work)
    return BuildResult(edition, report)


def _finished(out: Path, provenance: Mapping[str, Any]) -> Edition | None:
    try:
        edition = open_edition(out)
    except EditionNotFoundError:
        return None
    found = edition.manifest.provenance
    if any(found.get(key) != value for key, value in provenance.items()):
        differing = ", ".join(sorted(key for key, value in provenance.items() if found.get(key) != value))
        raise DataError(
            f"{out} holds another edition (different: {differing}); give another folder with --out, or remove that one"
        )
    return edition


def _refuse_unwritable(work: Path) -> None:
    """Before hours of work: raise DataError where nothing can be written."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=work):
            pass
    except OSError as error:
        raise DataError(
            f"{work.parent} cannot be written to ({error.strerror}); give another folder with --out"
        ) from error


# --- drives ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _DriveMaker:
    """Makes the drives that are not there yet, and reads them back."""

    work: Path
    width: int
    seed: int
    stamp: str
    workers: int
    progress: Progress
    clip_of: ClipMaker
    shown_in: dict[str, str] = field(default_factory=dict)
    """Image -> the first scene that shows it."""

    def make(self, split: Split, numbers: range) -> list[Candidate]:
        """Candidates of these drives of a split, in the order of their numbers, none with an image of another scene."""
        recipes = [recipe(self.seed, split, number) for number in numbers]
        jobs = [
            _Job(drive, self.width, _drive_file(self.work, drive), self.stamp, self.clip_of)
            for drive in recipes
            if not _is_made(_drive_file(self.work, drive), self.stamp)
        ]
        done = numbers.stop - len(jobs)
        self.progress(f"{split} drives", done, numbers.stop)
        for attempt in range(1, ATTEMPTS + 1):
            lost: list[Lost[_Job]] = []
            for event in run_locally(make_drive, jobs, self.workers, SILENCE):
                if isinstance(event, Lost):
                    lost.append(event)
                if isinstance(event, Finished):
                    done += 1
                    self.progress(f"{split} drives", done, numbers.stop)
            if lost and attempt == ATTEMPTS:
                raise DataError(
                    f"drive {lost[0].job.recipe.scene_id} failed {ATTEMPTS} times; the build can be run again and "
                    f"resumes: {lost[0].reason}"
                )
            jobs = [event.job for event in lost]
        entries = [entry for drive in recipes for entry in _read_candidates(_drive_file(self.work, drive), self.seed)]
        return [entry for entry in entries if self._is_new(entry)]

    def _is_new(self, entry: Candidate) -> bool:
        return all(self.shown_in.setdefault(image, entry.scene_id) == entry.scene_id for image in entry.images)


def _make_split(maker: _DriveMaker, size: Size, split: Split, wanted: int) -> tuple[dict[str, list[Plan]], int]:
    """Plans of every task of a split, and the number of drives that it took."""
    candidates: dict[str, list[Candidate]] = {task: [] for task in BUILDERS}
    known, count = 0, size.drives[split]
    while True:
        for candidate in maker.make(split, range(known, count)):
            candidates[candidate.draft.task].append(candidate)
        known = count
        tasks = {task: select(task, entries, wanted, maker.seed) for task, entries in candidates.items()}
        short = {task: len(items) for task, items in tasks.items() if len(items) < wanted}
        if not short:
            return {task: compose(task, split, items, maker.seed) for task, items in tasks.items()}, known
        if count >= MOST_DRIVES * size.drives[split]:
            raise DataError(
                f"split {split!r}: {count} drives give too few balanced items of "
                + ", ".join(f"{task} ({number} of {wanted})" for task, number in short.items())
            )
        count += size.more


def make_drive(job: _Job, report: Report) -> None:
    """Drive, picture and question one recipe; the work of a worker process."""
    content: dict[str, Any] = {"stamp": job.stamp, "drafts": []}
    images: dict[ViewRef, EncodedImage] = {}
    try:
        clip = job.clip_of(job.recipe, job.width)
    except ScenarioError as error:  # an actor found no place: the same at every try
        clip, content["unusable"] = None, f"could not be placed: {error}"
    else:
        content["unusable"] = "ended too early" if clip is None else ""
    if clip is not None:
        content |= {"scene_id": clip.scene_id, "source": clip.source, "meta": dict(clip.meta)}
        for task, builder in BUILDERS.items():
            for draft in thin_out(builder(clip), f"{job.recipe.seed}:{task}"):
                shown = {view: clip.frames[view[0]].images[view[1]].encoded() for view in draft.views}
                content["drafts"].append({**asdict(draft), "images": [image.name for image in shown.values()]})
                images.update(shown)

    def write(partial: Path) -> None:
        with zipfile.ZipFile(partial, "w") as archive:
            for view, image in sorted(images.items()):
                archive.writestr(_image_name(view), image.data)
            archive.writestr("drafts.json", json.dumps(content))

    write_atomically(job.target, write)
    report("done")


def sim_clip(drive: DriveRecipe, width: int) -> Clip | None:
    """The clip of a drive through the simulated world; the simulator stays alive for the next one."""
    clip: Clip | None = _source(width).clip(drive)
    return clip


@lru_cache(maxsize=1)
def _source(width: int) -> Any:
    from .sources.sim import Cameras, SimSource  # compiles and starts a simulator; only workers need it

    return SimSource(Cameras.of_width(width))


def _drive_file(work: Path, drive: DriveRecipe) -> Path:
    return work / f"{drive.scene_id}.zip"


def _image_name(view: ViewRef) -> str:
    return f"{view[0]:03d}-{view[1]}.jpg"


def _is_made(path: Path, stamp: str) -> bool:
    """Whether a drive is there, by the same recipe and without damage."""
    content = _read_drive(path)
    if content.get("stamp") != stamp:
        return False
    views = {_image_name((index, camera)) for draft in content["drafts"] for index, camera in draft["views"]}
    try:
        with zipfile.ZipFile(path) as archive:
            return views <= set(archive.namelist()) and archive.testzip() is None
    except _DAMAGED:
        return False


_DAMAGED = (OSError, zipfile.BadZipFile, zlib.error, KeyError, ValueError)
"""What reading a damaged archive raises."""


def _read_drive(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(archive.read("drafts.json"))
    except _DAMAGED:
        return {}
    return content if isinstance(content, dict) else {}


def _read_candidates(path: Path, seed: int) -> Iterator[Candidate]:
    content = _read_drive(path)
    for entry in content["drafts"]:
        views = tuple((int(index), str(camera)) for index, camera in entry.pop("views"))
        images = tuple(entry.pop("images"))
        draft = Draft(**{**entry, "views": views, "wrong": tuple(entry["wrong"])})
        meta = {**content["meta"], "builder_version": BUILDER_VERSION, "edition_seed": seed}
        yield Candidate(content["scene_id"], content["source"], draft, meta, images)


class _Archive:
    """Images of the finished drives; the last `OPEN_DRIVES` that were opened stay open."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._open: dict[str, zipfile.ZipFile] = {}

    def image(self, scene_id: str, view: ViewRef) -> EncodedImage:
        """An image of a drive. Raises DataError where the archive was damaged since it was written."""
        if scene_id not in self._open:
            if len(self._open) >= OPEN_DRIVES:
                self._open.pop(next(iter(self._open))).close()
            self._open[scene_id] = zipfile.ZipFile(self._work / f"{scene_id}.zip")
        try:
            data = self._open[scene_id].read(_image_name(view))
        except _DAMAGED as error:
            path = self._work / f"{scene_id}.zip"
            raise DataError(
                f"{path} is damaged ({one_line(error)}); run the build again, which makes it anew"
            ) from error
        return EncodedImage.trusted(data, f"{scene_id}.zip, {_image_name(view)}")

    def unusable(self) -> dict[str, int]:
        """Why drives gave no items, and how many did not."""
        contents = [_read_drive(path) for path in sorted(self._work.glob("*.zip"))]
        return dict(Counter(content["unusable"].partition(":")[0] for content in contents if content["unusable"]))

    def close(self) -> None:
        for archive in self._open.values():
            archive.close()


# --- the end ---------------------------------------------------------------------------------------------------------


def _remove_strangers(data_folder: Path, chosen: Mapping[Split, Mapping[str, Sequence[Plan]]]) -> None:
    """Removes files of an earlier, unfinished build with other arguments, and what a killed writer left."""
    expected = {
        shard_path(data_folder, task, split, index)
        for split, tasks in chosen.items()
        for task, plans in tasks.items()
        for index in range(-(-len(plans) // ITEMS_PER_SHARD))
    }
    for split in SPLITS:
        for path in data_folder.glob(f"*/{split}-*.parquet"):
            if path not in expected:
                path.unlink()
    for pattern in (".partial-*", "*/.partial-*", "../.partial-*"):
        for folder in data_folder.glob(pattern):
            shutil.rmtree(folder)


def _publish(
    out: Path, provenance: Mapping[str, Any], excluded: Mapping[str, Mapping[str, int]]
) -> tuple[Edition, GateReport]:
    """Gates, then card and metadata, then the manifest that makes the edition readable."""
    data_folder = out / DATA_FOLDER
    edition = Edition(data_folder, make_manifest(data_folder, SIM_EDITION, provenance, excluded))
    report = check_edition(edition)
    if not report.passed:
        raise DataError(f"the edition in {out} does not pass its gates:\n" + "\n".join(report.failures()))
    write_card(edition, report, out)
    write_croissant(edition, out)
    save_manifest(data_folder, edition.manifest)
    return edition, report
