"""The agents by name, and how to make one; anybody's own comes as `module:Class`."""

from __future__ import annotations

import importlib
import inspect
import math
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, get_args

from drivehierarchy_gym.actions import ACTION_MODES
from drivehierarchy_gym.agents.protocol import Agent, ObservationMode
from drivehierarchy_gym.agents.wording import describe_error, describe_value
from drivehierarchy_gym.errors import DriveHierarchyError, UnknownNameError, unknown_name

AGENTS: dict[str, str] = {
    "expert": "drivehierarchy_gym.agents.expert:ExpertAgent",
    "follower": "drivehierarchy_gym.agents.follower:FollowerAgent",
    "constant": "drivehierarchy_gym.agents.baselines:ConstantAgent",
    "random": "drivehierarchy_gym.agents.baselines:RandomAgent",
    "vlm": "drivehierarchy_gym.agents.vlm:VlmAgent",
}
"""Name -> `module:Class`, imported when asked for."""


class AgentError(DriveHierarchyError, ValueError):
    """An agent that cannot be loaded or made, or that is not one."""


def agent_factory(name: str) -> Callable[..., Agent]:
    """Class of the agent `name`: a key of `AGENTS`, or `module:Class` (the working directory is searched too).

    Raises:
        UnknownNameError: no such agent; names the nearest.
        AgentError: the module or the class cannot be loaded.
    """
    if name not in AGENTS and ":" not in name:
        raise unknown_name("agent", name, AGENTS)
    module_name, _, class_name = AGENTS.get(name, name).partition(":")
    if name not in AGENTS and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise AgentError(f"agent {name!r}: importing {module_name!r} failed: {describe_error(error)}") from error
    if not hasattr(module, class_name):
        classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
        raise AgentError(f"agent {name!r}: {unknown_name(f'class of {module_name!r}', class_name, classes)}")
    factory: Callable[..., Agent] = getattr(module, class_name)
    if not callable(factory):
        raise AgentError(f"agent {name!r}: {class_name} is {describe_value(factory)}, which is no class")
    return factory


def agent_options(name: str) -> dict[str, inspect.Parameter]:
    """Options that the agent `name` takes, by name."""
    return {
        key: parameter
        for key, parameter in _parameters(name).items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    factory = agent_factory(name)
    try:
        return inspect.signature(factory).parameters
    except (TypeError, ValueError) as error:
        raise AgentError(f"agent {name!r}: its options cannot be read: {describe_error(error)}") from error


def make_agent(name: str, **options: Any) -> Agent:
    """A new agent.

    Raises:
        UnknownNameError: no such agent or option; names the nearest.
        AgentError: it cannot be loaded or made with these options, or it does not follow the protocol.
    """
    _check_options(name, options)
    try:
        agent = agent_factory(name)(**options)
    except DriveHierarchyError:
        raise
    except Exception as error:
        raise AgentError(f"agent {name!r} cannot be made: {describe_error(error)}") from error
    _check_protocol(name, agent)
    return agent


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    known = agent_options(name)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in _parameters(name).values())
    for key in options:
        if key not in known and not takes_any:
            if not known:
                raise UnknownNameError(f"agent {name!r} takes no options, found {key!r}")
            raise unknown_name(f"option of agent {name!r}", key, known)
    missing = [key for key, p in known.items() if p.default is p.empty and key not in options]
    if missing:
        raise AgentError(f"agent {name!r} needs the option {missing[0]!r}")


def _check_protocol(name: str, agent: Agent) -> None:
    for method in ("reset", "act", "close"):
        if not callable(getattr(agent, method, None)):
            raise AgentError(f"agent {name!r} has no method {method!r}")
    for attribute, allowed in (
        ("action_mode", ACTION_MODES),
        ("observation", get_args(ObservationMode)),
        ("privileged", (True, False)),
    ):
        if not hasattr(agent, attribute):
            raise AgentError(f"agent {name!r} has no attribute {attribute!r}; it is one of {allowed}")
        found = getattr(agent, attribute)
        if not isinstance(found, str | bool) or found not in allowed:
            raise AgentError(f"agent {name!r}: {attribute} is one of {allowed}, found {describe_value(found)}")
    deadline = getattr(agent, "act_deadline", None)
    if deadline is not None and not (isinstance(deadline, int | float) and 0 < deadline < math.inf):
        raise AgentError(f"agent {name!r}: act_deadline is a number of seconds, found {describe_value(deadline)}")
