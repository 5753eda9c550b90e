"""Camera models: where a camera sits on the ego, its lens, and the cameras of the benchmark."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
        """Focal length in pixels (square pixels)."""
        return self.width / 2 / math.tan(math.radians(self.fov_deg) / 2)

    @property
    def intrinsics(self) -> NDArray[np.float64]:
        """Camera matrix K (3, 3), principal point at the image centre."""
        f = self.focal_px
        return np.array([[f, 0, self.width / 2], [0, f, self.height / 2], [0, 0, 1.0]])


FRONT = CameraSpec("front", 800, 450, 100.0, 1.5, 0.0, 2.4, pitch_deg=-5.0)
"""Front camera of the release (facts §3.6)."""

BEV = CameraSpec("bev", 800, 800, 90.0, 0.0, 0.0, 50.0, pitch_deg=-90.0)
"""Bird's-eye view of the release (facts §3.6): 8 px/m on flat ground, up = ego forward."""
