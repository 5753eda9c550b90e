"""Derived files: whole or absent, rebuilt when damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drivehierarchy_gym.road import shapes, surfaces
from drivehierarchy_gym.road.cache import (
    cache_folder,
    cached_arrays,
    code_digest,
    write_atomically,
    write_text_atomically,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(folder))
    return folder


class Builder:
    """Counts how often it builds."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self) -> dict[str, np.ndarray]:
        self.runs += 1
        return {"ones": np.ones((2, 3)), "nothing": np.empty((0, 3, 2))}


def test_folder_is_the_users_unless_moved(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() == cache
    monkeypatch.delenv("DRIVEHIERARCHY_CACHE")
    assert cache_folder().name == "drivehierarchy"


def test_arrays_are_built_once(cache: Path) -> None:
    build = Builder()
    for _ in range(3):
        arrays = cached_arrays("things", build)
        assert arrays["ones"].tolist() == [[1.0] * 3] * 2
        assert arrays["nothing"].shape == (0, 3, 2)
    assert build.runs == 1
    assert [path.name for path in cache.iterdir()] == ["things.npz"]


@pytest.mark.parametrize("damage", [b"", b"junk", b"PK\x03\x04 cut short"])
def test_damaged_file_is_replaced(cache: Path, damage: bytes) -> None:
    build = Builder()
    cached_arrays("things", build)
    (cache / "things.npz").write_bytes(damage)
    assert cached_arrays("things", build)["ones"].shape == (2, 3)
    assert cached_arrays("things", build)["ones"].shape == (2, 3)
    assert build.runs == 2


def test_flipped_and_truncated_bytes_never_reach_the_caller(cache: Path) -> None:
    build = Builder()
    expected = cached_arrays("things", build)
    whole = (cache / "things.npz").read_bytes()
    for position in range(0, len(whole), 37):
        for damaged in (whole[:position], whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]):
            (cache / "things.npz").write_bytes(damaged)
            found = cached_arrays("things", build)
            assert {key: array.tolist() for key, array in found.items()} == {
                key: array.tolist() for key, array in expected.items()
            }


def test_folder_that_cannot_be_written_only_costs_time(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    build = Builder()
    for _ in range(2):
        assert cached_arrays("things", build)["ones"].shape == (2, 3)
    assert build.runs == 2


def test_failed_write_leaves_the_old_file_and_nothing_else(cache: Path) -> None:
    target = cache / "note.txt"
    write_atomically(target, lambda partial: partial.write_text("old"))

    def fail(partial: Path) -> None:
        partial.write_text("half of the new")
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        write_atomically(target, fail)
    assert target.read_text() == "old"
    assert list(cache.iterdir()) == [target]


def test_text_is_written_as_it_is(cache: Path) -> None:
    target = cache / "new" / "note.txt"
    for text in ("Königs Wusterhausen\r\n90°\n", "shorter"):
        write_text_atomically(target, text)
        assert target.read_bytes() == text.encode()
        assert list(target.parent.iterdir()) == [target]


def test_digest_follows_the_code() -> None:
    assert code_digest(shapes) == code_digest(shapes)
    assert len({code_digest(shapes), code_digest(surfaces), code_digest(shapes, surfaces)}) == 3
