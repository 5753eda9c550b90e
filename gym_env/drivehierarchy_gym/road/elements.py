"""The parts of a road network: lanes, edges, junctions, connections and stop lines.

Coordinates are those of the SUMO net (x east, y north, metres); `pos` is SUMO's lane position, which runs from 0 to
`Lane.length`, not along the drawn shape: the two differ where a net states its own lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.geometry import Polyline, Pose

LaneKind = Literal["normal", "internal", "crossing", "walkingarea"]

VEHICLE_CLASSES = frozenset(
    (
        "private", "emergency", "authority", "army", "vip", "pedestrian", "passenger", "hov",
        "taxi", "bus", "coach", "delivery", "truck", "trailer", "motorcycle", "moped",
        "bicycle", "evehicle", "tram", "rail_urban", "rail", "rail_electric", "rail_fast", "ship",
        "container", "cable_car", "subway", "aircraft", "wheelchair", "scooter", "drone", "custom1",
        "custom2",
    )
)  # fmt: skip
"""Every vClass of SUMO 1.28 (https://sumo.dlr.de/docs/Definition_of_Vehicles,_Vehicle_Types,_and_Routes.html)."""

FOOT_CLASSES = frozenset({"pedestrian", "wheelchair"})
"""Classes that walk: a lane for no other class is a sidewalk or a footpath."""

RAIL_CLASSES = frozenset({"tram", "rail_urban", "rail", "rail_electric", "rail_fast", "subway", "cable_car"})
"""Classes on rails: a lane for no other class is a track, not a road."""


@dataclass(frozen=True, eq=False, slots=True)
class Lane:
    """One lane. `width` and `length` in metres, `speed` (limit) in m/s; `shape` is its centre line.

    The shape of a walking area is the outline of its polygon instead; `outline` is the polygon of a crossing where the
    net states one.
    """

    id: str
    edge_id: str
    index: int
    """0 is the rightmost lane of the edge."""
    width: float
    speed: float
    length: float
    shape: Polyline
    kind: LaneKind
    permissions: frozenset[str]
    outline: NDArray[np.float64] | None = None

    def allows(self, vclass: str) -> bool:
        """Whether SUMO lets vehicles of `vclass` onto this lane."""
        return vclass in self.permissions

    @property
    def is_sidewalk(self) -> bool:
        """A normal lane for walkers only: a sidewalk beside a road, or a footpath of its own."""
        return self.kind == "normal" and bool(self.permissions) and self.permissions <= FOOT_CLASSES

    def arc(self, pos: float) -> float:
        """Arc length on `shape` of the lane position `pos`."""
        return pos * self.shape.length / self.length

    def pos(self, arc: float) -> float:
        """Lane position of the arc length `arc` on `shape`."""
        return arc * self.length / self.shape.length


@dataclass(frozen=True, eq=False, slots=True)
class Edge:
    """A directed road between two junctions; `lanes` from right to left, `road_type` and `name` "" where unknown."""

    id: str
    from_node: str
    to_node: str
    """For internal edges, crossings and walking areas both are the junction they belong to."""
    priority: int
    lanes: tuple[Lane, ...]
    kind: LaneKind
    road_type: str
    name: str

    @property
    def length(self) -> float:
        """Length of its lanes (SUMO gives all lanes of an edge the same), metres."""
        return self.lanes[0].length

    def allows(self, vclass: str) -> bool:
        """Whether at least one lane allows `vclass`."""
        return any(lane.allows(vclass) for lane in self.lanes)

    def centre_line(self) -> NDArray[np.float64]:
        """Middle of its lanes (N, 2): the middle lane's shape, or the point-wise mean of an even number of lanes.

        This is how sumolib draws an edge, and so what the release measures progress on (facts §3.7).
        """
        if len(self.lanes) % 2:
            return self.lanes[len(self.lanes) // 2].shape.points
        count = min(len(lane.shape.points) for lane in self.lanes)
        return np.mean([lane.shape.points[:count] for lane in self.lanes], axis=0)


@dataclass(frozen=True, eq=False, slots=True)
class Junction:
    """A node: `kind` is SUMO's junction type, `polygon` (N, 2) its area (open ring; N may be below 3 at dead ends)."""

    id: str
    kind: str
    polygon: NDArray[np.float64]
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Connection:
    """A way from the end of one lane onto another.

    `via` is the internal lane it leads over first (None in nets without internal lanes). `direction` is SUMO's letter
    (s straight, l left, r right, t turn back, L and R partly left and right), `state` its right of way letter
    (M, m, =, s, w, o, O, …). `signal` and `link_index` name the traffic light that controls it.
    """

    from_lane: str
    to_lane: str
    via: str | None
    direction: str
    state: str
    signal: str | None
    link_index: int | None
    permissions: frozenset[str]


class StopLine(NamedTuple):
    """Where a controlled lane ends: vehicles wait before `pose`, which looks along the lane."""

    lane_id: str
    pose: Pose


class LaneHit(NamedTuple):
    """A lane near a point: distance to its centre line (m) and the lane position of the nearest point."""

    lane: Lane
    distance: float
    pos: float
