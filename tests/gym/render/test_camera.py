"""Projection against a second formulation, and image boxes against an intersection of half-spaces."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection
from scipy.spatial.transform import Rotation

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render.camera import (
    BEV,
    FRONT,
    NEAR,
    NUSCENES_CAMERAS,
    CameraSpec,
    box_vertices,
    image_box,
    project,
)

angles = st.floats(-math.pi, math.pi)
metres = st.floats(-60, 60)
poses = st.builds(Pose, metres, metres, angles)
cameras = st.builds(
    CameraSpec,
    st.just("any"),
    st.integers(2, 2000),
    st.integers(2, 1200),
    st.floats(20, 140),
    st.floats(-3, 3),
    st.floats(-3, 3),
    st.floats(0.2, 50),
    st.floats(-180, 180),
    st.floats(-90, 60),
)


def by_matrices(camera: CameraSpec, ego: Pose, point: np.ndarray) -> np.ndarray:
    """Homogeneous K [R|t] X, with the rotations from scipy: (u w, v w, w)."""
    to_world = np.eye(4)
    to_world[:3, :3] = Rotation.from_euler("z", ego.yaw).as_matrix()
    to_world[:3, 3] = (ego.x, ego.y, 0)
    mount = np.eye(4)
    turned = Rotation.from_euler("ZY", [math.radians(camera.yaw_deg), -math.radians(camera.pitch_deg)])
    mount[:3, :3] = turned.as_matrix()
    mount[:3, 3] = (camera.x, camera.y, camera.z)
    local = np.linalg.inv(to_world @ mount) @ np.append(point, 1.0)
    forward, left, up = local[:3]
    return camera.intrinsics @ np.array([-left, -up, forward])


@given(cameras, poses, st.tuples(metres, metres, st.floats(-5, 60)))
def test_projection_equals_the_homogeneous_formulation(camera: CameraSpec, ego: Pose, point: tuple) -> None:
    pixel, depth = project(camera, ego, point)
    u, v, w = by_matrices(camera, ego, np.array(point))
    assert depth == pytest.approx(w, abs=1e-6)
    if w > NEAR + 1e-6:
        assert pixel == pytest.approx([u / w, v / w], rel=1e-6, abs=1e-4)
    elif w < NEAR - 1e-6:
        assert np.isnan(pixel).all()


def test_projection_keeps_the_shape_of_its_points() -> None:
    pixels, depths = project(FRONT, Pose(0, 0, 0), np.full((2, 5, 3), 20.0))
    assert pixels.shape == (2, 5, 2)
    assert depths.shape == (2, 5)


def test_front_camera_looks_ahead() -> None:
    ego = Pose(100.0, 50.0, math.pi / 2)
    (u, _), depth = project(FRONT, ego, (100.0, 80.0, 2.4))
    assert u == pytest.approx(400)
    assert depth == pytest.approx(28.5 * math.cos(math.radians(5)))
    (left, _), _ = project(FRONT, ego, (97.0, 80.0, 2.4))
    assert left < 400, "west of an ego that looks north is on its left"


def test_bev_has_eight_pixels_per_metre_and_looks_up_the_road() -> None:
    ego = Pose(-30.0, 12.0, 0.7)
    for forward, left in ((0, 0), (10, 0), (0, 10), (-25, 31)):
        pixel, depth = project(BEV, ego, (*ego.to_world(forward, left), 0.0))
        assert pixel == pytest.approx([400 - 8 * left, 400 - 8 * forward], abs=1e-6)
        assert depth == pytest.approx(50.0)


def test_nuscenes_cameras_cover_the_full_turn() -> None:
    assert len({camera.name for camera in NUSCENES_CAMERAS}) == 6
    for degrees in range(0, 360, 5):
        point = (300 * math.cos(math.radians(degrees)), 300 * math.sin(math.radians(degrees)), 1.5)
        seen = []
        for camera in NUSCENES_CAMERAS:
            (u, v), depth = project(camera, Pose(0, 0, 0), point)
            seen.append(depth > 0 and 0 <= u < camera.width and 0 <= v < camera.height)
        assert any(seen), degrees


boxes = st.tuples(metres, metres, angles, st.floats(0.3, 14), st.floats(0.3, 4), st.floats(0.3, 5))


@settings(max_examples=60, deadline=None)
@given(cameras, poses, boxes)
def test_image_box_equals_an_intersection_of_half_spaces(camera: CameraSpec, ego: Pose, box: tuple) -> None:
    x, y, yaw, length, width, height = box
    found = image_box(camera, ego, box_vertices(*box))
    # Half-spaces n . p + d <= 0 in the world: the box's six, the near plane, the four sides of the view.
    ahead, aside = np.array([math.cos(yaw), math.sin(yaw), 0]), np.array([-math.sin(yaw), math.cos(yaw), 0])
    middle, up = np.array([x, y, 0.0]), np.array([0, 0, 1.0])
    planes = []
    for normal, reach in ((ahead, length / 2), (-ahead, length / 2), (aside, width / 2), (-aside, width / 2)):
        planes.append([*normal, -normal @ middle - reach])
    planes += [[*up, -height], [*-up, 0.0]]

    def row(normal: np.ndarray) -> np.ndarray:
        """Coefficients over (p, 1) of a linear form of (u w, v w, w)."""
        zero = by_matrices(camera, ego, np.zeros(3))
        axes = [by_matrices(camera, ego, axis) - zero for axis in np.eye(3)]
        return np.array([*(normal @ axis for axis in axes), normal @ zero])

    planes.append(row(np.array([0, 0, -1.0])) + np.array([0, 0, 0, NEAR]))
    planes.append(row(np.array([-1.0, 0, 0])))
    planes.append(row(np.array([1.0, 0, -camera.width])))
    planes.append(row(np.array([0, -1.0, 0])))
    planes.append(row(np.array([0, 1.0, -camera.height])))
    spaces = np.array(planes)
    norms = np.linalg.norm(spaces[:, :3], axis=1)
    spaces /= norms[:, None]
    best = linprog([0, 0, 0, -1], np.column_stack([spaces[:, :3], np.ones(len(spaces))]), -spaces[:, 3],
                   bounds=[(None, None)] * 3 + [(None, None)])  # fmt: skip
    radius = best.x[3]
    assume(abs(radius) > 1e-4)  # neither just touching nor just not
    if radius < 0:
        assert found is None
        return
    corners = HalfspaceIntersection(spaces, best.x[:3]).intersections
    projected = np.array([by_matrices(camera, ego, corner) for corner in corners])
    pixels = projected[:, :2] / projected[:, 2:]
    expected = (*pixels.min(axis=0), *pixels.max(axis=0))
    assert found == pytest.approx(expected, abs=2e-3)


def test_image_box_of_a_box_behind_the_camera_is_none() -> None:
    assert image_box(FRONT, Pose(0, 0, 0), box_vertices(-20, 0, 0, 4, 2, 1.5)) is None


def test_image_box_around_the_camera_is_the_whole_image() -> None:
    box = image_box(FRONT, Pose(0, 0, 0), box_vertices(0, 0, 0, 12, 6, 5))
    assert box == (0, 0, FRONT.width, FRONT.height)


def test_cameras_need_no_compiler() -> None:
    """Whoever only wants cameras and projections must not wait for numba."""
    code = "import sys; import drivehierarchy_gym.render.camera; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
