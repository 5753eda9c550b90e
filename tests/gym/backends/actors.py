"""Actors on the net `cross` of the backend tests."""

from __future__ import annotations

from typing import Any

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.plan import ActorPlan, Drive, TrafficDrive
from drivehierarchy_gym.scenarios.schema import Reaction

LANE_1, LANE_2 = -4.8, -1.6
"""y of the centres of the two lanes of WC and CE; by symmetry |x| of those of SC, CN, NC and CS."""


def actor(
    name: str, pose: Pose, drive: Drive, model: str = "car", reactions: tuple[Reaction, ...] = (), **options: Any
) -> ActorPlan:
    """An actor in red."""
    return ActorPlan(name, model, pose, drive, (200, 30, 30), reactions, **options)


def car_on_wc(
    name: str,
    front_x: float,
    speed: float,
    lane: int = 1,
    reactions: tuple[Reaction, ...] = (),
    edges: tuple[str, ...] = ("WC", "CE"),
    **drive: Any,
) -> ActorPlan:
    """A car of the traffic on WC with its front bumper at `front_x`."""
    pose = Pose(front_x - 2.3, LANE_1 if lane == 1 else LANE_2, 0.0)
    return actor(name, pose, TrafficDrive(edges, lane, front_x + 300.0, speed, **drive), reactions=reactions)
