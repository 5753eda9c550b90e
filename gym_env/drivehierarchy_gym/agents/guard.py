"""Keeps an agent's faults from becoming the episode's: a deadline for every call, and a record of each fault.

What the agent does wrong (exception, silence, an answer that is no action) is an agent fault: the environment holds the
last control for that decision, and the episode goes on and is scored. What is not the agent's doing, an
`InfrastructureError`, passes through and makes the run void. Everything that may run the agent's code (its constructor,
the conversion of what it returned, the text of its errors, its telemetry) happens inside a call with a deadline.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from drivehierarchy_gym.agents.answer import Action, plain_action
from drivehierarchy_gym.agents.deadline import Call, start
from drivehierarchy_gym.agents.protocol import Agent, EpisodeContext
from drivehierarchy_gym.agents.registry import make_agent
from drivehierarchy_gym.agents.wording import describe_value
from drivehierarchy_gym.errors import DriveHierarchyError, InfrastructureError

FaultKind = Literal["timeout", "busy", "exception", "invalid", "unparseable"]
"""`timeout`: no answer before the deadline. `busy`: still in the call that overran, so not asked. `exception`: raised.
`invalid`: not an action (bytes, None, NaN, wrong shape). `unparseable`: a text without an action in it."""

TELEMETRY_SECONDS = 5.0
"""Longest wait for an agent's telemetry; one that overran it is not asked again."""


class AgentStartError(DriveHierarchyError, RuntimeError):
    """The agent could not be made ready for an episode, so it cannot drive any."""


@dataclass(frozen=True)
class AgentFault:
    """One decision at which the agent gave no usable answer."""

    kind: FaultKind
    detail: str


@dataclass(frozen=True)
class Answer:
    """Outcome of one decision: what the agent returned as a plain action and in words, or the fault; wall-clock
    seconds it took. `action` is None where there is a fault or what it returned cannot be an action."""

    action: Action
    fault: AgentFault | None
    seconds: float
    words: str = ""

    @property
    def unreadable(self) -> AgentFault:
        """Fault of this answer once the environment found no action in it."""
        if isinstance(self.action, str):
            return AgentFault("unparseable", f"no action in the reply {self.words}")
        return AgentFault("invalid", f"not an action: {self.words}")


def start_agent(name: str, options: Mapping[str, Any], timeout: float) -> AgentGuard:
    """Make an agent under the deadline `timeout` (s) and put it under guard.

    Raises:
        AgentStartError: its constructor, or the import of its module, raised or did not return in time.
        AgentError, UnknownNameError: as `make_agent`.
    """
    call = start(lambda: make_agent(name, **options))
    if not call.wait(timeout):
        raise AgentStartError(
            f"agent {name!r} cannot be made: its constructor did not return within {timeout:g} s; "
            "where it needs longer, raise --agent-timeout"
        )
    if isinstance(call.error, DriveHierarchyError):
        raise call.error
    if call.error is not None:
        raise AgentStartError(f"agent {name!r} cannot be made: {call.error_text}") from call.error
    return AgentGuard(call.result, timeout)


class AgentGuard:
    """Calls an agent with a deadline. One that overran it is left alone and not asked again until it returns.

    Args:
        agent: the driver.
        timeout: seconds for one call; the agent's own `act_deadline`, where it has one, takes its place in all but
            `close`.
    """

    def __init__(self, agent: Agent, timeout: float) -> None:
        self.agent = agent
        self._timeout = timeout
        self.deadline = float(getattr(agent, "act_deadline", None) or timeout)
        """Seconds."""
        self._overrun: Call[Any] | None = None
        self._telemetry_hangs = False

    def check(self) -> None:
        """Let an agent that has a method `check` look whether it can work at all, under the same deadline.

        Raises:
            AgentStartError: it raised or did not return in time.
            InfrastructureError: passed through.
        """
        self._prepare("check", lambda: getattr(self.agent, "check", lambda: None)())

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        """Reset the agent under the same deadline.

        Raises:
            AgentStartError: it raised or did not return in time.
            InfrastructureError: passed through.
        """
        self._prepare("reset", lambda: self.agent.reset(context, info))

    def _prepare(self, name: str, function: Callable[[], Any]) -> None:
        call = start(function)
        if not call.wait(self.deadline):
            raise AgentStartError(f"the agent's {name} did not return within {self.deadline:g} s")
        if isinstance(call.error, InfrastructureError):
            raise call.error
        if call.error is not None:
            raise AgentStartError(f"the agent's {name} failed with {call.error_text}") from call.error

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> Answer:
        """One decision; never raises what the agent raised, and takes at most the deadline.

        Raises:
            InfrastructureError: passed through.
        """
        begun = time.perf_counter()
        if self._overrun is not None:
            if not self._overrun.done:
                fault = AgentFault("busy", "still in the call that missed its deadline")
                return Answer(None, fault, time.perf_counter() - begun)
            late, self._overrun = self._overrun, None
            if isinstance(late.error, InfrastructureError):
                raise late.error

        def decide() -> tuple[Action, str]:
            returned = self.agent.act(observation, info)
            action = plain_action(returned)
            return action, describe_value(action if isinstance(action, str) else returned)

        call = start(decide)
        if not call.wait(self.deadline):
            self._overrun = call
            fault = AgentFault("timeout", f"no answer within {self.deadline:g} s")
            return Answer(None, fault, time.perf_counter() - begun)
        seconds = time.perf_counter() - begun
        if isinstance(call.error, InfrastructureError):
            raise call.error
        if call.error is not None:
            return Answer(None, AgentFault("exception", call.error_text), seconds)
        action, words = call.result
        return Answer(action, None, seconds, words)

    def telemetry(self) -> Mapping[str, Any]:
        """The agent's own notes on its last finished decision, as JSON holds them; empty where it keeps none or is
        still busy. What fails is told under `telemetry_error` and never stops a drive."""
        if self._overrun is not None or self._telemetry_hangs:
            return {}
        call = start(lambda: _plain_notes(self.agent))
        seconds = min(self.deadline, TELEMETRY_SECONDS)
        if not call.wait(seconds):
            self._telemetry_hangs = True
            return {"telemetry_error": f"did not return within {seconds:g} s; not asked again"}
        return call.result if call.error is None else {"telemetry_error": call.error_text}

    def close(self) -> str | None:
        """Close the agent within the timeout; what went wrong, if anything."""
        call = start(lambda: self.agent.close())
        if not call.wait(self._timeout):
            return f"the agent's close did not return within {self._timeout:g} s"
        return None if call.error is None else f"the agent's close failed with {call.error_text}"


def _plain_notes(agent: Agent) -> dict[str, Any]:
    report = getattr(agent, "telemetry", None)
    notes = {} if report is None else dict(report() or {})
    plain: dict[str, Any] = json.loads(json.dumps(notes, allow_nan=False, default=_numpy_as_python))
    return plain


def _numpy_as_python(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
