"""Reads SUMO net files (plain or gzipped XML) into lanes, edges, junctions and connections."""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.road.elements import VEHICLE_CLASSES, Connection, Edge, Junction, Lane, LaneKind

DEFAULT_LANE_WIDTH = 3.2
"""SUMO's lane width where a net states none (m)."""

_KINDS: dict[str, LaneKind] = {"": "normal", **{kind: kind for kind in get_args(LaneKind)}}
_SHORTEST_SHAPE = 0.01
"""Lanes shorter than the two decimals of a net collapse to a point; they are given this length (m)."""


@dataclass(frozen=True)
class NetContents:
    """What a net file states, in its own order."""

    net_offset: tuple[float, float]
    projection: str | None
    """PROJ string, or None where the net has no geographic reference."""
    edges: dict[str, Edge]
    junctions: dict[str, Junction]
    connections: tuple[Connection, ...]


def read_net(data: bytes, path: Path) -> NetContents:
    """Parse the bytes of a net file; `path` only names it in errors.

    Raises:
        ScenarioError: not a SUMO net, or a value that cannot be read; names the file, the element and the attribute.
    """
    try:
        root = ElementTree.fromstring(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (ElementTree.ParseError, OSError, EOFError) as error:
        raise ScenarioError(
            f"{path}: not readable as XML ({error}); give a SUMO net (*.net.xml or .net.xml.gz)"
        ) from None
    if root.tag != "net":
        raise ScenarioError(f"{path}: the root element is <{root.tag}>, expected <net>; give a SUMO net (*.net.xml)")
    return _Reader(path).read(root)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._permissions: dict[tuple[str | None, str | None], frozenset[str]] = {}

    def read(self, root: ElementTree.Element) -> NetContents:
        location = root.find("location")
        offset, projection = (0.0, 0.0), None
        if location is not None:
            offset_x, offset_y = self._points(location, "netOffset")[0]
            offset = (float(offset_x), float(offset_y))
            stated = location.get("projParameter", "!")
            projection = None if stated in ("!", "-", ".", "") else stated
        edges = {}
        for element in root.iterfind("edge"):
            kind = _KINDS.get(element.get("function", ""))
            if kind is not None and element.find("lane") is not None:
                edge = self._edge(element, kind)
                edges[edge.id] = edge
        if not any(edge.kind == "normal" for edge in edges.values()):
            raise ScenarioError(f"{self._path}: the net has no road (no <edge> with lanes); give a complete SUMO net")
        junctions = {}
        for element in root.iterfind("junction"):
            if element.get("type") != "internal":
                junction = self._junction(element)
                junctions[junction.id] = junction
        lanes = {lane.id for edge in edges.values() for lane in edge.lanes}
        connections = tuple(self._connection(element, edges, lanes) for element in root.iterfind("connection"))
        return NetContents(offset, projection, edges, junctions, connections)

    def _edge(self, element: ElementTree.Element, kind: LaneKind) -> Edge:
        edge_id = self._text(element, "id")
        if kind == "normal":
            from_node, to_node = self._text(element, "from"), self._text(element, "to")
        else:  # ":<junction>_<number>", ":<junction>_c<number>", ":<junction>_w<number>"
            from_node = to_node = edge_id[1:].rpartition("_")[0]
        lanes = [self._lane(child, edge_id, kind) for child in element.iterfind("lane")]
        return Edge(
            edge_id,
            from_node,
            to_node,
            int(self._number(element, "priority", -1)),
            tuple(sorted(lanes, key=lambda lane: lane.index)),
            kind,
            element.get("type", ""),
            element.get("name", ""),
        )

    def _lane(self, element: ElementTree.Element, edge_id: str, kind: LaneKind) -> Lane:
        points = self._points(element, "shape")
        kept = [points[0]]
        for point in points[1:]:
            if abs(point[0] - kept[-1][0]) > 1e-6 or abs(point[1] - kept[-1][1]) > 1e-6:
                kept.append(point)
        if len(kept) == 1:
            kept.append((kept[0][0] + _SHORTEST_SHAPE, kept[0][1]))
        length = self._number(element, "length")
        width = self._number(element, "width", DEFAULT_LANE_WIDTH)
        if length <= 0 or width <= 0:
            raise self._error(element, "length" if length <= 0 else "width", "a positive number of metres")
        outline = element.get("outlineShape")
        return Lane(
            self._text(element, "id"),
            edge_id,
            int(self._number(element, "index")),
            width,
            self._number(element, "speed"),
            length,
            Polyline(np.array(kept, dtype=np.float64)),
            kind,
            self._allowed(element),
            _ring(self._points(element, "outlineShape")) if outline else None,
        )

    def _junction(self, element: ElementTree.Element) -> Junction:
        x, y = self._number(element, "x"), self._number(element, "y")
        polygon = _ring(self._points(element, "shape")) if element.get("shape") else np.empty((0, 2))
        return Junction(self._text(element, "id"), element.get("type", "unknown"), polygon, x, y)

    def _connection(self, element: ElementTree.Element, edges: dict[str, Edge], lanes: set[str]) -> Connection:
        ends = []
        for edge_key, lane_key in (("from", "fromLane"), ("to", "toLane")):
            edge_id = self._text(element, edge_key)
            if edge_id not in edges:
                raise self._error(element, edge_key, "the id of an edge of this net")
            lane_id = f"{edge_id}_{element.get(lane_key)}"
            if lane_id not in lanes:
                raise self._error(element, lane_key, f"the index of a lane of edge {edge_id!r}")
            ends.append(lane_id)
        via = element.get("via")
        if via is not None and via not in lanes:
            raise self._error(element, "via", "the id of an internal lane of this net")
        index = element.get("linkIndex")
        return Connection(
            ends[0],
            ends[1],
            via,
            element.get("dir", "s"),
            element.get("state", "M"),
            element.get("tl"),
            int(self._number(element, "linkIndex")) if index is not None else None,
            self._allowed(element),
        )

    def _allowed(self, element: ElementTree.Element) -> frozenset[str]:
        key = (element.get("allow"), element.get("disallow"))
        found = self._permissions.get(key)
        if found is None:
            allow, disallow = key
            if allow is not None and allow != "all":
                found = VEHICLE_CLASSES.intersection(allow.split())
            elif disallow == "all":
                found = frozenset()
            else:
                found = VEHICLE_CLASSES.difference((disallow or "").split())
            self._permissions[key] = found
        return found

    def _points(self, element: ElementTree.Element, key: str) -> list[tuple[float, float]]:
        """Points "x,y[,z] x,y[,z] …" of an attribute; heights are dropped."""
        points = []
        try:
            for word in self._text(element, key).split():
                x, y = word.split(",")[:2]
                points.append((float(x), float(y)))
        except ValueError:
            points = []
        if not points or not all(math.isfinite(x) and math.isfinite(y) for x, y in points):
            raise self._error(element, key, "points 'x,y x,y …'")
        return points

    def _number(self, element: ElementTree.Element, key: str, default: float | None = None) -> float:
        text = element.get(key)
        if text is None and default is not None:
            return default
        try:
            value = float(text or "")
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self._error(element, key, "a number")
        return value

    def _text(self, element: ElementTree.Element, key: str) -> str:
        text = element.get(key)
        if text is None:
            raise self._error(element, key, "a value")
        return text

    def _error(self, element: ElementTree.Element, key: str, expected: str) -> ScenarioError:
        which = element.get("id") or f"from {element.get('from')!r} to {element.get('to')!r}"
        found = element.get(key)
        return ScenarioError(
            f"{self._path}: <{element.tag}> {which}: attribute {key!r} is {found!r}, expected {expected}; "
            "repair the net or write it anew with netconvert"
        )


def _ring(points: list[tuple[float, float]]) -> NDArray[np.float64]:
    """Outline without the repeated closing point (N, 2)."""
    if len(points) > 1 and points[0] == points[-1]:
        points = points[:-1]
    return np.array(points, dtype=np.float64)
