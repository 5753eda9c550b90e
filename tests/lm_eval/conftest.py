"""Fixtures of the open-loop tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivehierarchy_data.editions import Edition
from tests import tiny_edition


@pytest.fixture(scope="session")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """A finished edition of all tasks; do not write into it."""
    return tiny_edition.build(tmp_path_factory.mktemp("edition"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps the user's cache folder, editions and judge out of the tests."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(folder))
    monkeypatch.delenv("DRIVEHIERARCHY_DATA", raising=False)
    monkeypatch.setenv("DRIVEHIERARCHY_JUDGE", "off")
    return folder
