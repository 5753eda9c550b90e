"""Fixtures of the data tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivehierarchy_data.editions import Edition
from tests import tiny_edition


@pytest.fixture(scope="session")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """A finished edition of all tasks; do not write into it."""
    return tiny_edition.build(tmp_path_factory.mktemp("edition"))


@pytest.fixture
def own_edition(tmp_path: Path) -> Edition:
    """An edition that the test may damage."""
    return tiny_edition.build(tmp_path / "edition", items_per_task=2, items_per_shard=2)
