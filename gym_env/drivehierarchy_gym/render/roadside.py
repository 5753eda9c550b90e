"""Where signals and signs stand, and what a signal shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.road.elements import Edge, Lane
from drivehierarchy_gym.road.network import RoadNetwork

Aspect = Literal["red", "red_amber", "amber", "green", "off"]

_ASPECTS: dict[str, Aspect] = {
    "r": "red", "u": "red_amber", "y": "amber", "Y": "amber", "g": "green", "G": "green", "s": "green", "o": "amber",
}  # fmt: skip
"""SUMO's signal letters (https://sumo.dlr.de/docs/Simulation/Traffic_Lights.html#signal_state_definitions)."""

LOW_HEAD, HIGH_HEAD = 2.75, 4.9
"""Height of a head's middle (m): on a pole beside the road, on an arm over it."""
_SETBACK = 0.7
"""Distance of poles from the edge of the road (m)."""


@dataclass(frozen=True, slots=True)
class SignalHead:
    """A head for the traffic of one lane; it looks back along `pose`. `height` of its middle in metres."""

    pose: Pose
    height: float
    signal: str
    link: int


@dataclass(frozen=True, slots=True)
class SignalPost:
    """A pole beside an approach, with an arm of `arm` metres to the left (0: none), and the heads it carries."""

    pole: Pose
    arm: float
    heads: tuple[SignalHead, ...]


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign beside the road that looks back along `pose`."""

    kind: Literal["stop", "yield"]
    pose: Pose


def aspect(signals: Mapping[str, str], signal: str, link: int) -> Aspect:
    """What link `link` of a signal shows, given the states of `state.Snapshot`; off where they do not tell."""
    state = signals.get(signal, "")
    return _ASPECTS.get(state[link], "off") if link < len(state) else "off"


def signal_posts(network: RoadNetwork) -> list[SignalPost]:
    """One post per controlled road, 4 m behind its stop line where there is room: so heads stay in view of who waits.

    Every controlled lane has a head: the rightmost lane's on the pole, those of other lanes on an arm over them. A lane
    from which several controlled ways lead shows the state of the one straight on, or else of the first.
    """
    posts = []
    for edge in network.edges.values():
        controlled = [(lane, link) for lane in edge.lanes if (link := _main_link(network, lane)) is not None]
        if edge.kind != "normal" or not controlled:
            continue
        rightmost = controlled[0][0]
        end = rightmost.shape.at(rightmost.shape.length)
        pole = _beside(network, end, rightmost.width / 2 + _SETBACK, (4.0, 3.0, 2.0, 1.0))
        heads = [SignalHead(Pose(*pole.to_world(-0.2, 0.0), end.yaw), LOW_HEAD, *controlled[0][1])]
        arm = 0.0
        for lane, link in controlled[1:]:
            arm = pole.to_local(*lane.shape.at(lane.shape.length)[:2])[1]
            heads.append(SignalHead(Pose(*pole.to_world(-0.2, arm), end.yaw), HIGH_HEAD, *link))
        posts.append(SignalPost(pole, arm, tuple(heads)))
    return posts


def _main_link(network: RoadNetwork, lane: Lane) -> tuple[str, int] | None:
    """Signal and link index that a lane's head shows."""
    links = [
        (c.direction != "s", c.signal, c.link_index)
        for c in network.connections_from(lane.id)
        if c.signal is not None and c.link_index is not None and network.lanes[c.to_lane].kind == "normal"
    ]
    return min(links, key=lambda link: link[0])[1:] if links else None


def signs(network: RoadNetwork) -> list[Sign]:
    """Stop and yield signs at the ends of roads without a signal that must give way."""
    return [sign for edge in network.edges.values() if edge.kind == "normal" for sign in _sign(network, edge)]


def _sign(network: RoadNetwork, edge: Edge) -> Iterator[Sign]:
    lanes = [lane for lane in edge.lanes if lane.allows("passenger")]
    ways = [
        c
        for lane in lanes
        for c in network.connections_from(lane.id)
        if c.direction != "t" and network.lanes[c.to_lane].kind == "normal"
    ]
    states = {c.state for c in ways}
    if not ways or any(c.signal is not None for c in ways):
        return
    kind: Literal["stop", "yield"]
    if states & {"s", "w"}:
        kind = "stop"
    elif "m" in states and "M" not in states:
        kind = "yield"
    else:
        return
    end = lanes[0].shape.at(lanes[0].shape.length)
    yield Sign(kind, _beside(network, end, lanes[0].width / 2 + _SETBACK, (0.0, -1.0, -3.0)))


def _beside(network: RoadNetwork, end: Pose, right: float, ahead: tuple[float, ...]) -> Pose:
    """A place at the right side of the end of a lane that no vehicle drives on: as far `ahead` as there is one."""
    for forward in ahead:
        for more in (0.0, 0.6, 1.2):
            x, y = end.to_world(forward, -right - more)
            if not network.on_road(x, y):
                return Pose(x, y, end.yaw)
    return Pose(*end.to_world(0.0, -right), end.yaw)
