"""What a driver is to the runner: one small protocol, and what the runner tells it about the episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from drivehierarchy_gym.actions import ActionMode
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.state import Snapshot

ObservationMode = Literal["state", "full"]


@dataclass
class EpisodeContext:
    """The episode an agent is about to drive. An agent that is not privileged looks at `seed` only."""

    plan: EpisodePlan
    seed: int
    """Seed of everything random inside the agent."""
    snapshot: Snapshot
    """State of the whole world; the runner renews it before every `act` of a privileged agent, and of no other."""

    @property
    def network(self) -> RoadNetwork:
        """Road network of the episode (cached per process)."""
        return load_network(self.plan.network_file)


class Agent(Protocol):
    """A driver. One instance drives one episode at a time; `reset` makes it ready for the next.

    The runner makes the agent and calls its methods in threads other than the main one, each call with a deadline. An
    optional attribute `act_deadline` (seconds) replaces the runner's `--agent-timeout` for an agent that bounds its own
    time, an optional method `check()` raises where the agent cannot work, before the first run, and an optional method
    `telemetry()` returns a mapping for JSON about the last `act` (latency, tokens) that is logged apart from the
    reproducible trace.
    """

    action_mode: ActionMode
    """Action space the agent answers in."""
    observation: ObservationMode
    """`state` saves the rendering of pictures that the agent does not look at."""
    privileged: bool
    """Whether the agent reads the world behind the sensors through `EpisodeContext`."""

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        """Prepare for the episode that has just been reset; `info` is the environment's."""
        ...

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> Any:
        """Answer with an action of `action_mode`'s space (a reply text in mode `text`).

        Anything else, an exception or no answer in time is a fault of the agent: the car holds its last control.
        """
        ...

    def close(self) -> None:
        """Release connections and files; called once, after the last episode."""
        ...
