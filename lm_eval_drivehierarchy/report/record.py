"""The report as JSON: every number at full precision, for programs and for tracing a figure back to its file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lm_eval_drivehierarchy.report.analysis import Analysis, Correlations, ModelAnalysis


def record(analysis: Analysis) -> dict[str, Any]:
    """Plain JSON types. Items and episodes are not repeated; `files` of each model name where they are."""
    return {
        "rule": analysis.rule,
        "warnings": list(analysis.warnings),
        "models": [_model(model) for model in analysis.models],
        "comparisons": [
            {
                "first": pair.first,
                "second": pair.second,
                "common_items": pair.common,
                "left_out_items": pair.left_out,
                "common_scenarios": pair.scenarios,
                "left_out_scenarios": pair.scenarios_left_out,
                "results": {name: asdict(comparison) for name, comparison in pair.results.items()},
            }
            for pair in analysis.pairs
        ],
        "correlations": _correlations(analysis.correlations),
        "measured_correlations": _correlations(analysis.measured_correlations),
        "best_known": {task: asdict(best) for task, best in analysis.best.items()},
        "published": [model.model_dump(mode="json", exclude_defaults=True) for model in analysis.published],
    }


def _model(model: ModelAnalysis) -> dict[str, Any]:
    result = model.result
    closed = model.closed_loop
    run = result.closed_loop
    return {
        "model": result.model,
        "edition": result.edition,
        "edition_hash": result.edition_hash,
        "protocol": result.protocol,
        "versions": result.versions,
        "tasks": {
            task: scored.model_dump(mode="json", exclude={"items", "task"}) for task, scored in result.tasks.items()
        },
        "absent": result.absent,
        "estimates": {rule: found.as_record() for rule, found in model.open_loop.items()},
        "deficits": {task: asdict(deficit) for task, deficit in model.deficits.items()},
        "targets": list(model.targets),
        "target_groups": {name: list(tasks) for name, tasks in model.target_groups.items()},
        "power": {task: asdict(power) for task, power in model.power.items()},
        "place": None if model.place is None else asdict(model.place),
        "closed_loop": None
        if closed is None or run is None
        else run.model_dump(mode="json", exclude={"episodes"}) | {"runs": len(run.episodes)} | asdict(closed),
        "files": [record.model_dump(mode="json") for record in result.files],
        "notes": list(result.notes),
    }


def _correlations(found: Correlations | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "pool": list(found.pool),
        "tasks": _triangle(found.tasks),
        "ranks": _triangle(found.ranks),
        "open_closed": asdict(found.open_closed),
    }


def _triangle(found: dict[Any, Any]) -> list[dict[str, Any]]:
    """Each unordered pair once."""
    seen: set[frozenset[str]] = set()
    rows = []
    for (first, second), estimate in found.items():
        if first != second and frozenset((first, second)) not in seen:
            seen.add(frozenset((first, second)))
            rows.append({"first": first, "second": second, **asdict(estimate)})
    return rows
