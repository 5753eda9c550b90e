"""The route on the bird's-eye view, drawn as the release draws it (facts §3.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render.camera import CameraSpec

ROUTE_COLOUR = (255, 90, 90)
DOT_COLOUR = (255, 255, 255)
EGO_COLOUR, EGO_OUTLINE = (255, 230, 80), (20, 20, 20)
LINE_WIDTH = 3
DOT_RADIUS, LAST_DOT_RADIUS, EGO_RADIUS = 4, 5, 6
"""Pixels."""
_SHIFT = 4
"""Fractional bits of the pixel positions given to OpenCV."""


def draw_route(
    image: NDArray[np.uint8], camera: CameraSpec, pose: Pose, route: Sequence[tuple[float, float]]
) -> NDArray[np.uint8]:
    """Draw `route` onto a picture of the bird's-eye `camera`, in place, and return it.

    Args:
        image: uint8 (height, width, 3) RGB, writable.
        camera: looks straight down on the ego in its middle, up is forward.
        pose: of the ego in the world.
        route: world points ahead of the ego; its line begins at the ego. A dot marks each point that does not hide the
            dot before it; the last dot is larger.
    """
    scale = camera.width / (2.0 * camera.z * math.tan(math.radians(camera.fov_deg) / 2.0))
    centre = (camera.width / 2.0, camera.height / 2.0)
    pixels = [centre]
    for x, y in route:
        forward, left = pose.to_local(x, y)
        pixels.append((centre[0] - left * scale, centre[1] - forward * scale))
    line = np.round(np.array(pixels) * (1 << _SHIFT)).astype(np.int32)
    cv2.polylines(image, [line], False, ROUTE_COLOUR, LINE_WIDTH, cv2.LINE_AA, _SHIFT)
    visible = [p for p in pixels[1:] if 0.0 <= p[0] < camera.width and 0.0 <= p[1] < camera.height]
    dots: list[tuple[float, float]] = []
    for pixel in visible:
        if not dots or math.dist(pixel, dots[-1]) >= 2 * DOT_RADIUS:
            dots.append(pixel)
    for dot in dots[:-1]:
        _dot(image, dot, DOT_RADIUS, DOT_COLOUR, ROUTE_COLOUR)
    if dots:
        _dot(image, dots[-1], LAST_DOT_RADIUS, DOT_COLOUR, ROUTE_COLOUR)
    _dot(image, centre, EGO_RADIUS, EGO_COLOUR, EGO_OUTLINE)
    return image


def _dot(image: NDArray[np.uint8], at: tuple[float, float], radius: int, fill: Any, outline: Any) -> None:
    centre = (round(at[0] * (1 << _SHIFT)), round(at[1] * (1 << _SHIFT)))
    # The outline, two pixels wide, lies inside the radius.
    cv2.circle(image, centre, radius << _SHIFT, outline, cv2.FILLED, cv2.LINE_AA, _SHIFT)
    cv2.circle(image, centre, (radius - 2) << _SHIFT, fill, cv2.FILLED, cv2.LINE_AA, _SHIFT)
