"""The worker process: one SUMO world, driven by messages from its parent.

libsumo allows one simulation per process and may clash with pyarrow, so it lives here and nowhere else. The worker ends
when the connection to its parent closes, however the parent ended.
"""

from __future__ import annotations

import signal
import socket
import traceback

import libsumo

from drivehierarchy_gym.backends.sumo.contacts import Walls
from drivehierarchy_gym.backends.sumo.messages import (
    Advance,
    Advanced,
    Channel,
    Failed,
    Hello,
    Look,
    NetworkFacts,
    Refused,
    Reset,
    WorldReport,
)
from drivehierarchy_gym.backends.sumo.world import EGO_REACH, World
from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.state import VehicleControl


def main(socket_descriptor: int) -> None:
    """Serve the parent at the other end of a socket until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it closes the connection
    channel = Channel(socket.socket(fileno=socket_descriptor))
    server = _Server()
    try:
        channel.send(Hello(libsumo.simulation.getVersion()[1]))
        while True:
            request = channel.receive()
            try:
                channel.send(server.answer(request))
            except ScenarioError as error:
                channel.send(Refused(str(error)))
    except (EOFError, OSError):
        return
    except Exception:
        channel.send(Failed(traceback.format_exc()))
        raise


class _Server:
    def __init__(self) -> None:
        self._world = World()
        self._networks: dict[str, tuple[NetworkFacts, Walls]] = {}

    def answer(self, request: Reset | Advance | Look) -> WorldReport | Advanced:
        if isinstance(request, Reset):
            if request.facts is not None:
                self._networks[request.network_key] = (request.facts, Walls(request.facts.walls, EGO_REACH))
            return self._world.reset(request.plan, *self._networks[request.network_key])
        if isinstance(request, Look):
            return self._world.report()
        control = VehicleControl(request.steer, request.throttle, request.brake)
        egos, contacts, red_lights = self._world.advance(control, request.ticks)
        return Advanced(egos, contacts, red_lights, self._world.report() if request.report else None)
