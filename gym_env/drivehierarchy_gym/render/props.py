"""Meshes of things that stand: cones, barriers, traffic signals, signs, trees."""

from __future__ import annotations

import itertools

from drivehierarchy_gym.render.mesh import WHITE, Colour, MeshBuilder, Point, Slot, turn
from drivehierarchy_gym.render.noise import hash_unit

STEEL: Colour = (136, 140, 144)
REFLECTIVE: Colour = (246, 246, 246)


def _square(half: float, z: float) -> list[Point]:
    return [(half, half, z), (half, -half, z), (-half, -half, z), (-half, half, z)]


def _circle(radius: float, z: float, sides: int) -> list[Point]:
    return [(radius * c, radius * s, z) for c, s in (turn(-i, sides) for i in range(sides))]


def cone() -> MeshBuilder:
    """A traffic cone with two reflective bands."""
    b = MeshBuilder()
    b.hull([_square(0.18, 0.0), _square(0.17, 0.04)], (52, 48, 46))
    levels = ((0.145, 0.04), (0.118, 0.20), (0.092, 0.36), (0.074, 0.46), (0.053, 0.58), (0.028, 0.72))
    for i, ((r0, z0), (r1, z1)) in enumerate(itertools.pairwise(levels)):
        rings = [_circle(r0, z0, 8), _circle(r1, z1, 8)]
        if i % 2:
            b.hull(rings, REFLECTIVE, caps=False)
        else:
            b.hull(rings, WHITE, Slot.BODY, caps=i == 4)
    return b


def barrier() -> MeshBuilder:
    """A barricade across: two boards with slanted stripes on both faces, feet, and a lamp at each end."""
    b = MeshBuilder()
    half = 1.0
    for y in (-0.72, 0.72):
        b.box((-0.225, 0.225), (y - 0.05, y + 0.05), (0.0, 0.08), (60, 60, 62))
        b.box((-0.03, 0.03), (y - 0.04, y + 0.04), (0.08, 0.90), STEEL)
        b.box((-0.05, 0.05), (y - 0.07, y + 0.07), (0.90, 1.0), (250, 170, 30))
    for z0, z1 in ((0.30, 0.54), (0.62, 0.86)):
        b.box((-0.045, 0.045), (-half, half), (z0, z1), REFLECTIVE)
        slant, count = z1 - z0, 5
        pitch = 2 * half / count
        for i in range(count):
            left = -half + i * pitch
            stripe = [
                (left, z0),
                (left + pitch / 2, z0),
                (left + pitch / 2 + slant * 0.4, z1),
                (left + slant * 0.4, z1),
            ]
            stripe = [(min(y, half), z) for y, z in stripe]
            b.face([(0.05, y, z) for y, z in stripe], WHITE, Slot.BODY)
            b.face([(-0.05, y, z) for y, z in reversed(stripe)], WHITE, Slot.BODY)
    return b


SIGNAL_HEAD_HEIGHT = 0.96


def signal_pole() -> MeshBuilder:
    """Pole of a traffic signal, 1 m high: instances scale it."""
    b = MeshBuilder()
    b.limb((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.075, 0.06), (92, 96, 100), sides=6)
    return b


def signal_arm() -> MeshBuilder:
    """Arm over the road, from the origin 1 m to the left: instances scale it."""
    b = MeshBuilder()
    b.limb((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.06, 0.05), (92, 96, 100), sides=5)
    return b


def signal_head() -> MeshBuilder:
    """Three lamps that look back along the lane (towards -x), centre at the origin, before a dark board."""
    b = MeshBuilder()
    case: Colour = (26, 28, 28)
    h, w = SIGNAL_HEAD_HEIGHT / 2, 0.17
    b.box((-0.09, 0.10), (-w, w), (-h, h), case)
    board = [(0.03, y, z) for y, z in ((-0.29, -h - 0.12), (-0.29, h + 0.12), (0.29, h + 0.12), (0.29, -h - 0.12))]
    b.face(board, (14, 15, 15))
    b.face(board[::-1], (14, 15, 15))
    for slot, z in ((Slot.RED, 0.30), (Slot.AMBER, 0.0), (Slot.GREEN, -0.30)):
        lens = [(-0.10, 0.14 * c, z + 0.14 * s) for c, s in (turn(i, 10) for i in range(10))]
        b.face(lens[::-1], WHITE, slot)
        b.face(
            [(-0.10, 0.15, z + 0.10), (-0.10, -0.15, z + 0.10), (-0.26, -0.13, z + 0.13), (-0.26, 0.13, z + 0.13)], case
        )
        b.face(
            [(-0.26, 0.13, z + 0.13), (-0.26, -0.13, z + 0.13), (-0.10, -0.15, z + 0.10), (-0.10, 0.15, z + 0.10)], case
        )
    return b


def sign_stop() -> MeshBuilder:
    """An octagonal stop sign on its pole, facing back along the lane; a white bar stands for its letters."""
    b = _sign_pole(2.6)
    disc = [turn(2 * i + 1, 16) for i in range(8)]
    _board(b, [(0.40 * c, 0.40 * s) for c, s in disc], REFLECTIVE, 2.25, 0.0)
    _board(b, [(0.37 * c, 0.37 * s) for c, s in disc], (190, 22, 28), 2.25, 0.012)
    for left in (-0.27, -0.12, 0.03, 0.18):  # four letters
        _board(b, [(left, -0.08), (left + 0.10, -0.08), (left + 0.10, 0.08), (left, 0.08)], REFLECTIVE, 2.25, 0.024)
    return b


def sign_yield() -> MeshBuilder:
    """A yield sign: white triangle on its tip, red border."""
    b = _sign_pole(2.6)
    _board(b, [(0.0, -0.46), (0.50, 0.40), (-0.50, 0.40)], (196, 24, 30), 2.20, 0.0)
    _board(b, [(0.0, -0.24), (0.30, 0.28), (-0.30, 0.28)], REFLECTIVE, 2.20, 0.012)
    return b


def _sign_pole(height: float) -> MeshBuilder:
    b = MeshBuilder()
    b.limb((0.05, 0.0, 0.0), (0.05, 0.0, height), (0.035, 0.035), STEEL, sides=5)
    return b


def _board(b: MeshBuilder, outline: list[tuple[float, float]], colour: Colour, height: float, lift: float) -> None:
    """A flat board that looks towards -x; `outline` (right, up) counter-clockwise as it is read; grey from behind."""
    b.face([(-lift, -right, height + up) for right, up in outline], colour)
    if lift == 0.0:
        b.face([(0.004, -right, height + up) for right, up in reversed(outline)], (150, 152, 154))


TREE_HEIGHT = 8.0
"""Height that tree meshes are modelled with; instances scale it."""


def broadleaf(variant: int, *, detail: bool) -> MeshBuilder:
    """A tree with a round crown of several lumps; without `detail`, one lump."""
    b = MeshBuilder()
    trunk: Colour = (92, 72, 54)
    b.limb((0.0, 0.0, 0.0), (0.0, 0.0, 3.6), (0.20, 0.12), trunk, sides=6 if detail else 4)
    lumps: list[tuple[Point, Point]] = [((0.0, 0.0, 5.6), (2.1, 2.1, 2.4))]
    if detail:
        for i in range(4):
            c, s = turn(i * 4 + variant, 16)
            away, up = 1.15 + 0.3 * hash_unit(variant, i, 1), 4.5 + 1.9 * hash_unit(variant, i, 2)
            size = 1.25 + 0.45 * hash_unit(variant, i, 3)
            lumps.append(((away * c, away * s, up), (size, size, size * 0.9)))
    for i, (centre, radii) in enumerate(lumps):
        tone = 0.88 + 0.24 * hash_unit(variant, i, 4)
        colour = (int((80 + 15 * (variant % 3)) * tone), int((126 + 8 * (variant % 2)) * tone), int(54 * tone))
        _lump(b, centre, radii, colour, variant * 16 + i, *((8, 6) if detail else (6, 4)))
    return b


def conifer(variant: int, *, detail: bool) -> MeshBuilder:
    """A fir: three cones one above the other."""
    b = MeshBuilder()
    b.limb((0.0, 0.0, 0.0), (0.0, 0.0, 2.0), (0.18, 0.15), (84, 66, 50), sides=5 if detail else 4)
    sides = 9 if detail else 6
    for i, (z0, z1, radius) in enumerate(((1.2, 4.2, 1.7), (3.0, 6.2, 1.35), (5.0, 8.0, 0.9))):
        ring = [(radius * c, radius * s, z0) for c, s in (turn(k, sides) for k in range(sides))]
        for k in range(sides):
            tone = 0.85 + 0.3 * hash_unit(variant, i, k)
            colour = (int(52 * tone), int(96 * tone), int(58 * tone))
            b.triangle(ring[k], ring[(k + 1) % sides], (0.0, 0.0, z1), colour)
        b.face(ring[::-1], (34, 60, 38))
    return b


def _lump(b: MeshBuilder, centre: Point, radii: Point, colour: Colour, seed: int, sides: int, rows: int) -> None:
    """A ball of leaves: every facet has its own tone and the surface is uneven."""
    rings: list[list[Point]] = []
    for row in range(1, rows):
        c, s = turn(row, 2 * rows)
        ring = []
        for i in range(sides):
            cu, su = turn(2 * i + row % 2, 2 * sides)
            swell = 0.88 + 0.24 * hash_unit(seed, row, i)
            ring.append(
                (
                    centre[0] + radii[0] * s * cu * swell,
                    centre[1] + radii[1] * s * su * swell,
                    centre[2] - radii[2] * c * swell,
                )
            )
        rings.append(ring)
    bottom, top = (centre[0], centre[1], centre[2] - radii[2]), (centre[0], centre[1], centre[2] + radii[2])

    def leaf(a: Point, c: Point, d: Point, key: int) -> None:
        tone = 0.86 + 0.28 * hash_unit(seed, key, 7)
        b.triangle(a, c, d, (int(colour[0] * tone), int(colour[1] * tone), int(colour[2] * tone)))

    for i in range(sides):
        j = (i + 1) % sides
        leaf(bottom, rings[0][j], rings[0][i], i)
        leaf(top, rings[-1][i], rings[-1][j], 100 + i)
    for row, (lower, upper) in enumerate(itertools.pairwise(rings)):
        for i in range(sides):
            j = (i + 1) % sides
            leaf(lower[i], lower[j], upper[j], 200 + row * 50 + 2 * i)
            leaf(lower[i], upper[j], upper[i], 201 + row * 50 + 2 * i)
