"""One frame of a video: front view, bird's-eye view and a status line."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

STATUS_HEIGHT = 30
"""Pixels of the status line below the pictures."""
STATUS_COLOUR, STATUS_BACKGROUND = (230, 230, 230), 24


def compose_frame(front: NDArray[np.uint8], bev: NDArray[np.uint8], status: str) -> NDArray[np.uint8]:
    """uint8 (H + 30, W + H, 3) RGB from a front view (H, W, 3) and a square bird's-eye view, scaled to the same height.

    Both sizes are even where those of the front view are, as video codecs want them.
    """
    height, width = front.shape[:2]
    frame = np.full((height + STATUS_HEIGHT, width + height, 3), STATUS_BACKGROUND, np.uint8)
    frame[:height, :width] = front
    frame[:height, width:] = cv2.resize(bev, (height, height), interpolation=cv2.INTER_AREA)
    baseline = (10, height + STATUS_HEIGHT - 10)
    cv2.putText(frame, status, baseline, cv2.FONT_HERSHEY_SIMPLEX, 0.5, STATUS_COLOUR, 1, cv2.LINE_AA)
    return frame
