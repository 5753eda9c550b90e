"""Words and table cells that all sections of the report share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lm_eval_drivehierarchy import caveats
from lm_eval_drivehierarchy.comparability import driven_like_paper, like_paper
from lm_eval_drivehierarchy.report.analysis import Analysis, ModelAnalysis
from lm_eval_drivehierarchy.report.document import Cell, Mark
from lm_eval_drivehierarchy.report.figures import Profile
from lm_eval_drivehierarchy.results import ModelResult, TaskResult
from lm_eval_drivehierarchy.statistics.estimates import Estimate
from lm_eval_drivehierarchy.statistics.paired import Comparison, Verdict
from lm_eval_drivehierarchy.tasks import TASKS_BY_ID
from lm_eval_drivehierarchy.wording import p_value

MODELS_A_FIGURE = 4
EMPTY = Cell("", mark="missing")
FEW_SCENES = 30
"""Below this number of scenes, it stands beside the interval; `statistics.bootstrap` says how far that can be off."""


VERDICT_MARKS: Mapping[Verdict, Mark | None] = {"better": "good", "worse": "bad", "tie": None, "undecided": "open"}


def estimate_text(estimate: Estimate, decimals: int = 1) -> str:
    """Value with its interval and, where that rests on few scenes, their number; or why there is no value in a word."""
    return estimate.format(decimals) + few(estimate)


def few(estimate: Estimate) -> str:
    """Number of scenes behind an interval, where it is small."""
    has_few = estimate.low is not None and 0 < estimate.clusters < FEW_SCENES
    return f" n={estimate.clusters}" if has_few else ""


def estimate_cell(estimate: Estimate, decimals: int = 1) -> Cell:
    """`estimate_text` as a cell."""
    if estimate.value is None:
        return Cell(estimate.format(), mark="missing")
    return Cell(estimate_text(estimate, decimals), estimate.value, note=why_bare(estimate))


def why_bare(estimate: Estimate) -> str | None:
    """Why a value has no interval; None where it has one or there is no value."""
    return estimate.reason if estimate.value is not None and estimate.low is None else None


def closed_loop_text(model: ModelAnalysis) -> str:
    """R4 with its interval, and on how many scenarios of the suite it was measured where not on all; "" without R4."""
    run = model.result.closed_loop
    if model.closed_loop is None or run is None:
        return ""
    part = f" on {len(run.scenarios)} of {len(run.suite_scenarios or ())} scenarios" if run.uncovered else ""
    return estimate_text(model.closed_loop.estimates.overall) + part


def closed_loop_cell(model: ModelAnalysis) -> Cell:
    """`closed_loop_text` as a cell."""
    if model.closed_loop is None:
        return EMPTY
    overall = model.closed_loop.estimates.overall
    return Cell(closed_loop_text(model), overall.value, note=why_bare(overall))


def difference_text(estimate: Estimate, decimals: int = 1) -> str:
    """Signed difference with its interval and, where that rests on few scenes, their number; "" without a value."""
    if estimate.value is None:
        return ""
    text = f"{estimate.value:+.{decimals}f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{estimate.low:+.{decimals}f}, {estimate.high:+.{decimals}f}]{few(estimate)}"
    return text


def difference_cell(comparison: Comparison) -> Cell:
    """`difference_text` as a cell."""
    if comparison.difference.value is None:
        return EMPTY
    difference = comparison.difference
    return Cell(difference_text(difference), difference.value, note=why_bare(difference))


def verdict_cell(comparison: Comparison) -> Cell:
    """better, worse or tie, marked, or that the scenes are too few to decide."""
    text = comparison.verdict if comparison.verdict != "undecided" else undecided_text(comparison.difference)
    return Cell(text, mark=VERDICT_MARKS[comparison.verdict])


def undecided_text(difference: Estimate) -> str:
    """That a difference is no tie but out of reach of the test, with the number of scenes."""
    return f"cannot be decided (n = {difference.clusters or difference.n})"


def p_value_cell(p: float) -> Cell:
    """A p-value; never 0."""
    return Cell(p_value(p), p)


def count_cell(result: TaskResult) -> Cell:
    """Items scored, and of how many when some are missing."""
    if result.n is None:
        return EMPTY
    if result.partial:
        return Cell(f"{result.n} of {result.expected}", result.n, "missing")
    return Cell(str(result.n), result.n)


def share_cell(share: float | None, worrying: float | None = None) -> Cell:
    """A share in per cent, marked when above `worrying`."""
    if share is None:
        return EMPTY
    return Cell(f"{100 * share:.1f} %", share, "bad" if worrying is not None and share > worrying else None)


def task_code(task: str) -> str:
    """Id of a task as the paper writes it: r1_1_a -> "R1-1-A"."""
    return task.upper().replace("_", "-")


def score_name(name: str) -> str:
    """Name of a comparison: a task, a rank, S_open, or an R4 family."""
    return task_code(name) if name in TASKS_BY_ID else "S_open" if name == "open" else family_name(name)


def family_name(name: str) -> str:
    """Name of an R4 family in words."""
    return name.replace("_", " ")


def facts_of(result: ModelResult) -> dict[str, str]:
    """What was asked and driven, name -> value: edition, settings, R4 suite, evaluator, scenarios, repeats."""
    found: dict[str, object] = {"edition": result.edition, "edition hash": result.edition_hash}
    found |= {f"setting {key}": value for key, value in sorted(result.protocol.items())}
    run = result.closed_loop
    if run is not None:
        size = len(run.suite_scenarios) if run.suite_scenarios is not None else "an unknown number"
        found |= {"R4 suite": run.suite, "R4 suite hash": run.suite_hash, "R4 evaluator": run.evaluator}
        found |= {"R4 scenarios": f"{len(run.scenarios)} of {size}", "R4 repeats": run.repeats or "unknown"}
        found |= {f"R4 setting {key}": value for key, value in sorted(run.settings.items())}
    return {key: str(value) for key, value in found.items() if value is not None}


def joined(sentences: Sequence[str]) -> list[str]:
    """Sentences "who: what", those that say the same of several told once, in the order of their first place."""
    speakers: dict[str, list[str]] = {}
    for sentence in sentences:
        who, separator, what = sentence.partition(": ")
        speakers.setdefault(what if separator else sentence, []).extend([who] if separator else [])
    return [f"{', '.join(dict.fromkeys(who))}: {what}" if who else what for what, who in speakers.items()]


def chunks(models: Sequence[ModelAnalysis], size: int) -> Iterator[Sequence[ModelAnalysis]]:
    """Models in groups that one figure can show."""
    for start in range(0, len(models), size):
        yield models[start : start + size]


def spoken(profile: Profile) -> str:
    """The values of a profile, for readers who do not see the figure."""
    return ", ".join(f"{name} {e.value:.1f}" for name, e in profile.values.items() if e.value is not None)


def other_edition(analysis: Analysis) -> str:
    """Caveat for results on questions that the paper did not use."""
    models = [model.result for model in analysis.models if model.result.tasks and not like_paper(model.result)]
    editions = sorted({model.edition or "unknown" for model in models})
    return caveats.OTHER_EDITION.format(edition=", ".join(editions))


def other_suite(analysis: Analysis) -> str | None:
    """Caveat for R4 runs that are not the paper's scenarios on the paper's simulator; None where all are."""
    runs = [model.result.closed_loop for model in analysis.models if model.result.closed_loop is not None]
    other = [run for run in runs if not driven_like_paper(run)]
    if not other:
        return None
    suites = sorted({f"suite {run.suite or 'unknown'}" for run in other})
    backends = sorted({str(run.settings.get("backend") or "an unnamed simulator") for run in other})
    return caveats.OTHER_SUITE.format(suite=", ".join(suites), backend=", ".join(backends))
