"""Meshes of pedestrians, riders and their two-wheelers, in several phases of a step or of a turn of the pedals."""

from __future__ import annotations

import math

from drivehierarchy_gym.render.mesh import WHITE, Colour, MeshBuilder, Point, Slot, turn

PHASES = 8
"""Phases of one walking cycle (two steps) or one turn of the pedals."""
STRIDE = 1.4
"""Metres walked in one cycle."""
PEDAL_TURN = 5.0
"""Metres ridden per turn of the pedals."""

SHOE: Colour = (40, 36, 36)
TYRE: Colour = (28, 28, 30)
STEEL: Colour = (150, 152, 156)


def _ring(centre: Point, radii: tuple[float, float], sides: int = 8) -> list[Point]:
    """A level ellipse, as a ring of a hull that goes up."""
    return [
        (centre[0] + radii[0] * c, centre[1] + radii[1] * s, centre[2])
        for c, s in (turn(-i, sides) for i in range(sides))
    ]


def _head(b: MeshBuilder, at: Point, *, helmet: Colour | None = None) -> None:
    x, y, z = at
    b.limb((x, y, z - 0.20), (x, y, z - 0.08), (0.055, 0.055), WHITE, Slot.SKIN)
    b.ball((x, y, z), (0.105, 0.085, 0.125), WHITE, Slot.SKIN, sides=8, rows=5)
    if helmet is None:
        b.ball((x - 0.022, y, z + 0.030), (0.105, 0.097, 0.108), WHITE, Slot.HAIR, sides=8, rows=5)
    else:
        b.ball((x - 0.01, y, z + 0.035), (0.145, 0.115, 0.12), helmet, sides=8, rows=5)


def _bent(start: Point, end: Point, lengths: tuple[float, float], forward: float) -> Point:
    """Where knee or elbow is when a limb of two parts reaches from `start` to `end`; bends ahead (1) or back (-1)."""
    dx, dz = end[0] - start[0], end[2] - start[2]
    reach = min(math.sqrt(dx * dx + dz * dz), lengths[0] + lengths[1] - 1e-6)
    along = (lengths[0] ** 2 - lengths[1] ** 2 + reach * reach) / (2 * reach)
    aside = math.sqrt(max(lengths[0] ** 2 - along * along, 0.0)) * forward
    ux, uz = dx / reach, dz / reach
    middle = (start[1] + end[1]) / 2
    return start[0] + along * ux - aside * uz, middle, start[2] + along * uz + aside * ux


def pedestrian(phase: int | None) -> MeshBuilder:
    """A person in one of `PHASES` phases of walking; None stands."""
    b = MeshBuilder()
    swing, lift = (0.0, 0.0) if phase is None else turn(phase, PHASES)
    hip, shoulder = 0.92, 1.43
    for sign in (1, -1):
        forward = 0.13 * swing * sign
        # The foot that moves ahead is off the ground.
        raised = 0.0 if phase is None else 0.09 * max(-lift * sign, 0.0)
        start, foot = (0.0, 0.10 * sign, hip), (forward, 0.10 * sign, 0.08 + raised)
        knee = _bent(start, foot, (0.43, 0.43), 1.0)
        b.limb(start, knee, (0.095, 0.07), WHITE, Slot.LOWER, sides=6)
        b.limb(knee, foot, (0.07, 0.05), WHITE, Slot.LOWER, sides=6)
        b.box((forward - 0.09, forward + 0.15), (0.10 * sign - 0.05, 0.10 * sign + 0.05), (raised, raised + 0.09), SHOE)
        arm = -0.14 * swing * sign
        at = (0.0, 0.225 * sign, shoulder - 0.05)
        hand = (0.04 + arm, 0.25 * sign, 0.86 + abs(arm) * 0.15)
        elbow = _bent(at, hand, (0.29, 0.29), -1.0)
        b.limb(at, elbow, (0.062, 0.05), WHITE, Slot.BODY)
        b.limb(elbow, hand, (0.05, 0.04), WHITE, Slot.BODY)
        b.ball((hand[0], hand[1], hand[2] - 0.05), (0.045, 0.035, 0.06), WHITE, Slot.SKIN, sides=5, rows=3)
    b.hull(
        [
            _ring((0.0, 0.0, hip - 0.06), (0.115, 0.165)),
            _ring((0.0, 0.0, hip + 0.10), (0.11, 0.155)),
            _ring((0.01, 0.0, shoulder - 0.12), (0.125, 0.20)),
            _ring((0.0, 0.0, shoulder), (0.10, 0.185)),
            _ring((0.0, 0.0, shoulder + 0.05), (0.06, 0.07)),
        ],
        WHITE,
        Slot.BODY,
    )
    _head(b, (0.015, 0.0, 1.625))
    return b


def _spoked_wheel(b: MeshBuilder, x: float, radius: float, tyre: float, width: float, sides: int = 14) -> None:
    """A wheel to look through: rim and tyre as a flat ring, two pairs of spokes."""

    def ring(side: float, r: float) -> list[Point]:
        return [(x + r * c, side, radius + r * s) for c, s in (turn(i, sides) for i in range(sides))]

    h = width / 2
    loops = [ring(-h, radius), ring(h, radius), ring(h, radius - tyre), ring(-h, radius - tyre), ring(-h, radius)]
    b.hull(loops, TYRE, caps=False)
    for i in range(2):
        c, s = turn(2 * i + 1, 8)
        r = radius - tyre
        b.limb((x - r * c, 0.0, radius - r * s), (x + r * c, 0.0, radius + r * s), (0.012, 0.012), STEEL, sides=3)


def bicycle(phase: int) -> MeshBuilder:
    """A bicycle with its rider."""
    b = MeshBuilder()
    radius = 0.34
    rear, ahead = -0.53, 0.53
    for x in (rear, ahead):
        _spoked_wheel(b, x, radius, 0.055, 0.05)
    crank, saddle, head = (-0.06, 0.0, 0.30), (-0.20, 0.0, 0.90), (0.36, 0.0, 0.86)
    frame: Colour = (48, 96, 160)
    hub, axle = (rear, 0.0, radius), (ahead, 0.0, radius)
    tubes = ((crank, saddle), (crank, head), (saddle, (0.34, 0.0, 0.78)), (crank, hub), (saddle, hub), (head, axle))
    for start, end in tubes:
        b.limb(start, end, (0.026, 0.026), frame, sides=4)
    b.limb(head, (0.34, 0.0, 1.02), (0.02, 0.02), STEEL, sides=4)
    b.limb((0.34, -0.26, 1.03), (0.34, 0.26, 1.03), (0.018, 0.018), TYRE, sides=4)
    b.box((-0.32, -0.10), (-0.07, 0.07), (0.90, 0.95), TYRE)
    b.box((0.38, 0.44), (-0.03, 0.03), (0.86, 0.93), WHITE, Slot.HEADLAMP)
    b.box((-0.36, -0.31), (-0.035, 0.035), (0.80, 0.87), WHITE, Slot.TAIL_LAMP)
    for sign in (1, -1):
        c, s = turn(phase if sign > 0 else phase + PHASES // 2, PHASES)
        pedal = (crank[0] + 0.16 * s, 0.11 * sign, crank[2] + 0.16 * c)
        hip = (-0.18, 0.09 * sign, 0.97)
        foot = (pedal[0], pedal[1], pedal[2] + 0.07)
        knee = _bent(hip, foot, (0.44, 0.44), 1.0)
        b.limb(hip, knee, (0.095, 0.065), WHITE, Slot.LOWER, sides=6)
        b.limb(knee, foot, (0.065, 0.045), WHITE, Slot.LOWER, sides=6)
        b.box(
            (pedal[0] - 0.09, pedal[0] + 0.15), (pedal[1] - 0.045, pedal[1] + 0.045), (pedal[2], pedal[2] + 0.08), SHOE
        )
        shoulder, hand = (0.06, 0.19 * sign, 1.42), (0.33, 0.24 * sign, 1.06)
        elbow = _bent(shoulder, hand, (0.27, 0.27), -1.0)
        b.limb(shoulder, elbow, (0.06, 0.048), WHITE, Slot.BODY)
        b.limb(elbow, hand, (0.048, 0.038), WHITE, Slot.SKIN)
    _rider_torso(b, (-0.18, 0.94), (0.07, 1.47))
    _head(b, (0.14, 0.0, 1.63), helmet=(226, 226, 220))
    return b


def _rider_torso(b: MeshBuilder, hip: tuple[float, float], neck: tuple[float, float]) -> None:
    (x0, z0), (x1, z1) = hip, neck

    def at(t: float, radii: tuple[float, float]) -> list[Point]:
        return _ring((x0 + t * (x1 - x0), 0.0, z0 + t * (z1 - z0)), radii)

    b.hull(
        [at(0.0, (0.12, 0.15)), at(0.35, (0.115, 0.145)), at(0.8, (0.125, 0.195)), at(1.0, (0.08, 0.15))],
        WHITE,
        Slot.BODY,
    )


def motorcycle() -> MeshBuilder:
    """A motorcycle with its rider, who wears dark leather."""
    b = MeshBuilder()
    leather: Colour = (44, 44, 50)
    radius, rear, ahead = 0.32, -0.74, 0.76
    for x in (rear, ahead):
        b.wheel(x, 0.0, radius, 0.15, hub=STEEL, sides=12)
    b.box((-0.42, 0.36), (-0.15, 0.15), (0.26, 0.62), (70, 72, 78))

    def ring(x: float, w: float, z0: float, z1: float) -> list[Point]:
        return [
            (x, w * 0.7, z1),
            (x, w, (z0 + z1) / 2),
            (x, w * 0.7, z0),
            (x, -w * 0.7, z0),
            (x, -w, (z0 + z1) / 2),
            (x, -w * 0.7, z1),
        ]

    b.hull(
        [ring(-0.98, 0.06, 0.80, 0.88), ring(-0.62, 0.13, 0.62, 0.84), ring(-0.30, 0.14, 0.58, 0.78)], WHITE, Slot.BODY
    )
    tank = [ring(-0.32, 0.12, 0.60, 0.80), ring(0.05, 0.20, 0.56, 0.98), ring(0.34, 0.19, 0.54, 0.98)]
    b.hull([*tank, ring(0.66, 0.20, 0.62, 0.92), ring(0.84, 0.12, 0.68, 0.82)], WHITE, Slot.BODY)
    b.face([(0.50, 0.16, 0.94), (0.30, 0.14, 1.16), (0.30, -0.14, 1.16), (0.50, -0.16, 0.94)][::-1], (70, 84, 96))
    b.face([(0.50, 0.16, 0.94), (0.30, 0.14, 1.16), (0.30, -0.14, 1.16), (0.50, -0.16, 0.94)], (70, 84, 96))
    b.box((0.80, 0.86), (-0.10, 0.10), (0.69, 0.81), WHITE, Slot.HEADLAMP)
    b.box((-1.02, -0.96), (-0.08, 0.08), (0.78, 0.86), WHITE, Slot.BRAKE_LAMP)
    b.box((-1.03, -0.97), (-0.05, 0.05), (0.72, 0.78), WHITE, Slot.TAIL_LAMP)
    for sign, slot in ((1, Slot.LEFT_INDICATOR), (-1, Slot.RIGHT_INDICATOR)):
        for x in (-0.98, 0.80):
            b.box((x - 0.03, x + 0.03), (0.17 * sign - 0.05, 0.17 * sign + 0.05), (0.74, 0.80), WHITE, slot)
        b.limb((ahead, 0.11 * sign, radius), (0.52, 0.11 * sign, 0.90), (0.028, 0.028), STEEL, sides=4)
        hip, foot = (-0.22, 0.12 * sign, 0.82), (-0.26, 0.20 * sign, 0.36)
        knee = _bent(hip, foot, (0.42, 0.42), 1.0)
        knee = (knee[0], 0.25 * sign, knee[2])
        b.limb(hip, knee, (0.11, 0.075), leather, sides=6)
        b.limb(knee, foot, (0.075, 0.055), leather, sides=6)
        b.box((-0.36, -0.08), (0.20 * sign - 0.05, 0.20 * sign + 0.05), (0.28, 0.38), SHOE)
        shoulder, hand = (0.02, 0.22 * sign, 1.25), (0.40, 0.36 * sign, 0.98)
        elbow = _bent(shoulder, hand, (0.27, 0.27), -1.0)
        b.limb(shoulder, (elbow[0], 0.34 * sign, elbow[2]), (0.07, 0.055), leather)
        b.limb((elbow[0], 0.34 * sign, elbow[2]), hand, (0.055, 0.045), leather)
        b.limb((0.40, 0.10 * sign, 0.96), (0.36, 0.38 * sign, 0.97), (0.02, 0.02), TYRE, sides=4)
    (x0, z0), (x1, z1) = (-0.24, 0.80), (0.04, 1.32)

    def level(t: float, radii: tuple[float, float]) -> list[Point]:
        return _ring((x0 + t * (x1 - x0), 0.0, z0 + t * (z1 - z0)), radii)

    b.hull(
        [level(0.0, (0.14, 0.17)), level(0.4, (0.14, 0.18)), level(0.8, (0.15, 0.23)), level(1.0, (0.09, 0.16))],
        leather,
    )
    b.ball((0.12, 0.0, 1.43), (0.15, 0.125, 0.14), WHITE, Slot.BODY, sides=8, rows=5)
    b.pane(
        ((0.255, -0.10, 1.38), (0.255, 0.10, 1.38), (0.235, 0.09, 1.48), (0.235, -0.09, 1.48)),
        (0.0, 1.0, 0.0, 1.0),
        (24, 26, 30),
    )
    return b
