"""Flat shapes out of lines: parallels, ribbons, dashes, triangles. Points are (N, 2), triangles (T, 3, 2), metres."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from drivehierarchy_gym.geometry import Polyline

Points = NDArray[np.float64]
Triangles = NDArray[np.float64]

MITRE_LIMIT = 3.0
"""A parallel's corner lies at most this many times its distance from the corner of the line."""


def no_triangles() -> Triangles:
    return np.empty((0, 3, 2))


def offset(points: Points, left: float) -> Points:
    """Line parallel to `points` at `left` metres to its left (negative: right), corner for corner."""
    steps = np.diff(points, axis=0)
    normals = np.column_stack((-steps[:, 1], steps[:, 0])) / np.hypot(steps[:, 0], steps[:, 1])[:, None]
    before, after = np.vstack((normals[:1], normals)), np.vstack((normals, normals[-1:]))
    mean = before + after
    # |mean|²/2 = 1 + cos(turn), so mean / that is the mitre: its part along either normal is 1
    mitre = mean / np.maximum(np.square(mean).sum(axis=1) / 2, 2 / MITRE_LIMIT**2)[:, None]
    return points + left * mitre


def ribbon(points: Points, width: float) -> Triangles:
    """Two triangles for every segment of a line of the given width, counter-clockwise; fewer where it bends sharply."""
    left, right = offset(points, width / 2), offset(points, -width / 2)
    a, b, c, d = right[:-1], right[1:], left[1:], left[:-1]
    return upright(np.concatenate((np.stack((a, b, c), axis=1), np.stack((a, c, d), axis=1))))


def dashes(line: Polyline, on: float, off: float) -> list[Points]:
    """Parts of `line` that are `on` metres long with gaps of about `off`, a whole number of them, gaps at both ends
    half as long; the whole line where it is shorter than one, nothing where it is shorter than half of one."""
    if line.length <= on:
        return [line.points] if line.length >= on / 2 else []
    count = max(round(line.length / (on + off)), 1)
    step = line.length / count
    first = (step - min(on, step)) / 2
    return [line.cut(first + i * step, first + i * step + on).points for i in range(count)]


def quad(a: Sequence[float], b: Sequence[float], c: Sequence[float], d: Sequence[float]) -> Triangles:
    """Two triangles of the convex quadrilateral a, b, c, d."""
    return np.array([(a, b, c), (a, c, d)], dtype=np.float64)


def union(areas: Iterable[shapely.Geometry]) -> shapely.Geometry:
    """All areas as one; an empty polygon where there are none."""
    parts = [area for area in areas if not area.is_empty]
    return shapely.union_all(parts) if parts else shapely.Polygon()


def without(area: shapely.Geometry, cut: shapely.Geometry) -> shapely.Geometry:
    """The polygons of `area` less those of `cut`."""
    return polygons(shapely.difference(area, cut))


def polygons(area: shapely.Geometry) -> shapely.Geometry:
    """The polygons of `area`, without the lines and points that operations on touching areas leave behind."""
    parts = [area]
    while any(part.geom_type in ("GeometryCollection", "MultiPolygon") for part in parts):
        parts = [piece for part in parts for piece in shapely.get_parts(part)]
    return union(part for part in parts if part.geom_type == "Polygon")


def polygon(outline: Points) -> shapely.Geometry:
    """Polygon of an outline, mended where it crosses itself; empty where it has no area."""
    if len(outline) < 3:
        return shapely.Polygon()
    return polygons(shapely.make_valid(shapely.Polygon(outline)))


def closed(area: shapely.Geometry, width: float) -> shapely.Geometry:
    """`area` with its slits narrower than `width` metres filled."""
    return polygons(shapely.buffer(shapely.buffer(area, width / 2, join_style="mitre"), -width / 2, join_style="mitre"))


def opened(area: shapely.Geometry, width: float) -> shapely.Geometry:
    """`area` without its parts narrower than `width` metres."""
    return polygons(shapely.buffer(shapely.buffer(area, -width / 2, join_style="mitre"), width / 2, join_style="mitre"))


def triangulate(area: shapely.Geometry) -> Triangles:
    """Triangles that cover the polygons of `area` exactly, holes left out, counter-clockwise."""
    parts = [part for part in shapely.get_parts(polygons(area)) if part.area > 1e-6]
    if not parts:
        return no_triangles()
    pieces = shapely.get_parts(shapely.constrained_delaunay_triangles(np.array(parts)))
    return upright(shapely.get_coordinates(pieces).reshape(-1, 4, 2)[:, :3])


def upright(triangles: Triangles) -> Triangles:
    """The same triangles, all counter-clockwise, those without an area dropped."""
    u, v = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    area2 = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    turned = triangles.copy()
    turned[area2 < 0] = triangles[area2 < 0][:, ::-1]
    return turned[np.abs(area2) > 1e-9]


def joined(parts: Iterable[Triangles]) -> Triangles:
    """All triangles of the parts as one array."""
    return np.concatenate([no_triangles(), *parts])


def chains(lines: Sequence[Points], reach: float, turn: float) -> list[Polyline]:
    """Directed lines joined end to start where the start lies within `reach` metres and turns at most `turn` radians.

    Every line is used once; each end takes the nearest start that is still free, in the order given.
    """
    starts: dict[tuple[int, int], list[int]] = {}
    for i, line in enumerate(lines):
        starts.setdefault((int(line[0, 0] // reach), int(line[0, 1] // reach)), []).append(i)
    following: dict[int, int] = {}
    taken: set[int] = set()
    for i, line in enumerate(lines):
        end, heading = line[-1], line[-1] - line[-2]
        column, row = int(end[0] // reach), int(end[1] // reach)
        near = [j for a in (-1, 0, 1) for b in (-1, 0, 1) for j in starts.get((column + a, row + b), ())]
        best, best_distance = -1, reach
        for j in near:
            distance = float(np.hypot(*(lines[j][0] - end)))
            if j != i and j not in taken and distance < best_distance and _turn(heading, lines[j]) <= turn:
                best, best_distance = j, distance
        if best >= 0:
            following[i] = best
            taken.add(best)
    first = [i for i in range(len(lines)) if i not in taken]
    joined_lines, used = [], set()
    for i in [*first, *range(len(lines))]:  # the second round opens closed loops at their first line
        parts = []
        while i not in used:
            used.add(i)
            parts.append(lines[i])
            i = following.get(i, i)
        if parts:
            joined_lines.append(Polyline.through(np.vstack(parts), tolerance=0.05))
    return joined_lines


def _turn(heading: Points, line: Points) -> float:
    onward = line[1] - line[0]
    cross = heading[0] * onward[1] - heading[1] * onward[0]
    return float(abs(np.arctan2(cross, heading @ onward)))
