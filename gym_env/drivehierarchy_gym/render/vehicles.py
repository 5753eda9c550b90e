"""Meshes of motor vehicles. Sizes in metres; every mesh is fitted to its box afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from drivehierarchy_gym.render.mesh import WHITE, Colour, MeshBuilder, Point, Slot, turn

GLASS: Colour = (38, 48, 58)
DARK: Colour = (30, 31, 34)
PLASTIC: Colour = (58, 60, 64)
PLATE: Colour = (236, 236, 226)

Quad = tuple[Point, Point, Point, Point]
Span = tuple[float, float, float, float]
"""Left, right, bottom, top as fractions of a face."""


def front(x: float, w: float, z0: float, z1: float, *, x_top: float | None = None, w_top: float | None = None) -> Quad:
    """A face that looks ahead, for `MeshBuilder.pane`; it may lean (`x_top`) and narrow (`w_top`) upwards."""
    xt, wt = x if x_top is None else x_top, w if w_top is None else w_top
    return (x, -w, z0), (x, w, z0), (xt, wt, z1), (xt, -wt, z1)


def back(x: float, w: float, z0: float, z1: float, *, x_top: float | None = None, w_top: float | None = None) -> Quad:
    """A face that looks back."""
    xt, wt = x if x_top is None else x_top, w if w_top is None else w_top
    return (x, w, z0), (x, -w, z0), (xt, -wt, z1), (xt, wt, z1)


def side(
    left: bool, x: tuple[float, float], w: float, z: tuple[float, float], *, x_top: tuple[float, float] | None = None,
    w_top: float | None = None,
) -> Quad:  # fmt: skip
    """A face that looks to the left or right; `x` = (rear, front). Fractions of the face run from rear to front on the
    right, from front to rear on the left."""
    (x0, x1), (z0, z1) = x, z
    t0, t1 = x if x_top is None else x_top
    wt = w if w_top is None else w_top
    if left:
        return (x1, w, z0), (x0, w, z0), (t0, wt, z1), (t1, wt, z1)
    return (x0, -w, z0), (x1, -w, z0), (t1, -wt, z1), (t0, -wt, z1)


def wheel_arch(b: MeshBuilder, left: bool, x: float, w: float, low: float, radius: float, lift: float) -> None:
    """Dark upper half of a circle around a wheel, on the flank at `w` above the sill at `low`."""
    y = (w + lift) * (1 if left else -1)
    rim = [turn(i, 16) for i in range(9)]
    outline = [(x + radius * c, y, radius - 0.04 + radius * s) for c, s in rim]
    outline = [(px, py, max(pz, low)) for px, py, pz in outline]
    outline = [(x + radius, y, low), *outline, (x - radius, y, low)]
    b.face(outline[::-1] if left else outline, DARK)


def top(x: tuple[float, float], w: float, z: float) -> Quad:
    """A face that looks up; fractions run from left to right and from rear to front."""
    return (x[0], w, z), (x[0], -w, z), (x[1], -w, z), (x[1], w, z)


def _body_ring(x: float, half: float, low: float, high: float, shoulder: float) -> list[Point]:
    """Cross-section of a car body: sill, widest line, shoulder."""
    middle = high - min(shoulder, (high - low) * 0.6)
    upper, lower = half * 0.93, half * 0.95
    return [
        (x, upper, high), (x, half, middle), (x, lower, low), (x, -lower, low), (x, -half, middle), (x, -upper, high),
    ]  # fmt: skip


@dataclass(frozen=True)
class CarShape:
    """What tells one passenger car from another; x positions from the middle, z from the ground (m)."""

    length: float
    width: float
    height: float
    belt: float
    bonnet: float
    """Height of the bonnet's front edge."""
    tail: float
    """Height of the tail's upper edge."""
    cabin: tuple[float, float, float, float]
    """x of the rear window's base and top, and of the windscreen's top and base."""
    axles: tuple[float, float]
    wheel: float = 0.33
    clearance: float = 0.22
    roof_rails: bool = False
    stripes: bool = False


def passenger_car(shape: CarShape) -> MeshBuilder:
    """A car with bonnet and cabin."""
    b = MeshBuilder()
    end, half = shape.length / 2, shape.width / 2
    rear_base, rear_top, front_top, front_base = shape.cabin
    low, belt = shape.clearance, shape.belt
    sections = [
        (-end, 0.86, low + 0.08, shape.tail - 0.12),
        (-end + 0.10, 0.95, low, shape.tail),
        (min(rear_base, -end + 0.5), 1.0, low, max(belt, shape.tail)),
        (front_base, 1.0, low, belt),
        (end - 0.50, 0.98, low, shape.bonnet + 0.06),
        (end - 0.08, 0.94, low, shape.bonnet - 0.02),
        (end, 0.86, low + 0.06, shape.bonnet - 0.12),
    ]
    b.hull([_body_ring(x, half * f, z0, z1, 0.2) for x, f, z0, z1 in sections], WHITE, Slot.BODY)

    w0, w1 = half * 0.90, half * 0.72
    roof = shape.height
    faces = [
        front(front_base, w0, belt, roof, x_top=front_top, w_top=w1),
        back(rear_base, w0, belt, roof, x_top=rear_top, w_top=w1),
    ]
    for face in faces:
        b.face(face, WHITE, Slot.BODY)
        b.pane(face, (0.07, 0.93, 0.08, 0.90), GLASS)
    for left in (True, False):
        face = side(left, (rear_base, front_base), w0, (belt, roof), x_top=(rear_top, front_top), w_top=w1)
        b.face(face, WHITE, Slot.BODY)
        for u0, u1 in ((0.10, 0.49), (0.53, 0.91)):
            b.pane(face, (u0, u1, 0.08, 0.86), GLASS)
        flank = side(left, (-end + 0.5, end - 0.5), half, (low, belt - 0.2))
        b.pane(flank, (0.02, 0.98, 0.0, 0.16), PLASTIC, lift=0.004)
        for x in shape.axles:
            wheel_arch(b, left, x, half, low, shape.wheel + 0.06, 0.006)
            b.wheel(x, (half - 0.09) * (1 if left else -1), shape.wheel, 0.20)
        door = side(left, (-0.02, 0.02), half, (low + 0.12, belt - 0.2))
        b.pane(door, (0.0, 1.0, 0.0, 1.0), (150, 150, 150), Slot.BODY, lift=0.006)
    b.face(top((rear_top, front_top), w1, roof), WHITE, Slot.BODY)
    if shape.roof_rails:
        for y in (w1 - 0.06, -w1 + 0.06):
            b.box((rear_top + 0.1, front_top - 0.1), (y - 0.03, y + 0.03), (roof - 0.01, roof + 0.05), DARK)
    if shape.stripes:
        hood = shape.bonnet + 0.06
        for y in (0.16, -0.16):
            lengthways = (
                ((rear_top, roof), (front_top, roof)),
                ((front_base, belt), (end - 0.5, hood)),
            )
            for (x0, z0), (x1, z1) in lengthways:
                band = ((x0, y + 0.09, z0), (x0, y - 0.09, z0), (x1, y - 0.09, z1), (x1, y + 0.09, z1))
                b.pane(band, (0.0, 1.0, 0.0, 1.0), (236, 236, 236))

    nose = front(end, half * 0.84, low + 0.06, shape.bonnet - 0.12)
    b.pane(nose, (0.26, 0.74, 0.52, 0.96), DARK)
    b.pane(nose, (0.12, 0.88, 0.0, 0.22), DARK)
    b.pane(nose, (0.38, 0.62, 0.24, 0.46), PLATE, lift=0.018)
    front_lamps(b, nose, lamp=(0.02, 0.22, 0.60, 0.98), indicator=(0.0, 0.06, 0.40, 0.60))
    stern = back(-end, half * 0.84, low + 0.08, shape.tail - 0.12)
    b.pane(stern, (0.10, 0.90, 0.0, 0.20), PLASTIC)
    b.pane(stern, (0.36, 0.64, 0.42, 0.64), PLATE, lift=0.018)
    rear_lamps(b, stern, outer=(0.0, 0.25), heights=(0.62, 0.98))
    third = back(rear_base, w0, belt, roof, x_top=rear_top, w_top=w1)
    b.pane(third, (0.36, 0.64, 0.91, 0.99), WHITE, Slot.BRAKE_LAMP, lift=0.016)
    return b


def front_lamps(b: MeshBuilder, nose: Quad, lamp: Span, indicator: Span) -> None:
    """Headlamps and indicators on both sides of a front face, given as spans of its right half (seen from the car)."""
    for slot_left, slot_right, (u0, u1, z0, z1) in (
        (Slot.HEADLAMP, Slot.HEADLAMP, lamp),
        (Slot.LEFT_INDICATOR, Slot.RIGHT_INDICATOR, indicator),
    ):
        b.pane(nose, (u0, u1, z0, z1), WHITE, slot_right, lift=0.02)
        b.pane(nose, (1 - u1, 1 - u0, z0, z1), WHITE, slot_left, lift=0.02)


def rear_lamps(b: MeshBuilder, stern: Quad, outer: tuple[float, float], heights: tuple[float, float]) -> None:
    """Indicator, tail and brake lamp on both sides of a rear face; `outer` = (edge, inner end) as fractions of it."""
    third = (outer[1] - outer[0]) / 3
    for left in (True, False):
        indicator = Slot.LEFT_INDICATOR if left else Slot.RIGHT_INDICATOR
        for k, slot in enumerate((indicator, Slot.TAIL_LAMP, Slot.BRAKE_LAMP)):
            u0, u1 = outer[0] + k * third, outer[0] + (k + 1) * third
            b.pane(stern, (*((u0, u1) if left else (1 - u1, 1 - u0)), *heights), WHITE, slot, lift=0.022)


def _chamfered(x: float, w: float, low: float, high: float, inset: float, drop: float) -> list[Point]:
    """A rectangular cross-section with its upper edges cut off."""
    left = [(x, w - inset, high), (x, w, high - drop), (x, w, low)]
    return left + [(px, -py, pz) for px, py, pz in reversed(left)]


def _boxy_body(
    b: MeshBuilder, x: tuple[float, float], half: float, z: tuple[float, float], *, nose: float, roof: float
) -> None:
    """A tall body with straight sides, a windscreen that leans by `nose` above the waist, edges broken by `roof`."""
    (x0, x1), (z0, z1) = x, z
    waist = z0 + 0.42 * (z1 - z0)

    def ring(at: float, w: float, low: float, high: float) -> list[Point]:
        return _chamfered(at, w, low, high, roof, roof)

    b.hull(
        [
            ring(x0, half - 0.04, z0 + 0.06, z1 - 0.04),
            ring(x0 + 0.12, half, z0, z1),
            ring(x1 - nose - 0.05, half, z0, z1),
            ring(x1 - 0.06, half, z0, waist),
            ring(x1, half - 0.08, z0 + 0.06, waist - 0.12),
        ],
        WHITE,
        Slot.BODY,
    )


def minivan(length: float, width: float, height: float) -> MeshBuilder:
    """A one-box van with windows all around."""
    b = MeshBuilder()
    end, half = length / 2, width / 2
    low, nose = 0.26, 0.75
    waist = low + 0.42 * (height - low)
    _boxy_body(b, (-end, end), half, (low, height), nose=nose, roof=0.14)
    screen = front(end - 0.06, half, waist, height - 0.14, x_top=end - nose + 0.03, w_top=half - 0.05)
    b.pane(screen, (0.06, 0.94, 0.06, 0.94), GLASS, lift=0.03)
    for left in (True, False):
        flank = side(left, (-end + 0.12, end - nose), half, (waist, height - 0.14))
        for u0, u1 in ((0.04, 0.30), (0.34, 0.63), (0.67, 0.97)):
            b.pane(flank, (u0, u1, 0.10, 0.92) if not left else (1 - u1, 1 - u0, 0.10, 0.92), GLASS)
        skirt = side(left, (-end + 0.12, end - 0.06), half, (low, waist))
        b.pane(skirt, (0.0, 1.0, 0.0, 0.14), PLASTIC)
        b.pane(skirt, (0.0, 1.0, 0.86, 0.93), (235, 235, 235))
        for x in (-end + 0.85, end - 0.85):
            wheel_arch(b, left, x, half, low, 0.39, 0.014)
            b.wheel(x, (half - 0.09) * (1 if left else -1), 0.33, 0.20)
    face = front(end, half - 0.08, low + 0.06, waist - 0.12)
    b.pane(face, (0.24, 0.76, 0.62, 0.92), DARK)
    b.pane(face, (0.06, 0.94, 0.0, 0.20), PLASTIC)
    b.pane(face, (0.38, 0.62, 0.24, 0.44), PLATE, lift=0.018)
    front_lamps(b, face, lamp=(0.03, 0.20, 0.55, 0.92), indicator=(0.0, 0.05, 0.30, 0.50))
    stern = back(-end, half - 0.04, low + 0.06, height - 0.18)
    b.pane(stern, (0.10, 0.90, 0.54, 0.94), GLASS)
    b.pane(stern, (0.06, 0.94, 0.0, 0.10), PLASTIC)
    b.pane(stern, (0.38, 0.62, 0.30, 0.42), PLATE, lift=0.018)
    rear_lamps(b, stern, outer=(0.0, 0.14), heights=(0.18, 0.48))
    b.pane(stern, (0.40, 0.60, 0.955, 0.99), WHITE, Slot.BRAKE_LAMP, lift=0.02)
    return b


def bus(length: float, width: float, height: float) -> MeshBuilder:
    """A city bus: window band, two doors on the right, destination display."""
    b = MeshBuilder()
    end, half = length / 2, width / 2
    low, nose = 0.30, 0.30
    waist = low + 0.42 * (height - low)
    _boxy_body(b, (-end, end), half, (low, height), nose=nose, roof=0.16)
    screen = front(end - 0.06, half, waist, height - 0.16, x_top=end - nose + 0.03)
    b.pane(screen, (0.03, 0.97, 0.0, 0.74), GLASS, lift=0.03)
    b.pane(screen, (0.12, 0.88, 0.80, 0.97), (24, 24, 24), lift=0.03)
    b.pane(screen, (0.24, 0.76, 0.84, 0.93), (255, 176, 40), lift=0.045)
    for left in (True, False):
        band = side(left, (-end + 0.12, end - nose), half, (waist - 0.15, height - 0.34))
        panes = 7
        for i in range(panes):
            b.pane(band, (i / panes + 0.012, (i + 1) / panes - 0.012, 0.04, 0.94), GLASS)
        skirt = side(left, (-end + 0.12, end - 0.06), half, (low, waist - 0.15))
        b.pane(skirt, (0.0, 1.0, 0.0, 0.16), PLASTIC)
        b.pane(skirt, (0.0, 1.0, 0.70, 0.84), (240, 240, 240))
        for x in (-end + 2.9, end - 2.5):
            wheel_arch(b, left, x, half, low, 0.56, 0.014)
            b.wheel(x, (half - 0.14) * (1 if left else -1), 0.48, 0.30)
    for x in (end - 1.15, -0.4):
        door = side(False, (x - 0.55, x + 0.55), half, (low + 0.06, height - 0.42))
        b.pane(door, (0.0, 1.0, 0.0, 1.0), DARK, lift=0.02)
        for u0, u1 in ((0.05, 0.47), (0.53, 0.95)):
            b.pane(door, (u0, u1, 0.05, 0.96), (66, 80, 92), lift=0.03)
    face = front(end, half - 0.08, low + 0.06, waist - 0.12)
    b.pane(face, (0.0, 1.0, 0.0, 0.24), PLASTIC)
    b.pane(face, (0.41, 0.59, 0.30, 0.50), PLATE, lift=0.018)
    front_lamps(b, face, lamp=(0.03, 0.16, 0.34, 0.66), indicator=(0.0, 0.04, 0.40, 0.66))
    stern = back(-end, half - 0.04, low + 0.06, height - 0.20)
    b.pane(stern, (0.10, 0.90, 0.58, 0.92), GLASS)
    b.pane(stern, (0.0, 1.0, 0.0, 0.10), PLASTIC)
    b.pane(stern, (0.42, 0.58, 0.16, 0.22), PLATE, lift=0.018)
    b.pane(stern, (0.20, 0.80, 0.28, 0.50), (150, 150, 150), Slot.BODY)
    rear_lamps(b, stern, outer=(0.02, 0.17), heights=(0.20, 0.38))
    b.pane(stern, (0.42, 0.58, 0.945, 0.985), WHITE, Slot.BRAKE_LAMP, lift=0.02)
    for y in (half - 0.1, -half + 0.1):
        b.box((end - 0.32, end - 0.22), (y - 0.1, y + 0.1), (height - 0.95, height - 0.5), DARK)
    b.box((-2.2, 0.6), (-0.75, 0.75), (height - 0.02, height + 0.16), (208, 208, 208))
    return b


def box_truck(length: float, width: float, height: float) -> MeshBuilder:
    """A lorry: cab in its livery, light cargo box, open chassis."""
    b = MeshBuilder()
    end, half = length / 2, width / 2
    cab_back = end - 1.95
    b.box((-end + 0.05, end - 0.3), (-0.48, 0.48), (0.52, 0.86), DARK)
    b.box((-end, cab_back - 0.18), (-half, half), (0.88, height), (222, 223, 220))
    cab, waist = height - 0.55, 1.42

    def ring(at: float, w: float, low: float, high: float) -> list[Point]:
        return _chamfered(at, w, low, high, 0.1, 0.12)

    w = half - 0.06
    b.hull(
        [
            ring(cab_back, w, 0.52, cab),
            ring(end - 0.42, w, 0.46, cab),
            ring(end - 0.1, w, 0.46, waist),
            ring(end, w - 0.08, 0.50, waist - 0.1),
        ],
        WHITE,
        Slot.BODY,
    )
    screen = front(end - 0.1, w, waist, cab - 0.10, x_top=end - 0.42, w_top=w - 0.06)
    b.pane(screen, (0.05, 0.95, 0.03, 0.92), GLASS, lift=0.03)
    for left in (True, False):
        door = side(left, (cab_back + 0.25, end - 0.40), w, (waist, cab - 0.16))
        b.pane(door, (0.08, 0.92, 0.04, 0.96), GLASS, lift=0.014)
        box_side = side(left, (-end, cab_back - 0.18), half, (0.88, height))
        b.pane(box_side, (0.0, 1.0, 0.0, 0.06), PLASTIC)
        b.pane(box_side, (0.16, 0.84, 0.40, 0.66), WHITE, Slot.BODY)
        b.box(
            (-1.2, cab_back - 0.5),
            ((half - 0.12) if left else -half + 0.02, (half - 0.02) if left else -half + 0.12),
            (0.42, 0.78),
            PLASTIC,
        )
        for x in (-end + 1.75, end - 1.05):
            b.wheel(x, (half - 0.17) * (1 if left else -1), 0.48, 0.30)
    b.box((end - 1.6, end - 1.0), (-w + 0.1, w - 0.1), (cab - 0.02, height - 0.06), WHITE, Slot.BODY)
    face = front(end, w - 0.08, 0.50, waist - 0.1)
    b.pane(face, (0.16, 0.84, 0.48, 0.94), DARK)
    b.pane(face, (0.0, 1.0, 0.0, 0.30), PLASTIC)
    b.pane(face, (0.40, 0.60, 0.06, 0.24), PLATE, lift=0.018)
    front_lamps(b, face, lamp=(0.02, 0.15, 0.34, 0.62), indicator=(0.0, 0.04, 0.64, 0.84))
    doors = back(-end, half, 0.88, height)
    for u0, u1 in ((0.03, 0.485), (0.515, 0.97)):
        b.pane(doors, (u0, u1, 0.05, 0.97), (196, 197, 195))
        bar = 0.40 if u0 < 0.5 else 0.58
        b.pane(doors, (bar, bar + 0.02, 0.15, 0.85), PLASTIC, lift=0.024)
    beam = back(-end, half, 0.52, 0.88)
    b.face(beam, PLASTIC)
    b.pane(beam, (0.42, 0.58, 0.2, 0.75), PLATE, lift=0.018)
    for i, stripe in enumerate(((206, 40, 36), (240, 240, 240), (206, 40, 36))):
        for start in (0.22, 0.62):
            b.pane(beam, (start + i * 0.06, start + (i + 1) * 0.06, 0.30, 0.70), stripe, lift=0.016)
    rear_lamps(b, beam, outer=(0.0, 0.20), heights=(0.12, 0.88))
    return b


def ambulance(length: float, width: float, height: float) -> MeshBuilder:
    """A rescue van: white with red stripe and crosses, blue light bar."""
    b = MeshBuilder()
    red: Colour = (204, 24, 30)
    end, half = length / 2, width / 2
    low, roof = 0.30, height - 0.2
    cab_back, screen_base = end - 2.0, end - 0.95
    b.box((-end, cab_back), (-half, half), (low, roof), WHITE, Slot.BODY)

    def ring(at: float, w: float, low_z: float, high: float) -> list[Point]:
        return _chamfered(at, w, low_z, high, 0.12, 0.25)

    w = half - 0.12
    b.hull(
        [ring(cab_back, w, low, roof - 0.12), ring(end - 1.55, w, low, roof - 0.12), ring(screen_base, w, low, 1.30),
         ring(end - 0.15, w, low, 1.12), ring(end, w - 0.14, low + 0.1, 0.95)],
        WHITE,
        Slot.BODY,
    )  # fmt: skip
    screen = front(screen_base, w - 0.12, 1.30, roof - 0.12, x_top=end - 1.55)
    b.pane(screen, (0.02, 0.98, 0.06, 0.92), GLASS, lift=0.03)
    for left in (True, False):
        flank = side(left, (-end, cab_back), half, (low, roof))
        b.pane(flank, (0.0, 1.0, 0.34, 0.50), red)
        b.pane(flank, (0.0, 1.0, 0.52, 0.56), (30, 70, 160))
        b.pane(flank, (0.0, 1.0, 0.0, 0.10), PLASTIC)
        b.pane(flank, (0.52, 0.88, 0.66, 0.90) if left else (0.12, 0.48, 0.66, 0.90), (64, 78, 92))
        for u0, u1, z0, z1 in ((0.66, 0.78, 0.735, 0.825), (0.70, 0.74, 0.66, 0.90)):
            cross = (1 - u1, 1 - u0, z0, z1) if left else (u0, u1, z0, z1)
            b.pane(flank, cross, red, lift=0.016)
        cab = side(left, (cab_back, screen_base - 0.15), w, (1.20, roof - 0.4), x_top=(cab_back, end - 1.45))
        b.pane(cab, (0.10, 0.90, 0.10, 0.95), GLASS, lift=0.02)
        stripe = side(left, (cab_back, end - 0.2), w, (low, 1.10))
        b.pane(stripe, (0.0, 1.0, 0.50, 0.82), red)
        for x in (-end + 1.35, end - 0.95):
            inner = w if x > cab_back else half
            wheel_arch(b, left, x, inner, low, 0.43, 0.016)
            b.wheel(x, (inner - 0.10) * (1 if left else -1), 0.37, 0.23)
    face = front(end, w - 0.14, low + 0.1, 0.95)
    b.pane(face, (0.22, 0.78, 0.48, 0.95), DARK)
    b.pane(face, (0.0, 1.0, 0.0, 0.22), PLASTIC)
    b.pane(face, (0.38, 0.62, 0.24, 0.44), PLATE, lift=0.018)
    front_lamps(b, face, lamp=(0.02, 0.20, 0.55, 0.95), indicator=(0.0, 0.05, 0.30, 0.50))
    bonnet = (
        (screen_base, w - 0.2, 1.28),
        (screen_base, -w + 0.2, 1.28),
        (end - 0.15, -w + 0.2, 1.11),
        (end - 0.15, w - 0.2, 1.11),
    )
    b.pane(bonnet, (0.1, 0.9, 0.25, 0.75), red, lift=0.03)
    stern = back(-end, half, low, roof)
    b.pane(stern, (0.0, 1.0, 0.34, 0.50), red)
    b.pane(stern, (0.0, 1.0, 0.0, 0.10), PLASTIC)
    for u in ((0.12, 0.44), (0.56, 0.88)):
        b.pane(stern, (*u, 0.60, 0.88), (64, 78, 92))
    b.pane(stern, (0.49, 0.51, 0.12, 0.95), PLASTIC, lift=0.016)
    b.pane(stern, (0.40, 0.60, 0.18, 0.26), PLATE, lift=0.018)
    rear_lamps(b, stern, outer=(0.0, 0.15), heights=(0.14, 0.30))
    for face in (top((-end + 1.4, -end + 3.0), 0.28, roof), top((-end + 1.9, -end + 2.5), 0.75, roof)):
        b.pane(face, (0.0, 1.0, 0.0, 1.0), red)
    b.box(
        (cab_back - 0.1, cab_back + 0.25),
        (-half + 0.25, half - 0.25),
        (roof - 0.14, roof + 0.16),
        (30, 70, 190),
        Slot.BEACON,
    )
    for y in (half - 0.25, -half + 0.25):
        b.box((-end + 0.05, -end + 0.3), (y - 0.16, y + 0.16), (roof - 0.01, roof + 0.15), (30, 70, 190), Slot.BEACON)
    return b


SALOON = CarShape(4.60, 1.82, 1.50, 0.92, 0.80, 0.98, (-1.75, -1.05, 0.15, 1.00), (-1.32, 1.36))
ESTATE = CarShape(
    4.85,
    1.95,
    1.78,
    1.08,
    1.02,
    1.10,
    (-2.30, -1.95, 0.15, 0.95),
    (-1.42, 1.44),
    wheel=0.38,
    clearance=0.28,
    roof_rails=True,
)
MUSCLE = CarShape(
    5.01,
    1.88,
    1.53,
    0.98,
    0.90,
    1.06,
    (-1.95, -0.95, -0.05, 0.85),
    (-1.48, 1.56),
    wheel=0.36,
    clearance=0.20,
    stripes=True,
)
LIMOUSINE = CarShape(4.89, 1.84, 1.49, 0.94, 0.82, 1.02, (-1.90, -1.15, 0.20, 1.08), (-1.425, 1.425))
"""The ego."""
