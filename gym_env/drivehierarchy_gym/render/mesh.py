"""Triangle meshes and the shapes they are put together from.

Mesh frame: x forward, y left, z up from the ground, metres. Triangles run counter-clockwise seen from outside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]
Point = tuple[float, float, float]

WHITE: Colour = (255, 255, 255)


class Slot(IntEnum):
    """What the instance decides: the colour of a triangle is its own times that of its slot."""

    FIXED = 0
    BODY = 1
    """Livery of a vehicle, jacket of a person."""
    LOWER = 2
    """Trousers."""
    SKIN = 3
    HAIR = 4
    HEADLAMP = 5
    TAIL_LAMP = 6
    BRAKE_LAMP = 7
    LEFT_INDICATOR = 8
    RIGHT_INDICATOR = 9
    BEACON = 10
    RED = 11
    AMBER = 12
    GREEN = 13


@dataclass(frozen=True, eq=False)
class Mesh:
    """`corners` (T, 3, 3) float64, unit `normals` (T, 3), `colours` (T, 3) float64 in 0-255, `slots` (T,) uint8."""

    corners: NDArray[np.float64]
    normals: NDArray[np.float64]
    colours: NDArray[np.float64]
    slots: NDArray[np.uint8]

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest coordinates (3,), (3,)."""
        return self.corners.min(axis=(0, 1)), self.corners.max(axis=(0, 1))


def unit_normals(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit normals (T, 3) of triangles (T, 3, 3); zero for those without an area."""
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    x = a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]
    y = a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]
    z = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    length = np.sqrt(x * x + y * y + z * z)
    return np.stack([x, y, z], axis=1) / np.where(length > 0, length, 1.0)[:, None]


def turn(i: int, n: int) -> tuple[float, float]:
    """Cosine and sine of the i-th of n equal parts of a full turn, rounded to be the same with every math library."""
    angle = math.tau * i / n
    return round(math.cos(angle), 12), round(math.sin(angle), 12)


def cross_section(x: float, y: tuple[float, float], z: tuple[float, float]) -> list[Point]:
    """A rectangle across, as a ring of `MeshBuilder.hull`."""
    return [(x, y[1], z[1]), (x, y[1], z[0]), (x, y[0], z[0]), (x, y[0], z[1])]


class MeshBuilder:
    """Collects triangles. Every shape takes its colour and, optionally, its slot."""

    def __init__(self) -> None:
        self._corners: list[tuple[Point, Point, Point]] = []
        self._colours: list[Colour] = []
        self._slots: list[int] = []

    def build(self) -> Mesh:
        corners = np.array(self._corners, dtype=np.float64)
        return Mesh(
            corners,
            unit_normals(corners),
            np.array(self._colours, dtype=np.float64),
            np.array(self._slots, dtype=np.uint8),
        )

    def triangle(self, a: Point, b: Point, c: Point, colour: Colour, slot: Slot = Slot.FIXED) -> None:
        self._corners.append((a, b, c))
        self._colours.append(colour)
        self._slots.append(int(slot))

    def face(self, points: Sequence[Point], colour: Colour, slot: Slot = Slot.FIXED) -> None:
        """A flat convex polygon, counter-clockwise seen from outside."""
        for i in range(1, len(points) - 1):
            self.triangle(points[0], points[i], points[i + 1], colour, slot)

    def pane(
        self,
        face: tuple[Point, Point, Point, Point],
        span: tuple[float, float, float, float],
        colour: Colour,
        slot: Slot = Slot.FIXED,
        lift: float = 0.012,
    ) -> None:
        """A rectangle on a four-cornered face, `lift` metres above it: window, lamp, plate.

        The face is given as bottom left, bottom right, top right, top left seen from outside; `span` = (left, right,
        bottom, top) are fractions of it.
        """
        a, b, c, d = (np.array(point) for point in face)
        normal = np.cross(b - a, d - a)
        normal = normal / math.sqrt(float(np.sum(normal * normal)))
        left, right, bottom, top = span

        def at(u: float, v: float) -> Point:
            point = (a + u * (b - a)) * (1 - v) + (d + u * (c - d)) * v + lift * normal
            return float(point[0]), float(point[1]), float(point[2])

        self.face([at(left, bottom), at(right, bottom), at(right, top), at(left, top)], colour, slot)

    def hull(
        self,
        rings: Sequence[Sequence[Point]],
        colour: Colour,
        slot: Slot = Slot.FIXED,
        *,
        caps: bool = True,
    ) -> None:
        """Skin through rings of equally many points, which run counter-clockwise seen along the way."""
        for ring, following in itertools.pairwise(rings):
            for i in range(len(ring)):
                j = (i + 1) % len(ring)
                self.face([ring[i], following[i], following[j], ring[j]], colour, slot)
        if caps:
            self.face(list(rings[0]), colour, slot)
            self.face(list(rings[-1])[::-1], colour, slot)

    def box(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        z: tuple[float, float],
        colour: Colour,
        slot: Slot = Slot.FIXED,
    ) -> None:
        """Box with sides along the axes."""
        self.hull([cross_section(end, y, z) for end in x], colour, slot)

    def limb(
        self,
        start: Point,
        end: Point,
        thickness: tuple[float, float],
        colour: Colour,
        slot: Slot = Slot.FIXED,
        sides: int = 5,
    ) -> None:
        """A round bar from `start` to `end`, with the radii it has there: pole, arm, leg, tube."""
        a, b = np.array(start), np.array(end)
        axis = b - a
        axis = axis / math.sqrt(float(np.sum(axis * axis)))
        helper = np.array([0.0, 1.0, 0.0]) if abs(axis[1]) < 0.8 else np.array([1.0, 0.0, 0.0])
        u = np.cross(axis, helper)
        u = u / math.sqrt(float(np.sum(u * u)))
        v = np.cross(axis, u)
        rings = []
        for centre, radius in ((a, thickness[0]), (b, thickness[1])):
            ring = []
            for i in range(sides):
                c, s = turn(i, sides)
                point = centre + radius * (c * u + s * v)
                ring.append((float(point[0]), float(point[1]), float(point[2])))
            rings.append(ring[::-1])
        self.hull(rings, colour, slot)

    def wheel(
        self, x: float, y: float, radius: float, width: float, *, hub: Colour = (150, 152, 156), sides: int = 10
    ) -> None:
        """A wheel that stands on the ground with its axle across, hub on both faces; `y` is its middle."""
        tyre: Colour = (28, 28, 30)
        half = width / 2

        def ring(side: float, r: float) -> list[Point]:
            return [(x + r * c, y + side, radius + r * s) for c, s in (turn(i, sides) for i in range(sides))]

        self.hull([ring(-half, radius), ring(half, radius)], tyre)
        self.face(ring(half + 0.008, radius * 0.58)[::-1], hub)
        self.face(ring(-half - 0.008, radius * 0.58), hub)

    def ball(
        self, centre: Point, radii: Point, colour: Colour, slot: Slot = Slot.FIXED, *, sides: int = 6, rows: int = 4
    ) -> None:
        """An ellipsoid of `rows` bands: head, crown of a tree."""
        rings = []
        for row in range(1, rows):
            c, s = turn(row, 2 * rows)
            rings.append(
                [
                    (centre[0] + radii[0] * s * cu, centre[1] + radii[1] * s * su, centre[2] - radii[2] * c)
                    for cu, su in (turn(i, sides) for i in range(sides))
                ]
            )
        bottom = (centre[0], centre[1], centre[2] - radii[2])
        top = (centre[0], centre[1], centre[2] + radii[2])
        for i in range(sides):
            j = (i + 1) % sides
            self.triangle(bottom, rings[0][j], rings[0][i], colour, slot)
            self.triangle(top, rings[-1][i], rings[-1][j], colour, slot)
        for lower, upper in itertools.pairwise(rings):
            for i in range(sides):
                j = (i + 1) % sides
                self.face([lower[i], lower[j], upper[j], upper[i]], colour, slot)
