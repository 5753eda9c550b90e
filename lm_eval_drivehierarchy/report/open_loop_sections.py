"""Sections on R1-R3: profile, tasks, ranks, box conventions, weak tasks, and what the items can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.comparability import like_paper
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES
from lm_eval_drivehierarchy.report import figures
from lm_eval_drivehierarchy.report.analysis import Analysis, ModelAnalysis, Power
from lm_eval_drivehierarchy.report.cells import (
    EMPTY,
    MODELS_A_FIGURE,
    chunks,
    count_cell,
    estimate_cell,
    joined,
    other_edition,
    share_cell,
    spoken,
    task_code,
)
from lm_eval_drivehierarchy.report.document import Block, Cell, Note, Picture, Text, slug, table
from lm_eval_drivehierarchy.report.figures import Band, Profile
from lm_eval_drivehierarchy.results import RuleScore
from lm_eval_drivehierarchy.targets import CONTROLS, THRESHOLD
from lm_eval_drivehierarchy.tasks import RANKS, TASKS, TASKS_BY_ID

CONVENTIONS = {"pixels": "pixels (scored)", "fractions": "0-1", "thousandths": "0-1000"}
"""Coordinate conventions of a box, as keys of `TaskResult.boxes`, with their column heads."""
SUSPECT_GAIN = 10.0
"""IoU points that another convention must gain before the report suspects one."""


WIDEST = 100.0
"""Points by which two scores can differ at most."""
FEWEST_ITEMS = 10
"""Items below which their spread is too badly known (by a factor of two and more) to say what they can show."""
TOO_FEW = Cell("too few items to say", mark="missing")


def profile(analysis: Analysis) -> Iterator[Block]:
    """Radar and bars of the task scores."""
    able = [model for model in analysis.models if analysis.rule in model.open_loop]
    band = _band(analysis)
    labels = {task.id: f"{task_code(task.id)} {task.title}" for task in TASKS}
    wrapped = {task.id: f"{task_code(task.id)}\n{task.title}" for task in TASKS}
    for number, part in enumerate(chunks(able, MODELS_A_FIGURE), start=1):
        names = ", ".join(model.result.model for model in part)
        profiles = [Profile(model.result.model, model.open_loop[analysis.rule].tasks) for model in part]
        behind = " The grey band spans the paper's 15 models under the rule official." if band else ""
        values = "; ".join(f"{p.name}: {spoken(p)}" for p in profiles)
        yield Picture(
            f"profile-{number}",
            f"Capability profile of {names}.{behind} A gap is a task without a score.",
            f"Radar chart of task scores. {values}",
            figures.png(figures.radar(profiles, wrapped, band)),
        )
        yield Picture(
            f"tasks-{number}",
            f"Task scores of {names} with 95 % intervals.{behind}",
            f"Bar chart of task scores. {values}",
            figures.png(figures.bars(profiles, labels, band)),
        )
    if able and band and not all(like_paper(model.result) for model in able):
        yield Note(other_edition(analysis))


def _band(analysis: Analysis) -> Band | None:
    if not analysis.published:
        return None
    rows = [model.scores("official") for model in analysis.published]
    ranges = {}
    for task in TASKS:
        values = [row[task.id] for row in rows]
        ranges[task.id] = (min(values), float(np.median(values)), max(values))
    return Band("the paper's 15 models", ranges)


def tasks(analysis: Analysis) -> Iterator[Block]:
    """Per model: every task under both rules with parse failures, strict replies and counts."""
    for model in analysis.models:
        if not model.result.tasks:
            continue
        rows = [_task_row(model, task.id) for task in TASKS]
        columns = ("task", "what", "n", *PARSE_RULES, *(f"no answer, {rule}" for rule in PARSE_RULES), "as asked")
        yield table(
            f"tasks-{slug(model.result.model)}",
            f"{model.result.model}: score under both parsing rules, replies without an answer, and replies in exactly "
            "the form asked for",
            columns,
            rows,
            text_columns=2,
        )
        yield from _gap_between_rules(model)
    if any(model.result.tasks for model in analysis.models):
        yield Note(caveats.PARSING)
        yield Note(caveats.REASONING)
    if any("r1_4" in model.result.tasks for model in analysis.models):
        yield Note(caveats.JUDGE)


def _task_row(model: ModelAnalysis, task: str) -> list[Cell]:
    result = model.result.tasks.get(task)
    cells = [Cell(task_code(task)), Cell(TASKS_BY_ID[task].title)]
    if result is None:
        return [*cells, Cell("not scored", mark="missing"), *[EMPTY] * (2 * len(PARSE_RULES) + 1)]
    cells.append(count_cell(result))
    for rule in PARSE_RULES:
        found = model.open_loop.get(rule)
        cells.append(estimate_cell(found.tasks[task]) if found and task in found.tasks else EMPTY)
    scores = [result.rules.get(rule) for rule in PARSE_RULES]
    cells += [share_cell(score.parse_fail if score else None, 0.05) for score in scores]
    cells.append(share_cell(_strict(scores)))
    return cells


def _strict(scores: Sequence[RuleScore | None]) -> float | None:
    return next((score.strict for score in reversed(scores) if score is not None and score.strict is not None), None)


def _gap_between_rules(model: ModelAnalysis) -> Iterator[Block]:
    both = [model.result.scores(rule) for rule in PARSE_RULES]
    wide = [
        f"{task_code(task)} ({both[0][task]:.1f} and {both[1][task]:.1f})"
        for task in both[0]
        if task in both[1] and abs(both[0][task] - both[1][task]) >= 5
    ]
    if wide:
        yield Text(
            f"For {model.result.model} the rules differ by five points or more on {', '.join(wide)}: there the score "
            "depends on the form of the replies, not only on what they say."
        )


def ranks(analysis: Analysis) -> Iterator[Block]:
    """Rank scores and S_open under both rules, with the reason where one is incomplete."""
    rows = []
    for model in analysis.models:
        for rule, found in model.open_loop.items():
            rows.append(
                [Cell(model.result.model), Cell(rule)]
                + [estimate_cell(found.ranks[rank]) for rank in RANKS]
                + [estimate_cell(found.open)]
            )
    if rows:
        yield table(
            "ranks",
            "Rank scores (plain mean of a rank's tasks, Eq. 14) and S_open (weighted sum, Eq. 15)",
            ("model", "rule", *(f"R{rank}" for rank in RANKS), "S_open"),
            rows,
            text_columns=2,
        )
        gaps = []
        for model in analysis.models:
            for rule, found in model.open_loop.items():
                reasons = [
                    f"R{rank} {estimate.reason}" for rank, estimate in found.ranks.items() if estimate.value is None
                ]
                if reasons:
                    gaps.append(f"{model.result.model} ({rule}): {'; '.join(reasons)}.")
        for gap in joined(gaps):
            yield Note(gap, warning=True)


def boxes(analysis: Analysis) -> Iterator[Block]:
    """Localisation under each coordinate convention."""
    able = [(model, found) for model in analysis.models if (found := _box_scores(model))]
    if not able:
        return
    rows = []
    for model, found in able:
        scored = found.get("pixels", 0.0)
        rows.append(
            [Cell(model.result.model)]
            + [
                Cell(f"{found[key]:.1f}", found[key], "weak" if found[key] >= scored + SUSPECT_GAIN else None)
                if key in found
                else EMPTY
                for key in CONVENTIONS
            ]
        )
    yield table(
        "boxes",
        "R1-3 localisation: mean 100 IoU of the same replies under each declared coordinate convention",
        ("model", *CONVENTIONS.values()),
        rows,
    )
    for model, found in able:
        scored = found.get("pixels", 0.0)
        other = {key: value for key, value in found.items() if key != "pixels"}
        if other and max(other.values()) >= scored + SUSPECT_GAIN:
            key = max(other, key=other.__getitem__)
            yield Text(
                f"{model.result.model} scores {other[key]:.1f} when its boxes are read as {CONVENTIONS[key]} and "
                f"{scored:.1f} in pixels: the localisation score shows its coordinate convention."
            )
    yield Note(caveats.BOXES)


def _box_scores(model: ModelAnalysis) -> dict[str, float] | None:
    task = model.result.tasks.get("r1_3")
    return dict(task.boxes) if task is not None and task.boxes else None


def weak_tasks(analysis: Analysis) -> Iterator[Block]:
    """Deficits against the best known results, and the training groups that follow."""
    able = [model for model in analysis.models if model.deficits]
    for model in able:
        rows = [
            [
                Cell(task_code(task)),
                Cell(TASKS_BY_ID[task].title),
                Cell(f"{deficit.score:.1f}", deficit.score),
                Cell(f"{deficit.best.score:.1f}", deficit.best.score),
                Cell(deficit.best.model),
                Cell(
                    "undefined" if deficit.relative is None else f"{100 * deficit.relative:+.0f} %",
                    deficit.relative,
                    "weak" if task in model.targets else None,
                ),
            ]
            for task, deficit in model.deficits.items()
        ]
        yield table(
            f"deficits-{slug(model.result.model)}",
            f"{model.result.model}: relative deficit against the best known result, (score - best) / best, under the "
            f"rule {analysis.reference_rule}; a target at {100 * THRESHOLD:.0f} % or below",
            ("task", "what", "score", "best known", "by", "deficit"),
            rows,
            text_columns=2,
        )
        if model.targets:
            groups = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in model.target_groups.items())
            yield Text(f"Target groups of {model.result.model}: {groups}.")
        else:
            yield Text(f"{model.result.model} has no task {-100 * THRESHOLD:.0f} % or more behind the best known.")
        for deficit in model.deficits.values():
            if deficit.caveat:
                yield Note(f"{model.result.model}, {task_code(deficit.task)}: {deficit.caveat}.", warning=True)
    if any(model.targets for model in able):
        yield Note("Controls for a training study: " + "; ".join(CONTROLS) + ".")
        yield Note(caveats.TRANSFER)
    elif not able and any(model.result.tasks for model in analysis.models):
        yield Text("No deficits: no other model's result on the same edition is known to compare with.")


def _power_cells(power: Power) -> list[Cell]:
    """What the items can show and how many it takes for a point, or why that cannot be said."""
    if power.detectable > WIDEST:
        return [Cell(f"more than {WIDEST:g}", power.detectable), TOO_FEW]
    if power.n < FEWEST_ITEMS:
        return [TOO_FEW, TOO_FEW]
    return [
        Cell(f"{power.detectable:.1f}", power.detectable),
        Cell(f"{power.items_for_one_point:,}", power.items_for_one_point),
    ]


def power(analysis: Analysis) -> Iterator[Block]:
    """Which differences the present items can show."""
    rows = []
    for model in analysis.models:
        for task in TASKS:
            power = model.power.get(task.id)
            if power is not None:
                rows.append(
                    [
                        Cell(model.result.model),
                        Cell(task_code(task.id)),
                        Cell(str(power.n), power.n),
                        Cell(f"{power.design_effect:.2f}", power.design_effect),
                        *_power_cells(power),
                    ]
                )
    if rows:
        yield table(
            "power",
            "Smallest difference between two models that these items show (80 % power, 5 % level), and items needed "
            "for one point, if the two models' errors are unrelated; paired errors need fewer",
            ("model", "task", "items", "design effect", "detectable difference", "items for 1 point"),
            rows,
            text_columns=2,
        )
