"""The bodies the world knows: size, kind, SUMO class and CARLA blueprint, stated once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivehierarchy_gym.state import ContactKind

Category = Literal["Vehicle", "Pedestrian", "Bicycle", "Traffic Cone", "Barrier"]


@dataclass(frozen=True, slots=True)
class ActorModel:
    """A kind of body. Lengths in metres; `colours` are the liveries one is drawn from."""

    name: str
    contact: ContactKind
    category: Category
    """Category word of the open-loop questions (design §3); barriers are never asked about."""
    length: float
    width: float
    height: float
    sumo_class: str | None
    """SUMO vClass; None for bodies that SUMO does not know."""
    carla_blueprint: str
    colours: tuple[tuple[int, int, int], ...]


_CAR_COLOURS = (
    (196, 30, 38), (28, 66, 140), (232, 232, 230), (30, 30, 34), (120, 124, 130),
    (206, 208, 212), (22, 92, 60), (214, 160, 30), (92, 44, 32), (60, 130, 180),
)  # fmt: skip
_CLOTHES = ((178, 42, 42), (40, 74, 150), (40, 110, 62), (214, 170, 40), (96, 52, 120), (60, 60, 66), (226, 226, 222))

# fmt: off
ACTOR_MODELS: dict[str, ActorModel] = {
    model.name: model
    for model in (
        ActorModel("car", "vehicle", "Vehicle", 4.60, 1.82, 1.50,
                   "passenger", "vehicle.audi.a2", _CAR_COLOURS),
        ActorModel("suv", "vehicle", "Vehicle", 4.85, 1.95, 1.78,
                   "passenger", "vehicle.nissan.patrol", _CAR_COLOURS),
        ActorModel("charger", "vehicle", "Vehicle", 5.01, 1.88, 1.53,
                   "passenger", "vehicle.dodge.charger_2020", _CAR_COLOURS),
        ActorModel("van", "vehicle", "Vehicle", 4.44, 1.77, 1.99,
                   "bus", "vehicle.volkswagen.t2_2021", _CAR_COLOURS),
        ActorModel("bus", "vehicle", "Vehicle", 11.50, 2.50, 3.10,
                   "bus", "vehicle.mitsubishi.fusorosa", ((212, 172, 44), (186, 40, 44), (36, 84, 160))),
        ActorModel("truck", "vehicle", "Vehicle", 8.40, 2.45, 3.20,
                   "truck", "vehicle.carlamotors.firetruck", ((200, 200, 204), (44, 86, 150), (150, 44, 40))),
        ActorModel("ambulance", "vehicle", "Vehicle", 6.37, 2.35, 2.43,
                   "emergency", "vehicle.ford.ambulance", ((244, 244, 244),)),
        ActorModel("motorcycle", "vehicle", "Vehicle", 2.20, 0.85, 1.55,
                   "motorcycle", "vehicle.kawasaki.ninja", ((190, 36, 36), (32, 32, 36), (34, 92, 170))),
        ActorModel("bicycle", "vehicle", "Bicycle", 1.80, 0.65, 1.75,
                   "bicycle", "vehicle.bh.crossbike", _CLOTHES),
        ActorModel("pedestrian", "pedestrian", "Pedestrian", 0.45, 0.60, 1.75,
                   "pedestrian", "walker.pedestrian.0001", _CLOTHES),
        ActorModel("cone", "static", "Traffic Cone", 0.36, 0.36, 0.72,
                   None, "static.prop.constructioncone", ((240, 96, 24),)),
        ActorModel("barrier", "static", "Barrier", 0.45, 2.00, 1.00,
                   None, "static.prop.streetbarrier", ((214, 60, 40),)),
    )
}
# fmt: on

EGO_LENGTH, EGO_WIDTH, EGO_HEIGHT = 4.89, 1.84, 1.49
"""Lincoln MKZ 2020, the hero of the release (vTypes of the co-simulation, facts §3.10)."""
EGO_BLUEPRINT = "vehicle.lincoln.mkz_2020"
EGO_REAR_AXLE_OFFSET = 1.425
"""Distance from the box centre back to the rear axle (m): half the 2.85 m wheelbase, axles centred in the box."""
