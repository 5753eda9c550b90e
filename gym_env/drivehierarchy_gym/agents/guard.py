"""Keeps an agent's faults from becoming the episode's: a deadline for every call, and a record of each fault.

What the agent does wrong (exception, silence, an answer that is no action) is an agent fault: the environment holds the
last control for that decision, and the episode goes on and is scored. What is not the agent's doing, an
`InfrastructureError`, passes through and makes the run void.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from drivehierarchy_gym.agents.protocol import Agent, EpisodeContext
from drivehierarchy_gym.errors import DriveHierarchyError, InfrastructureError

FaultKind = Literal["timeout", "busy", "exception", "invalid", "unparseable"]
"""`timeout`: no answer before the deadline. `busy`: still in the call that overran, so not asked. `exception`: raised.
`invalid`: not an action (bytes, None, NaN, wrong shape). `unparseable`: a text without an action in it."""


class AgentStartError(DriveHierarchyError, RuntimeError):
    """The agent could not be made ready for an episode, so it cannot drive any."""


@dataclass(frozen=True)
class AgentFault:
    """One decision at which the agent gave no usable answer."""

    kind: FaultKind
    detail: str


@dataclass(frozen=True)
class Answer:
    """Outcome of one decision: whatever the agent returned, or None and the fault; wall-clock seconds it took."""

    action: Any
    fault: AgentFault | None
    seconds: float


@dataclass
class _Call:
    function: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


class AgentGuard:
    """Calls an agent with a deadline. One that overran it is left alone and not asked again until it returns.

    Args:
        agent: the driver.
        timeout: seconds for one decision; the agent's own `act_deadline`, where it has one, takes its place.
    """

    def __init__(self, agent: Agent, timeout: float) -> None:
        self.agent = agent
        self._timeout = float(getattr(agent, "act_deadline", None) or timeout)
        self._overrun: _Call | None = None

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        """Reset the agent under the same deadline.

        Raises:
            AgentStartError: it raised or did not return in time.
            InfrastructureError: passed through.
        """
        call = self._start(lambda: self.agent.reset(context, info))
        if not call.done.wait(self._timeout):
            raise AgentStartError(f"the agent's reset did not return within {self._timeout:g} s")
        if isinstance(call.error, InfrastructureError):
            raise call.error
        if call.error is not None:
            raise AgentStartError(f"the agent's reset failed with {_describe(call.error)}") from call.error

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> Answer:
        """One decision; never raises what the agent raised, and takes at most the deadline.

        Raises:
            InfrastructureError: passed through.
        """
        begun = time.perf_counter()
        if self._overrun is not None:
            if not self._overrun.done.is_set():
                fault = AgentFault("busy", "still in the call that missed its deadline")
                return Answer(None, fault, time.perf_counter() - begun)
            late, self._overrun = self._overrun, None
            if isinstance(late.error, InfrastructureError):
                raise late.error
        call = self._start(lambda: self.agent.act(observation, info))
        if not call.done.wait(self._timeout):
            self._overrun = call
            fault = AgentFault("timeout", f"no answer within {self._timeout:g} s")
            return Answer(None, fault, time.perf_counter() - begun)
        seconds = time.perf_counter() - begun
        if isinstance(call.error, InfrastructureError):
            raise call.error
        if call.error is not None:
            return Answer(None, AgentFault("exception", _describe(call.error)), seconds)
        return Answer(call.result, None, seconds)

    def telemetry(self) -> Mapping[str, Any]:
        """The agent's own notes on its last finished decision; empty where it keeps none or is still busy."""
        report = getattr(self.agent, "telemetry", None)
        if report is None or self._overrun is not None:
            return {}
        try:
            return dict(report() or {})
        except Exception as error:
            return {"telemetry_error": _describe(error)}

    def close(self) -> str | None:
        """Close the agent within the deadline; what went wrong, if anything."""
        call = self._start(self.agent.close)
        if not call.done.wait(self._timeout):
            return f"the agent's close did not return within {self._timeout:g} s"
        return None if call.error is None else f"the agent's close failed with {_describe(call.error)}"

    def _start(self, function: Callable[[], Any]) -> _Call:
        # A daemon thread a call: a stuck one must neither block the next call nor keep the process from ending.
        call = _Call(function)
        threading.Thread(target=call.run, name="drivehierarchy-agent", daemon=True).start()
        return call


def unreadable(action: Any) -> AgentFault:
    """Fault of an answer that the environment could not read as an action."""
    if isinstance(action, str):
        return AgentFault("unparseable", f"no action in the reply {_short(repr(action))}")
    return AgentFault("invalid", f"not an action: {_short(repr(action))}")


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {_short(str(error), 300)}"


def _short(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
