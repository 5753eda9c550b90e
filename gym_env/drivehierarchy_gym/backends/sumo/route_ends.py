"""What a scripted vehicle does on the last edge of its route (release facts §3.10)."""

from __future__ import annotations

from typing import Any

ROOM_TO_STOP = 12.0
"""m; with less of the last edge left, the route is first extended by one edge."""
SLOW_DOWN_SECONDS = 2.0
STOP_FOREVER = 1e8
"""Seconds of a stop that ends with the episode."""


class RouteEnd:
    """`stop` or `continue` of one vehicle, as the release's run script and its alternative do it.

    `stop`: on entering the last edge the vehicle brakes to a stand at once where 12 m or more of it are left; with
    less, the route gets one more edge and the vehicle stops a quarter into it. `continue`: the route gets another edge
    whenever it runs out. At a dead end both slow down for two seconds, and leave if that does not stop them before.

    Args:
        sumo: the `libsumo` module.
    """

    def __init__(self, sumo: Any, vehicle_id: str, mode: str) -> None:
        self._sumo, self._id, self._mode = sumo, vehicle_id, mode
        self.done = False

    def tick(self) -> None:
        """Look whether the last edge has been reached, and act."""
        vehicles = self._sumo.vehicle
        edges = vehicles.getRoute(self._id)
        if self.done or vehicles.getRouteIndex(self._id) != len(edges) - 1:
            return
        if self._mode == "continue":
            self._extend(edges[-1])
            return
        self.done = True
        left = self._sumo.lane.getLength(f"{edges[-1]}_0") - vehicles.getLanePosition(self._id)
        if left >= ROOM_TO_STOP:
            vehicles.setSpeed(self._id, 0.0)
            return
        extension = self._extend(edges[-1])
        if extension is not None:
            self._stop_on(extension)

    def _stop_on(self, edge: str) -> None:
        lane = next(i for i in range(self._sumo.edge.getLaneNumber(edge)) if self._usable(f"{edge}_{i}"))
        length = self._sumo.lane.getLength(f"{edge}_{lane}")
        end = min(max(8.0, 0.25 * length), max(length - 1.0, length / 2))
        try:
            self._sumo.vehicle.setStop(self._id, edge, end, laneIndex=lane, duration=STOP_FOREVER)
        except self._sumo.TraCIException:  # too near to stop there
            self._sumo.vehicle.slowDown(self._id, 0.0, SLOW_DOWN_SECONDS)

    def _extend(self, last: str) -> str | None:
        """Append the release's choice of the next edge to the route; slow down where there is none."""
        lanes = (f"{last}_{i}" for i in range(self._sumo.edge.getLaneNumber(last)))
        outgoing = {self._sumo.lane.getEdgeID(link[0]) for lane in lanes for link in self._sumo.lane.getLinks(lane)}
        choices = sorted(edge for edge in outgoing if self._leads_on(edge))
        if not choices:
            self.done = True
            self._sumo.vehicle.slowDown(self._id, 0.0, SLOW_DOWN_SECONDS)
            return None
        chosen = choices[sum(f"{self._id}:{last}".encode()) % len(choices)]
        self._sumo.vehicle.setRoute(self._id, (last, chosen))
        return chosen

    def _leads_on(self, edge: str) -> bool:
        return any(self._usable(f"{edge}_{i}") for i in range(self._sumo.edge.getLaneNumber(edge)))

    def _usable(self, lane: str) -> bool:
        allowed = self._sumo.lane.getAllowed(lane)
        return not allowed or self._sumo.vehicle.getVehicleClass(self._id) in allowed
