"""Camera models: where a camera sits on the ego, its lens, the cameras of the benchmark, and their projection.

Pixel coordinates are continuous: (0, 0) is the top left corner of the image, the centre of pixel (row, column) is at
(column + 0.5, row + 0.5). Camera frame: x right, y down, z along the optical axis (depth), metres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drivehierarchy_gym.geometry import box_corners

NEAR = 0.1
"""Nothing closer to the camera than this depth (m) is seen: the near plane of pictures and of projected boxes alike."""


@dataclass(frozen=True, slots=True)
class CameraSpec:
    """A pinhole camera rigidly mounted on the ego.

    x forward, y left, z up from the point on the ground below the ego's box centre (m); yaw counter-clockwise and pitch
    upwards (degrees); `fov_deg` is the horizontal field of view; width x height in pixels.
    """

    name: str
    width: int
    height: int
    fov_deg: float
    x: float
    y: float
    z: float
    yaw_deg: float = 0.0
    pitch_deg: float = 0.0

    @property
    def focal_px(self) -> float:
        """Focal length in pixels (square pixels), rounded to hide the last digits of the tangent."""
        return round(self.width / 2 / math.tan(math.radians(self.fov_deg) / 2), 9)

    @property
    def intrinsics(self) -> NDArray[np.float64]:
        """Camera matrix K (3, 3), principal point at the image centre."""
        f = self.focal_px
        return np.array([[f, 0, self.width / 2], [0, f, self.height / 2], [0, 0, 1.0]])


FRONT = CameraSpec("front", 800, 450, 100.0, 1.5, 0.0, 2.4, pitch_deg=-5.0)
"""Front camera of the release (facts §3.6)."""

BEV = CameraSpec("bev", 800, 800, 90.0, 0.0, 0.0, 50.0, pitch_deg=-90.0)
"""Bird's-eye view of the release (facts §3.6): 8 px/m on flat ground, up = ego forward."""

NUSCENES_CAMERAS: tuple[CameraSpec, ...] = (
    CameraSpec("CAM_FRONT", 1600, 900, 70.0, 0.28, 0.02, 1.62),
    CameraSpec("CAM_FRONT_RIGHT", 1600, 900, 70.0, 0.13, -0.49, 1.62, yaw_deg=-55.0),
    CameraSpec("CAM_BACK_RIGHT", 1600, 900, 70.0, -0.41, -0.48, 1.62, yaw_deg=-110.0),
    CameraSpec("CAM_BACK", 1600, 900, 110.0, -1.40, 0.0, 1.62, yaw_deg=180.0),
    CameraSpec("CAM_BACK_LEFT", 1600, 900, 70.0, -0.39, 0.48, 1.62, yaw_deg=110.0),
    CameraSpec("CAM_FRONT_LEFT", 1600, 900, 70.0, 0.10, 0.49, 1.62, yaw_deg=55.0),
)
"""The six cameras of nuScenes (Caesar et al. 2020: 1600x900, 70 degrees, 110 to the back), clockwise from the front.

Mounts are those of its calibrated sensors, moved from the rear axle to the box centre, on a rack over our roof.
"""


class PlanarPose(Protocol):
    """Anything with a position and a heading in the world frame: `geometry.Pose`, `state.EgoState`."""

    @property
    def x(self) -> float: ...
    @property
    def y(self) -> float: ...
    @property
    def yaw(self) -> float: ...


@dataclass(frozen=True, slots=True)
class View:
    """A camera in the world: `rotation` (3, 3) has its right, down and forward axes as rows; `position` (3,)."""

    rotation: NDArray[np.float64]
    position: NDArray[np.float64]

    def to_camera(self, points: ArrayLike) -> NDArray[np.float64]:
        """World points (..., 3) in the camera frame (..., 3)."""
        offset = np.asarray(points, dtype=np.float64) - self.position
        x, y, z = offset[..., 0], offset[..., 1], offset[..., 2]
        # Written out: a matrix product may sum in another order on another machine.
        return np.stack([row[0] * x + row[1] * y + row[2] * z for row in self.rotation], axis=-1)


def heading(yaw: float) -> tuple[float, float]:
    """Cosine and sine of a heading (rad), rounded: last-digit differences between math libraries reach no pixel."""
    return round(math.cos(yaw), 12), round(math.sin(yaw), 12)


def view_of(camera: CameraSpec, ego: PlanarPose) -> View:
    """Where `camera` is and looks when the ego's box centre is at `ego`."""
    c, s = heading(ego.yaw)
    position = (ego.x + c * camera.x - s * camera.y, ego.y + s * camera.x + c * camera.y, camera.z)
    cy, sy = heading(ego.yaw + math.radians(camera.yaw_deg))
    cp, sp = heading(math.radians(camera.pitch_deg))
    rotation = ((sy, -cy, 0.0), (sp * cy, sp * sy, -cp), (cp * cy, cp * sy, sp))
    return View(np.array(rotation), np.array(position))


def project(camera: CameraSpec, ego: PlanarPose, points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """World points (..., 3) as pixels (..., 2) and depths (...) along the optical axis (m).

    Points at a depth below `NEAR` are not seen; their pixels are NaN.
    """
    local = view_of(camera, ego).to_camera(points)
    depth = local[..., 2]
    seen = np.where(depth >= NEAR, depth, np.nan)
    centre = np.array([camera.width / 2, camera.height / 2])
    return local[..., :2] / seen[..., None] * camera.focal_px + centre, depth


def box_vertices(x: float, y: float, yaw: float, length: float, width: float, height: float) -> NDArray[np.float64]:
    """Vertices (8, 3) of an upright box that stands on the ground: the four below, then the four above."""
    ground = box_corners(x, y, yaw, length, width)
    return np.concatenate([np.column_stack([ground, np.full(4, z)]) for z in (0.0, height)])


_FACES = ((0, 1, 2, 3), (7, 6, 5, 4), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
"""Faces of `box_vertices`: corner indices around each."""


def image_box(
    camera: CameraSpec, ego: PlanarPose, vertices: NDArray[np.float64]
) -> tuple[float, float, float, float] | None:
    """Image rectangle (left, top, right, bottom) in pixels of an upright box given by `box_vertices` (8, 3).

    Exact: the smallest rectangle around what a transparent world would show of the box, its faces cut at the near plane
    and at the image's border. None when nothing of it is in the image.
    """
    half_x = camera.width / 2 / camera.focal_px
    half_y = camera.height / 2 / camera.focal_px
    # Inside where the dot product with (x, y, z) in the camera frame is at least the bound.
    planes = (
        (0.0, 0.0, 1.0, NEAR),
        (1.0, 0.0, half_x, 0.0),
        (-1.0, 0.0, half_x, 0.0),
        (0.0, 1.0, half_y, 0.0),
        (0.0, -1.0, half_y, 0.0),
    )
    local = view_of(camera, ego).to_camera(vertices)
    seen: list[tuple[float, float, float]] = []
    for face in _FACES:
        polygon = [(float(x), float(y), float(z)) for x, y, z in local[list(face)]]
        for plane in planes:
            polygon = _cut(polygon, plane)
        seen += polygon
    if not seen:
        return None
    u = [camera.focal_px * x / z + camera.width / 2 for x, _, z in seen]
    v = [camera.focal_px * y / z + camera.height / 2 for _, y, z in seen]
    left, right = max(min(u), 0.0), min(max(u), float(camera.width))
    top, bottom = max(min(v), 0.0), min(max(v), float(camera.height))
    return (left, top, right, bottom) if right > left and bottom > top else None


def _cut(
    polygon: list[tuple[float, float, float]], plane: tuple[float, float, float, float]
) -> list[tuple[float, float, float]]:
    """Part of a polygon on the inner side of a plane (Sutherland and Hodgman 1974)."""
    a, b, c, bound = plane
    heights = [a * x + b * y + c * z - bound for x, y, z in polygon]
    kept = []
    for i, (point, height) in enumerate(zip(polygon, heights, strict=True)):
        previous, before = polygon[i - 1], heights[i - 1]
        if (height >= 0) != (before >= 0):
            t = before / (before - height)
            kept.append(tuple(p + t * (q - p) for p, q in zip(previous, point, strict=True)))
        if height >= 0:
            kept.append(point)
    return kept  # type: ignore[return-value]
