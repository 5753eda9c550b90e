"""From results to numbers: the release's `result_summary.csv`, and means by family with bootstrap intervals."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drivehierarchy_gym.runner.collection import Collection, SceneResult
from drivehierarchy_gym.runner.records import write_text

CSV_COLUMNS = (
    "scene",
    "model",
    "sample_count",
    "avg_score_route",
    "avg_score_safety",
    "avg_score_efficiency",
    "avg_score_penalty",
    "avg_score_composed",
)
"""Columns of the release's summary (facts §4), in its order; averages with 6 decimals."""
SCORES = ("route", "safety", "efficiency", "penalty", "composed")

RESAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Row:
    """Means over scenarios of one group (or all of them), each scenario the mean of its repeats."""

    group: str
    """Empty for the row over everything."""
    scored: int
    planned: int
    route: float
    safety: float
    efficiency: float
    composed: float
    interval: tuple[float, float] | None
    """Bootstrap interval of `composed`; None with fewer than two scenarios."""
    bounds: tuple[float, float]
    """What `composed` would be if every missing run scored 0, and if it scored 100."""


@dataclass(frozen=True)
class ReasonRow:
    """Runs that ended for one reason."""

    reason: str
    count: int
    composed: float


@dataclass(frozen=True)
class ModelSummary:
    """All that is said about one model."""

    model: str
    rows: tuple[Row, ...]
    total: Row
    reasons: tuple[ReasonRow, ...]
    faults: Mapping[str, int]
    """Decisions without a usable answer, by kind of agent fault."""
    decisions: int
    missing: tuple[tuple[str, str, int], ...]
    left_out: tuple[tuple[str, str], ...]
    """(group, scenario) of the suite that no run was planned for."""
    void: Mapping[str, int]
    """Attempts without a result, of runs that still have none, by kind."""


def summary_csv(results: Sequence[SceneResult]) -> str:
    """The release's table: plain means over all results of a scene group and model, sorted by both."""
    groups: dict[tuple[str, str], list[SceneResult]] = {}
    for result in results:
        groups.setdefault((result.group, result.model), []).append(result)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for (group, model), members in sorted(groups.items()):
        means = [np.mean([getattr(m.score, f"score_{name}") for m in members]) for name in SCORES]
        writer.writerow([group, model, len(members), *(f"{mean:.6f}" for mean in means)])
    return text.getvalue()


def write_summary_csv(path: Path, results: Sequence[SceneResult]) -> None:
    """Write `summary_csv` in one step."""
    write_text(path, summary_csv(results))


def summarise(collection: Collection, model: str, *, seed: int = 0, resamples: int = RESAMPLES) -> ModelSummary:
    """Means, intervals, reasons and gaps of one model.

    The intervals resample scenarios, and repeats within each, `resamples` times from `seed`.

    Raises:
        ValueError: the model has no valid result.
    """
    results = collection.of(model)
    if not results:
        raise ValueError(f"model {model!r} has no valid result")
    planned = collection.planned.get(model, set())
    rng = np.random.default_rng(seed)
    groups = sorted({group for group, _, _ in planned})
    by_group = {group: [r for r in results if r.group == group] for group in groups}
    rows = [
        _row(group, members, sum(1 for g, _, _ in planned if g == group), resamples, rng)
        for group, members in by_group.items()
    ]
    faults: Counter[str] = Counter()
    decisions = 0
    for result in results:
        faults.update(result.score.extra.get("agent_faults", {}))
        decisions += int(result.score.extra.get("decisions", 0))
    reasons = Counter(r.score.termination_reason for r in results)
    return ModelSummary(
        model=model,
        rows=tuple(rows),
        total=_row("", results, len(planned), resamples, rng),
        reasons=tuple(
            ReasonRow(
                reason,
                count,
                float(np.mean([r.score.score_composed for r in results if r.score.termination_reason == reason])),
            )
            for reason, count in reasons.most_common()
        ),
        faults=dict(sorted(faults.items())),
        decisions=decisions,
        missing=tuple(collection.missing(model)),
        left_out=tuple(sorted(collection.suites.get(model, set()) - {(g, scenario) for g, scenario, _ in planned})),
        void=dict(sorted(Counter(v.kind for v in collection.voids.get(model, ())).items())),
    )


def _by_scenario(results: Sequence[SceneResult]) -> dict[tuple[str, str], list[SceneResult]]:
    scenarios: dict[tuple[str, str], list[SceneResult]] = {}
    for result in results:
        scenarios.setdefault((result.group, result.scenario), []).append(result)
    return scenarios


def _mean(results: Sequence[SceneResult], name: str) -> float:
    """Mean over scenarios of the mean over repeats; NaN without results."""
    scenarios = _by_scenario(results).values()
    if not scenarios:
        return float("nan")
    return float(np.mean([np.mean([getattr(r.score, f"score_{name}") for r in members]) for members in scenarios]))


def _row(group: str, results: Sequence[SceneResult], planned: int, resamples: int, rng: np.random.Generator) -> Row:
    composed = _mean(results, "composed")
    scenarios = _by_scenario(results)
    interval = None
    if len(scenarios) >= 2:
        tail = 100 * (1 - CONFIDENCE) / 2
        low, high = np.percentile(_bootstrap(scenarios, resamples, rng), [tail, 100 - tail])
        interval = float(low), float(high)
    scored = sum(r.score.score_composed for r in results)
    missing = planned - len(results)
    return Row(
        group=group,
        scored=len(results),
        planned=planned,
        route=_mean(results, "route"),
        safety=_mean(results, "safety"),
        efficiency=_mean(results, "efficiency"),
        composed=composed,
        interval=interval,
        bounds=(composed, composed) if missing == 0 else (scored / planned, (scored + 100 * missing) / planned),
    )


def _bootstrap(
    scenarios: Mapping[tuple[str, str], Sequence[SceneResult]], resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Means (resamples,) of the composed score: scenarios are drawn with replacement, then repeats within each."""
    total = np.zeros(resamples)
    scores = [np.array([r.score.score_composed for r in members]) for members in scenarios.values()]
    repeats = max(len(s) for s in scores)
    counts = np.array([len(s) for s in scores])
    table = np.zeros((len(scores), repeats))
    for row, values in zip(table, scores, strict=True):
        row[: len(values)] = values
    chosen = rng.integers(0, len(scores), size=(resamples, len(scores)))
    for column in chosen.T:
        picks = (rng.random((resamples, repeats)) * counts[column][:, None]).astype(np.int64)
        drawn = table[column[:, None], picks]
        used = np.arange(repeats)[None, :] < counts[column][:, None]
        total += (drawn * used).sum(axis=1) / counts[column]
    return total / len(scores)
