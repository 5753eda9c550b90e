"""The backend that needs nothing but pip: SUMO for traffic, our own dynamics, contacts and pictures."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from drivehierarchy_gym.backends.protocol import TICK_SECONDS
from drivehierarchy_gym.backends.sumo.messages import (
    BODY_VALUES,
    BRAKING,
    EGO_VALUES,
    LEFT,
    RIGHT,
    Advance,
    Advanced,
    Look,
    Refused,
    Reset,
    WorldReport,
)
from drivehierarchy_gym.backends.sumo.network_facts import network_facts
from drivehierarchy_gym.backends.sumo.process import WorkerProcess
from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.errors import InfrastructureError, ScenarioError
from drivehierarchy_gym.plan import ActorPlan, EpisodePlan, StandDrive
from drivehierarchy_gym.road.default_map import surroundings
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.state import ActorState, EgoState, Indicator, Snapshot, TickState, VehicleControl

if TYPE_CHECKING:
    import numpy as np

    from drivehierarchy_gym.render.camera import CameraSpec
    from drivehierarchy_gym.render.scene import SceneRenderer
    from drivehierarchy_gym.scenarios.schema import Weather


class SumoBackend:
    """One episode at a time on SUMO, in a worker process of its own (`backends.protocol.Backend`).

    The worker starts with the first `reset` and is kept until `close`; a broken one is replaced by the next `reset`.
    Pickles as its options, so a copy has a worker of its own.

    Args:
        samples: per pixel of a picture, 1 (fast, jagged edges) or 4 (smooth).
        timeout_s: seconds after which a worker that does not answer counts as hung.

    Raises:
        ValueError: an option out of its range.
    """

    name = "sumo"

    def __init__(self, *, samples: int = 4, timeout_s: float = 60.0) -> None:
        if samples not in (1, 4):
            raise ValueError(f"samples must be 1 or 4 per pixel, found {samples!r}")
        if not timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0 s, found {timeout_s!r}")
        self._samples = samples
        self._timeout_s = timeout_s
        self._worker: WorkerProcess | None = None
        self._known_networks: set[str] = set()
        self._plan: EpisodePlan | None = None
        self._network: RoadNetwork | None = None
        self._ticks = 0
        self._report: WorldReport | None = None
        self._snapshot: Snapshot | None = None
        self._standing: dict[int, ActorState] = {}
        self._renderer: tuple[tuple[str, Weather], SceneRenderer] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, ({"samples": self._samples, "timeout_s": self._timeout_s},)

    def reset(self, plan: EpisodePlan) -> Snapshot:
        """Build the world of `plan` and return its state at time 0.

        Raises:
            ScenarioError: an actor cannot be placed; names it, its planned pose and the reason.
            InfrastructureError: SUMO or its worker failed, also when tried again in a fresh worker.
        """
        try:
            return self._reset(plan)
        except InfrastructureError:
            # The worker may have died since the last call, or of what came before: once more in a fresh one.
            return self._reset(plan)

    def _reset(self, plan: EpisodePlan) -> Snapshot:
        self._plan, self._report, self._snapshot = None, None, None
        network = load_network(plan.network_file)
        worker = self._live_worker()
        facts = None
        if network.sha256 not in self._known_networks:
            facts = network_facts(network, surroundings(plan.network_file).buildings)
        worker.forget_output()
        reply = worker.ask(Reset(plan, network.sha256, facts))
        self._known_networks.add(network.sha256)
        if isinstance(reply, Refused):
            said = worker.output_tail()
            raise ScenarioError(f"{plan.scenario_id}: {reply.reason}" + (f"\nSUMO says: {said}" if said else ""))
        self._plan, self._network, self._ticks = plan, network, 0
        self._standing = {
            number: _state(actor, *actor.pose, 0.0, 0)
            for number, actor in enumerate(plan.actors)
            if isinstance(actor.drive, StandDrive)
        }
        self._report = reply
        return self.snapshot()

    def advance(self, control: VehicleControl, ticks: int) -> list[TickState]:
        """Hold `control` for `ticks` ticks; stops early after the tick of a contact, never otherwise.

        Raises:
            InfrastructureError: the worker failed, or there is no running episode.
        """
        self._episode()
        if ticks < 1:
            raise ValueError(f"ticks must be at least 1, found {ticks}")
        # Whoever looked at the world will look again: spare them a round trip.
        looked = self._snapshot is not None
        reply = self._ask(Advance(control.steer, control.throttle, control.brake, ticks, looked))
        self._report, self._snapshot = reply.world, None
        return self._tick_states(reply)

    def snapshot(self) -> Snapshot:
        """State after the last tick that was run.

        Raises:
            InfrastructureError: there is no running episode.
        """
        plan = self._episode()
        if self._snapshot is None:
            report = self._report
            if report is None:
                report = self._report = self._ask(Look())
            states = dict(self._standing)
            values = report.bodies
            for i in range(0, len(values), BODY_VALUES):
                number = int(values[i])
                x, y, yaw, speed = values[i + 1 : i + 5]
                states[number] = _state(plan.actors[number], x, y, yaw, speed, int(values[i + 5]))
            actors = tuple(states[number] for number in sorted(states))
            self._snapshot = Snapshot(self._time(), EgoState(*report.ego), actors, report.signals)
        return self._snapshot

    def render(self, camera: CameraSpec) -> np.ndarray:
        """Picture of the current state, uint8 (height, width, 3) RGB; the first one of a network takes longer.

        Raises:
            InfrastructureError: there is no running episode.
        """
        snapshot = self.snapshot()
        assert self._plan is not None
        assert self._network is not None
        key = self._network.sha256, self._plan.weather
        if self._renderer is None or self._renderer[0] != key:
            from drivehierarchy_gym.render.scene import SceneRenderer  # compiles; not everybody wants pictures

            around = surroundings(self._plan.network_file)
            self._renderer = key, SceneRenderer(self._network, around, self._plan.weather, self._samples)
        return self._renderer[1].render(camera, snapshot)

    def close(self) -> None:
        """End the worker; safe to call twice and after a crash. A later `reset` starts a fresh one."""
        self._plan, self._renderer = None, None
        if self._worker is not None and self._worker.owner == os.getpid():
            self._worker.close()
        self._worker = None

    def _episode(self) -> EpisodePlan:
        if self._plan is None:
            raise InfrastructureError("no episode is running on this backend; call reset(plan) first")
        return self._plan

    def _ask(self, request: Any) -> Any:
        """Ask the worker of the running episode, which is over when that fails."""
        assert self._worker is not None
        try:
            return self._worker.ask(request)
        except InfrastructureError:
            self._plan = None
            raise

    def _live_worker(self) -> WorkerProcess:
        """The worker, a fresh one where there is none, it broke, or it belongs to the process this one forked from."""
        worker = self._worker
        if worker is None or not worker.alive or worker.owner != os.getpid():
            worker = self._worker = WorkerProcess(self._timeout_s)
            self._known_networks = set()
        return worker

    def _time(self) -> float:
        return round(self._ticks * TICK_SECONDS, 6)

    def _tick_states(self, advanced: Advanced) -> list[TickState]:
        assert self._network is not None
        on_road, egos = self._network.on_road, advanced.egos
        red_lights = dict(advanced.red_lights)
        count = len(egos) // EGO_VALUES
        states = []
        for number in range(count):
            self._ticks += 1
            values = egos[number * EGO_VALUES : (number + 1) * EGO_VALUES]
            contacts = advanced.contacts if number == count - 1 else ()
            states.append(
                TickState(
                    self._time(),
                    EgoState(*values),
                    on_road(values[0], values[1]),
                    contacts,
                    red_lights.get(number),
                )
            )
        return states


def _restore(options: dict[str, Any]) -> SumoBackend:
    return SumoBackend(**options)


def _state(actor: ActorPlan, x: float, y: float, yaw: float, speed: float, flags: int) -> ActorState:
    model = ACTOR_MODELS[actor.model]
    indicator: Indicator = "left" if flags & LEFT else "right" if flags & RIGHT else "off"
    return ActorState(
        actor.id, actor.model, x, y, yaw, speed, model.length, model.width, model.height, actor.colour,
        bool(flags & BRAKING), indicator,
    )  # fmt: skip
