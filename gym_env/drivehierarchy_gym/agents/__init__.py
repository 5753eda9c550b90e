"""Drivers: `make_agent(name, **options)` makes one by name, `Agent` is what anybody's own looks like."""

from drivehierarchy_gym.agents.protocol import Agent, EpisodeContext
from drivehierarchy_gym.agents.registry import AGENTS, AgentError, make_agent

__all__ = ["AGENTS", "Agent", "AgentError", "EpisodeContext", "make_agent"]
