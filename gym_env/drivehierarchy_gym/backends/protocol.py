"""The one protocol through which the environment meets a simulator.

`docs/backends.md` maps every call to the CARLA client call that implements it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

    from drivehierarchy_gym.plan import EpisodePlan
    from drivehierarchy_gym.render.camera import CameraSpec
    from drivehierarchy_gym.state import Snapshot, TickState, VehicleControl

TICK_SECONDS = 0.05
"""Fixed simulation step (paper Table 9, release facts §3.1)."""


class Backend(Protocol):
    """A simulator that runs one episode at a time.

    Every call may raise `InfrastructureError` when the simulator itself fails; `reset` raises `ScenarioError` when an
    actor of the plan cannot be placed, naming it.
    """

    name: str

    def reset(self, plan: EpisodePlan) -> Snapshot:
        """Build the world of `plan` (its seed included) and return its state before the first tick."""
        ...

    def advance(self, control: VehicleControl, ticks: int) -> list[TickState]:
        """Hold `control` for up to `ticks` ticks of `TICK_SECONDS`; only a contact stops it early, after its tick."""
        ...

    def snapshot(self) -> Snapshot:
        """State after the last tick that was run."""
        ...

    def render(self, camera: CameraSpec) -> np.ndarray:
        """Picture of the current state, uint8 (height, width, 3) RGB."""
        ...

    def close(self) -> None:
        """Release processes, ports and files; safe to call twice and after a crash."""
        ...
