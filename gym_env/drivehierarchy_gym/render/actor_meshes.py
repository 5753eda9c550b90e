"""The mesh of every model of the catalogue, fitted to its box: what a box label says is exactly what is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_HEIGHT, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.render import people, props, vehicles
from drivehierarchy_gym.render.mesh import Mesh, MeshBuilder, unit_normals

EGO = "ego"
"""Name of the ego's mesh."""

_BUILDERS: dict[str, Callable[[], list[MeshBuilder]]] = {
    EGO: lambda: [vehicles.passenger_car(vehicles.LIMOUSINE)],
    "car": lambda: [vehicles.passenger_car(vehicles.SALOON)],
    "suv": lambda: [vehicles.passenger_car(vehicles.ESTATE)],
    "charger": lambda: [vehicles.passenger_car(vehicles.MUSCLE)],
    "van": lambda: [vehicles.minivan(4.44, 1.77, 1.99)],
    "bus": lambda: [vehicles.bus(11.50, 2.50, 3.10)],
    "truck": lambda: [vehicles.box_truck(8.40, 2.45, 3.20)],
    "ambulance": lambda: [vehicles.ambulance(6.37, 2.35, 2.43)],
    "motorcycle": lambda: [people.motorcycle()],
    "bicycle": lambda: [people.bicycle(phase) for phase in range(people.PHASES)],
    "pedestrian": lambda: [people.pedestrian(phase) for phase in (None, *range(people.PHASES))],
    "cone": lambda: [props.cone()],
    "barrier": lambda: [props.barrier()],
}


def nominal_size(model: str) -> tuple[float, float, float]:
    """Length, width and height (m) that the meshes of a model have before an instance scales them."""
    if model == EGO:
        return EGO_LENGTH, EGO_WIDTH, EGO_HEIGHT
    body = ACTOR_MODELS[model]
    return body.length, body.width, body.height


@cache
def actor_meshes(model: str) -> tuple[Mesh, ...]:
    """Meshes of a model (a key of `catalog.ACTOR_MODELS`, or `EGO`), one per phase of its motion.

    Pedestrians stand in the first one and walk in the `people.PHASES` others; bicycles have `people.PHASES`.
    Together the phases fill the box exactly: origin at the middle of its floor.
    """
    built = [builder.build() for builder in _BUILDERS[model]()]
    low = np.min([mesh.bounds[0] for mesh in built], axis=0)
    high = np.max([mesh.bounds[1] for mesh in built], axis=0)
    length, width, height = nominal_size(model)
    size = np.array([length, width, height])
    target = np.array([-length / 2, -width / 2, 0.0])
    fitted = []
    for mesh in built:
        corners = (mesh.corners - low) / (high - low) * size + target
        fitted.append(Mesh(corners, unit_normals(corners), mesh.colours, mesh.slots))
    return tuple(fitted)


def phase_of(model: str, x: float, y: float, cosine: float, sine: float, speed: float) -> int:
    """Index into `actor_meshes(model)` of a body at a place; `cosine` and `sine` of its heading.

    The phase follows the position along the heading, so legs step with the distance walked and a picture depends on
    nothing but the present.
    """
    cycle = {"pedestrian": people.STRIDE, "bicycle": people.PEDAL_TURN}.get(model)
    if cycle is None:
        return 0
    if model == "pedestrian" and abs(speed) < 0.05:
        return 0
    along = (x * cosine + y * sine) / cycle
    phase = int((along - math.floor(along)) * people.PHASES) % people.PHASES
    return phase + 1 if model == "pedestrian" else phase
