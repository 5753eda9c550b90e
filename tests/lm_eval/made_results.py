"""Results of models that never were, with known shape: used by the report's tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import numpy as np

from drivehierarchy_gym.scenarios.schema import Family
from lm_eval_drivehierarchy.results import (
    ClosedLoopResult,
    Episode,
    FileRecord,
    ItemScore,
    ModelResult,
    RuleScore,
    TaskResult,
)
from lm_eval_drivehierarchy.tasks import TASKS

SCENES = 25
ITEMS = 2


def task_result(task: str, level: float, seed: int, *, expected: int = SCENES * ITEMS, lost: int = 0) -> TaskResult:
    """Scores around `level` with scene effects; the official rule loses a few replies that the flexible one reads."""
    rng = np.random.default_rng([seed, sum(map(ord, task))])
    items = []
    for scene in range(SCENES):
        shift = rng.normal(0, 8)
        for number in range(ITEMS):
            score = float(np.clip(level + shift + rng.normal(0, 15), 0, 100))
            official = 0.0 if rng.random() < 0.06 else score
            scores = {"official": official, "flexible": score}
            items.append(ItemScore(id=f"{task}-{scene}-{number}", scene=f"scene-{scene}", scores=scores))
    items = items[: len(items) - lost]
    rules = {}
    for rule in ("official", "flexible"):
        values = [item.scores[rule] for item in items]
        rules[rule] = RuleScore(
            score=float(np.mean(values)),
            stderr=float(np.std(values, ddof=1) / np.sqrt(len(values))),
            parse_fail=float(np.mean([item.scores[rule] == 0 for item in items])),
            strict=0.93,
        )
    boxes = {"pixels": rules["flexible"].score, "fractions": 3.0, "thousandths": 61.5} if task == "r1_3" else None
    return TaskResult(
        task=task, n=len(items), expected=expected, rules=rules, items=tuple(items), boxes=boxes, version="1"
    )


def closed_loop(
    level: float, seed: int, *, per_family: int = 2, repeats: int = 2, missing: int = 0
) -> ClosedLoopResult:
    rng = np.random.default_rng([seed, 99])
    episodes = []
    for family in get_args(Family):
        for number in range(per_family):
            hard = rng.uniform(0.3, 1.0)
            for repeat in range(repeats):
                route = float(np.clip(level * hard + rng.normal(0, 4), 0, 100))
                hit = rng.random() < 0.3
                safety, efficiency = (0.2 if hit else 1.0), float(rng.uniform(0.8, 1))
                ended = "collision_vehicle" if hit else "destination_reached" if route > 60 else "scenario_timeout"
                episodes.append(
                    Episode(
                        family=family, scenario=f"{family[:2]}-{number}", repeat=repeat,
                        score=round(route * safety * efficiency, 6), route=route, safety=safety, efficiency=efficiency,
                        termination=ended, events=(ended,), decisions=80, faults=int(rng.integers(0, 4)),
                    )
                )  # fmt: skip
    kept = episodes[: len(episodes) - missing]
    return ClosedLoopResult(
        suite="open", suite_hash="5f0c", evaluator="version 0.1.0, hash 9e", settings={"backend": "sumo", "seed": 0},
        suite_scenarios=tuple(dict.fromkeys(e.scenario for e in episodes)), repeats=repeats,
        planned=len(episodes), episodes=tuple(kept),
        missing=tuple(f"{e.family}/{e.scenario} (repeat {e.repeat})" for e in episodes[len(kept) :]),
        void={"infrastructure": 1} if missing else {},
    )  # fmt: skip


def model(
    name: str,
    seed: int,
    *,
    level: float = 50.0,
    edition: str = "sim",
    without: Iterable[str] = (),
    lost: int = 0,
    driving: float | None = 70.0,
) -> ModelResult:
    skipped = set(without)
    digest = hashlib.sha256(repr((name, seed, level, lost)).encode()).hexdigest()
    spread = np.random.default_rng([seed, 7]).normal(0, 15, len(TASKS))
    tasks = {
        task.id: task_result(task.id, float(np.clip(level + shift, 5, 95)), seed, lost=lost)
        for task, shift in zip(TASKS, spread, strict=True)
        if task.id not in skipped
    }
    return ModelResult(
        model=name,
        edition=edition,
        edition_hash="ab12",
        protocol={"temperature": 0.0, "system prompt": "1"},
        versions={"lm-eval": "0.4.13"},
        tasks=tasks,
        closed_loop=closed_loop(driving, seed) if driving is not None else None,
        absent=dict.fromkeys(skipped, "no judge was given"),
        files=(
            FileRecord(
                path=f"runs/{name}/final_score.json",
                sha256=digest,
            ),
        ),
    )


def stored(folder: Path, *models: ModelResult) -> list[str]:
    """Files of results, one a model."""
    paths = []
    for given in models:
        path = folder / f"{given.model}.json"
        path.write_text(given.model_dump_json(), encoding="utf-8")
        paths.append(str(path))
    return paths
