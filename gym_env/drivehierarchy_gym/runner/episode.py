"""One run of one scenario: environment, agent and guard together, and the files they leave behind."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import cv2
import gymnasium
import numpy as np

from drivehierarchy_gym.agents.answer import Action
from drivehierarchy_gym.agents.chat import EndpointError
from drivehierarchy_gym.agents.guard import AgentFault, AgentGuard, AgentStartError, start_agent
from drivehierarchy_gym.agents.protocol import EpisodeContext
from drivehierarchy_gym.agents.registry import AgentError
from drivehierarchy_gym.env import DriveHierarchyEnv
from drivehierarchy_gym.errors import DriveHierarchyError, InfrastructureError, ScenarioError
from drivehierarchy_gym.runner.records import (
    AGENT_FILE,
    FRAMES_FOLDER,
    PARTIAL_FOLDER,
    SCORE_FILE,
    STEPS_FILE,
    UNSCORED_FILE,
    RunPlace,
    VoidKind,
    process_is_alive,
    publish,
    publish_void,
    write_json,
    write_void,
)
from drivehierarchy_gym.surrogates import without_surrogates

FRAME_QUALITY = 92
"""JPEG quality of the frames that are kept."""


@dataclass(frozen=True)
class EpisodeJob:
    """What a worker needs to make one run. Pickles; says nothing about which worker that is."""

    model_folder: Path
    place: RunPlace
    seed: int
    environment: Mapping[str, Any]
    """Arguments of `gymnasium.make` besides scenario, action mode and observation."""
    agent: str
    agent_options: Mapping[str, Any]
    agent_timeout: float
    """Seconds for one decision of an agent that has no deadline of its own."""
    observation: str
    frames: bool
    identity: Mapping[str, Any] = field(default_factory=dict)
    """Goes into every result: evaluator and suite."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run: a result, or the kind of void it is and why."""

    place: RunPlace
    folder: Path
    void: VoidKind | None = None
    detail: str = ""
    stops: str = ""
    """Why no further run makes sense; empty where the batch goes on."""
    score: float | None = None
    reason: str = ""
    faults: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # These may quote foreign texts, and go to files and terminals.
        for name in ("detail", "stops"):
            object.__setattr__(self, name, without_surrogates(getattr(self, name)))


@dataclass(frozen=True)
class StepProgress:
    """Simulated seconds so far and the time limit."""

    time: float
    limit: float


def run_episode(job: EpisodeJob, report: Callable[[StepProgress], None]) -> Outcome:
    """Make one run and give its files their final place; whatever fails, an `Outcome` says so."""
    partial = job.model_folder / PARTIAL_FOLDER / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    partial.mkdir(parents=True)
    try:
        record, faults = _drive(job, partial, report)
    except (EndpointError, AgentStartError, AgentError) as error:
        kind: VoidKind = "infrastructure" if isinstance(error, EndpointError) else "no_valid_answer"
        return _void(job, partial, kind, str(error), stops=str(error))
    except InfrastructureError as error:
        return _void(job, partial, "infrastructure", str(error))
    except ScenarioError as error:
        return _void(job, partial, "scenario", str(error))
    except DriveHierarchyError as error:
        return _void(job, partial, "system_error", str(error), stops=str(error))
    except Exception:
        return _void(job, partial, "system_error", traceback.format_exc(limit=30))
    if record["extra"]["decisions"] and sum(faults.values()) >= record["extra"]["decisions"]:
        kinds = ", ".join(f"{count} x {kind}" for kind, count in sorted(faults.items()))
        write_json(partial / UNSCORED_FILE, record)
        detail = f"not one of the agent's {record['extra']['decisions']} answers was an action ({kinds})"
        return _void(job, partial, "no_valid_answer", detail, stops=f"{job.place.label}: {detail}")
    write_json(partial / SCORE_FILE, record)
    folder = publish(job.model_folder, partial, job.place)
    if folder is None:
        return Outcome(job.place, job.model_folder / job.place.folder, detail="another process was faster")
    return Outcome(
        job.place,
        folder,
        score=record["score_composed"],
        reason=record["termination_reason"],
        faults=dict(faults),
    )


def _void(job: EpisodeJob, partial: Path, kind: VoidKind, detail: str, stops: str = "") -> Outcome:
    write_void(partial, job.place, kind, detail)
    folder = publish_void(job.model_folder, partial, job.place)
    return Outcome(job.place, folder, void=kind, detail=detail, stops=stops)


def _drive(
    job: EpisodeJob, folder: Path, report: Callable[[StepProgress], None]
) -> tuple[dict[str, Any], Counter[str]]:
    """Drive the episode, write its logs into `folder`; its record and its agent faults by kind."""
    guard = start_agent(job.agent, job.agent_options, job.agent_timeout)
    with (
        (folder / STEPS_FILE).open("w", encoding="utf-8") as steps,
        (folder / AGENT_FILE).open("w", encoding="utf-8") as log,
    ):
        try:
            environment = gymnasium.make(
                "DriveHierarchy-R4",
                disable_env_checker=True,
                scenario=job.place.scenario,
                action_mode=guard.agent.action_mode,
                observation=job.observation,
                **job.environment,
            )
            env = environment.unwrapped
            assert isinstance(env, DriveHierarchyEnv)
            try:
                return _steps(job, folder, env, guard, steps, log, report)
            finally:
                environment.close()
        finally:
            problem = guard.close()
            if problem is not None:
                log.write(_line({"close_error": problem}))


def _steps(
    job: EpisodeJob,
    folder: Path,
    env: DriveHierarchyEnv,
    guard: AgentGuard,
    steps: IO[str],
    log: IO[str],
    report: Callable[[StepProgress], None],
) -> tuple[dict[str, Any], Counter[str]]:
    observation, info = env.reset(seed=job.seed)
    privileged = guard.agent.privileged
    context = EpisodeContext(env.plan, job.seed, env.snapshot())
    guard.reset(context, info)
    limit = 2.0 * env.plan.scenario_duration
    trace = hashlib.sha256()
    faults: Counter[str] = Counter()
    if job.frames:
        (folder / FRAMES_FOLDER).mkdir()
    step = 0
    ended = False
    while not ended:
        step += 1
        if privileged:
            context.snapshot = env.snapshot()
        if job.frames:
            _keep_frames(folder / FRAMES_FOLDER, step, observation)
        answer = guard.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(answer.action)
        fault = answer.fault
        if fault is None and info["parse"]["status"] == "unparseable":
            fault = answer.unreadable
        if fault is not None:
            faults[fault.kind] += 1
        line = _line(step_record(step, env, answer.action, fault, reward, info))
        trace.update(line.encode())
        steps.write(line)
        log.write(_line({"step": step, "seconds": round(answer.seconds, 4), **guard.telemetry()}))
        report(StepProgress(info["time"], limit))
        ended = terminated or truncated
    if job.frames:
        _keep_frames(folder / FRAMES_FOLDER, step + 1, observation)
    record: dict[str, Any] = info["scene_score"]
    record["extra"] |= {
        **job.identity,
        "repeat": job.place.repeat,
        "agent_faults": dict(sorted(faults.items())),
        "trace_sha256": trace.hexdigest(),
    }
    return record, faults


def step_record(
    step: int,
    env: DriveHierarchyEnv,
    action: Action,
    fault: AgentFault | None,
    reward: float,
    info: Mapping[str, Any],
) -> dict[str, Any]:
    """One line of `steps.jsonl`: the action as given, what it became, and where it led. Nothing of it is wall-clock."""
    ego = env.ticks[-1].ego
    return {
        "step": step,
        "time": info["time"],
        "action": jsonable(action),
        "fault": None if fault is None else {"kind": fault.kind, "detail": fault.detail},
        "parse": info["parse"],
        "control": info["control"],
        "command": info["command"],
        "ego": {"x": ego.x, "y": ego.y, "yaw": ego.yaw, "speed": ego.speed},
        "reward": reward,
        "score": info["components"]["score_composed"],
        "events": info["events"],
    }


def jsonable(action: Action) -> Any:
    """An action as JSON: texts and finite numbers as they are; anything else as null."""
    if action is None or isinstance(action, str):
        return action
    return action.tolist() if bool(np.isfinite(action).all()) else None


def _keep_frames(folder: Path, step: int, observation: Mapping[str, Any]) -> None:
    for name in ("front", "bev"):
        picture = cv2.cvtColor(observation[name], cv2.COLOR_RGB2BGR)
        cv2.imwrite(str(folder / f"{step:06d}_{name}.jpg"), picture, [cv2.IMWRITE_JPEG_QUALITY, FRAME_QUALITY])


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, allow_nan=False, separators=(",", ":")) + "\n"


def sweep_partials(model_folder: Path) -> None:
    """Delete what dead processes of this machine left unfinished."""
    host = socket.gethostname()
    for folder in (model_folder / PARTIAL_FOLDER).glob(f"{host}-*"):
        process = folder.name[len(host) + 1 :].partition("-")[0]
        if process.isdigit() and not process_is_alive(int(process)):
            shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # another process may be at work there
        (model_folder / PARTIAL_FOLDER).rmdir()
