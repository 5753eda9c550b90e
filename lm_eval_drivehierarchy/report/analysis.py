"""Every number of the report, computed once; Markdown, HTML and JSON only show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lm_eval_drivehierarchy.comparability import driven_like_paper, like_paper, refuse, same_drive, warnings
from lm_eval_drivehierarchy.paper import open_score, rank_scores
from lm_eval_drivehierarchy.parsing.parsed import ParseRule
from lm_eval_drivehierarchy.results import ClosedLoopResult, Episode, ModelResult, ResultsError, paper_results
from lm_eval_drivehierarchy.statistics.closed_loop import ClosedLoopEstimates, compare_closed_loop
from lm_eval_drivehierarchy.statistics.correlation import rank_correlation
from lm_eval_drivehierarchy.statistics.estimates import Estimate, Z
from lm_eval_drivehierarchy.statistics.open_loop import OpenLoopEstimates, weighted_sums
from lm_eval_drivehierarchy.statistics.paired import Comparison, Verdict, compare
from lm_eval_drivehierarchy.statistics.power import Spread, detectable_difference, items_needed
from lm_eval_drivehierarchy.statistics.scenes import SceneSums
from lm_eval_drivehierarchy.targets import BestKnown, Deficit, best_known, deficits, target_groups, targets
from lm_eval_drivehierarchy.tasks import TASKS, TASKS_BY_ID

MOST_PAIRS = 15
"""Paired comparisons shown (six models); with more models each is compared with the best one."""


@dataclass(frozen=True, slots=True)
class Power:
    """What the present items of a task can show, and how many it would take."""

    n: int
    design_effect: float
    detectable: float
    """Smallest true difference between two models that this many items show with 80 % power (points)."""
    items_for_one_point: int


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One R4 family (or all): means over scenarios of their repeats. Route 0-100, safety and efficiency 0-1."""

    family: str
    scenarios: int
    score: Estimate
    route: float
    safety: float
    efficiency: float


@dataclass(frozen=True, slots=True)
class ClosedLoopAnalysis:
    estimates: ClosedLoopEstimates
    rows: tuple[FamilyRow, ...]
    terminations: dict[str, int]
    events: dict[str, int]
    """Episodes in which the event occurred at least once."""
    decisions: int
    faults: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model stands among the paper's by one score, with the models it cannot be told from."""

    above: tuple[str, ...]
    tied: tuple[str, ...]
    below: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelAnalysis:
    result: ModelResult
    open_loop: dict[ParseRule, OpenLoopEstimates]
    deficits: dict[str, Deficit]
    targets: tuple[str, ...]
    target_groups: dict[str, tuple[str, ...]]
    power: dict[str, Power]
    closed_loop: ClosedLoopAnalysis | None
    place: Place | None
    """Among the paper's models by S_open under `official`; None on another edition or without S_open."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Second model against first, on the items that both answered."""

    first: str
    second: str
    common: int
    left_out: int
    """Items that only one of them answered."""
    scenarios: int
    """R4 scenarios that both drove under the same settings."""
    scenarios_left_out: int
    """R4 scenarios that only one of them drove, or all of both where their settings differ."""
    results: dict[str, Comparison]


@dataclass(frozen=True, slots=True)
class Correlations:
    """Spearman correlations over a pool of models; keys are pairs of task ids or of "R1".."R4"."""

    pool: tuple[str, ...]
    tasks: dict[tuple[str, str], Estimate]
    ranks: dict[tuple[str, str], Estimate]
    open_closed: Estimate


@dataclass(frozen=True, slots=True)
class Analysis:
    rule: ParseRule
    """Rule of profiles and comparisons; tables show both."""
    reference_rule: ParseRule
    """Rule of deficits, correlations and the scatter: official beside the paper's models, which were scored so."""
    models: tuple[ModelAnalysis, ...]
    published: tuple[ModelResult, ...]
    best: dict[str, BestKnown]
    pairs: tuple[Pair, ...]
    correlations: Correlations | None
    measured_correlations: Correlations | None
    """Over the measured models alone, where they answered other questions than the paper's."""
    warnings: tuple[str, ...]


def analyse(
    results: Sequence[ModelResult],
    *,
    rule: ParseRule = "official",
    paper: bool = True,
    seed: int = 0,
) -> Analysis:
    """Analyse measured results, beside the paper's models unless `paper` is off.

    Raises ResultsError when there is nothing to report or the results must not share a table.
    """
    if not results:
        raise ResultsError("nothing to report: give at least one folder or file with results")
    published = paper_results() if paper else []
    taken = {model.model for model in published}
    measured = [
        model.model_copy(update={"model": f"{model.model} (measured)"}) if model.model in taken else model
        for model in results
    ]
    refuse([*measured, *published])
    same_questions = all(like_paper(model) for model in measured if model.tasks)
    with_paper = paper and same_questions
    reference_rule: ParseRule = "official" if published else rule
    pool = {model.model: model.scores(reference_rule) for model in measured}
    # Without the paper's scores a lone model would be its own best known, which says nothing.
    best = best_known(pool, paper=with_paper) if with_paper or len(measured) > 1 else {}
    models = tuple(_model(model, rule, reference_rule, best, published, seed) for model in measured)
    return Analysis(
        rule=rule,
        reference_rule=reference_rule,
        models=models,
        published=tuple(published),
        best=best,
        pairs=tuple(_pairs(models, rule, seed)),
        correlations=_correlations(measured, published, reference_rule),
        measured_correlations=None if same_questions or not published else _correlations(measured, [], reference_rule),
        warnings=tuple(warnings(measured)),
    )


def _model(
    result: ModelResult,
    rule: ParseRule,
    reference_rule: ParseRule,
    best: Mapping[str, BestKnown],
    published: Sequence[ModelResult],
    seed: int,
) -> ModelAnalysis:
    open_loop = {each: result.open_loop(each, seed=seed) for each in result.rules()}
    found = deficits(result.scores(reference_rule), best)
    chosen = targets(found)
    closed = result.closed_loop
    return ModelAnalysis(
        result=result,
        open_loop=open_loop,
        deficits=found,
        targets=chosen,
        target_groups=target_groups(chosen),
        power=_powers(result, rule),
        closed_loop=_closed_loop(closed) if closed is not None and closed.episodes else None,
        place=_place(result, open_loop, published),
    )


def _powers(result: ModelResult, rule: ParseRule) -> dict[str, Power]:
    found = {}
    for task, scored in result.tasks.items():
        if len(scored.items) < 2 or rule not in scored.rules:
            continue
        scenes = [item.scene or item.id for item in scored.items]
        sums = SceneSums.of_items([task] * len(scenes), scenes, [item.scores[rule] for item in scored.items])
        spread = Spread.of(sums, task).unpaired()
        if spread.item_sd > 0:
            found[task] = Power(
                n=len(scenes),
                design_effect=spread.design_effect,
                detectable=detectable_difference(len(scenes), spread),
                items_for_one_point=items_needed(1.0, spread),
            )
    return found


def _closed_loop(run: ClosedLoopResult) -> ClosedLoopAnalysis:
    estimates = run.estimates()
    rows = []
    for family, estimate in estimates.families.items():
        members = [episode for episode in run.episodes if episode.family == family]
        rows.append(_family_row(family, members, estimate))
    return ClosedLoopAnalysis(
        estimates=estimates,
        rows=tuple(rows),
        terminations=dict(Counter(e.termination for e in run.episodes).most_common()),
        events=dict(Counter(event for e in run.episodes for event in set(e.events)).most_common()),
        decisions=sum(e.decisions or 0 for e in run.episodes),
        faults=sum(e.faults or 0 for e in run.episodes),
    )


def _family_row(family: str, members: Sequence[Episode], score: Estimate) -> FamilyRow:
    scenarios: dict[str, list[tuple[float, float, float]]] = {}
    for episode in members:
        scenarios.setdefault(episode.scenario, []).append((episode.route, episode.safety, episode.efficiency))
    route, safety, efficiency = np.mean([np.mean(runs, axis=0) for runs in scenarios.values()], axis=0)
    return FamilyRow(family, len(scenarios), score, float(route), float(safety), float(efficiency))


def _place(
    result: ModelResult, open_loop: Mapping[ParseRule, OpenLoopEstimates], published: Sequence[ModelResult]
) -> Place | None:
    """Published scores have no interval; each is given the measured model's standard error."""
    if not like_paper(result) or "official" not in open_loop or not published:
        return None
    own = open_loop["official"].open
    if own.value is None or own.stderr is None:
        return None
    reach = Z * 2**0.5 * own.stderr
    sides: dict[Verdict, list[str]] = {"better": [], "tie": [], "worse": []}
    for other in published:
        if other.published is None:
            continue
        gap = other.published.open - own.value
        sides["tie" if abs(gap) <= reach else "better" if gap > 0 else "worse"].append(other.model)
    return Place(tuple(sides["better"]), tuple(sides["tie"]), tuple(sides["worse"]))


def _pairs(models: Sequence[ModelAnalysis], rule: ParseRule, seed: int) -> list[Pair]:
    results = [model.result for model in models]
    chosen = list(combinations(results, 2))
    if len(chosen) > MOST_PAIRS:
        top = max(results, key=lambda model: float(np.mean(list(model.scores(rule).values()) or [0.0])))
        chosen = [(top, model) for model in results if model is not top]
    return [pair for first, second in chosen if (pair := pair_of(first, second, rule, seed=seed)) is not None]


def pair_of(first: ModelResult, second: ModelResult, rule: ParseRule, *, seed: int = 0) -> Pair | None:
    """Paired comparison on common items and R4 scenarios; tasks, ranks, S_open, R4 and its families are each corrected
    by Holm among themselves. R4 runs that were not one test (`same_drive`) are not compared at all.

    None when nothing is common.
    """
    tasks: list[str] = []
    scenes: list[str] = []
    differences: list[float] = []
    left_out = 0
    for task in TASKS_BY_ID:
        one, other = first.tasks.get(task), second.tasks.get(task)
        if one is None or other is None or rule not in one.rules or rule not in other.rules:
            continue
        mine = {item.id: item for item in one.items}
        theirs = {item.id: item for item in other.items}
        common = [key for key in mine if key in theirs]
        left_out += len(mine) + len(theirs) - 2 * len(common)
        for key in common:
            tasks.append(task)
            scenes.append(mine[key].scene or f"{task}/{key}")
            differences.append(theirs[key].scores[rule] - mine[key].scores[rule])
    found: dict[str, Comparison] = {}
    sums = weighted_sums(tasks)
    for family in (
        {name: mix for name, mix in sums.items() if name in TASKS_BY_ID},
        {name: mix for name, mix in sums.items() if name.startswith("R")},
        {name: mix for name, mix in sums.items() if name == "open"},
    ):
        if family:
            found |= compare(tasks, scenes, differences, family, seed=seed)
    driven, driven_apart = 0, 0
    if first.closed_loop is not None and second.closed_loop is not None:
        before, after = (
            [(e.family, e.scenario, e.score) for e in run.episodes] for run in (first.closed_loop, second.closed_loop)
        )
        every = {(family, scenario) for family, scenario, _ in before + after}
        if same_drive(first.closed_loop, second.closed_loop):
            found |= compare_closed_loop(before, after, seed=seed)
            driven = len({entry[:2] for entry in before} & {entry[:2] for entry in after})
        driven_apart = len(every) - driven
    if not found:
        return None
    return Pair(first.model, second.model, len(tasks), left_out, driven, driven_apart, found)


def _driven_alike(pool: Sequence[ModelResult]) -> list[ModelResult]:
    """Models whose R4 scores may stand in one correlation; none where whole runs are not one test."""
    published = [model for model in pool if model.kind == "published"]
    runs = [
        (model, run)
        for model in pool
        if (run := model.closed_loop) is not None and run.whole and (not published or driven_like_paper(run))
    ]
    alike = all(same_drive(runs[0][1], run) for _, run in runs)
    return published + [model for model, _ in runs if alike]


def _correlations(
    measured: Sequence[ModelResult], published: Sequence[ModelResult], rule: ParseRule
) -> Correlations | None:
    """Over complete models that answered the same questions: the paper's with measured ones of the release edition, or
    the measured ones alone when there are at least three. R4 counts where it is the whole of one suite under the same
    settings; beside the paper's models that is the paper's suite and simulator."""
    complete = [model for model in measured if len(model.scores(rule)) == len(TASKS)]
    pool = [*published, *(model for model in complete if like_paper(model))] if published else complete
    if len(pool) < 3:
        return None
    scores = {model.model: model.scores(rule) for model in pool}
    by_task = {task.id: [row[task.id] for row in scores.values()] for task in TASKS}
    by_rank = {f"R{rank}": values for rank, values in rank_scores(scores, weighted=True).items()}
    closed = {model.model: value for model in _driven_alike(pool) if (value := model.r4()) is not None}
    driven = [name for name in scores if name in closed]
    ranks = {}
    for first in by_rank:
        for second in by_rank:
            ranks[first, second] = rank_correlation(by_rank[first], by_rank[second])
        kept = [value for name, value in zip(scores, by_rank[first], strict=True) if name in driven]
        with_r4 = rank_correlation(kept, [closed[name] for name in driven])
        ranks[first, "R4"] = ranks["R4", first] = with_r4
    return Correlations(
        pool=tuple(scores),
        tasks={(a, b): rank_correlation(by_task[a], by_task[b]) for a in by_task for b in by_task},
        ranks=ranks,
        open_closed=rank_correlation(
            [open_score(scores[name]) for name in driven],
            [closed[name] for name in driven],
        ),
    )
