"""Result files of one run: the release's `scene_score.json` in the release's tree, checked when read.

Layout: ``<out>/<model>/<group>/<scenario>[/repeat_<k>]/scene_score.json``; a summary written for the release's results
reads ours and the other way round (facts §4). What is void lies under ``<out>/<model>/void/`` in files of other names.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError, field_validator

from drivehierarchy_gym.ending import TerminationReason
from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.scoring import PENALTIES, PROGRESS_STEP, RED_LIGHT_PENALTIES, is_void, recompute
from drivehierarchy_gym.surrogates import without_surrogates

SCORE_FILE = "scene_score.json"
STEPS_FILE = "steps.jsonl"
AGENT_FILE = "agent.jsonl"
VOID_FILE = "void.json"
UNSCORED_FILE = "unscored_scene_score.json"
"""A record that does not count, under a name that no summary, the release's own included, takes for a result."""
FRAMES_FOLDER = "frames"
VOID_FOLDER = "void"
PARTIAL_FOLDER = ".partial"

VoidKind = Literal["infrastructure", "no_valid_answer", "scenario", "manual_interrupt", "system_error"]


class ResultError(DriveHierarchyError, ValueError):
    """A result file that cannot be read or does not agree with itself."""


class RunExtra(BaseModel):
    """What our own records keep under `extra`, as far as readers rely on it; the release's records have no `extra`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    void: bool = False
    evaluator: dict[str, str] = Field(default_factory=dict)
    suite: str = ""
    suite_hash: str = ""
    family: str = ""
    seed: int = 0
    repeat: NonNegativeInt = 0
    action_mode: str = ""
    observation: str = ""
    decisions: NonNegativeInt = 0
    agent_faults: dict[str, NonNegativeInt] = Field(default_factory=dict)
    trace_sha256: str = ""


Percent = Annotated[float, Field(ge=0, le=100, strict=True)]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]


class SceneScore(BaseModel):
    """A valid `scene_score.json` (facts §4). Route and composed score are 0 to 100, the other scores 0 to 1."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    scene_id: str = Field(min_length=1)
    status: Literal["Perfect", "Completed", "Failed"]
    termination_reason: str
    score_route: Percent
    score_safety: Share
    score_efficiency: Share
    score_penalty: Share
    score_composed: Percent
    events: tuple[dict[str, Any], ...]
    meta: dict[str, Any]
    extra: dict[str, Any] = Field(default_factory=dict)
    """Follows `RunExtra`."""

    @field_validator("extra")
    @classmethod
    def _check_extra(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            RunExtra.model_validate(value)
        except ValidationError as error:
            raise ValueError(_first_fault(error)) from error
        return value


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    where = ".".join(str(part) for part in fault["loc"]) or "file"
    return f"{where}: {fault['msg']}"


def read_score(path: Path, scenario: str | None = None) -> SceneScore | None:
    """Read one `scene_score.json`; None when it records a void run.

    Args:
        path: the file.
        scenario: id of the scenario in whose folder it lies; None where that is not known.

    Raises:
        ResultError: empty, cut off, not the release's fields, a column that does not follow from the others, or a
            record of another scenario.
    """
    try:
        record = _read_json(path)
        if not isinstance(record, dict):
            raise ResultError(f"{path}: not a record of scores, found {type(record).__name__}")
        if is_void(record):
            return None
        score = SceneScore.model_validate(record)
        _check_total(record, score)
        if scenario is not None and score.scene_id != scenario:
            raise ResultError(f"{path}: scene_id: found {score.scene_id!r} in the folder of {scenario!r}")
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from error
    except ValidationError as error:
        raise ResultError(f"{path}: {_first_fault(error)}") from error
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        if isinstance(error, ResultError):
            raise
        raise ResultError(f"{path}: {error if isinstance(error, ValueError) else repr(error)}") from error
    return score


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("nested too deeply to be one of our files") from None


_ARRIVALS = frozenset({"destination_reached", "scenario_complete"})
"""Endings without a penalty. The second is a word of the release alone, and so is that its events may be many."""
_ENDING_EVENTS: Mapping[str, str] = {
    reason: "route_deviation" if reason == "offroad_timeout" else reason for reason in get_args(TerminationReason)
}
"""Ending -> the type of its event."""


def _check_total(record: Mapping[str, Any], score: SceneScore) -> None:
    """Ours must follow from their own columns to the last digit; the release rounds every column for itself."""
    if "evaluator" in score.extra:
        recompute(record)
        _check_own_ending(score)
        _check_distance(score, short=0.0)
        return
    for name, found, expected, tolerance in (
        ("score_penalty", score.score_penalty, score.score_safety * score.score_efficiency, 2e-6),
        ("score_composed", score.score_composed, score.score_route * score.score_penalty, 2e-4),
    ):
        if abs(found - expected) > tolerance:
            raise ValueError(f"{name} is {found}, its columns give {expected:.6f}")
    _check_release_ending(score)
    # An ego that crashes within the radius of the goal has arrived, whatever the last progress it made.
    radius = score.meta.get("destination_radius")
    _check_distance(score, short=PROGRESS_STEP + (radius if isinstance(radius, int | float) else 0.0))


def _check_own_ending(score: SceneScore) -> None:
    """One event ends a run, is of the kind that the reason names and costs what that kind costs."""
    reason = score.termination_reason
    if reason not in _ENDING_EVENTS:
        raise ValueError(f"termination_reason: found {reason!r}, expected one of {', '.join(_ENDING_EVENTS)}")
    endings = [event.get("type") for event in score.events if event.get("type") in _ENDING_EVENTS.values()]
    if endings != [_ENDING_EVENTS[reason]]:
        found = ", ".join(map(str, endings)) or "none"
        raise ValueError(
            f"events: found {found} as the end of the run, but termination_reason {reason!r} is one event "
            f"{_ENDING_EVENTS[reason]!r}"
        )
    for number, event in enumerate(score.events):
        kind, factor = event.get("type"), event.get("penalty_multiplier", 1.0)
        allowed = {*RED_LIGHT_PENALTIES.values(), 1.0} if kind == "red_light" else {PENALTIES.get(str(kind), 1.0)}
        if factor not in allowed:
            expected = " or ".join(map(str, sorted(allowed)))
            raise ValueError(f"events.{number}.penalty_multiplier: found {factor!r}, a {kind} costs {expected}")
    arrived = reason == "destination_reached"
    if arrived and score.score_route < 100.0:
        raise ValueError(f"score_route: found {score.score_route}, but termination_reason {reason!r} is a whole route")
    if (score.status == "Failed") == arrived:
        raise ValueError(f"status: found {score.status!r} with termination_reason {reason!r}")


def _check_release_ending(score: SceneScore) -> None:
    """What holds for the release's records too, whose events are less known."""
    reason = score.termination_reason
    if reason in _ARRIVALS:
        ends = [event.get("type") for event in score.events if event.get("type") in PENALTIES]
        if ends:
            raise ValueError(f"events: found {ends[0]}, which ends a run, with termination_reason {reason!r}")
        if score.score_route < 100.0 and reason == "destination_reached":
            raise ValueError(
                f"score_route: found {score.score_route}, but termination_reason {reason!r} is a whole route"
            )
        return
    most = PENALTIES.get(_ENDING_EVENTS.get(reason, ""), 1.0)
    if score.score_safety > most + 1e-6:
        raise ValueError(
            f"score_safety: found {score.score_safety}, but termination_reason {reason!r} leaves at most {most}"
        )
    if reason in _ENDING_EVENTS and not score.events:
        raise ValueError(f"events: found none, but termination_reason is {reason!r}")


def _check_distance(score: SceneScore, short: float) -> None:
    """The route's share is that of the recorded distances, where there are any.

    A whole one may lack `short` metres, and all of them where the release says that the goal was reached.
    """
    length, done = score.meta.get("route_length_m"), score.meta.get("completed_distance_m")
    if not isinstance(length, int | float) or not isinstance(done, int | float):
        return
    if not length > 0 or not done >= 0:
        raise ValueError(f"meta: found route_length_m {length} and completed_distance_m {done}")
    whole = score.score_route >= 100.0
    if whole and short and score.termination_reason in _ARRIVALS:
        return
    rounding = 0.0011  # both are rounded to millimetres
    expected = min(100.0, 100.0 * done / length)
    if (whole and done >= length - short - rounding) or abs(score.score_route - expected) <= 100 * rounding / length:
        return
    raise ValueError(
        f"score_route: found {score.score_route}, but meta.completed_distance_m {done} of route_length_m {length} "
        f"is {expected:.6f}"
    )


@dataclass(frozen=True)
class RunPlace:
    """Where the files of one run lie below the folder of its model."""

    group: str
    scenario: str
    repeat: int
    repeats: int
    """Repeats of the whole batch: a single one needs no folder of its own."""

    def __post_init__(self) -> None:
        for kind, name in (("group", self.group), ("scenario", self.scenario)):
            if not _is_folder_name(name) or (kind == "group" and (name == VOID_FOLDER or name.startswith("."))):
                raise ResultError(f"{kind} {name!r}: cannot be the name of a folder of results; give it another name")

    @property
    def folder(self) -> Path:
        base = Path(self.group) / self.scenario
        return base if self.repeats == 1 else base / f"repeat_{self.repeat}"

    @property
    def candidates(self) -> tuple[Path, ...]:
        """Folders in which an earlier batch, perhaps with another number of repeats, may have put this run."""
        base = Path(self.group) / self.scenario
        return (base / f"repeat_{self.repeat}", base) if self.repeat == 0 else (base / f"repeat_{self.repeat}",)

    @property
    def label(self) -> str:
        """Name of the run in messages."""
        return self.scenario if self.repeats == 1 else f"{self.scenario} (repeat {self.repeat})"


def _is_folder_name(name: str) -> bool:
    return name not in ("", ".", "..") and not any(c in name for c in "/\\\0")


def finished_score(model_folder: Path, place: RunPlace) -> tuple[Path, SceneScore] | None:
    """The valid result of a run, if it is there.

    Raises:
        ResultError: there is one, but it is damaged.
    """
    for folder in place.candidates:
        path = model_folder / folder / SCORE_FILE
        if path.exists():
            score = read_score(path, place.scenario)
            if score is not None:
                return path, score
    return None


def publish(model_folder: Path, partial: Path, place: RunPlace) -> Path | None:
    """Give a complete run its final name in one step; None when another process was faster and its result stays.

    What lies there without a score (it was deleted, or setting it aside was broken off) is set aside first.
    """
    target = model_folder / place.folder
    if _has_repeats(target):  # a single run joins the folders of repeats of an earlier batch
        target = target / f"repeat_{place.repeat}"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(partial, target)
    except OSError:
        if (target / SCORE_FILE).exists():
            shutil.rmtree(partial, ignore_errors=True)
            return None
        if not target.exists():
            raise
        set_aside(model_folder, target, place, f"{SCORE_FILE} was missing beside these files")
        os.rename(partial, target)
    return target


def _has_repeats(folder: Path) -> bool:
    return any(folder.glob("repeat_*"))


def publish_void(model_folder: Path, partial: Path, place: RunPlace) -> Path:
    """Put a void attempt, its `VOID_FILE` included, below the void folder in one step; returns where it is."""
    target = _next_attempt(model_folder, place)
    os.rename(partial, target)
    return target


def set_aside(model_folder: Path, folder: Path, place: RunPlace, reason: str) -> Path:
    """Move a result that does not count below the void folder, so that the run can be made again.

    Broken off after any step, it leaves either the result as it was or files without a score, which `publish` sets
    aside.
    """
    target = _next_attempt(model_folder, place)
    if not folder.is_dir():
        os.rename(folder, target / folder.name)
        write_void(target, place, "system_error", reason)
        return target
    if (folder / SCORE_FILE).exists():
        os.rename(folder / SCORE_FILE, folder / UNSCORED_FILE)
    write_void(folder, place, "system_error", reason)
    if not _has_repeats(folder):
        os.rename(folder, target)
        return target
    for entry in sorted(folder.iterdir()):
        if not entry.name.startswith("repeat_"):
            os.rename(entry, target / entry.name)
    return target


def _next_attempt(model_folder: Path, place: RunPlace) -> Path:
    base = model_folder / VOID_FOLDER / place.group / place.scenario
    base.mkdir(parents=True, exist_ok=True)
    attempt = 1
    while True:
        target = base / f"repeat_{place.repeat}.attempt_{attempt}"
        try:
            target.mkdir()
        except FileExistsError:
            attempt += 1
        else:
            return target


def write_void(folder: Path, place: RunPlace, kind: VoidKind, detail: str) -> None:
    """Write the record that makes `folder` a void attempt of the run at `place`."""
    write_json(
        folder / VOID_FILE,
        {
            "group": place.group,
            "scenario": place.scenario,
            "repeat": place.repeat,
            "kind": kind,
            "detail": without_surrogates(detail),  # it may quote foreign texts
        },
    )


class VoidRecord(BaseModel):
    """One attempt that gave no result, and why."""

    model_config = ConfigDict(frozen=True)

    group: str
    scenario: str
    repeat: NonNegativeInt
    kind: VoidKind
    detail: str
    path: Path
    """Folder of the attempt."""


def read_voids(model_folder: Path, damaged: list[str] | None = None) -> Iterator[VoidRecord]:
    """Every attempt set aside below a model's folder, in path order.

    Void attempts never reach a score, so a record that cannot be read is passed over; `damaged` gets a sentence on it.
    """
    for path in sorted((model_folder / VOID_FOLDER).glob(f"*/*/*/{VOID_FILE}")):
        try:
            data = _read_json(path)
            if not isinstance(data, dict):
                raise ValueError(f"a mapping is needed, found {type(data).__name__}")
            record = VoidRecord.model_validate({**data, "path": path.parent})
        except (ValueError, OSError) as error:
            reason = _first_fault(error) if isinstance(error, ValidationError) else str(error)
            if damaged is not None:
                damaged.append(f"left out, damaged: {path}: not the record of a void run ({reason})")
            continue
        yield record


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON so that the file is either whole or absent, also after a power cut."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file so that it is either whole or absent, and delete what killed writers of it left unfinished."""
    for rest in path.parent.glob(f".{path.name}.*"):
        process = rest.suffix[1:]
        if process.isdigit() and not process_is_alive(int(process)):
            rest.unlink(missing_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def process_is_alive(process: int) -> bool:
    """Whether a process of this machine with this id runs."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
