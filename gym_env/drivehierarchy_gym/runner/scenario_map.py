"""A scenario as a picture of its map: roads, the ego's route, who else is there and where they go."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import Polyline, Pose, box_corners
from drivehierarchy_gym.plan import ActorPlan, EpisodePlan, PathDrive, TrafficDrive
from drivehierarchy_gym.road.cache import write_atomically
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.scenarios.schema import AllOf, AtTime, EgoArrivesIn, EgoPasses, EgoWithin, Trigger

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Circle

MARGIN = 20.0
"""m of map shown around everything that matters."""
LONGEST_SIDE = 420.0
"""m; a route's surroundings beyond it are cut."""
NARROWEST = 0.6
"""Shorter side of the map over its longer one, at least: labels need room."""
SURFACE_COLOURS = {
    "asphalt": "#c9ccd1",
    "gravel": "#ddd3c0",
    "cycleway": "#d8c4be",
    "sidewalk": "#e6e4de",
    "kerb": "#b4b4b0",
}
GROUND, PAINT = "#f3f5ef", "#ffffff"
ROUTE, EGO, GOAL = "#d62728", "#d62728", "#2ca02c"
CONTACT_COLOURS = {"vehicle": "#1f4e9c", "pedestrian": "#8e44ad", "static": "#e67e22"}
BACKGROUND = "#7f8c8d"
ROUTE_MARK = 20.0
"""m between the distance marks on the route."""


def draw_scenario(plan: EpisodePlan, path: Path) -> None:
    """Write a PNG (about 1600 px on its longer side) of the plan's map.

    Red: the ego, its route with a mark every 20 m, and the goal's circle in green. Blue, purple and orange: scripted
    vehicles, persons and objects with their ways; a note says what sets them off. Grey: background traffic.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    network = load_network(plan.network_file)
    low, high = _window(plan)
    width, height = high - low
    scale = 13.0 / max(width, height)
    figure, axes = pyplot.subplots(figsize=(max(width * scale, 6.0), max(height * scale, 4.0) + 0.7), dpi=120)
    try:
        axes.set_facecolor(GROUND)
        _draw_roads(axes, network, low, high)
        _draw_route(axes, plan)
        for actor in plan.actors:
            _draw_actor(axes, network, actor)
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        axes.set_aspect("equal")
        axes.tick_params(labelsize=7, colors="#666666")
        axes.set_title(f"{plan.scenario_id}    {plan.family}    route {plan.route.length:.0f} m", fontsize=11)
        picture = io.BytesIO()
        figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    finally:
        pyplot.close(figure)
    write_atomically(path, lambda partial: partial.write_bytes(picture.getvalue()))


def _window(plan: EpisodePlan) -> tuple[np.ndarray, np.ndarray]:
    points = [plan.route.points, plan.lane_route.points]
    points += [np.array([actor.pose[:2]]) for actor in plan.actors if not actor.background]
    everything = np.concatenate(points)
    low, high = everything.min(axis=0) - MARGIN, everything.max(axis=0) + MARGIN
    middle = (plan.route.points.min(axis=0) + plan.route.points.max(axis=0)) / 2
    reach = max(LONGEST_SIDE / 2, float(np.ptp(plan.route.points, axis=0).max()) / 2 + MARGIN)
    low, high = np.maximum(low, middle - reach), np.minimum(high, middle + reach)
    lacking = np.maximum(NARROWEST * float((high - low).max()) - (high - low), 0.0)
    return low - lacking / 2, high + lacking / 2


def _draw_roads(axes: Axes, network: RoadNetwork, low: np.ndarray, high: np.ndarray) -> None:
    from matplotlib.collections import PolyCollection

    for areas, colours in ((network.road_areas(), SURFACE_COLOURS), (network.markings(), {})):
        for area in areas:
            corners = area.triangles
            near = np.all((corners.max(axis=1) >= low) & (corners.min(axis=1) <= high), axis=1)
            colour = colours.get(area.kind, PAINT)
            axes.add_collection(
                PolyCollection(list(corners[near]), facecolors=colour, edgecolors=colour, linewidths=0.1, zorder=1)
            )


def _draw_route(axes: Axes, plan: EpisodePlan) -> None:
    axes.plot(*plan.lane_route.points.T, color=ROUTE, linewidth=1.0, linestyle=(0, (4, 3)), zorder=3)
    axes.plot(*plan.route.points.T, color=ROUTE, linewidth=2.0, alpha=0.8, zorder=3)
    for arc in np.arange(ROUTE_MARK, plan.route.length, ROUTE_MARK):
        pose = plan.route.at(float(arc))
        ends = [pose.to_world(0.0, side) for side in (-0.8, 0.8)]
        axes.plot(*zip(*ends, strict=True), color=ROUTE, linewidth=1.2, zorder=3)
        x, y = pose.to_world(0.0, 2.6)
        axes.text(x, y, f"{arc:.0f}", color=ROUTE, fontsize=5.5, ha="center", va="center", zorder=6)
    axes.add_patch(_circle(plan.goal, plan.goal_radius, GOAL))
    axes.plot(*plan.goal, marker="*", color=GOAL, markersize=9, zorder=5)
    _draw_box(axes, plan.start, EGO_LENGTH, EGO_WIDTH, EGO)
    _label(axes, plan.start, "ego", EGO)


def _draw_actor(axes: Axes, network: RoadNetwork, actor: ActorPlan) -> None:
    model = ACTOR_MODELS[actor.model]
    colour = BACKGROUND if actor.background else CONTACT_COLOURS[model.contact]
    _draw_box(axes, actor.pose, max(model.length, 0.8), max(model.width, 0.8), colour)
    if actor.background:
        return
    note = f"{actor.id} ({actor.model})"
    way: Polyline | None = None
    if isinstance(actor.drive, PathDrive):
        way = actor.drive.path
        if actor.drive.start is not None:
            note += f"\n{trigger_words(actor.drive.start)}"
    elif isinstance(actor.drive, TrafficDrive):
        try:
            way = network.route_polyline(
                actor.drive.edges, actor.pose[:2], None, vclass=model.sumo_class or "passenger"
            )
        except ScenarioError:  # it starts at the very end of its way: nothing to draw
            way = None
    if way is not None:
        axes.plot(*way.points.T, color=colour, linewidth=1.2, linestyle=(0, (2, 1.5)), zorder=3)
        end, before = way.at(way.length), way.at(way.length - 1.0)
        axes.annotate(
            "", end[:2], before[:2], arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 1.2}, zorder=3
        )
    for reaction in actor.reactions:
        note += f"\n{reaction.do.type} {trigger_words(reaction.when)}"
    _label(axes, actor.pose, note, colour)


def trigger_words(trigger: Trigger) -> str:
    """What a trigger waits for, in a few words."""
    if isinstance(trigger, AllOf):
        return " and ".join(trigger_words(part) for part in trigger.triggers)
    if isinstance(trigger, AtTime):
        return f"at {trigger.seconds:g} s"
    if isinstance(trigger, EgoWithin):
        return f"ego within {trigger.meters:g} m"
    if isinstance(trigger, EgoPasses):
        return f"ego passes {trigger.route_m:g} m"
    if isinstance(trigger, EgoArrivesIn):
        return f"ego {trigger.seconds:g} s before {trigger.route_m:g} m"
    return f"after {trigger.actor}"


def _draw_box(axes: Axes, pose: Pose, length: float, width: float, colour: str) -> None:
    from matplotlib.patches import Polygon

    corners = box_corners(*pose, length, width)
    axes.add_patch(Polygon(corners, closed=True, facecolor=colour, edgecolor="black", linewidth=0.4, zorder=4))
    tip = pose.to_world(length / 2, 0.0)
    axes.plot([pose.x, tip[0]], [pose.y, tip[1]], color="white", linewidth=0.8, zorder=5, solid_capstyle="butt")


def _circle(centre: tuple[float, float], radius: float, colour: str) -> Circle:
    from matplotlib import patches

    return patches.Circle(centre, radius, facecolor="none", edgecolor=colour, linewidth=1.4, zorder=3)


def _label(axes: Axes, pose: Pose, text: str, colour: str) -> None:
    side = pose.to_world(0.0, -1.0)
    dx, dy = side[0] - pose.x, side[1] - pose.y
    norm = math.hypot(dx, dy) or 1.0
    axes.annotate(
        text,
        (pose.x, pose.y),
        xytext=(14 * dx / norm, 14 * dy / norm),
        textcoords="offset points",
        fontsize=6.5,
        color=colour,
        ha="left" if dx > 0.3 else "right" if dx < -0.3 else "center",
        va="bottom" if dy > 0.3 else "top" if dy < -0.3 else "center",
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
        zorder=7,
        clip_on=True,
    )
