"""What a backend says about the world: plain records, in one frame and one set of units.

World frame: x east, y north, z up; yaw counter-clockwise from east in radians; metres, seconds, m/s.
Ego frame: x forward, y left. A left-handed simulator converts inside its backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ContactKind = Literal["pedestrian", "vehicle", "static"]
Indicator = Literal["off", "left", "right"]


@dataclass(frozen=True, slots=True)
class VehicleControl:
    """Pedals and wheel, held until the next call: steer in [-1, 1] (negative = left), throttle and brake in [0, 1]."""

    steer: float = 0.0
    throttle: float = 0.0
    brake: float = 0.0


@dataclass(frozen=True, slots=True)
class EgoState:
    """Pose of the box centre, forward speed (m/s, negative rolling back), acceleration (m/s²), wheel angle (rad)."""

    x: float
    y: float
    yaw: float
    speed: float
    acceleration: float = 0.0
    wheel_angle: float = 0.0


@dataclass(frozen=True, slots=True)
class Contact:
    """The ego's box touches another body in the state after a tick."""

    actor_id: str
    kind: ContactKind


@dataclass(frozen=True, slots=True)
class TickState:
    """The ego after one simulation tick; `time` counts seconds from the first tick of the episode."""

    time: float
    ego: EgoState
    on_road: bool
    contacts: tuple[Contact, ...] = ()
    ran_red_light: str | None = None
    """Id of the traffic light whose stop line the ego crossed on red in this tick."""


@dataclass(frozen=True, slots=True)
class ActorState:
    """One body other than the ego. `model` is a key of `catalog.ACTOR_MODELS`; x, y is the box centre."""

    id: str
    model: str
    x: float
    y: float
    yaw: float
    speed: float
    length: float
    width: float
    height: float
    colour: tuple[int, int, int]
    braking: bool = False
    indicator: Indicator = "off"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a camera or a privileged agent may look at, at one instant."""

    time: float
    ego: EgoState
    actors: tuple[ActorState, ...]
    signals: Mapping[str, str] = field(default_factory=dict)
    """Traffic light id -> SUMO state string, one character per link index (r, y, g, G, …)."""
