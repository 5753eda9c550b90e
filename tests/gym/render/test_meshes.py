"""Meshes fill their boxes, have no holes, and differ."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render import props
from drivehierarchy_gym.render.actor_meshes import EGO, actor_meshes, nominal_size
from drivehierarchy_gym.render.camera import CameraSpec, view_of
from drivehierarchy_gym.render.mesh import Mesh, MeshBuilder
from drivehierarchy_gym.render.rasterizer import (
    CENTRE,
    NOTHING,
    SOLID,
    fill,
    lens_of,
    new_queue,
    new_samples,
    queue_triangle,
)

CAMERA = CameraSpec("close", 120, 90, 60.0, 0.0, 0.0, 2.0, pitch_deg=-8.0)

STANDING = {
    "signal head": props.signal_head(),
    "stop": props.sign_stop(),
    "yield": props.sign_yield(),
    "pole": props.signal_pole(),
    "arm": props.signal_arm(),
    "broadleaf": props.broadleaf(1, detail=True),
    "distant broadleaf": props.broadleaf(1, detail=False),
    "conifer": props.conifer(0, detail=True),
}


def silhouette(mesh: Mesh, yaw: float, *, both_sides: bool) -> np.ndarray:
    """Pixels that a mesh covers when its middle stands before the camera, turned by `yaw`."""
    low, high = mesh.bounds
    away = 2.2 * float(np.abs(mesh.corners).max()) + 1.0
    view = view_of(CAMERA, Pose(0, 0, 0))
    lens = lens_of(CAMERA, view)
    c, s = math.cos(yaw), math.sin(yaw)
    turned = (mesh.corners - (low + high) / 2) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T
    local = (turned + np.array([away, 0, 1.2]) - view.position) @ view.rotation.T
    queue = new_queue(8)
    samples = new_samples(CAMERA.width, CAMERA.height, CENTRE)
    for triangle in local:
        for corners in (triangle, triangle[::-1]) if both_sides else (triangle,):
            fill(samples, queue, queue_triangle(queue, 0, lens, SOLID, 0, 0.0, 0.0, *corners.ravel()))
    return samples.triangle != NOTHING


def holes(mesh: Mesh) -> float:
    """Share of the silhouette that only backs of triangles cover, in the worst of eight views."""
    worst = 0.0
    for i in range(8):
        yaw = 0.2 + i * math.pi / 4
        whole = silhouette(mesh, yaw, both_sides=True)
        worst = max(worst, 1 - silhouette(mesh, yaw, both_sides=False).sum() / whole.sum())
    return worst


@pytest.mark.parametrize("model", [EGO, *ACTOR_MODELS])
def test_mesh_fills_its_box(model: str) -> None:
    bounds = np.array([mesh.bounds for mesh in actor_meshes(model)])
    length, width, height = nominal_size(model)
    assert bounds[:, 0].min(axis=0) == pytest.approx([-length / 2, -width / 2, 0])
    assert bounds[:, 1].max(axis=0) == pytest.approx([length / 2, width / 2, height])


@pytest.mark.parametrize("model", [EGO, *ACTOR_MODELS])
def test_no_face_of_a_body_looks_inwards(model: str) -> None:
    assert holes(actor_meshes(model)[0]) < 0.02


@pytest.mark.parametrize("name", STANDING)
def test_no_face_of_a_thing_at_the_roadside_looks_inwards(name: str) -> None:
    assert holes(STANDING[name].build()) < 0.02


def test_walking_phases_differ() -> None:
    phases = actor_meshes("pedestrian")
    assert len(phases) == 9
    for i, a in enumerate(phases):
        for b in phases[i + 1 :]:
            assert not np.allclose(a.corners, b.corners, atol=1e-3)


def test_normals_point_out_of_a_box() -> None:
    b = MeshBuilder()
    b.box((1.0, 3.0), (-1.0, 1.0), (0.0, 4.0), (1, 2, 3))
    mesh = b.build()
    outwards = mesh.corners.mean(axis=1) - [2.0, 0.0, 2.0]
    assert (np.sum(mesh.normals * outwards, axis=1) > 0).all()
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(np.ones(12))


def test_a_pane_lies_on_its_face() -> None:
    b = MeshBuilder()
    face = ((0.0, 0, 0), (4.0, 0, 0), (4.0, 0, 2), (0.0, 0, 2))
    b.pane(face, (0.25, 0.5, 0.0, 0.5), (1, 2, 3), lift=0.1)
    corners = b.build().corners.reshape(-1, 3)
    assert corners.min(axis=0) == pytest.approx([1.0, -0.1, 0.0])
    assert corners.max(axis=0) == pytest.approx([2.0, -0.1, 1.0])
