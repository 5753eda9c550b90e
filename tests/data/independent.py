"""A second opinion on what a camera sees: bodies drawn one at a time, and rays cast at their boxes.

Shares nothing with the labels but the meshes: no instance buffer with more than one body in it, no projection, no
visibility code. A pixel belongs to a body when the body alone would be seen there and no other body's box, seen there
alone as well, is hit earlier by the pixel's ray.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import EGO_REAR_AXLE_OFFSET
from drivehierarchy_gym.render.camera import CameraSpec
from drivehierarchy_gym.render.scene import SceneRenderer
from drivehierarchy_gym.state import ActorState, Snapshot


def owners(renderer: SceneRenderer, camera: CameraSpec, snapshot: Snapshot) -> NDArray[np.int64]:
    """Index of the body that every pixel shows, -1 for none (height, width)."""
    first = np.full((camera.height, camera.width), np.inf)
    owner = np.full((camera.height, camera.width), -1)
    for number, body in enumerate(snapshot.actors):
        if not _in_front(camera, snapshot, body):
            continue
        ids = renderer.ids(camera, replace(snapshot, actors=(body,)))
        rows, columns = np.nonzero(ids == 1)
        if len(rows) == 0:
            continue
        depth = hit_distance(camera, snapshot, body, columns + 0.5, rows + 0.5)
        nearer = depth < first[rows, columns]
        first[rows[nearer], columns[nearer]] = depth[nearer]
        owner[rows[nearer], columns[nearer]] = number
    return owner


def hit_distance(
    camera: CameraSpec, snapshot: Snapshot, body: ActorState, u: NDArray[np.float64], v: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Where the rays through pixels (u, v) enter the body's box, or come nearest to its middle when they miss it."""
    origin, rays = _rays(camera, snapshot, u, v)
    c, s = math.cos(body.yaw), math.sin(body.yaw)
    axes = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    half = np.array([body.length, body.width, body.height]) / 2
    middle = np.array([body.x, body.y, body.height / 2])
    local_origin = axes @ (origin - middle)
    local_rays = rays @ axes.T
    with np.errstate(divide="ignore", invalid="ignore"):
        a = (-half - local_origin) / local_rays
        b = (half - local_origin) / local_rays
    enter = np.nanmax(np.minimum(a, b), axis=1)
    leave = np.nanmin(np.maximum(a, b), axis=1)
    closest = (rays @ (middle - origin)) / np.einsum("ij,ij->i", rays, rays)
    return np.where(enter <= leave, enter, closest)


def distance(snapshot: Snapshot, body: ActorState) -> float:
    """Ground distance from the middle of the rear axle to the middle of the body."""
    ego = snapshot.ego
    axle = complex(ego.x, ego.y) - EGO_REAR_AXLE_OFFSET * complex(math.cos(ego.yaw), math.sin(ego.yaw))
    return abs(complex(body.x, body.y) - axle)


def _rays(
    camera: CameraSpec, snapshot: Snapshot, u: NDArray[np.float64], v: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Position of the camera and directions (N, 3) through pixels; the optical axis has length 1."""
    ego = snapshot.ego
    at = complex(ego.x, ego.y) + complex(camera.x, camera.y) * complex(math.cos(ego.yaw), math.sin(ego.yaw))
    heading = ego.yaw + math.radians(camera.yaw_deg)
    ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
    right = np.array([math.sin(heading), -math.cos(heading), 0.0])
    down = np.array([0.0, 0.0, -1.0])
    focal = camera.width / 2 / math.tan(math.radians(camera.fov_deg / 2))
    x, y = (u - camera.width / 2) / focal, (v - camera.height / 2) / focal
    return np.array([at.real, at.imag, camera.z]), ahead + np.outer(x, right) + np.outer(y, down)


def _in_front(camera: CameraSpec, snapshot: Snapshot, body: ActorState) -> bool:
    """Whether any part of the body can be on the camera's side of the ego; spares drawings of what is behind."""
    heading = snapshot.ego.yaw + math.radians(camera.yaw_deg)
    dx, dy = body.x - snapshot.ego.x, body.y - snapshot.ego.y
    return dx * math.cos(heading) + dy * math.sin(heading) > -body.length
