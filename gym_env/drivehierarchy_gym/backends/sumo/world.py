"""The world of one episode on libsumo: traffic, scripted bodies, the ego, and what it touches.

Runs in the worker process only: libsumo holds one simulation per process.

The first step of SUMO inserts everybody where they stand, unmoved; it is the state at time 0. Each tick then goes: the
ego moves by its own dynamics; triggers, behaviours and paths act on the others; the ego and all scripted bodies are put
into SUMO; SUMO steps; the new poses are read and contacts judged from them.
"""

from __future__ import annotations

import heapq
import math
from array import array

import libsumo

from drivehierarchy_gym.backends.protocol import TICK_SECONDS
from drivehierarchy_gym.backends.sumo.bodies import (
    Body,
    PathBody,
    TrafficBody,
    WalkerBody,
    front_bumper,
    sumo_angle,
)
from drivehierarchy_gym.backends.sumo.contacts import Walls, box_touches_box
from drivehierarchy_gym.backends.sumo.dynamics import EgoDynamics
from drivehierarchy_gym.backends.sumo.messages import EgoValues, NetworkFacts, WorldReport
from drivehierarchy_gym.backends.sumo.options import sumo_options
from drivehierarchy_gym.backends.sumo.signals import RedLightWatch
from drivehierarchy_gym.backends.sumo.triggers import BodyState, RouteProgress
from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_HEIGHT, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.plan import ActorPlan, EpisodePlan, PathDrive, StandDrive, TrafficDrive, WalkDrive
from drivehierarchy_gym.state import Contact, VehicleControl

EGO = "ego"
EGO_SIZE = (EGO_LENGTH, EGO_WIDTH)
EGO_REACH = math.hypot(*EGO_SIZE) / 2

MAX_SPEED_FACTOR = 5.0
"""Times the speed limit; beyond it SUMO's traffic underrates a speeding ego."""
PLACED_WITHIN = 0.5
"""m; an actor further from its planned place at time 0 is an error of the scenario."""
FIRST_POSITION = 0.1
"""m; SUMO cannot tell the heading of a vehicle that departs at the very start of a lane."""
LATE_ENTRY_FROM_EGO = 60.0
LATE_ENTRY_GAP = 6.0
LATE_ENTRY_HEADWAY = 1.5
LATE_ENTRY_RETRY = 1.0
"""Background vehicles that enter later do so this far from the ego (m), with this gap (m plus seconds of the faster
one's speed) to every other body, and otherwise try again after this many seconds."""
MAX_ACCELERATION = 12.0
"""m/s²; nobody changes speed faster."""
LONGEST_WAIT = 1.0
SPEED_GAIN = 2 * MAX_ACCELERATION * LONGEST_WAIT
JUMP = 4.0
"""A body is looked for at least every `LONGEST_WAIT` seconds; until then both it and the ego may become faster by half
of `SPEED_GAIN` (m/s), and it may move aside by a lane at once (m)."""

# Where a mirror of a body that SUMO does not drive faces along its lane, whatever the body faces.
_ALONG_THE_LANE = libsumo.constants.INVALID_DOUBLE_VALUE
_ANY_EDGE_ON_A_LANE, _ANY_EDGE_EXACT_PLACE = 0, 2
"""keepRoute of moveToXY: map to whatever lane is there; the second keeps the given place also off the lanes, where SUMO
takes a vehicle from its lane, traffic no longer sees it, and the sublane model may crash (SUMO 1.28)."""
_EGO_MATCH_RADIUS = 4.0
"""m from a lane's centre line within which the ego still counts as being on it for traffic."""
_MATCH_RADIUS = 10.0
"""m around a placed vehicle in which moveToXY looks for its lane; further off it is on none anyway."""


class World:
    """One simulation after another; `reset` first."""

    def __init__(self) -> None:
        self._running = False

    # --- building ----------------------------------------------------------------------------------------------------

    def reset(self, plan: EpisodePlan, facts: NetworkFacts, walls: Walls) -> WorldReport:
        """Build the world of `plan`.

        Raises:
            ScenarioError: an actor could not be placed; names it, its planned pose and the reason.
        """
        self._start_sumo(plan)
        self._ego = EgoDynamics(plan.start, plan.start_speed)
        self._walls = walls
        self._red_lights = RedLightWatch(
            facts.stop_lines, plan.route_edges, libsumo.trafficlight.getRedYellowGreenState
        )
        self._progress = RouteProgress(
            [(float(x), float(y)) for x, y in plan.route.points], [float(arc) for arc in plan.route.arcs]
        )
        self._signal_ids = libsumo.trafficlight.getIDList()
        self.ticks = 0
        self._bodies: dict[str, Body] = {}
        self._late: list[tuple[float, int]] = []
        self._entering: dict[str, Body] = {}
        self._plans = plan.actors
        self._types: set[str] = set()
        self._mirror_routes: dict[str, str] = {}

        self._add_ego(plan)
        for number, actor in enumerate(plan.actors):
            if actor.depart_time > 0.0 and actor.background:
                heapq.heappush(self._late, (actor.depart_time, number))
                continue
            body = self._place(number, actor)
            if body is not None:
                self._bodies[actor.id] = body
        libsumo.simulationStep()
        self._check_placed()
        for placed in self._bodies.values():
            if isinstance(placed, TrafficBody):
                self._settle(placed.plan)
        if plan.start_speed > 0.0:
            libsumo.vehicle.setPreviousSpeed(EGO, plan.start_speed)
        self._scripted = [b for b in self._bodies.values() if isinstance(b, TrafficBody) and b.scripted]
        self._paths = [b for b in self._bodies.values() if isinstance(b, PathBody)]
        return self.report()

    def _start_sumo(self, plan: EpisodePlan) -> None:
        options = sumo_options(plan)
        if self._running:
            libsumo.load(options)
        else:
            libsumo.start(["sumo", *options])
            self._running = True

    def _add_ego(self, plan: EpisodePlan) -> None:
        types = libsumo.vehicletype
        types.copy("class.passenger", EGO)
        types.setLength(EGO, EGO_LENGTH)
        types.setWidth(EGO, EGO_WIDTH)
        types.setHeight(EGO, EGO_HEIGHT)
        types.setMaxSpeed(EGO, 100.0)
        types.setSpeedDeviation(EGO, 0.0)
        self._ego_speed_factor = 1.0
        # Its whole route, so that traffic knows where it turns at a junction and yields or does not. Where SUMO cannot
        # drive that, less will do: the ego is put in its place in any case.
        try:
            libsumo.route.add(EGO, plan.route_edges)
            libsumo.vehicle.add(EGO, EGO, EGO, depart="now")
        except libsumo.TraCIException:
            libsumo.vehicle.add(EGO, self._mirror_route(EGO), EGO, depart="now")
        if not libsumo.vehicle.isRouteValid(EGO):
            libsumo.vehicle.setRoute(EGO, plan.route_edges[:1])
        libsumo.vehicle.setSpeedMode(EGO, 0)
        libsumo.vehicle.setLaneChangeMode(EGO, 0)
        self._move_ego()

    def _move_ego(self) -> None:
        ego = self._ego
        x, y = front_bumper(ego.x, ego.y, ego.yaw, EGO_LENGTH)
        angle = sumo_angle(ego.yaw)
        try:
            libsumo.vehicle.moveToXY(EGO, "", -1, x, y, angle, _ANY_EDGE_ON_A_LANE, _EGO_MATCH_RADIUS)
        except libsumo.TraCIException:  # beside the road
            libsumo.vehicle.moveToXY(EGO, "", -1, x, y, angle, _ANY_EDGE_EXACT_PLACE, _MATCH_RADIUS)

    def _let_ego_speed(self) -> None:
        """SUMO takes nobody to be faster than the speed limit times a factor of its own: raise the ego's on demand.

        Not beforehand, because every driver looks as far ahead as the factor lets it drive, which costs time.
        """
        believed = libsumo.vehicle.getSpeed(EGO)
        if 0.0 < believed < 0.95 * self._ego.speed and self._ego_speed_factor < MAX_SPEED_FACTOR:
            self._ego_speed_factor = min(1.1 * self._ego_speed_factor * self._ego.speed / believed, MAX_SPEED_FACTOR)
            libsumo.vehicle.setSpeedFactor(EGO, self._ego_speed_factor)

    def _place(self, number: int, actor: ActorPlan) -> Body | None:
        """A body and, where SUMO knows of it, its vehicle or person, which the next step inserts.

        None for background traffic that SUMO refuses.
        """
        drive = actor.drive
        try:
            if isinstance(drive, TrafficDrive):
                self._add_traffic(actor, drive)
                return TrafficBody(number, actor, drive, libsumo)
            if isinstance(drive, WalkDrive):
                self._add_walker(actor, drive)
                return WalkerBody(number, actor, libsumo)
        except ScenarioError:
            if actor.background:
                return None
            raise
        body = PathBody(number, actor, drive) if isinstance(drive, PathDrive) else Body(number, actor)
        self._mirror(body)
        return body

    def _type(self, model_name: str) -> str:
        """SUMO type with the size of a catalog model, made on first use."""
        if model_name not in self._types:
            model, types = ACTOR_MODELS[model_name], libsumo.vehicletype
            types.copy(f"class.{model.sumo_class or 'passenger'}", model_name)
            types.setLength(model_name, model.length)
            types.setWidth(model_name, model.width)
            types.setHeight(model_name, model.height)
            self._types.add(model_name)
        return model_name

    def _add_traffic(self, actor: ActorPlan, drive: TrafficDrive) -> None:
        try:
            libsumo.route.add(actor.id, drive.edges)
            libsumo.vehicle.add(
                actor.id,
                actor.id,
                self._type(actor.model),
                depart="now",
                departLane=str(drive.lane_index),
                departPos=repr(max(float(drive.lane_pos), FIRST_POSITION)),
                departSpeed=repr(float(drive.speed)),
            )
        except libsumo.TraCIException as error:
            raise _misplaced(actor, f"SUMO refuses its route or departure: {error}") from None
        if not libsumo.vehicle.isRouteValid(actor.id):
            libsumo.vehicle.remove(actor.id)  # or the next step fails as a whole
            raise _misplaced(actor, f"SUMO finds no way along its route {' '.join(drive.edges)}")

    def _add_walker(self, actor: ActorPlan, drive: WalkDrive) -> None:
        try:
            libsumo.person.add(actor.id, drive.edges[0], drive.lane_pos, typeID=self._type(actor.model))
            # To the middle of the last edge, which may be entered from either end.
            arrival = libsumo.lane.getLength(f"{drive.edges[-1]}_0") / 2
            libsumo.person.appendWalkingStage(actor.id, drive.edges, arrival)
        except libsumo.TraCIException as error:
            raise _misplaced(actor, f"SUMO refuses its walk: {error}") from None

    def _settle(self, actor: ActorPlan) -> None:
        """What of a drive can only be said once the vehicle is in."""
        drive = actor.drive
        assert isinstance(drive, TrafficDrive)
        if drive.max_speed is not None:
            libsumo.vehicle.setMaxSpeed(actor.id, drive.max_speed)

    def _mirror(self, body: Body) -> None:
        """Put a body that SUMO does not drive in its traffic's way, as a vehicle of its size held in place.

        Walkers, cones and barriers become short vehicles too: SUMO's traffic brakes for, and steers around, vehicles
        only. A mirror off all lanes is dropped by SUMO at its next step and comes back when it moves.
        """
        if not body.plan.seen_by_traffic:
            return
        vehicle = body.contact == "vehicle"
        model = self._type(body.plan.model if vehicle else "car")
        libsumo.vehicle.add(body.id, self._mirror_route(model), model, depart="now")
        libsumo.vehicle.setSpeedMode(body.id, 0)
        libsumo.vehicle.setLaneChangeMode(body.id, 0)
        libsumo.vehicle.setSpeed(body.id, 0.0)
        if not vehicle:
            libsumo.vehicle.setLength(body.id, max(body.size))
            libsumo.vehicle.setWidth(body.id, max(body.size))
            libsumo.vehicle.setMinGap(body.id, 0.0)
        self._move_mirror(body)

    def _mirror_route(self, model: str) -> str:
        """A route that a mirror of this type may depart on before it is put in its place: any edge for its class."""
        vehicle_class = libsumo.vehicletype.getVehicleClass(model)
        if vehicle_class not in self._mirror_routes:
            for lane in libsumo.lane.getIDList():
                allowed = libsumo.lane.getAllowed(lane)
                if not lane.startswith(":") and (not allowed or vehicle_class in allowed):
                    break
            else:
                raise ScenarioError(f"the road network has no lane for a {model} ({vehicle_class}); leave it out")
            route = self._mirror_routes[vehicle_class] = f"mirror:{vehicle_class}"
            libsumo.route.add(route, (libsumo.lane.getEdgeID(lane),))
        return self._mirror_routes[vehicle_class]

    def _move_mirror(self, body: Body) -> None:
        if body.contact == "vehicle":
            x, y = front_bumper(body.x, body.y, body.yaw, body.length)
            angle = sumo_angle(body.yaw)
        else:
            x, y, angle = body.x, body.y, _ALONG_THE_LANE
        libsumo.vehicle.moveToXY(body.id, "", -1, x, y, angle, _ANY_EDGE_EXACT_PLACE, _MATCH_RADIUS)

    def _check_placed(self) -> None:
        """Everybody of the plan but background traffic stands in its place, and nobody in the ego's."""
        present = {*libsumo.vehicle.getIDList(), *libsumo.person.getIDList()}
        ego_box = (self._ego.x, self._ego.y, self._ego.yaw)
        for body in list(self._bodies.values()):
            if body.moves_by_itself and body.id not in present:
                if not body.plan.background:
                    raise _misplaced(body.plan, "SUMO did not insert it")
                del self._bodies[body.id]
                continue
            body.read()
            found = body.misplaced_by()
            if found > PLACED_WITHIN and not body.plan.background:
                reason = f"SUMO puts it at ({body.x:.2f}, {body.y:.2f}), on its lane"
                if isinstance(body, PathBody):
                    reason = "its path begins elsewhere"
                raise _misplaced(body.plan, f"{reason}, {found:.2f} m away")
            if box_touches_box(ego_box, EGO_SIZE, (body.x, body.y, body.yaw), body.size):
                raise _misplaced(
                    body.plan, f"it overlaps the ego, which starts at ({ego_box[0]:.2f}, {ego_box[1]:.2f})"
                )

    # --- the world as triggers see it (triggers.Scene) ----------------------------------------------------------------

    @property
    def time(self) -> float:
        """Seconds since the start of the episode."""
        return self.ticks * TICK_SECONDS

    @property
    def ego_x(self) -> float:
        return self._ego.x

    @property
    def ego_y(self) -> float:
        return self._ego.y

    @property
    def ego_speed(self) -> float:
        return self._ego.speed

    def ego_progress(self) -> float:
        """Metres along the route; asked for every tick as long as a trigger depends on it."""
        return self._progress.update(self._ego.x, self._ego.y)

    def body(self, actor_id: str) -> BodyState | None:
        """Present state of an actor, None when it is not in the world."""
        body = self._bodies.get(actor_id)
        if body is None:
            return None
        body.read()
        return body.state()

    # --- running -----------------------------------------------------------------------------------------------------

    def advance(
        self, control: VehicleControl, ticks: int
    ) -> tuple[array[float], tuple[Contact, ...], tuple[tuple[int, str], ...]]:
        """Run up to `ticks` ticks; the first with a contact is the last.

        Returns:
            The ego after every tick (`EGO_VALUES` each), the contacts of the last one, the red lights that were run.
        """
        front = self._front()
        way = (self._ego.speed + MAX_ACCELERATION * ticks * TICK_SECONDS) * ticks * TICK_SECONDS
        self._red_lights.look_around(*front, way)
        egos, red_lights = array("d"), []
        contacts: tuple[Contact, ...] = ()
        for number in range(ticks):
            self._tick(control)
            egos.extend(self._ego_values())
            before, front = front, self._front()
            red = self._red_lights.crossed(before, front, self._ego.yaw)
            if red is not None:
                red_lights.append((number, red))
            contacts = self._contacts()
            if contacts:
                break
        return egos, contacts, tuple(red_lights)

    def _tick(self, control: VehicleControl) -> None:
        ego = self._ego
        ego.tick(control, TICK_SECONDS)
        for traffic in self._scripted:
            traffic.tick(self, TICK_SECONDS)
        for path in self._paths:
            if path.tick(self, TICK_SECONDS) and path.plan.seen_by_traffic:
                try:
                    self._move_mirror(path)
                except libsumo.TraCIException:  # it was off the lanes, where SUMO forgets vehicles
                    self._mirror(path)
        self._enter_late()
        self._move_ego()
        libsumo.simulationStep()
        self._let_ego_speed()
        self.ticks += 1
        simulation = libsumo.simulation
        if self._entering:
            for entered in (*simulation.getDepartedIDList(), *simulation.getDepartedPersonIDList()):
                body = self._entering.pop(entered, None)
                if body is not None:
                    self._bodies[entered] = body
        arrived = (*simulation.getArrivedIDList(), *simulation.getArrivedPersonIDList())
        if arrived:
            self._drop(arrived)

    def _drop(self, arrived: tuple[str, ...]) -> None:
        """Forget what SUMO took out at the end of its route (mirrors stay: SUMO forgets those off the lanes)."""
        for gone in arrived:
            body = self._bodies.get(gone)
            if body is None or not body.moves_by_itself:
                continue
            del self._bodies[gone]
            if body in self._scripted:
                self._scripted.remove(body)

    def _enter_late(self) -> None:
        """Background vehicles whose time has come, where there is room for them."""
        while self._late and self._late[0][0] <= self.time + 1e-9:
            _, number = heapq.heappop(self._late)
            actor = self._plans[number]
            if not self._has_room(actor):
                heapq.heappush(self._late, (self.time + LATE_ENTRY_RETRY, number))
                continue
            body = self._place(number, actor)
            if body is not None:
                self._entering[actor.id] = body

    def _has_room(self, actor: ActorPlan) -> bool:
        pose = actor.pose
        if math.hypot(pose.x - self._ego.x, pose.y - self._ego.y) < LATE_ENTRY_FROM_EGO:
            return False
        own_speed = actor.drive.speed if isinstance(actor.drive, TrafficDrive) else 0.0
        half = ACTOR_MODELS[actor.model].length / 2
        for body in self._bodies.values():
            body.read()
            gap = LATE_ENTRY_GAP + LATE_ENTRY_HEADWAY * max(own_speed, body.speed)
            if math.hypot(body.x - pose.x, body.y - pose.y) < gap + half + body.reach:
                return False
        return True

    def _contacts(self) -> tuple[Contact, ...]:
        """What the ego touches now.

        A body that is far off is not looked at again before it could have come near: its distance, less what a body
        may do at once, over the speeds of both and what they can gain until then.
        """
        ego, now = self._ego, self.ticks
        x, y = ego.x, ego.y
        contacts = []
        for body in self._bodies.values():
            if body.look_at > now:
                continue
            body_x, body_y, speed = body.locate()
            gap = math.hypot(body_x - x, body_y - y) - EGO_REACH - 2 * body.reach
            if gap <= 0.0:
                body.read()
                if box_touches_box((x, y, ego.yaw), EGO_SIZE, (body.x, body.y, body.yaw), body.size):
                    contacts.append(Contact(body.id, body.contact))
            closing = ego.speed + max(speed, body.top_speed) + SPEED_GAIN
            body.look_at = now + 1 + int(min((gap - JUMP) / closing, LONGEST_WAIT) / TICK_SECONDS)
        box = (x, y, ego.yaw)
        contacts += [Contact(f"building_{number}", "static") for number in self._walls.touched(box, EGO_SIZE)]
        return tuple(contacts)

    def _front(self) -> tuple[float, float]:
        return front_bumper(self._ego.x, self._ego.y, self._ego.yaw, EGO_LENGTH)

    def _ego_values(self) -> EgoValues:
        ego = self._ego
        return (ego.x, ego.y, ego.yaw, ego.speed, ego.acceleration, ego.wheel_angle)

    def report(self) -> WorldReport:
        """The world now."""
        values = array("d")
        for body in self._bodies.values():
            if isinstance(body.plan.drive, StandDrive):
                continue
            if body.moves_by_itself:
                body.read()
            values.extend(body.values())
        read_state = libsumo.trafficlight.getRedYellowGreenState
        return WorldReport(self._ego_values(), values, {signal: read_state(signal) for signal in self._signal_ids})


def _misplaced(actor: ActorPlan, reason: str) -> ScenarioError:
    x, y, yaw = actor.pose
    return ScenarioError(
        f"actor {actor.id!r} cannot be placed at its planned pose ({x:.2f}, {y:.2f}), heading "
        f"{math.degrees(yaw):.1f} degrees: {reason}"
    )
