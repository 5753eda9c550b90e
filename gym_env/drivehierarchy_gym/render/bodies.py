"""Actors as placed meshes: which mesh, where, and in which colours, lamps and clothes included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_HEIGHT, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.errors import unknown_name
from drivehierarchy_gym.render.actor_meshes import EGO, nominal_size, phase_of
from drivehierarchy_gym.render.camera import heading
from drivehierarchy_gym.render.instances import Instances, new_instances
from drivehierarchy_gym.render.mesh import Colour, Slot
from drivehierarchy_gym.render.noise import hash_unit
from drivehierarchy_gym.render.roadside import Aspect
from drivehierarchy_gym.render.shading import GLOW
from drivehierarchy_gym.state import ActorState, EgoState

EGO_COLOUR: Colour = (0, 152, 160)
"""Turquoise: no actor of the catalogue has it."""
TROUSERS: tuple[Colour, ...] = ((44, 52, 78), (34, 34, 38), (96, 86, 70), (70, 72, 78), (120, 108, 88))
SKINS: tuple[Colour, ...] = ((232, 190, 160), (206, 154, 120), (150, 100, 72), (96, 64, 46))
HAIRS: tuple[Colour, ...] = ((34, 26, 22), (82, 56, 36), (150, 112, 66), (120, 118, 116))

BLINKS_PER_SECOND = 1.5
BEACON_FLASHES_PER_SECOND = 2.0

_DULL: dict[Slot, Colour] = {
    Slot.HEADLAMP: (206, 212, 218),
    Slot.TAIL_LAMP: (128, 18, 20),
    Slot.BRAKE_LAMP: (104, 16, 18),
    Slot.LEFT_INDICATOR: (186, 108, 34),
    Slot.RIGHT_INDICATOR: (186, 108, 34),
    Slot.BEACON: (30, 60, 170),
    Slot.RED: (66, 14, 14),
    Slot.AMBER: (70, 48, 10),
    Slot.GREEN: (10, 56, 26),
}
_BRIGHT: dict[Slot, Colour] = {
    Slot.HEADLAMP: (255, 252, 232),
    Slot.TAIL_LAMP: (214, 26, 24),
    Slot.BRAKE_LAMP: (255, 54, 40),
    Slot.LEFT_INDICATOR: (255, 178, 46),
    Slot.RIGHT_INDICATOR: (255, 178, 46),
    Slot.BEACON: (90, 150, 255),
    Slot.RED: (255, 40, 32),
    Slot.AMBER: (255, 190, 30),
    Slot.GREEN: (40, 255, 130),
}
"""Colours of lamps that are off and on; those that are on glow."""

_LIT: dict[Aspect, tuple[Slot, ...]] = {
    "red": (Slot.RED,),
    "red_amber": (Slot.RED, Slot.AMBER),
    "amber": (Slot.AMBER,),
    "green": (Slot.GREEN,),
    "off": (),
}


def _dull_paint() -> NDArray[np.float32]:
    paint = np.zeros((len(Slot), 4), np.float32)
    paint[:, :3] = 255.0
    for slot, colour in _DULL.items():
        paint[slot, :3] = colour
    return paint


_DULL_PAINT = _dull_paint()


def _light(paint: NDArray[np.float32], slot: Slot) -> None:
    paint[slot, :3] = _BRIGHT[slot]
    paint[slot, 3] = GLOW


def signal_paint(shown: Aspect) -> NDArray[np.float32]:
    """Slots of a signal head, as in `Instances.paint` (len(Slot), 4)."""
    paint = _DULL_PAINT.copy()
    for slot in _LIT[shown]:
        _light(paint, slot)
    return paint


def place_bodies(
    ego: EgoState | None, actors: Sequence[ActorState], meshes: Mapping[str, int], time: float, lamps: bool
) -> tuple[Instances, NDArray[np.float64]]:
    """Instances of all actors and, last, of the ego unless it is None; and the boxes (N, 7) that throw their shadows.

    `meshes` numbers the first mesh of every model, `time` (s) drives what flashes, `lamps` switches driving lights on.
    Owners are i + 1 for actor i and -1 for the ego.

    Raises:
        UnknownNameError: an actor whose model is not in the catalogue.
    """
    count = len(actors) + (ego is not None)
    instances = new_instances(count)
    boxes = np.empty((count, 7))
    instances.paint[:] = _DULL_PAINT
    blink = (time * BLINKS_PER_SECOND) % 1.0 < 0.5
    flash = (time * BEACON_FLASHES_PER_SECOND) % 1.0 < 0.5
    for n, actor in enumerate(actors):
        model = actor.model
        if model not in ACTOR_MODELS:
            raise unknown_name(f"model of actor {actor.id!r}:", model, ACTOR_MODELS)
        length, width, height = nominal_size(model)
        cosine, sine = heading(actor.yaw)
        instances.mesh[n] = meshes[model] + phase_of(model, actor.x, actor.y, cosine, sine, actor.speed)
        instances.place[n] = (
            actor.x, actor.y, 0.0, cosine, sine, actor.length / length, actor.width / width, actor.height / height,
        )  # fmt: skip
        instances.owner[n] = n + 1
        boxes[n] = (actor.x, actor.y, cosine, sine, actor.length * 0.47, actor.width * 0.45, actor.height * 0.8)
        paint = instances.paint[n]
        paint[Slot.BODY, :3] = actor.colour
        if model in ("pedestrian", "bicycle"):
            key = sum(actor.id.encode()) * 7919 + len(actor.id)
            for i, (slot, table) in enumerate(((Slot.LOWER, TROUSERS), (Slot.SKIN, SKINS), (Slot.HAIR, HAIRS))):
                paint[slot, :3] = table[int(hash_unit(key, i) * len(table))]
        _switch_lamps(
            paint, lamps, actor.braking, blink and actor.indicator == "left", blink and actor.indicator == "right"
        )
        if flash and model == "ambulance":
            _light(paint, Slot.BEACON)
    if ego is not None:
        cosine, sine = heading(ego.yaw)
        instances.mesh[-1] = meshes[EGO]
        instances.place[-1, :5] = (ego.x, ego.y, 0.0, cosine, sine)
        instances.owner[-1] = -1
        boxes[-1] = (ego.x, ego.y, cosine, sine, EGO_LENGTH * 0.47, EGO_WIDTH * 0.45, EGO_HEIGHT * 0.8)
        paint = instances.paint[-1]
        paint[Slot.BODY, :3] = EGO_COLOUR
        _switch_lamps(paint, lamps, ego.acceleration < -0.5, False, False)
    return instances, boxes


def _switch_lamps(paint: NDArray[np.float32], driving: bool, braking: bool, left: bool, right: bool) -> None:
    for slot, on in (
        (Slot.HEADLAMP, driving),
        (Slot.TAIL_LAMP, driving or braking),
        (Slot.BRAKE_LAMP, braking),
        (Slot.LEFT_INDICATOR, left),
        (Slot.RIGHT_INDICATOR, right),
    ):
        if on:
            _light(paint, slot)
