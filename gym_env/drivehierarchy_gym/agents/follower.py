"""A driver that follows its route at the speed of the road and ignores everyone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.agents.protocol import EpisodeContext
from drivehierarchy_gym.agents.reference import STATION, ReferenceLine, speed_profile
from drivehierarchy_gym.agents.tracking import pursue, target_for

SETTLING = 1.0
"""Seconds in which a difference to the wished speed is taken out."""


class FollowerAgent:
    """Lane keeping with the speed limit and slower curves; no signal, vehicle or person counts."""

    action_mode = "target_speed"
    observation = "state"
    privileged = True

    def __init__(self) -> None:
        self._context: EpisodeContext | None = None

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        self._context = context
        self._line = ReferenceLine(context.plan, context.network)
        self._speeds = speed_profile(self._line.curvature, self._line.limit)
        self._arc = 0.0

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> NDArray[np.float32]:
        assert self._context is not None
        ego = self._context.snapshot.ego
        self._arc = self._line.line.project(ego.x, ego.y, (self._arc - 10.0, self._arc + 40.0)).arc
        here = int(self._arc / STATION)
        behind = slice(max(here - 3, 0), here + 40)
        wished = float(self._speeds[min(here + 1, len(self._speeds) - 1)])
        acceleration = float(np.clip((wished - ego.speed) / SETTLING, -4.0, 2.5))
        steer = pursue(ego, self._line.x[behind], self._line.y[behind])
        return np.array([steer, target_for(acceleration, ego.speed)], dtype=np.float32)

    def close(self) -> None:
        pass
