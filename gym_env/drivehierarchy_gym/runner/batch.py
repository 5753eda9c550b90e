"""A batch: every chosen scenario, every repeat, one agent. Continues what is there, never averages what is void."""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from drivehierarchy_gym.agents.deadline import LONGEST_DEADLINE
from drivehierarchy_gym.agents.guard import start_agent
from drivehierarchy_gym.env import DriveHierarchyEnv
from drivehierarchy_gym.errors import DriveHierarchyError, unknown_name
from drivehierarchy_gym.runner.episode import (
    EpisodeJob,
    Outcome,
    StepProgress,
    run_episode,
    sweep_partials,
)
from drivehierarchy_gym.runner.evaluator import agent_hash, evaluator
from drivehierarchy_gym.runner.manifest import episode_seed, open_manifest
from drivehierarchy_gym.runner.pool import Event, Finished, Lost, Progress, run_locally
from drivehierarchy_gym.runner.records import (
    PARTIAL_FOLDER,
    SCORE_FILE,
    VOID_FOLDER,
    ResultError,
    RunPlace,
    finished_score,
    publish_void,
    set_aside,
    write_void,
)
from drivehierarchy_gym.scenarios.release import FAMILIES
from drivehierarchy_gym.scenarios.suites import Suite, load_suite

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = ("local", "ray")

SILENCE = 240.0
"""Seconds beyond the agent's deadline without a step after which a run counts as hung."""


class BatchError(DriveHierarchyError, ValueError):
    """A batch that cannot be started as it was asked for."""


@dataclass(frozen=True)
class BatchOptions:
    """What to run. `environment` holds further arguments of the environment (release, backend, profile, …)."""

    out: Path
    agent: str
    agent_options: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    """Name of the model's folder; default: from the agent and its model."""
    suite: str = "open"
    scenarios: tuple[str, ...] = ()
    """Ids or globs; empty is all of them."""
    families: tuple[str, ...] = ()
    """Family or group names, or globs."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    observation: str | None = None
    """None: what the agent needs."""
    repeats: int = 1
    seed: int = 0
    workers: int = 1
    engine: Engine = "local"
    frames: bool = False
    agent_timeout: float = 60.0
    command: tuple[str, ...] = ()


@dataclass
class BatchReport:
    """What a batch did. `stopped` says why it broke off; empty where it went through."""

    model: str
    model_folder: Path
    total: int
    skipped: int = 0
    scored: int = 0
    voids: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stopped: str = ""

    @property
    def complete(self) -> bool:
        """Whether every run that was asked for now has a result."""
        return not self.stopped and self.skipped + self.scored == self.total


class Listener:
    """Told what happens; the command line draws it. Every method may be left as it is."""

    def begin(self, report: BatchReport) -> None:
        """The batch is planned; `report.skipped` of `report.total` runs are already there."""

    def step(self, job: EpisodeJob, progress: StepProgress) -> None:
        """A run has come so far."""

    def finish(self, outcome: Outcome) -> None:
        """A run has ended, with a result or void."""


def select(suite: Suite, scenarios: Sequence[str], families: Sequence[str]) -> list[str]:
    """Ids of `suite` that match one of `scenarios` and one of `families` (names or globs; empty means all).

    A family of the release goes by its folder's name or by the paper's.

    Raises:
        UnknownNameError: a name or glob matches nothing; names the nearest.
    """
    names = {i: {suite.entry(i).group, FAMILIES.get(suite.entry(i).group, suite.entry(i).group)} for i in suite}
    chosen = set(_matching(f"scenario of suite '{suite.name}'", scenarios, suite.ids))
    wanted = set(_matching(f"family of suite '{suite.name}'", families, sorted(set().union(*names.values()))))
    return [i for i in suite if i in chosen and wanted & names[i]]


def _matching(kind: str, patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    if not patterns:
        return list(names)
    found: list[str] = []
    for pattern in patterns:
        hits = fnmatch.filter(names, pattern)
        if not hits:
            raise unknown_name(kind, pattern, names)
        found += hits
    return found


def model_name(options: BatchOptions) -> str:
    """Folder name of the results: the given one, the model's last path part, or the agent's name."""
    if options.name is not None:
        name = options.name
    elif "model" in options.agent_options:
        name = str(options.agent_options["model"]).rstrip("/").rpartition("/")[2]
    else:
        name = options.agent.rpartition(":")[2]
    safe = "".join(c if c.isalnum() or c in "._-+" else "_" for c in name).strip(".")
    if not safe or safe in (VOID_FOLDER, PARTIAL_FOLDER):
        raise BatchError(f"--name: {name!r} cannot be the name of a folder of results")
    return safe


def run_batch(options: BatchOptions, listener: Listener | None = None) -> BatchReport:
    """Run what is missing of a batch.

    Raises:
        UnknownNameError, BatchError, ResumeError, AgentError, AgentStartError, ScenarioError, ReleaseNotFoundError,
            ResultError: it cannot be started; nothing has been run.
        EndpointError: the agent's endpoint does not answer before the first run.
    """
    listener = listener or Listener()
    _check(options)
    environment = {"suite": options.suite, **options.environment}
    asked: dict[str, Any] = {} if options.observation is None else {"observation": options.observation}
    DriveHierarchyEnv(**environment, **asked).close()  # a wrong option is found before anything is written
    suite = load_suite(options.suite, options.environment.get("release"))
    ids = select(suite, options.scenarios, options.families)
    if not ids:
        raise BatchError("no scenario is both in --scenario and in --family")
    guard = start_agent(options.agent, options.agent_options, options.agent_timeout)
    agent = guard.agent
    try:
        observation = options.observation or ("full" if options.frames else agent.observation)
        if observation == "state" and (options.frames or agent.observation == "full"):
            who = "--frames" if options.frames else f"agent {options.agent!r}"
            raise BatchError(f"{who} needs pictures: leave --observation out or use --observation full")
        deadline = guard.deadline
        if not 0 < deadline <= LONGEST_DEADLINE:
            raise BatchError(
                f"agent {options.agent!r}: a decision may take {deadline:g} s, {LONGEST_DEADLINE:g} s are allowed; "
                "give a shorter timeout"
            )
        guard.check()
    finally:
        close_problem = guard.close()

    model = model_name(options)
    folder = options.out.expanduser().resolve() / model
    identity = {"evaluator": evaluator(), "suite_hash": suite.hash}
    settings = {
        **identity,
        "suite": Path(suite.name).name,
        "agent": options.agent,
        "agent_options": dict(options.agent_options),
        "agent_sources": agent_hash(options.agent),
        # An agent with a deadline of its own names it, or what it follows from, among its options.
        "agent_timeout": None if getattr(agent, "act_deadline", None) else options.agent_timeout,
        "observation": observation,
        "environment": _protocol(options.environment),
        "seed": options.seed,
    }
    _check_settings(settings, options.command)
    for scenario in ids:
        RunPlace(suite.entry(scenario).group, scenario, 0, options.repeats)  # refuses what is no folder name
    manifest = open_manifest(
        folder, model, settings, _by_group(suite, ids), options.repeats, options.command, _by_group(suite, suite.ids)
    )
    sweep_partials(folder)

    report = BatchReport(model, folder, total=len(ids) * options.repeats)
    if close_problem is not None:
        report.notes.append(f"agent {options.agent!r}: {close_problem}")
    jobs = []
    for repeat in range(options.repeats):
        for scenario in ids:
            place = RunPlace(suite.entry(scenario).group, scenario, repeat, manifest.repeats)
            if _is_finished(folder, place, identity, report):
                report.skipped += 1
                continue
            jobs.append(
                EpisodeJob(
                    model_folder=folder,
                    place=place,
                    seed=episode_seed(options.seed, scenario, repeat),
                    environment=environment,
                    agent=options.agent,
                    agent_options=dict(options.agent_options),
                    agent_timeout=options.agent_timeout,
                    observation=observation,
                    frames=options.frames,
                    identity=identity,
                )
            )
    listener.begin(report)
    events = _engine(options.engine)(jobs, options.workers, deadline + SILENCE)
    try:
        for event in events:
            if isinstance(event, Progress):
                listener.step(event.job, event.value)
                continue
            outcome = event.result if isinstance(event, Finished) else _lost(event)
            if outcome.void is None:
                report.scored += 1
            else:
                report.voids.append(outcome)
            listener.finish(outcome)
            if outcome.stops:
                report.stopped = outcome.stops
                break
    except OSError as error:  # the disk is full, or the folder was taken away: no further run can leave a result
        report.stopped = f"{error.filename or folder}: {error.strerror or error}"
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()
        sweep_partials(folder)
    return report


def _by_group(suite: Suite, ids: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for scenario in ids:
        found.setdefault(suite.entry(scenario).group, []).append(scenario)
    return found


def _protocol(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the environment that decide results; files count by their content, not by where they lie."""
    found = {key: value for key, value in environment.items() if key != "release" and value is not None}
    if "prompt_file" in found:
        found["prompt_file"] = hashlib.sha256(Path(found["prompt_file"]).read_bytes()).hexdigest()
    return found


def _check(options: BatchOptions) -> None:
    for name, value in (("--workers", options.workers), ("--repeats", options.repeats)):
        if value < 1:
            raise BatchError(f"{name} is at least 1, found {value}")
    if not 0 < options.agent_timeout <= LONGEST_DEADLINE:
        raise BatchError(
            f"--agent-timeout is above 0 s and at most {LONGEST_DEADLINE:g} s, found {options.agent_timeout:g}"
        )
    if options.engine not in ENGINES:
        raise unknown_name("engine", options.engine, ENGINES)
    if options.engine == "ray":
        from drivehierarchy_gym.runner.ray_engine import require_ray

        require_ray()


def _check_settings(settings: Mapping[str, Any], command: Sequence[str]) -> None:
    """Settings become the manifest: what JSON cannot hold is found before anything is written."""
    try:
        json.dumps([settings, command], ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise BatchError(f"options of agent {settings['agent']!r} cannot be written as JSON: {error}") from error


def _is_finished(folder: Path, place: RunPlace, identity: Mapping[str, Any], report: BatchReport) -> bool:
    """Whether a run has a valid result of this evaluator and suite; any other is set aside, with a note, and run again.

    Args:
        folder: of the model.
        place: of the run.
        identity: what its record says of evaluator and suite, `EpisodeJob.identity`.
        report: gets the notes.
    """
    try:
        found = finished_score(folder, place)
        reason = "void"
        if found is not None:
            other = [key for key, value in identity.items() if found[1].extra.get(key) != value]
            if not other:
                return True
            reason = f"its {other[0]} is {found[1].extra.get(other[0])}, here it is {identity[other[0]]}"
    except ResultError as error:
        reason = str(error)
    for candidate in place.candidates:
        if (folder / candidate / SCORE_FILE).exists():
            where = set_aside(folder, folder / candidate, place, reason)
            report.notes.append(f"{place.label}: the result there does not count ({reason}); moved to {where}")
    return False


def _lost(event: Lost[EpisodeJob]) -> Outcome:
    """A run whose worker died or hung: void, with a record of its own since the worker could not write one."""
    job = event.job
    partial = job.model_folder / PARTIAL_FOLDER / f"lost-{job.place.group}-{job.place.scenario}-{job.place.repeat}"
    partial.mkdir(parents=True, exist_ok=True)
    write_void(partial, job.place, "infrastructure", event.reason)
    return Outcome(
        job.place, publish_void(job.model_folder, partial, job.place), void="infrastructure", detail=event.reason
    )


def _engine(
    name: Engine,
) -> Callable[[Sequence[EpisodeJob], int, float], Iterator[Event[EpisodeJob, Outcome]]]:
    if name == "ray":
        from drivehierarchy_gym.runner.ray_engine import run_with_ray

        return run_with_ray
    return _run_locally


def _run_locally(jobs: Sequence[EpisodeJob], workers: int, silence: float) -> Iterator[Event[EpisodeJob, Outcome]]:
    return run_locally(run_episode, jobs, workers, silence)
