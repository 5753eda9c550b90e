"""The bodies of an episode beside the ego: how each is placed, moved and read."""

from __future__ import annotations

import math
from typing import Any

from drivehierarchy_gym.backends.sumo.behaviours import ScriptedDriver
from drivehierarchy_gym.backends.sumo.messages import BRAKING, LEFT, RIGHT
from drivehierarchy_gym.backends.sumo.paths import PathFollower
from drivehierarchy_gym.backends.sumo.route_ends import RouteEnd
from drivehierarchy_gym.backends.sumo.triggers import BodyState, Scene, TriggerWatch
from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.plan import ActorPlan, PathDrive, TrafficDrive
from drivehierarchy_gym.scenarios.schema import Behaviour

_SUMO_RIGHT, _SUMO_LEFT, _SUMO_BRAKE = 1, 2, 8
"""Bits of SUMO's vehicle signals (https://sumo.dlr.de/docs/TraCI/Vehicle_Signalling.html)."""


def sumo_angle(yaw: float) -> float:
    """SUMO's heading (degrees clockwise from north) of a yaw (rad counter-clockwise from east)."""
    return 90.0 - math.degrees(yaw)


def front_bumper(x: float, y: float, yaw: float, length: float) -> tuple[float, float]:
    """SUMO's reference point of a vehicle whose box centre is (x, y)."""
    return x + math.cos(yaw) * length / 2, y + math.sin(yaw) * length / 2


class Body:
    """One body. Its pose (box centre), speed and flags are those of the last `read`."""

    moves_by_itself = False
    """Whether the traffic simulator moves it, so that its pose has to be read back."""

    def __init__(self, number: int, plan: ActorPlan) -> None:
        model = ACTOR_MODELS[plan.model]
        self.number = number
        self.id = plan.id
        self.plan = plan
        self.contact = model.contact
        self.length, self.width = model.length, model.width
        self.size = (model.length, model.width)
        self.reach = math.hypot(model.length, model.width) / 2
        self.x, self.y, self.yaw = (float(value) for value in plan.pose)
        self.speed = 0.0
        self.flags = 0
        self.top_speed = 0.0
        """m/s that it may suddenly have; what SUMO moves changes speed only within limits."""
        self.look_at = 0
        """Tick up to which it cannot have come near the ego (`World`)."""

    @property
    def started(self) -> bool:
        """Whether its own path has begun."""
        return False

    def read(self) -> None:
        """Bring pose, speed and flags up to date."""

    def locate(self) -> tuple[float, float, float]:
        """A point of its box (m) and its speed (m/s) now; cheaper than `read`."""
        return self.x, self.y, self.speed

    def misplaced_by(self) -> float:
        """Metres between where it stands and its planned pose."""
        return math.hypot(self.x - self.plan.pose.x, self.y - self.plan.pose.y)

    def values(self) -> tuple[float, ...]:
        """The `BODY_VALUES` numbers of a report."""
        return (self.number, self.x, self.y, self.yaw, self.speed, self.flags)

    def state(self) -> BodyState:
        return BodyState(self.x, self.y, self.speed, self.started)


class PathBody(Body):
    """Moved along its path, exactly."""

    def __init__(self, number: int, plan: ActorPlan, drive: PathDrive) -> None:
        super().__init__(number, plan)
        # Vehicles turn between their axles, taken at 0.3 of the length from the centre; others face their segment.
        self.follower = PathFollower(drive, 0.6 * self.length if self.contact == "vehicle" else 0.0)
        self._start = None if drive.start is None else TriggerWatch(drive.start, plan.id)
        self.top_speed = max(drive.speeds)

    @property
    def started(self) -> bool:
        return self.follower.begun

    def misplaced_by(self) -> float:
        """Metres between its planned pose and the first point of its path."""
        x, y, _ = self.follower.pose()
        return math.hypot(x - self.plan.pose.x, y - self.plan.pose.y)

    def tick(self, scene: Scene, seconds: float) -> bool:
        """Move on; True when the body moved."""
        if not self.follower.begun and (self._start is None or self._start.check(scene)):
            self.follower.begin()
        if not self.follower.moving:
            self.flags = 0
            return False
        before = self.follower.speed
        self.follower.tick(seconds)
        self.x, self.y, self.yaw = self.follower.pose()
        self.speed = self.follower.speed
        self.flags = BRAKING if self.speed < before - 1e-6 else 0
        return True


class TrafficBody(Body):
    """Driven by SUMO along its route, with reactions and the release's route ends on top."""

    moves_by_itself = True

    def __init__(self, number: int, plan: ActorPlan, drive: TrafficDrive, sumo: Any) -> None:
        super().__init__(number, plan)
        self._vehicles = sumo.vehicle
        self._reactions = [(TriggerWatch(r.when, plan.id), r.do) for r in plan.reactions]
        self._driver = ScriptedDriver(sumo.vehicle, sumo.lane, plan.id) if plan.reactions else None
        self._route_end = None if drive.at_route_end == "leave" else RouteEnd(sumo, plan.id, drive.at_route_end)
        self.scripted = self._driver is not None or self._route_end is not None
        # SUMO bends a vehicle whose tail sticks out of the lane it departs on onto some lane before it, which the
        # vehicle never drove. Until it has moved its own length, its tail follows its planned heading instead.
        self._tail_out = drive.lane_pos < self.length
        self._departure: tuple[float, float] | None = None

    def tick(self, scene: Scene, seconds: float) -> None:
        """Let due reactions begin and the running ones act on the coming tick."""
        if self._driver is not None:
            for behaviour in self._due(scene):
                self._driver.do(behaviour)
            self._driver.tick(seconds)
        if self._route_end is not None:
            self._route_end.tick()

    def _due(self, scene: Scene) -> list[Behaviour]:
        fired = [watch.check(scene) for watch, _ in self._reactions]
        count = next((i for i, has_fired in enumerate(fired) if not has_fired), len(fired))
        due = [behaviour for _, behaviour in self._reactions[:count]]
        del self._reactions[:count]
        return due

    def locate(self) -> tuple[float, float, float]:
        front_x, front_y = self._vehicles.getPosition(self.id)
        return front_x, front_y, self._vehicles.getSpeed(self.id)

    def read(self) -> None:
        vehicles, own = self._vehicles, self.id
        front_x, front_y = vehicles.getPosition(own)
        yaw = math.radians(90.0 - vehicles.getAngle(own))
        self.speed = speed = vehicles.getSpeed(own)
        signals = vehicles.getSignals(own)
        flags = BRAKING if signals & _SUMO_BRAKE else 0
        if signals & _SUMO_LEFT:
            flags |= LEFT
        elif signals & _SUMO_RIGHT:
            flags |= RIGHT
        if self._tail_out:
            yaw = self._heading_at_departure(front_x, front_y, yaw)
        driver = self._driver
        if driver is not None:
            if driver.sideways_speed:
                yaw += math.atan2(driver.sideways_speed, max(speed, 1.0))
            if driver.indicator != "off":
                flags = flags & BRAKING | (LEFT if driver.indicator == "left" else RIGHT)
        self.flags = flags
        half = self.length / 2
        self.x, self.y, self.yaw = front_x - math.cos(yaw) * half, front_y - math.sin(yaw) * half, yaw

    def misplaced_by(self) -> float:
        """Of the front bumper, which is what SUMO places: behind it, a long vehicle in a curve lies on the chord."""
        planned = front_bumper(*self.plan.pose, self.length)
        return math.dist(self._vehicles.getPosition(self.id), planned)

    def _heading_at_departure(self, front_x: float, front_y: float, yaw: float) -> float:
        """Heading (rad) with the tail on the straight line to where the front stood at the departure."""
        if self._departure is None:
            self._departure = front_x, front_y
        start_x, start_y = self._departure
        moved = math.hypot(front_x - start_x, front_y - start_y)
        if moved >= self.length:
            self._tail_out = False
            return yaw
        behind = self.length - moved
        tail_x = start_x - behind * math.cos(self.plan.pose.yaw)
        tail_y = start_y - behind * math.sin(self.plan.pose.yaw)
        return math.atan2(front_y - tail_y, front_x - tail_x)


class WalkerBody(Body):
    """A background pedestrian that SUMO walks."""

    moves_by_itself = True

    def __init__(self, number: int, plan: ActorPlan, sumo: Any) -> None:
        super().__init__(number, plan)
        self._persons = sumo.person

    def locate(self) -> tuple[float, float, float]:
        x, y = self._persons.getPosition(self.id)
        return x, y, self._persons.getSpeed(self.id)

    def read(self) -> None:
        x, y = self._persons.getPosition(self.id)
        yaw = math.radians(90.0 - self._persons.getAngle(self.id))
        self.speed = self._persons.getSpeed(self.id)
        half = self.length / 2
        self.x, self.y, self.yaw = x - math.cos(yaw) * half, y - math.sin(yaw) * half, yaw
