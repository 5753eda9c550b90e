"""`manifest.json` of a model's folder: what was run, with which versions, and what belongs to the full result."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.runner.records import ResultError, write_json

MANIFEST_FILE = "manifest.json"
PACKAGES = ("lm-eval-drivehierarchy", "eclipse-sumo", "libsumo", "gymnasium", "numpy", "numba", "opencv-python")


class ResumeError(DriveHierarchyError, ValueError):
    """The folder holds results of another run, so they cannot be continued."""


class Manifest(BaseModel):
    """A batch of one agent. What is in `settings` decides the results; all else is a record."""

    model_config = ConfigDict(extra="forbid")

    model: str
    settings: dict[str, Any]
    """Agent, its options and time limit, suite and its hash, evaluator, seed, backend and protocol: equal or not to be
    continued."""
    planned: dict[str, list[str]]
    """Group -> scenarios of the full result: the denominator of every mean."""
    suite_scenarios: dict[str, list[str]] | None = None
    """Group -> scenarios of the whole suite, of which `planned` may be a part; None where an older version ran."""
    repeats: int = Field(ge=1)
    command: list[str]
    versions: dict[str, str]
    git_revision: str | None


def episode_seed(seed: int, scenario: str, repeat: int) -> int:
    """Seed of a run in [0, 2**31): from the batch's seed and the run's own name, never from the order of runs."""
    digest = hashlib.sha256(f"{seed}:{scenario}:{repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def versions() -> dict[str, str]:
    """Versions of Python and of the packages whose behaviour reaches the results."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def git_revision() -> str | None:
    """Commit of the source tree this package runs from, `+changes` where it differs; None outside a git work tree."""
    folder = Path(__file__).parent
    try:
        revision = _git(folder, "rev-parse", "HEAD")
        changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return revision + ("+changes" if changes else "")


def _git(folder: Path, *arguments: str) -> str:
    run = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=True)
    return run.stdout.strip()


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        ResultError: it cannot be read or is not one.
    """
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror or error}") from error
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"]) or "file"
        raise ResultError(
            f"{path}: {where}: {fault['msg']}; restore it or leave its folder out; a new run needs another --out"
        ) from error


def open_manifest(
    folder: Path,
    model: str,
    settings: Mapping[str, Any],
    planned: Mapping[str, Sequence[str]],
    repeats: int,
    command: Sequence[str],
    suite_scenarios: Mapping[str, Sequence[str]] | None = None,
) -> Manifest:
    """Create the manifest of a model's folder, or check that the results there can be continued and widen its plan.

    Equal settings mean an equal suite, so that `suite_scenarios` also completes a manifest that lacks them.

    Raises:
        ResumeError: the folder was written with other settings; names the first one that differs.
        ResultError: the manifest there is damaged, or the folder cannot be written.
    """
    path = folder / MANIFEST_FILE
    wanted = Manifest(
        model=model,
        settings=dict(settings),
        planned={group: sorted(ids) for group, ids in sorted(planned.items())},
        suite_scenarios=None
        if suite_scenarios is None
        else {group: sorted(ids) for group, ids in sorted(suite_scenarios.items())},
        repeats=repeats,
        command=list(command),
        versions=versions(),
        git_revision=git_revision(),
    )
    try:
        manifest = _widened(folder, read_manifest(path), wanted) if path.exists() else wanted
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, manifest.model_dump(mode="json"))
    except OSError as error:
        raise ResultError(f"{folder}: cannot be written ({error.strerror or error}); give another --out") from error
    return manifest


def _widened(folder: Path, there: Manifest, wanted: Manifest) -> Manifest:
    """The manifest `there` with the plan of `wanted` added to its own. Raises ResumeError for other settings."""
    for key in sorted({*there.settings, *wanted.settings}):
        before, now = there.settings.get(key), wanted.settings.get(key)
        if before != now:
            raise ResumeError(
                f"{folder} holds results with {key} {_short(before)}, this command has {_short(now)}; "
                "repeat the command that began it, or give another --out or --name"
            )
    groups = sorted({*there.planned, *wanted.planned})
    return there.model_copy(
        update={
            "planned": {g: sorted({*there.planned.get(g, ()), *wanted.planned.get(g, ())}) for g in groups},
            "suite_scenarios": wanted.suite_scenarios or there.suite_scenarios,
            "repeats": max(wanted.repeats, there.repeats),
        }
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
