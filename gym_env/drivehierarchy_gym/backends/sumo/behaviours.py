"""Behaviours of scripted traffic: what a vehicle that SUMO drives does once a trigger has fired.

SUMO keeps moving the vehicle along its route; behaviours set its speed and its place across the lane from tick to tick.
Two programs run side by side, one for speed (brake_hard, set_speed) and one for the sideways place (cut_in, wander);
a new behaviour of a kind replaces the running one, and resume ends both.
"""

from __future__ import annotations

import math
from typing import Any

from drivehierarchy_gym.scenarios.schema import Behaviour, BrakeHard, CutIn, Resume, RunLight, SetSpeed, Wander
from drivehierarchy_gym.state import Indicator

# Bits of SUMO's speed mode (https://sumo.dlr.de/docs/TraCI/Change_Vehicle_State.html#speed_mode_0xb3).
_SAFE_SPEED, _OWN_ACCELERATION, _OWN_DECELERATION = 1, 2, 4
_RIGHT_OF_WAY, _RED_LIGHTS, _BLIND_IN_JUNCTIONS, _ABOVE_SPEED_LIMIT = 8, 16, 32, 64
_ORDINARY = _SAFE_SPEED | _OWN_ACCELERATION | _OWN_DECELERATION | _RIGHT_OF_WAY | _RED_LIGHTS

# Lane change modes (…#lane_change_mode_0xb6).
_CHANGE_AS_USUAL = 1621
_NEVER_CHANGE = 0
_CHANGE_FOR_THE_ROUTE = 513
"""Only where the lane does not lead along the route, with the usual gaps: a vehicle that cut in stays in front."""

ROLLING = 0.5
"""m/s; below it a vehicle cannot move sideways, so cutting in and weaving wait."""


class ScriptedDriver:
    """Hands on one vehicle of SUMO.

    Args:
        vehicles: `libsumo.vehicle`.
        lanes: `libsumo.lane`.
        vehicle_id: a vehicle that is in the simulation.
    """

    def __init__(self, vehicles: Any, lanes: Any, vehicle_id: str) -> None:
        self._vehicles, self._lanes, self._id = vehicles, lanes, vehicle_id
        self._speed_program: BrakeHard | SetSpeed | None = None
        self._held = 0.0
        self._own_acceleration: float | None = None
        self._sideways: _CutInRun | _WanderRun | None = None
        self._obeys_signals = True
        self.sideways_speed = 0.0
        """m/s to the left; SUMO's own angle does not show it."""
        self.indicator: Indicator = "off"

    def do(self, behaviour: Behaviour) -> None:
        """Begin a behaviour."""
        if isinstance(behaviour, BrakeHard | SetSpeed):
            self._end_speed_program()
            self._speed_program, self._held = behaviour, 0.0
            if isinstance(behaviour, SetSpeed):  # what its engine can do bounds safe speeds too
                self._own_acceleration = self._vehicles.getAccel(self._id)
                self._vehicles.setAccel(self._id, max(behaviour.accel, self._own_acceleration))
        elif isinstance(behaviour, CutIn):
            self._sideways = _CutInRun(behaviour)
            self._vehicles.setLaneChangeMode(self._id, _NEVER_CHANGE)
        elif isinstance(behaviour, Wander):
            self._sideways = _WanderRun(behaviour)
            self._vehicles.setLaneChangeMode(self._id, _NEVER_CHANGE)
        elif isinstance(behaviour, RunLight):
            self._obeys_signals = False
        else:
            assert isinstance(behaviour, Resume)
            self._obeys_signals = True
            self._end_speed_program()
            self._end_sideways(_CHANGE_AS_USUAL)
        self._vehicles.setSpeedMode(self._id, self._speed_mode())

    def tick(self, seconds: float) -> None:
        """Set what the vehicle does in the coming tick."""
        if self._speed_program is not None:
            self._tick_speed(self._speed_program, seconds)
        if self._sideways is not None:
            before = self._vehicles.getLateralLanePosition(self._id)
            shift = self._sideways.tick(self._vehicles, self._lanes, self._id, seconds)
            if shift is None:
                self._end_sideways(_CHANGE_FOR_THE_ROUTE)
            else:
                place, of_lane = shift
                self.sideways_speed = (place + of_lane - before) / seconds
                self.indicator = self._sideways.indicator
                self._vehicles.setLateralLanePosition(self._id, place)

    def _tick_speed(self, program: BrakeHard | SetSpeed, seconds: float) -> None:
        now = self._vehicles.getSpeed(self._id)
        if isinstance(program, SetSpeed):
            change = program.accel * seconds
            self._vehicles.setSpeed(self._id, now + min(max(program.speed - now, -change), change))
            return
        if now > program.to_speed + 1e-6:
            self._vehicles.setSpeed(self._id, max(now - program.decel * seconds, program.to_speed))
            return
        if program.hold_seconds is not None and self._held >= program.hold_seconds - 1e-9:
            self._end_speed_program()
            self._vehicles.setSpeedMode(self._id, self._speed_mode())
            return
        self._held += seconds
        self._vehicles.setSpeed(self._id, program.to_speed)

    def _end_speed_program(self) -> None:
        self._speed_program = None
        self._vehicles.setSpeed(self._id, -1.0)
        if self._own_acceleration is not None:
            self._vehicles.setAccel(self._id, self._own_acceleration)
            self._own_acceleration = None

    def _end_sideways(self, lane_change_mode: int) -> None:
        self._sideways = None
        self.sideways_speed, self.indicator = 0.0, "off"
        self._vehicles.setLaneChangeMode(self._id, lane_change_mode)

    def _speed_mode(self) -> int:
        program = self._speed_program
        if program is None:
            mode = _ORDINARY
        elif isinstance(program, SetSpeed) and program.ignore_traffic:
            mode = _ABOVE_SPEED_LIMIT
        else:
            mode = _SAFE_SPEED | _RIGHT_OF_WAY | _RED_LIGHTS | _ABOVE_SPEED_LIMIT
        if not self._obeys_signals:
            mode = mode & ~(_RIGHT_OF_WAY | _RED_LIGHTS) | _BLIND_IN_JUNCTIONS
        return mode


class _CutInRun:
    """A lane change of fixed duration, whoever is on the other lane: half a cosine from lane centre to lane centre.

    It begins as soon as the vehicle rolls on a lane that has a neighbour for it on that side and is long enough.
    """

    def __init__(self, behaviour: CutIn) -> None:
        self._behaviour = behaviour
        self._sign = 1 if behaviour.side == "left" else -1
        self.indicator: Indicator = behaviour.side
        self._elapsed = 0.0
        self._start = 0.0
        self._lane = ""
        self._target = ""
        self._distance = 0.0

    def tick(self, vehicles: Any, lanes: Any, vehicle_id: str, seconds: float) -> tuple[float, float] | None:
        """(place left of the centre of the lane it is on, shift of that centre in this tick), None when it is over."""
        place: float = vehicles.getLateralLanePosition(vehicle_id)
        speed: float = vehicles.getSpeed(vehicle_id)
        lane: str = vehicles.getLaneID(vehicle_id)
        if self._target == "" or (self._target != "over" and lane != self._lane):
            # Not begun, or the lane ended before its middle line was crossed: look for a neighbour (again).
            self._elapsed, self._start, self._lane = 0.0, place, lane
            self._target = self._neighbour(vehicles, lanes, vehicle_id, lane, speed)
            if self._target == "":
                return place, 0.0
            self._distance = self._sign * (lanes.getWidth(lane) + lanes.getWidth(self._target)) / 2
        if speed < ROLLING:
            return place, 0.0
        if self._elapsed >= self._behaviour.seconds - 1e-9:
            return None
        self._elapsed += seconds
        share = min(self._elapsed / self._behaviour.seconds, 1.0)
        offset = self._start + (self._distance - self._start) * (1.0 - math.cos(math.pi * share)) / 2
        shift = 0.0
        if self._target != "over" and abs(offset) > lanes.getWidth(self._lane) / 2:
            vehicles.moveTo(vehicle_id, self._target, vehicles.getLanePosition(vehicle_id))
            self._target, shift = "over", self._distance
        return (offset - self._distance, shift) if self._target == "over" else (offset, 0.0)

    def _neighbour(self, vehicles: Any, lanes: Any, vehicle_id: str, lane: str, speed: float) -> str:
        """Id of the lane to move to, "" where there is none now."""
        if lane == "" or lane.startswith(":"):
            return ""
        edge, _, index = lane.rpartition("_")
        target = f"{edge}_{int(index) + self._sign}"
        left = lanes.getLength(lane) - vehicles.getLanePosition(vehicle_id)
        if target not in lanes.getIDList() or left < speed * self._behaviour.seconds:
            return ""
        allowed = lanes.getAllowed(target)
        return target if not allowed or vehicles.getVehicleClass(vehicle_id) in allowed else ""


class _WanderRun:
    """A sine across the lane, no wider than the lane leaves room for."""

    indicator: Indicator = "off"

    def __init__(self, behaviour: Wander) -> None:
        self._behaviour = behaviour
        self._elapsed = 0.0

    def tick(self, vehicles: Any, lanes: Any, vehicle_id: str, seconds: float) -> tuple[float, float]:
        """(place left of the centre of the lane, 0)."""
        lane = vehicles.getLaneID(vehicle_id)
        if vehicles.getSpeed(vehicle_id) < ROLLING or lane == "":
            return vehicles.getLateralLanePosition(vehicle_id), 0.0
        self._elapsed += seconds
        room = max((lanes.getWidth(lane) - vehicles.getWidth(vehicle_id)) / 2, 0.0)
        amplitude = min(self._behaviour.amplitude, room)
        return amplitude * math.sin(math.tau * self._elapsed / self._behaviour.period), 0.0
