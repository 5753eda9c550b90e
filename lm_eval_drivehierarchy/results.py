"""Results of one model as the report, the leaderboard and the comparisons take them, whatever file they came from.

Shares (parse failures, strict replies) are 0-1, all scores 0-100. Records are validated on construction: NaN, scores
out of range and duplicated items never get past here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.scoring import PENALTIES, VoidReason
from drivehierarchy_gym.surrogates import without_surrogates
from lm_eval_drivehierarchy.aggregation import open_weights, rank_weights, weighted_error, weighted_sum
from lm_eval_drivehierarchy.paper_tables import PaperTables, paper_tables
from lm_eval_drivehierarchy.parsing.parsed import PARSE_RULES, ParseRule
from lm_eval_drivehierarchy.statistics.bootstrap import flawless_loss
from lm_eval_drivehierarchy.statistics.closed_loop import ClosedLoopEstimates, closed_loop_estimates
from lm_eval_drivehierarchy.statistics.estimates import Estimate, Z
from lm_eval_drivehierarchy.statistics.open_loop import OpenLoopEstimates, missing_reason, open_loop_estimates
from lm_eval_drivehierarchy.tasks import RANKS, TASKS, TASKS_BY_ID
from lm_eval_drivehierarchy.wording import counted

Score = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
PAPER_EDITION = "release"
"""Edition of the data that the paper's numbers were measured on."""
MIXED = "differs between tasks"
"""Value of a setting that is not the same for all tasks of one model."""
PAPER_SUITE, PAPER_BACKEND = "release", "carla"
"""R4 suite and simulator of the paper's Table 2."""
SCORED_BOXES = "pixels"
"""The coordinate convention of `TaskResult.boxes` in which localisation is scored, after the flexible rule."""
_MEAN_TOLERANCE = 0.01
"""Largest difference of a score from what it follows from that rounding explains (points)."""
_NO_NAMES = frozenset({"", "none", "null", "nan", "unknown"})
_PRODUCT_TOLERANCE = 5e-4
"""Largest |score - route x safety x efficiency| that comes from rounding each column to six decimals (the release
rounds the product of safety and efficiency too, and the error is multiplied by a route of up to 100)."""


def _known(value: object) -> object:
    """None for text that some program wrote for a value it did not have."""
    return None if isinstance(value, str) and value.strip().lower() in _NO_NAMES else value


def _printable(value: object) -> object:
    """A name on one line, without what would steer a terminal or a page."""
    if not isinstance(value, str):
        return value
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())


Identity = Annotated[str | None, BeforeValidator(_known)]
"""Name, version or hash of something that results must agree in; None where it is not known, also for "None"."""
ModelName = Annotated[str, Field(min_length=1), BeforeValidator(_printable)]
"""Line breaks and control characters become spaces."""


class ResultsError(DriveHierarchyError, ValueError):
    """Results that cannot be read, contradict themselves, or must not stand beside each other."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FileRecord(_Record):
    """A file that numbers were read from."""

    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> FileRecord:
        return cls(path=without_surrogates(str(path)), sha256=hashlib.sha256(path.read_bytes()).hexdigest())


class RuleScore(_Record):
    """A task under one parsing rule."""

    score: Score
    stderr: Annotated[float, Field(ge=0)] | None = None
    parse_fail: Share | None = None
    """Share of replies from which the rule takes no answer; each scores 0."""
    strict: Share | None = None
    """Share of replies already in the format asked for."""

    @model_validator(mode="after")
    def _bounded(self) -> RuleScore:
        most = 100 * (1 - (self.parse_fail or 0.0))
        if self.score > most + _MEAN_TOLERANCE:
            raise ValueError(
                f"score is {self.score:g}, but parse_fail {self.parse_fail:g} leaves at most {most:g}: a reply "
                "without an answer scores 0"
            )
        return self


class ItemScore(_Record):
    """One answered item under every rule."""

    id: str
    scene: str | None
    scores: dict[ParseRule, Score]


class TaskResult(_Record):
    """One task of one model. Missing generations are not answers: they lower `n`, not the score."""

    task: str
    n: Annotated[int, Field(ge=1)] | None
    """Items scored; None for published scores."""
    expected: Annotated[int, Field(ge=1)] | None = None
    """Items of the edition; None where unknown."""
    rules: dict[ParseRule, RuleScore] = Field(min_length=1)
    items: tuple[ItemScore, ...] = ()
    boxes: dict[str, Score] | None = None
    """Localisation only: mean 100 IoU of the same replies under each declared coordinate convention."""
    version: Identity = None

    @model_validator(mode="after")
    def _consistent(self) -> TaskResult:
        if self.task not in TASKS_BY_ID:
            raise ValueError(f"task {self.task!r} is not one of the fourteen")
        repeated = [key for key, count in Counter(item.id for item in self.items).items() if count > 1]
        if repeated:
            raise ValueError(
                f"task {self.task}: item {repeated[0]!r} is there more than once ({len(repeated)} such items)"
            )
        if self.items and self.n != len(self.items):
            raise ValueError(f"task {self.task}: n is {self.n}, but items lists {counted(len(self.items), 'item')}")
        if self.n is not None and self.expected is not None and self.n > self.expected:
            raise ValueError(f"task {self.task}: {self.n} items scored of {self.expected} that exist")
        for rule in self.rules:
            if self.items and any(rule not in item.scores for item in self.items):
                raise ValueError(f"task {self.task}: an item lacks its score under the rule {rule!r}")
            if self.items:
                mean = sum(item.scores[rule] for item in self.items) / len(self.items)
                if abs(mean - self.rules[rule].score) > _MEAN_TOLERANCE:
                    raise ValueError(
                        f"task {self.task}, rule {rule}: score {self.rules[rule].score:g} is not the mean of its "
                        f"items, {mean:g}"
                    )
                zeros = sum(item.scores[rule] == 0 for item in self.items) / len(self.items)
                failed = self.rules[rule].parse_fail or 0.0
                if failed > zeros + 1e-4:
                    raise ValueError(
                        f"task {self.task}, rule {rule}: parse_fail is {failed:g}, but only a share of {zeros:g} of "
                        "its items scores 0"
                    )
        self._check_boxes()
        return self

    def _check_boxes(self) -> None:
        if self.boxes is None:
            return
        if TASKS_BY_ID[self.task].kind != "box":
            raise ValueError(f"task {self.task}: boxes are given, but it asks for none")
        scored, found = self.rules.get("flexible"), self.boxes.get(SCORED_BOXES)
        if scored is not None and found is not None and abs(found - scored.score) > _MEAN_TOLERANCE:
            raise ValueError(
                f"task {self.task}: boxes.{SCORED_BOXES} is {found:g}, but its score under the rule flexible, which "
                f"is that in {SCORED_BOXES}, is {scored.score:g}"
            )

    @property
    def partial(self) -> bool:
        """True when fewer items are scored than the edition has."""
        return self.n is not None and self.expected is not None and self.n < self.expected


class Episode(_Record):
    """One scored run of one scenario. `route` and `score` 0-100, `safety` and `efficiency` 0-1."""

    family: str
    scenario: str
    repeat: Count
    score: Score
    route: Score
    safety: Share
    efficiency: Share
    termination: str
    events: tuple[str, ...]
    decisions: Count | None = None
    faults: Count | None = None
    """Decisions without a usable answer: the last control was kept."""

    @property
    def label(self) -> str:
        """The run as `ClosedLoopResult.missing` names it."""
        return run_label(self.family, self.scenario, self.repeat)

    @model_validator(mode="after")
    def _consistent(self) -> Episode:
        product = self.route * self.safety * self.efficiency
        if abs(self.score - product) > _PRODUCT_TOLERANCE:
            raise ValueError(
                f"{self.label}: score is {self.score:g}, but route {self.route:g} x safety {self.safety:g} x "
                f"efficiency {self.efficiency:g} is {product:g}"
            )
        if self.termination in get_args(VoidReason):
            raise ValueError(f"{self.label}: termination is {self.termination!r}, a void run, which has no score")
        if self.termination in PENALTIES and not self.events:
            raise ValueError(f"{self.label}: termination is {self.termination!r}, but events lists none")
        ends = [event for event in self.events if event in PENALTIES]
        if self.termination == "destination_reached" and ends:
            raise ValueError(f"{self.label}: termination is 'destination_reached', but the event {ends[0]} ends a run")
        return self


def run_label(family: str, scenario: str, repeat: int) -> str:
    """One run in words."""
    return f"{family}/{scenario} (repeat {repeat})"


class ClosedLoopResult(_Record):
    """R4 of one model."""

    suite: Identity
    suite_hash: Identity
    suite_scenarios: tuple[str, ...] | None = None
    """Scenarios of the whole suite, of which the run may be a part; None where the run does not say."""
    evaluator: str
    settings: dict[str, Any] = Field(default_factory=dict)
    repeats: Annotated[int, Field(ge=1)] | None = None
    """Runs of each scenario; None where unknown."""
    planned: Annotated[int, Field(ge=1)]
    """Runs of the full result: the fixed denominator."""
    episodes: tuple[Episode, ...]
    missing: tuple[str, ...] = ()
    """Planned runs without a valid result, as "family/scenario (repeat k)"."""
    void: dict[str, Count] = Field(default_factory=dict)
    """Attempts that ended for a reason that is not the model's, by kind; never averaged."""
    left_out: tuple[str, ...] = ()
    """Files that give no result, and what is wrong with each: a sentence each."""

    @model_validator(mode="after")
    def _consistent(self) -> ClosedLoopResult:
        families = (e.family for e in self.episodes)
        if self.suite_scenarios is not None:  # then an id names one scenario, whatever its family is said to be
            families = ("" for _ in self.episodes)
        keys = Counter((f, e.scenario, e.repeat) for f, e in zip(families, self.episodes, strict=True))
        repeated = [key for key, count in keys.items() if count > 1]
        if repeated:
            raise ValueError(f"scenario {repeated[0][1]!r}, repeat {repeated[0][2]}, is there more than once")
        if len(self.episodes) > self.planned:
            raise ValueError(f"planned is {self.planned}, but episodes lists {counted(len(self.episodes), 'run')}")
        if len(self.missing) != self.planned - len(self.episodes):
            raise ValueError(
                f"planned is {self.planned}, but episodes lists {counted(len(self.episodes), 'run')} and missing "
                f"{len(self.missing)}"
            )
        if self.repeats is not None:
            late = [e for e in self.episodes if e.repeat >= self.repeats]
            if late:
                raise ValueError(f"repeats is {self.repeats}, but {late[0].label} is listed (repeats count from 0)")
        if self.suite_scenarios is not None:
            self._check_suite(self.suite_scenarios)
        return self

    def _check_suite(self, suite: Sequence[str]) -> None:
        repeated = [name for name, count in Counter(suite).items() if count > 1]
        if repeated:
            raise ValueError(f"suite_scenarios: {repeated[0]!r} is there more than once")
        foreign = sorted(set(self.scenarios) - set(suite))
        if foreign:
            raise ValueError(f"scenario {foreign[0]!r} is not among the {len(suite)} of suite_scenarios")
        if self.repeats is not None and self.planned > len(suite) * self.repeats:
            raise ValueError(
                f"planned is {self.planned}, but {len(suite)} scenarios x {self.repeats} repeats are "
                f"{len(suite) * self.repeats} runs"
            )

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Scenarios with at least one run."""
        return tuple(dict.fromkeys(e.scenario for e in self.episodes))

    @property
    def uncovered(self) -> tuple[str, ...] | None:
        """Scenarios of the suite without any run; None where the suite is not known."""
        if self.suite_scenarios is None:
            return None
        driven = set(self.scenarios)
        return tuple(name for name in self.suite_scenarios if name not in driven)

    @property
    def whole(self) -> bool:
        """True when every run of every scenario of a known suite has a result."""
        return self.uncovered == () and not self.partial

    @property
    def partial(self) -> bool:
        """True when a planned run has no valid result."""
        return len(self.episodes) < self.planned

    def estimates(self) -> ClosedLoopEstimates:
        """Scores with intervals; see `statistics.closed_loop`."""
        return closed_loop_estimates(
            [e.scenario for e in self.episodes], [e.family for e in self.episodes], [e.score for e in self.episodes]
        )


class PublishedScores(_Record):
    """Totals as printed in a paper's tables."""

    open: Score
    families: dict[str, Score]
    r4: Score


class ModelResult(_Record):
    """Everything known about one model. `kind` published: scores taken from a paper, without items or intervals."""

    model: ModelName
    kind: Literal["measured", "published"] = "measured"
    edition: Identity = None
    edition_hash: Identity = None
    protocol: dict[str, Any] = Field(default_factory=dict)
    """Settings that must agree between results that are ranked together (generation, prompts, harness)."""
    versions: dict[str, str] = Field(default_factory=dict)
    tasks: dict[str, TaskResult] = Field(default_factory=dict)
    closed_loop: ClosedLoopResult | None = None
    published: PublishedScores | None = None
    absent: dict[str, str] = Field(default_factory=dict)
    """Task -> why it has no score."""
    files: tuple[FileRecord, ...] = ()
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _keys_agree(self) -> ModelResult:
        for key, result in self.tasks.items():
            if key != result.task:
                raise ValueError(f"model {self.model!r}: the result of {result.task} is filed under {key}")
        both = sorted(self.absent.keys() & self.tasks.keys())
        if both:
            raise ValueError(
                f"model {self.model!r}: absent says why {both[0]} has no score ({self.absent[both[0]]}), but tasks "
                "holds one"
            )
        if self.published is not None and self.kind != "published":
            raise ValueError(f"model {self.model!r}: kind is {self.kind!r}, but published totals are given")
        return self

    def scores(self, rule: ParseRule) -> dict[str, float]:
        """task -> score for every task scored under `rule`, in the order of the task table."""
        return {
            task.id: self.tasks[task.id].rules[rule].score
            for task in TASKS
            if task.id in self.tasks and rule in self.tasks[task.id].rules
        }

    def rules(self) -> tuple[ParseRule, ...]:
        """Rules under which at least one task is scored."""
        return tuple(rule for rule in PARSE_RULES if self.scores(rule))

    @property
    def partial(self) -> bool:
        """True when an open-loop task is missing or incomplete."""
        return len(self.tasks) < len(TASKS) or any(result.partial for result in self.tasks.values())

    def r4(self) -> float | None:
        """Mean of the family means, None without closed-loop results."""
        if self.published is not None:
            return self.published.r4
        if self.closed_loop is None or not self.closed_loop.episodes:
            return None
        return self.closed_loop.estimates().overall.value

    def open_loop(self, rule: ParseRule, *, seed: int = 0) -> OpenLoopEstimates:
        """Estimates of tasks, ranks and S_open under `rule`.

        With items, intervals come from the scene bootstrap. With standard errors alone they are normal and take tasks
        as independent (S_r: sqrt(sum se^2)/T, S_open: sqrt(sum (w se)^2)). With neither there is none, and the reason.
        """
        scores = self.scores(rule)
        scored = [self.tasks[task] for task in scores]
        if scored and all(result.items for result in scored):
            entries = [
                (result.task, item.scene or f"{result.task}/{item.id}", item.scores[rule])
                for result in scored
                for item in result.items
            ]
            tasks, scenes, values = zip(*entries, strict=True)
            return open_loop_estimates(tasks, scenes, values, seed=seed)
        tasks_found = {task: _from_summary(self, self.tasks[task], rule) for task in scores}
        ranks = {rank: _combined(tasks_found, rank_weights(rank)) for rank in RANKS}
        return OpenLoopEstimates(tasks_found, ranks, _combined(tasks_found, open_weights()))


def _from_summary(model: ModelResult, result: TaskResult, rule: ParseRule) -> Estimate:
    found = result.rules[rule]
    n = result.n or 0
    if found.stderr is None:
        where = "printed without one" if model.kind == "published" else "no items and no standard error in the results"
        return Estimate(found.score, n=n, reason=f"no interval: {where}")
    if found.stderr == 0:
        return _flat(found.score, n)
    margin = Z * found.stderr
    low, high = max(0.0, found.score - margin), min(100.0, found.score + margin)
    return Estimate(found.score, low, high, found.stderr, n=n, clusters=n)


def _flat(score: float, n: int) -> Estimate:
    """A score that all its items share: bounded at 0 and 100 with items as trials, elsewhere without an interval."""
    if n > 0 and score in (0.0, 100.0):
        loss = 100 * flawless_loss(np.full(n, 1 / n))
        low, high = (0.0, loss) if score == 0 else (100 - loss, 100.0)
        return Estimate(score, low, high, 0.0, n=n, clusters=n)
    return Estimate(score, stderr=0.0, n=n, reason=f"every item scored exactly {score:g}")


def _combined(tasks: Mapping[str, Estimate], weights: Mapping[str, float]) -> Estimate:
    absent = [task for task in weights if task not in tasks]
    if absent:
        return Estimate(None, reason=missing_reason(absent))
    parts = {task: tasks[task] for task in weights}
    value = weighted_sum({task: part.value for task, part in parts.items() if part.value is not None}, weights)
    n = sum(part.n for part in parts.values())
    without = [part for part in parts.values() if part.stderr is None]
    if without:
        return Estimate(value, n=n, reason=without[0].reason)
    errors = {task: part.stderr for task, part in parts.items() if part.stderr is not None}
    stderr = weighted_error(errors, weights)
    if stderr == 0:
        return Estimate(value, n=n, reason="no task of it has any spread, and the results list no items to bound it by")
    low, high = max(0.0, value - Z * stderr), min(100.0, value + Z * stderr)
    return Estimate(value, low, high, stderr, n=n, clusters=n)


def paper_results(tables: PaperTables | None = None) -> list[ModelResult]:
    """The paper's 15 models, scored by the release's evaluator (rule `official`) on the release edition."""
    paper = tables or paper_tables()
    return [
        ModelResult(
            model=row.model,
            kind="published",
            edition=PAPER_EDITION,
            tasks={
                task: TaskResult(task=task, n=None, rules={"official": RuleScore(score=score)})
                for task, score in row.tasks.items()
            },
            published=PublishedScores(open=row.open, families=row.families, r4=row.r4),
            notes=(f"{paper.provenance.source}, single deterministic run",),
        )
        for row in paper.models
    ]


def merge(parts: Iterable[ModelResult]) -> list[ModelResult]:
    """Join results of one model that came from several places (its tasks from one, R4 from another).

    Raises ResultsError naming the places when two of them hold the same task or both hold R4, or come from different
    editions.
    """
    merged: dict[str, ModelResult] = {}
    for part in parts:
        first = merged.get(part.model)
        merged[part.model] = part if first is None else _join(first, part)
    return list(merged.values())


def _places(first: ModelResult, second: ModelResult) -> str:
    """Where two results of one model come from, for a message; "" where a result names no file."""
    if not first.files or not second.files:
        return ""
    return f" ({first.files[-1].path}, {second.files[-1].path})"


def _join(first: ModelResult, second: ModelResult) -> ModelResult:
    name = first.model
    twice = sorted(first.tasks.keys() & second.tasks.keys())
    if twice:
        raise ResultsError(
            f"model {name!r}: {twice[0]} is in two of the inputs{_places(first, second)}; leave one out, or give "
            "one of them another name, as in NEWNAME=PATH"
        )
    if first.closed_loop is not None and second.closed_loop is not None:
        raise ResultsError(
            f"model {name!r}: two inputs hold R4 results{_places(first, second)}; leave one out, or give one another "
            "name, as in NEWNAME=PATH"
        )
    for field in ("edition", "edition_hash"):
        one, other = getattr(first, field), getattr(second, field)
        if first.tasks and second.tasks and one != other:
            raise ResultsError(
                f"model {name!r}: its inputs differ in {field} ({one} and {other}); they cannot be joined"
            )
    base = first if first.tasks else second
    return ModelResult(
        model=name,
        kind=base.kind,
        edition=base.edition,
        edition_hash=base.edition_hash,
        protocol=base.protocol,
        versions=first.versions | second.versions,
        tasks=first.tasks | second.tasks,
        closed_loop=first.closed_loop or second.closed_loop,
        absent={t: why for t, why in (first.absent | second.absent).items() if t not in first.tasks | second.tasks},
        files=first.files + second.files,
        notes=first.notes + second.notes,
    )
