"""What parent and worker say to each other: pickled records over one socket, one request and one reply at a time."""

from __future__ import annotations

import pickle
import socket
import struct
from array import array
from typing import Any, NamedTuple

from drivehierarchy_gym.backends.sumo.contacts import Segment
from drivehierarchy_gym.backends.sumo.signals import StopLine
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.state import Contact

EgoValues = tuple[float, float, float, float, float, float]
"""The fields of `state.EgoState` in order."""
EGO_VALUES = 6
BODY_VALUES = 6
"""Numbers per body: number of the actor in the plan, x, y, yaw, speed, flags."""
BRAKING, LEFT, RIGHT = 1, 2, 4
"""Flags of a body."""


class NetworkFacts(NamedTuple):
    """What the worker needs of a road network beside the file that SUMO reads; sent once per network."""

    stop_lines: tuple[StopLine, ...]
    walls: tuple[tuple[int, Segment], ...]
    """(number of the building, wall)."""


class Reset(NamedTuple):
    """Build the world of `plan`; `facts` is None when the worker already has those of this network."""

    plan: EpisodePlan
    network_key: str
    facts: NetworkFacts | None


class Advance(NamedTuple):
    """Hold the pedals and the wheel for some ticks; with `report`, tell the world after the last one too."""

    steer: float
    throttle: float
    brake: float
    ticks: int
    report: bool


class Look(NamedTuple):
    """Tell the world as it is."""


class WorldReport(NamedTuple):
    """The world after the last tick. Standing bodies are not in it: the plan says where they are."""

    ego: EgoValues
    bodies: array[float]
    """`BODY_VALUES` doubles for each, one after the other: unpacked only where somebody looks at the world."""
    signals: dict[str, str]


class Advanced(NamedTuple):
    """What happened in the ticks that were run. Only the last one can have contacts."""

    egos: array[float]
    """The `EgoValues` of every tick, one after the other."""
    contacts: tuple[Contact, ...]
    red_lights: tuple[tuple[int, str], ...]
    """(number of the tick from 0, signal) of every stop line that was crossed on red."""
    world: WorldReport | None


class Refused(NamedTuple):
    """The plan cannot be placed in the world; the worker lives on."""

    reason: str


class Failed(NamedTuple):
    """The worker broke; it ends after this message."""

    traceback: str


class Hello(NamedTuple):
    """First message of a worker."""

    sumo_version: str


_LENGTH = struct.Struct("!Q")


class Channel:
    """Whole pickled messages over a connected stream socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, message: Any) -> None:
        """Raises OSError when the other side is gone."""
        payload = pickle.dumps(message, protocol=5)
        self._connection.sendall(_LENGTH.pack(len(payload)) + payload)

    def receive(self) -> Any:
        """Raises EOFError when the other side is gone, TimeoutError after the socket's timeout without a byte."""
        buffer = bytearray()
        wanted = _LENGTH.size
        while len(buffer) < wanted:
            part = self._connection.recv(1 << 16)
            if not part:
                raise EOFError("the other side closed the connection")
            buffer += part
            if wanted == _LENGTH.size and len(buffer) >= wanted:
                wanted += _LENGTH.unpack_from(buffer)[0]
        return pickle.loads(memoryview(buffer)[_LENGTH.size :])

    def close(self) -> None:
        self._connection.close()
