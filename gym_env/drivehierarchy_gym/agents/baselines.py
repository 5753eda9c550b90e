"""Drivers that look at nothing: a fixed action, and seeded random ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.agents.protocol import EpisodeContext


class ConstantAgent:
    """Always the same steer in [-1, 1] (negative = left) and target speed (m/s)."""

    action_mode = "target_speed"
    observation = "state"
    privileged = False

    def __init__(self, steer: float = 0.0, target_speed: float = 5.0) -> None:
        self._action = np.array([steer, target_speed], dtype=np.float32)

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        pass

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> NDArray[np.float32]:
        return self._action.copy()

    def close(self) -> None:
        pass


class RandomAgent:
    """Steer uniform in [-1, 1] and target speed uniform in [0, `max_speed`] m/s, drawn from the episode's seed."""

    action_mode = "target_speed"
    observation = "state"
    privileged = False

    def __init__(self, max_speed: float = 15.0) -> None:
        self._max_speed = max_speed
        self._random = np.random.default_rng(0)

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        self._random = np.random.default_rng(context.seed)

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> NDArray[np.float32]:
        return self._random.uniform([-1.0, 0.0], [1.0, self._max_speed]).astype(np.float32)

    def close(self) -> None:
        pass
