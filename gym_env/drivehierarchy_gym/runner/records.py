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
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.scoring import is_void, recompute

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


class SceneScore(BaseModel):
    """A valid `scene_score.json` (facts §4). Route and composed score are 0 to 100, the other scores 0 to 1."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    scene_id: str = Field(min_length=1)
    status: Literal["Perfect", "Completed", "Failed"]
    termination_reason: str
    score_route: float = Field(ge=0, le=100)
    score_safety: float = Field(ge=0, le=1)
    score_efficiency: float = Field(ge=0, le=1)
    score_penalty: float = Field(ge=0, le=1)
    score_composed: float = Field(ge=0, le=100)
    events: tuple[dict[str, Any], ...]
    meta: dict[str, Any]
    extra: dict[str, Any] = Field(default_factory=dict)


def read_score(path: Path) -> SceneScore | None:
    """Read one `scene_score.json`; None when it records a void run.

    Raises:
        ResultError: empty, cut off, not the release's fields, or a column that does not follow from the others.
    """
    try:
        record = json.loads(path.read_bytes())
        if not isinstance(record, dict):
            raise ResultError(f"{path}: not a record of scores, found {type(record).__name__}")
        if is_void(record):
            return None
        score = SceneScore.model_validate(record)
        _check_total(record, score)
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from error
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"]) or "file"
        raise ResultError(f"{path}: {where}: {fault['msg']}") from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ResultError):
            raise
        raise ResultError(f"{path}: {error if isinstance(error, ValueError) else repr(error)}") from error
    return score


def _check_total(record: Mapping[str, Any], score: SceneScore) -> None:
    """Ours must follow from their own columns to the last digit; the release rounds every column for itself."""
    if "evaluator" in score.extra:
        recompute(record)
        return
    for name, found, expected, tolerance in (
        ("score_penalty", score.score_penalty, score.score_safety * score.score_efficiency, 2e-6),
        ("score_composed", score.score_composed, score.score_route * score.score_penalty, 2e-4),
    ):
        if abs(found - expected) > tolerance:
            raise ValueError(f"{name} is {found}, its columns give {expected:.6f}")


@dataclass(frozen=True)
class RunPlace:
    """Where the files of one run lie below the folder of its model."""

    group: str
    scenario: str
    repeat: int
    repeats: int
    """Repeats of the whole batch: a single one needs no folder of its own."""

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


def finished_score(model_folder: Path, place: RunPlace) -> tuple[Path, SceneScore] | None:
    """The valid result of a run, if it is there.

    Raises:
        ResultError: there is one, but it is damaged.
    """
    for folder in place.candidates:
        path = model_folder / folder / SCORE_FILE
        if path.exists():
            score = read_score(path)
            if score is not None:
                return path, score
    return None


def publish(model_folder: Path, partial: Path, place: RunPlace) -> Path | None:
    """Give a complete run its final name in one step; None when another process was faster and its result stays."""
    target = model_folder / place.folder
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(partial, target)
    except OSError:
        if not (target / SCORE_FILE).exists():
            raise
        shutil.rmtree(partial, ignore_errors=True)
        return None
    return target


def publish_void(model_folder: Path, partial: Path, place: RunPlace) -> Path:
    """Put a void attempt, its `VOID_FILE` included, below the void folder in one step; returns where it is."""
    target = _next_attempt(model_folder, place)
    os.rename(partial, target)
    return target


def set_aside(model_folder: Path, folder: Path, place: RunPlace, reason: str) -> Path:
    """Move the files of a result that does not count below the void folder, so that the run can be made again."""
    target = _next_attempt(model_folder, place)
    for entry in sorted(folder.iterdir()):
        if not entry.name.startswith("repeat_"):
            os.rename(entry, target / (UNSCORED_FILE if entry.name == SCORE_FILE else entry.name))
    write_void(target, place, "system_error", reason)
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
        {"group": place.group, "scenario": place.scenario, "repeat": place.repeat, "kind": kind, "detail": detail},
    )


@dataclass(frozen=True)
class VoidRecord:
    """One attempt that gave no result, and why."""

    group: str
    scenario: str
    repeat: int
    kind: VoidKind
    detail: str
    path: Path


def read_voids(model_folder: Path) -> Iterator[VoidRecord]:
    """Every attempt set aside below a model's folder, in path order."""
    for path in sorted((model_folder / VOID_FOLDER).glob(f"*/*/*/{VOID_FILE}")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            yield VoidRecord(data["group"], data["scenario"], data["repeat"], data["kind"], data["detail"], path.parent)
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: not the record of a void run ({type(error).__name__}: {error})") from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON so that the file is either whole or absent, also after a power cut."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
