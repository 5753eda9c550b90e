"""Videos are written whole or not at all."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from drivehierarchy_gym.runner.replay import ReplayError, write_video


def pictures(number, fails=False):
    for shade in range(number):
        yield np.full((64, 96, 3), shade, dtype=np.uint8)
    if fails:
        raise ReplayError("not the same world")


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_video_has_every_picture(tmp_path, suffix):
    path = tmp_path / "new" / f"x{suffix}"
    assert write_video(path, pictures(5)) == 5
    assert path.stat().st_size > 0
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
@pytest.mark.parametrize("number", [0, 1, 20])
def test_a_drive_that_breaks_off_leaves_the_old_video_and_nothing_else(tmp_path, capfd, suffix, number):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"old")
    with pytest.raises(ReplayError, match="not the same world"):
        write_video(path, pictures(number, fails=True))
    gc.collect()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"
    assert "Error" not in capfd.readouterr().err
