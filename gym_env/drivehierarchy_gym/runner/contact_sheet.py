"""Contact sheet: one picture with the decisive moment of every run of a batch, and a video of a few of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.road.cache import write_atomically
from drivehierarchy_gym.runner.replay import RunFiles, frames, read_run, write_video

TILE_WIDTH = 625
"""Pixels of one run on the sheet."""
COLUMNS = 2
BORDER = 6
BACKGROUND = 24


def decisive_step(run: RunFiles) -> int:
    """Index of the frame that shows what a run is about.

    The end of a run that failed; else the slowest moment of its middle half, which is where a driver that sees the
    conflict gives way.
    """
    count = len(run.steps)
    if run.score.score_route < 100.0:
        return count
    first, last = count // 4, max(3 * count // 4, count // 4 + 1)
    return 1 + min(range(first, min(last, count)), key=lambda number: run.steps[number]["ego"]["speed"])


def write_contact_sheet(path: Path, folders: Sequence[Path]) -> None:
    """Write a PNG with one frame of every run (folders of finished runs), in reading order.

    Raises:
        ValueError: no run given.
        ReplayError: a run cannot be shown.
    """
    if not folders:
        raise ValueError("a contact sheet needs at least one run")
    tiles = []
    for folder in folders:
        run = read_run(folder)
        frame = next(islice(frames(run), decisive_step(run), None))
        height = round(frame.shape[0] * TILE_WIDTH / frame.shape[1])
        tiles.append(cv2.resize(frame, (TILE_WIDTH, height), interpolation=cv2.INTER_AREA))
    height, width = tiles[0].shape[:2]
    rows = -(-len(tiles) // COLUMNS)
    sheet = np.full(
        (rows * (height + BORDER) + BORDER, COLUMNS * (width + BORDER) + BORDER, 3), BACKGROUND, dtype=np.uint8
    )
    for number, tile in enumerate(tiles):
        y = BORDER + number // COLUMNS * (height + BORDER)
        x = BORDER + number % COLUMNS * (width + BORDER)
        sheet[y : y + height, x : x + width] = tile
    _write_png(path, sheet)


def write_reel(path: Path, folders: Sequence[Path], seconds: float = 8.0, fps: int = 8) -> int:
    """Write a video (.mp4 or .gif) of the decisive `seconds` of driving of every run; the number of its frames.

    At 8 frames a second it runs twice as fast as the drives did.
    """

    def pictures() -> Iterator[NDArray[np.uint8]]:
        for folder in folders:
            run = read_run(folder)
            length = int(seconds * 4)
            first = max(0, min(decisive_step(run) - 2 * length // 3, len(run.steps) + 1 - length))
            yield from islice(frames(run), first, first + length)

    return write_video(path, pictures(), fps)


def _write_png(path: Path, picture: NDArray[np.uint8]) -> None:
    done, data = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    assert done
    write_atomically(path, lambda partial: partial.write_bytes(data.tobytes()))
