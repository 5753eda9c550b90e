"""Finds the results below folders: what counts, what is void, damaged, double or missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.runner.manifest import MANIFEST_FILE, Manifest, episode_seed, read_manifest
from drivehierarchy_gym.runner.records import (
    SCORE_FILE,
    VOID_FOLDER,
    ResultError,
    SceneScore,
    VoidRecord,
    read_score,
    read_voids,
)


class CollectionError(DriveHierarchyError, ValueError):
    """Results that must not be put into one table."""


@dataclass(frozen=True)
class SceneResult:
    """One valid run of one scenario by one model."""

    model: str
    group: str
    scenario: str
    repeat: int
    path: Path
    score: SceneScore

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.model, self.group, self.scenario, self.repeat


@dataclass
class Collection:
    """All that is known about some models' runs. `planned` is the fixed denominator, by model."""

    results: list[SceneResult] = field(default_factory=list)
    planned: dict[str, set[tuple[str, str, int]]] = field(default_factory=dict)
    """Model -> (group, scenario, repeat) of the full result."""
    suites: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """Model -> (group, scenario) of the whole suites that its runs were chosen from, where they say so."""
    voids: dict[str, list[VoidRecord]] = field(default_factory=dict)
    """Model -> attempts without a result, of runs that still have none."""
    notes: list[str] = field(default_factory=list)
    """What was left out, and why: a sentence each."""

    @property
    def models(self) -> list[str]:
        return sorted({*self.planned, *(result.model for result in self.results)})

    def of(self, model: str) -> list[SceneResult]:
        """Valid results of a model, in the order of groups, scenarios and repeats."""
        return sorted((r for r in self.results if r.model == model), key=lambda r: r.key)

    def missing(self, model: str) -> list[tuple[str, str, int]]:
        """(group, scenario, repeat) of the full result that have no valid result."""
        found = {(r.group, r.scenario, r.repeat) for r in self.results if r.model == model}
        return sorted(self.planned.get(model, set()) - found)


def collect(folders: Sequence[Path]) -> Collection:
    """Read the results below `folders`: result roots (with a folder for every model) or folders of one model.

    The same run in two folders counts once, the first time. Damaged and void results are left out with a note, and so
    are missing from the denominator's numerator.

    Raises:
        CollectionError: a folder does not exist or holds nothing, or a result comes from another evaluator than the
            others or than its model's manifest says.
        ResultError: a manifest is damaged.
    """
    collection = Collection()
    seen: dict[tuple[str, str, str, int], SceneResult] = {}
    for folder in folders:
        if not folder.is_dir():
            raise CollectionError(f"{folder}: no such folder of results")
        models = list(_model_folders(folder))
        if not models:
            raise CollectionError(
                f"{folder}: no <model>/<group>/<scenario>/{SCORE_FILE} and no {MANIFEST_FILE} below it"
            )
        for model_folder in models:
            _collect_model(model_folder, collection, seen)
    _refuse_mixed_evaluators(collection.results)
    return collection


def _model_folders(folder: Path) -> Iterator[Path]:
    if (folder / MANIFEST_FILE).exists() or any(folder.glob(f"*/*/{SCORE_FILE}")):
        yield folder
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir() and ((child / MANIFEST_FILE).exists() or any(child.glob(f"*/*/**/{SCORE_FILE}"))):
            yield child


def _collect_model(folder: Path, collection: Collection, seen: dict[tuple[str, str, str, int], SceneResult]) -> None:
    manifest: Manifest | None = None
    if (folder / MANIFEST_FILE).exists():
        manifest = read_manifest(folder / MANIFEST_FILE)
    model = manifest.model if manifest is not None else folder.resolve().name
    planned = collection.planned.setdefault(model, set())
    if manifest is not None:
        planned |= {
            (group, scenario, repeat)
            for group, scenarios in manifest.planned.items()
            for scenario in scenarios
            for repeat in range(manifest.repeats)
        }
        suite = collection.suites.setdefault(model, set())
        suite |= {(group, name) for group, names in (manifest.suite_scenarios or {}).items() for name in names}
    for path in sorted(folder.glob(f"*/*/**/{SCORE_FILE}")):
        parts = path.relative_to(folder).parts
        if parts[0] == VOID_FOLDER or parts[0].startswith("."):
            continue
        place = _place(parts)
        if place is None:
            collection.notes.append(f"{path}: left out, not at <group>/<scenario>[/repeat_<k>]/{SCORE_FILE}")
            continue
        group, scenario, repeat = place
        planned.add((group, scenario, repeat))
        try:
            score = read_score(path, scenario)
        except ResultError as error:
            collection.notes.append(f"left out, damaged: {error}; repeat the command that made it, which runs it again")
            continue
        if score is None:
            collection.notes.append(f"{path}: left out, void; run it again")
            continue
        if manifest is not None and "evaluator" in manifest.settings:
            expected = _evaluator(manifest.settings["evaluator"])
            if _evaluator(score.extra.get("evaluator")) != expected:
                raise CollectionError(
                    f"{path}: comes from {_evaluator(score.extra.get('evaluator'))}, {MANIFEST_FILE} of its model says "
                    f"{expected}; repeat the command that made it, which runs it again, or delete it"
                )
        _check_run(path, score, repeat, manifest)
        result = SceneResult(model, group, scenario, repeat, path, score)
        first = seen.setdefault(result.key, result)
        if first is not result:
            same = "the same" if first.score == score else "ANOTHER"
            collection.notes.append(f"{path}: left out, {first.path} is the same run, with {same} result")
            continue
        collection.results.append(result)
    done = {(r.group, r.scenario, r.repeat) for r in collection.results if r.model == model}
    voids = read_voids(folder, collection.notes)
    open_voids = [v for v in voids if (v.group, v.scenario, v.repeat) not in done]
    collection.voids.setdefault(model, []).extend(open_voids)


def _check_run(path: Path, score: SceneScore, repeat: int, manifest: Manifest | None) -> None:
    """Raises CollectionError where a record names another repeat than its folder or another seed than the batch's."""
    wanted = {"repeat": (repeat, "its folder")}
    batch = manifest.settings.get("seed") if manifest is not None else None
    if isinstance(batch, int):
        seed = episode_seed(batch, score.scene_id, repeat)
        wanted["seed"] = (seed, f"{MANIFEST_FILE} with its seed {batch}")
    for name, (value, source) in wanted.items():
        found = score.extra.get(name, value)
        if found != value:
            raise CollectionError(
                f"{path}: extra.{name}: found {found}, {source} gives {value}; delete it and repeat the command that "
                "made it"
            )


def _place(parts: tuple[str, ...]) -> tuple[str, str, int] | None:
    if len(parts) == 3:
        return parts[0], parts[1], 0
    prefix, _, number = parts[2].partition("_")
    if len(parts) == 4 and prefix == "repeat" and number.isdigit():
        return parts[0], parts[1], int(number)
    return None


def _refuse_mixed_evaluators(results: Sequence[SceneResult]) -> None:
    found: dict[str, SceneResult] = {}
    for result in results:
        found.setdefault(_evaluator(result.score.extra.get("evaluator")), result)
    if len(found) > 1:
        lines = "; ".join(f"{name}: {result.path}" for name, result in sorted(found.items()))
        raise CollectionError(
            f"these results come from different evaluators and cannot share a table ({lines}); "
            "run the older ones again or summarise them apart"
        )


def _evaluator(identity: object) -> str:
    if not isinstance(identity, dict):
        return "the release's evaluator"
    return f"version {identity.get('version')}, hash {identity.get('hash')}, SUMO {identity.get('sumo')}"
