"""Episodes and a backend that need no simulator: a kinematic car on an empty plane, and whatever a test puts there."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.render.camera import CameraSpec
from drivehierarchy_gym.scenarios.schema import Weather
from drivehierarchy_gym.state import Contact, EgoState, Snapshot, TickState, VehicleControl


def plane_plan(**changes: Any) -> EpisodePlan:
    """A straight 100 m route to the east, 20 s reference, 30 s scenario; `changes` replace fields."""
    route = changes.get("route", Polyline.through([(0.0, 0.0), (100.0, 0.0)]))
    start = Pose(*map(float, route.points[0]), route.at(0.0).yaw)
    fields: dict[str, Any] = {
        "scenario_id": "plane",
        "family": "01_pedestrian_encounter",
        "network_file": Path("plane.net.xml"),
        "start": start,
        "start_speed": 0.0,
        "route": route,
        "lane_route": route,
        "route_edges": (),
        "route_source": "route_edges",
        "goal": tuple(map(float, route.points[-1])),
        "goal_radius": 8.0,
        "scenario_duration": 30.0,
        "reference_duration": 20.0,
        "blocked_ticks": 100,
        "weather": Weather(),
        "seed": 0,
    }
    return EpisodePlan(**{**fields, **changes})


class PlaneBackend:
    """A backend without a world: the ego is a kinematic bicycle, the road is |y| <= `half_width`, bodies never move.

    `contacts_at` maps a tick number (from 1) to what is touched then, `red_lights_at` to the light that is run.
    """

    name = "plane"

    def __init__(
        self,
        half_width: float = math.inf,
        contacts_at: dict[int, tuple[Contact, ...]] | None = None,
        red_lights_at: dict[int, str] | None = None,
    ) -> None:
        self.half_width = half_width
        self.contacts_at = contacts_at or {}
        self.red_lights_at = red_lights_at or {}
        self.controls: list[VehicleControl] = []
        self.rendered: list[str] = []
        self.closed = 0

    def reset(self, plan: EpisodePlan) -> Snapshot:
        self.plan = plan
        self.tick = 0
        self.ego = EgoState(*plan.start, plan.start_speed)
        self.controls.clear()
        return self.snapshot()

    def advance(self, control: VehicleControl, ticks: int) -> list[TickState]:
        self.controls.append(control)
        states = []
        for _ in range(ticks):
            self.tick += 1
            states.append(self._tick(control))
            if states[-1].contacts:
                break
        return states

    def _tick(self, control: VehicleControl) -> TickState:
        ego = self.ego
        speed = max(0.0, ego.speed + 0.05 * (5.0 * control.throttle - 8.0 * control.brake))
        yaw = ego.yaw - 0.05 * speed * math.tan(0.6 * control.steer) / 2.85
        x, y = ego.x + 0.05 * speed * math.cos(yaw), ego.y + 0.05 * speed * math.sin(yaw)
        self.ego = EgoState(x, y, yaw, speed)
        return TickState(
            self.tick * 0.05,
            self.ego,
            abs(y) <= self.half_width,
            self.contacts_at.get(self.tick, ()),
            self.red_lights_at.get(self.tick),
        )

    def snapshot(self) -> Snapshot:
        return Snapshot(self.tick * 0.05, self.ego, ())

    def render(self, camera: CameraSpec) -> np.ndarray:
        self.rendered.append(camera.name)
        return np.full((camera.height, camera.width, 3), self.tick % 256, np.uint8)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(name="plane_plan")
def plane_plan_fixture() -> Callable[..., EpisodePlan]:
    return plane_plan


@pytest.fixture(name="PlaneBackend")
def plane_backend_fixture() -> type[PlaneBackend]:
    return PlaneBackend
