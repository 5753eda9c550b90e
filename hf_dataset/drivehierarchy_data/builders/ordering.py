"""r3_2: put frames of one drive into the order in which they were taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from ..drafts import Draft, frame_token
from ..questions import QUESTIONS
from ..scene import FRONT_CAMERA, KEYFRAME_SECONDS, Clip

COUNTS = (3, 4, 5)
"""Frames to be put in order."""
STRIDES = (2, 3, 4, 5, 6)
"""Keyframes from one to the next (release: 2 to 6)."""
LEAST_SPEED = 2.0
"""m/s in every frame (release)."""
LEAST_STEP = 4.0
"""Metres from one frame to the next: a standing car's frames have no order."""


def ordering_drafts(clip: Clip) -> Iterator[Draft]:
    """r3_2: three to five frames in which the ego moves all the time. `truth` stays empty: the order follows from how
    the chosen item's frames are shuffled."""
    pictured = sum(1 for _ in clip.seen_by(FRONT_CAMERA))
    for count in COUNTS:
        for stride in STRIDES:
            span = (count - 1) * stride
            for begin in range(pictured - span):
                indices = range(begin, begin + span + 1, stride)
                between = clip.frames[begin : begin + span + 1]
                if min(frame.speed for frame in between) < LEAST_SPEED:
                    continue
                places = [clip.frames[index].origin for index in indices]
                steps = [math.dist(a[:2], b[:2]) for a, b in pairwise(places)]
                if min(steps) < LEAST_STEP:
                    continue
                meta = {
                    "frames_chronological": [frame_token(clip, index) for index in indices],
                    "n_images": count,
                    "stride": stride,
                    "stride_sec": stride * KEYFRAME_SECONDS,
                    "speeds_mps": [round(clip.frames[index].speed, 2) for index in indices],
                }
                yield Draft(
                    "r3_2",
                    f"{begin}:{count}:{stride}",
                    QUESTIONS["r3_2"][0],
                    "",
                    tuple((index, FRONT_CAMERA) for index in indices),
                    "frames",
                    str(count),
                    meta=meta,
                )
