"""The road network of a scenario: a SUMO net with the questions that the simulation asks of it."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import shapely
from numpy.typing import NDArray

from drivehierarchy_gym.errors import ScenarioError, unknown_name
from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.road import markings, routing, shapes, surfaces
from drivehierarchy_gym.road.cache import cached_arrays, code_digest
from drivehierarchy_gym.road.drivable import DrivableArea
from drivehierarchy_gym.road.elements import FOOT_CLASSES, Connection, Edge, Junction, Lane, LaneHit, StopLine
from drivehierarchy_gym.road.lane_index import LaneIndex
from drivehierarchy_gym.road.markings import Marking, MarkingKind
from drivehierarchy_gym.road.reader import NetContents, read_net
from drivehierarchy_gym.road.surfaces import Surface, SurfaceKind


class RoadNetwork:
    """A SUMO net. Positions are net coordinates in metres, which are the project's world frame.

    Attributes:
        path, sha256: the file and the digest of its bytes.
        edges, lanes, junctions: by id; internal edges, crossings and walking areas included, internal junctions not.
        connections: all of them, in the order of the file.
        signals: traffic light id -> link index -> the stop lines that this link controls.
        net_offset: what was added to projected coordinates (m).
    """

    def __init__(self, path: Path, sha256: str, contents: NetContents) -> None:
        self.path = path
        self.sha256 = sha256
        self.net_offset = contents.net_offset
        self.edges: Mapping[str, Edge] = contents.edges
        self.lanes: Mapping[str, Lane] = {lane.id: lane for edge in contents.edges.values() for lane in edge.lanes}
        self.junctions: Mapping[str, Junction] = contents.junctions
        self.connections = contents.connections
        self._projection_text = contents.projection
        outgoing: dict[str, list[Connection]] = defaultdict(list)
        signals: dict[str, dict[int, list[StopLine]]] = defaultdict(lambda: defaultdict(list))
        for connection in contents.connections:
            outgoing[connection.from_lane].append(connection)
            lane = self.lanes[connection.from_lane]
            if connection.signal is not None and connection.link_index is not None and lane.kind == "normal":
                stop = StopLine(lane.id, lane.shape.at(lane.shape.length))
                stops = signals[connection.signal][connection.link_index]
                if stop not in stops:
                    stops.append(stop)
        self._outgoing = {lane_id: tuple(found) for lane_id, found in outgoing.items()}
        self.signals: Mapping[str, Mapping[int, tuple[StopLine, ...]]] = {
            signal: {index: tuple(links[index]) for index in sorted(links)} for signal, links in sorted(signals.items())
        }
        self._areas: tuple[Surface, ...] | None = None
        self._markings: tuple[Marking, ...] | None = None
        self._drivable: dict[str, DrivableArea] = {}
        self._successors: dict[str, dict[str, dict[str, float]]] = {}
        self._indices: dict[tuple[str, bool], LaneIndex] = {}

    def __repr__(self) -> str:
        return f"RoadNetwork({str(self.path)!r}, {len(self.edges)} edges, {len(self.junctions)} junctions)"

    # --- parts -------------------------------------------------------------------------------------------------------

    def lane(self, lane_id: str) -> Lane:
        """Lane by id.

        Raises:
            ScenarioError: there is none; names the nearest ids.
        """
        try:
            return self.lanes[lane_id]
        except KeyError:
            raise ScenarioError(f"{self.path}: {unknown_name('lane', lane_id, self.lanes)}") from None

    def edge(self, edge_id: str) -> Edge:
        """Edge by id.

        Raises:
            ScenarioError: there is none; names the nearest ids.
        """
        try:
            return self.edges[edge_id]
        except KeyError:
            raise ScenarioError(f"{self.path}: {unknown_name('edge', edge_id, self.edges)}") from None

    def connections_from(self, lane_id: str) -> tuple[Connection, ...]:
        """Connections that start at the end of a lane."""
        return self._outgoing.get(lane_id, ())

    def internal_path(self, connection: Connection) -> tuple[Lane, ...]:
        """Internal lanes of a connection, in driving order: one, several where the net splits the way inside the
        junction, none where it has no internal lanes."""
        path: list[Lane] = []
        via = connection.via
        while via is not None and self.lanes[via] not in path:
            path.append(self.lanes[via])
            via = next((c.via for c in self.connections_from(via) if c.to_lane == connection.to_lane), None)
        return tuple(path)

    @cached_property
    def crossings(self) -> tuple[Lane, ...]:
        """Pedestrian crossings."""
        return tuple(lane for lane in self.lanes.values() if lane.kind == "crossing")

    @cached_property
    def walking_areas(self) -> tuple[Lane, ...]:
        """Areas in which pedestrians turn between sidewalks and crossings; their shape is an outline."""
        return tuple(lane for lane in self.lanes.values() if lane.kind == "walkingarea")

    @cached_property
    def sidewalks(self) -> tuple[Lane, ...]:
        """Lanes for walkers only, beside a road or on their own."""
        return tuple(lane for lane in self.lanes.values() if lane.is_sidewalk)

    @cached_property
    def sidewalk_corners(self) -> tuple[Lane, ...]:
        """Walking areas that join nothing but sidewalks and crossings: raised ground inside a junction's polygon.

        Where walkers share a lane with vehicles, the walking area is the junction's carriageway itself.
        """
        shared = set()
        for connection in self.connections:
            for one, other in (
                (connection.from_lane, connection.to_lane),
                (connection.to_lane, connection.from_lane),
            ):
                area, lane = self.lanes[one], self.lanes[other]
                if area.kind == "walkingarea" and lane.kind == "normal" and not lane.is_sidewalk:
                    shared.add(one)
        return tuple(lane for lane in self.walking_areas if lane.id not in shared)

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """Smallest box around all lanes (x from, y from, x to, y to)."""
        low = np.min([lane.shape.points.min(axis=0) for lane in self.lanes.values()], axis=0)
        high = np.max([lane.shape.points.max(axis=0) for lane in self.lanes.values()], axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    # --- geographic coordinates --------------------------------------------------------------------------------------

    @cached_property
    def _projection(self) -> Any:
        if self._projection_text is None:
            raise ScenarioError(
                f"{self.path}: <location projParameter> states no projection, longitude and latitude cannot be used; "
                "give positions as x and y"
            )
        from pyproj import Proj  # takes as long to import as a net to load, and only some scenarios need it

        return Proj(self._projection_text)

    def lonlat_to_xy(self, lon: float, lat: float) -> tuple[float, float]:
        """World position (m) of a longitude and latitude (degrees), by the net's own projection and offset.

        Raises:
            ScenarioError: the net has no projection, or the place lies outside its domain.
        """
        x, y = self._projection(lon, lat)
        if not (math.isfinite(x) and math.isfinite(y)):
            raise ScenarioError(f"{self.path}: longitude {lon}, latitude {lat} lies outside the net's projection")
        return x + self.net_offset[0], y + self.net_offset[1]

    def xy_to_lonlat(self, x: float, y: float) -> tuple[float, float]:
        """Longitude and latitude (degrees) of a world position (m); inverse of `lonlat_to_xy`.

        Raises:
            ScenarioError: the net has no projection.
        """
        lon, lat = self._projection(x - self.net_offset[0], y - self.net_offset[1], inverse=True)
        return lon, lat

    # --- places ------------------------------------------------------------------------------------------------------

    def lane_pose(self, lane_id: str, pos: float, left: float = 0.0) -> Pose:
        """Pose at the lane position `pos` (m; negative counts from the end), `left` metres to the left of the centre.

        Raises:
            ScenarioError: no such lane, or `pos` beyond its ends.
        """
        lane = self.lane(lane_id)
        if not -lane.length - 0.05 <= pos <= lane.length + 0.05:  # SUMO rounds lengths to centimetres
            raise ScenarioError(
                f"{self.path}: position {pos:.2f} m lies beyond lane {lane_id!r}, which is {lane.length:.2f} m long; "
                f"give a value between {-lane.length:.2f} and {lane.length:.2f}"
            )
        pose = lane.shape.at(lane.arc(pos if pos >= 0 else lane.length + pos))
        return Pose(*pose.to_world(0.0, left), pose.yaw) if left else pose

    def on_road(self, x: float, y: float, vclass: str = "passenger") -> bool:
        """Whether (x, y) lies on a lane that allows `vclass`, internal lanes included, or in a junction of such lanes.

        A few microseconds per call after the first one, which builds the grid.
        """
        area = self._drivable.get(vclass)
        if area is None:
            area = self._drivable[vclass] = self._build_drivable(vclass)
        return area.contains(x, y)

    def _build_drivable(self, vclass: str) -> DrivableArea:
        walks = vclass in FOOT_CLASSES
        kinds = ("normal", "internal", "crossing") if walks else ("normal", "internal")
        lanes = [lane for lane in self.lanes.values() if lane.kind in kinds and lane.allows(vclass)]
        if walks:
            return DrivableArea(lanes, [lane.shape.points for lane in self.walking_areas])
        ways: dict[str, list[Lane]] = defaultdict(list)
        """Junction -> lanes that lead through it, or up to it in nets without internal lanes."""
        for lane in lanes:
            edge = self.edges[lane.edge_id]
            if lane.kind == "internal" or any(c.via is None for c in self.connections_from(lane.id)):
                ways[edge.to_node].append(lane)
        corners = shapely.STRtree([shapes.polygon(corner.shape.points) for corner in self.sidewalk_corners])
        outlines = []
        for node, through in ways.items():
            if node in self.junctions:
                outlines += _carriageway(self.junctions[node], corners, through)
        return DrivableArea(lanes, outlines)

    def nearest_lanes(
        self, x: float, y: float, radius: float, vclass: str = "passenger", internal: bool = False
    ) -> list[LaneHit]:
        """Lanes for `vclass` whose centre line comes within `radius` metres of (x, y), nearest first.

        Lanes inside junctions are left out unless `internal`; ties keep the order of the net.
        """
        index = self._indices.get((vclass, internal))
        if index is None:
            kinds = ("normal", "internal") if internal else ("normal",)
            lanes = [lane for lane in self.lanes.values() if lane.kind in kinds and lane.allows(vclass)]
            index = self._indices[vclass, internal] = LaneIndex(lanes, [lane.shape.points for lane in lanes])
        return [
            LaneHit(lane, distance, lane.pos(lane.shape.project(x, y).arc))
            for distance, lane in index.near(x, y, radius)
        ]

    # --- looks -------------------------------------------------------------------------------------------------------

    def road_areas(self) -> tuple[Surface, ...]:
        """The ground of the roads, kind by kind, as triangles that do not overlap; kept in the cache folder."""
        if self._areas is None:
            name = f"areas-{self.sha256[:16]}-{code_digest(surfaces, shapes)}"
            arrays = cached_arrays(name, lambda: {s.kind: s.triangles for s in surfaces.road_areas(self)})
            self._areas = tuple(Surface(cast(SurfaceKind, kind), triangles) for kind, triangles in arrays.items())
        return self._areas

    def markings(self) -> tuple[Marking, ...]:
        """Everything painted on the roads, kind by kind, as triangles; kept in the cache folder."""
        if self._markings is None:
            name = f"markings-{self.sha256[:16]}-{code_digest(markings, shapes)}"
            arrays = cached_arrays(name, lambda: {m.kind: m.triangles for m in markings.road_markings(self)})
            self._markings = tuple(
                Marking(cast(MarkingKind, kind), markings.WHITE, triangles) for kind, triangles in arrays.items()
            )
        return self._markings

    # --- ways --------------------------------------------------------------------------------------------------------

    def successors(self, vclass: str = "passenger") -> Mapping[str, Mapping[str, float]]:
        """For every normal edge: the next edges for `vclass`, with the length of the way through the junction (m)."""
        found = self._successors.get(vclass)
        if found is None:
            found = self._successors[vclass] = routing.successors(self, vclass)
        return found

    def shortest_path(self, from_edge: str, to_edge: str, vclass: str = "passenger") -> list[str] | None:
        """Edges from one edge to another, both included, shortest in metres; None where there is no way.

        Raises:
            ScenarioError: an edge does not exist.
        """
        self.edge(from_edge), self.edge(to_edge)
        return routing.shortest_path(self, self.successors(vclass), from_edge, to_edge)

    def route_lanes(
        self, edges: Sequence[str], lanes_wanted: Mapping[str, int] | None = None, vclass: str = "passenger"
    ) -> list[routing.LaneChoice]:
        """Lanes on which a route along `edges` enters and leaves each edge: the wanted ones where they continue the
        route, then few lane changes, then the rightmost.

        Raises:
            ScenarioError: an edge or lane does not exist or is not for `vclass`, or two edges do not connect.
        """
        return routing.route_lanes(self, edges, lanes_wanted or {}, vclass)

    def route_polyline(
        self,
        edges: Sequence[str],
        start_xy: tuple[float, float] | None = None,
        goal_xy: tuple[float, float] | None = None,
        lanes: Mapping[str, int] | None = None,
        vclass: str = "passenger",
    ) -> Polyline:
        """Line a vehicle drives along `edges`: lane centres, the internal lanes of junctions, smooth lane changes; from
        the projection of `start_xy` to that of `goal_xy` (None: the ends of the route).

        Raises:
            ScenarioError: as `route_lanes`, or the goal does not lie ahead of the start.
        """
        return routing.route_polyline(self, edges, start_xy, goal_xy, lanes or {}, vclass)

    def edge_polyline(
        self, edges: Sequence[str], start_xy: tuple[float, float], goal_xy: tuple[float, float]
    ) -> Polyline:
        """The release's reference line (facts §3.7): centre lines of `edges` joined through the node points, cut
        between the projections of the start and of the goal.

        Raises:
            ScenarioError: an edge does not exist, or the goal does not lie ahead of the start.
        """
        return routing.edge_polyline(self, edges, start_xy, goal_xy)


def _carriageway(junction: Junction, corners: shapely.STRtree, lanes: Sequence[Lane]) -> list[NDArray[np.float64]]:
    """Outlines of the parts of a junction, less the sidewalk corners of all junctions, that `lanes` touch."""
    if len(junction.polygon) < 3:
        return []
    whole = shapes.polygon(junction.polygon)
    raised = corners.geometries[corners.query(whole, predicate="intersects")]
    if len(raised) == 0:
        return [junction.polygon]
    rest = shapes.opened(shapes.without(whole, shapes.union(raised)), surfaces.SLIT)
    ways = shapely.MultiLineString([lane.shape.points for lane in lanes])
    touched = shapes.union(part for part in shapely.get_parts(rest) if shapely.intersects(part, ways))
    return list(shapes.triangulate(touched))  # corners may be islands, that is holes


def load_network(path: Path | str) -> RoadNetwork:
    """Road network of a SUMO net file, one object per process and version of the file.

    Raises:
        ScenarioError: the file is missing or is not a readable SUMO net.
    """
    path = Path(path)
    try:
        stat = path.stat()
        return _load(path.resolve(), stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise ScenarioError(f"{path}: the road network cannot be read ({error.strerror}); check the path") from None


@lru_cache(maxsize=8)
def _load(path: Path, size: int, modified: int) -> RoadNetwork:
    data = path.read_bytes()
    return RoadNetwork(path, hashlib.sha256(data).hexdigest(), read_net(data, path))
