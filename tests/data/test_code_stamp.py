"""The stamp follows the code that makes an edition, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivehierarchy_data import code_stamp as module
from drivehierarchy_data.code_stamp import code_stamp, deciding_files


@pytest.mark.parametrize(
    "name",
    [
        "drivehierarchy_data.build",
        "drivehierarchy_data.sizes",
        "drivehierarchy_data.selection",
        "drivehierarchy_data.builders",
        "drivehierarchy_data.builders.outcome",
        "drivehierarchy_data.sources.sim",
        "drivehierarchy_data.items",
        "drivehierarchy_gym.agents.expert",
        "drivehierarchy_gym.backends.sumo.process",
        "drivehierarchy_gym.render.shading",
        "drivehierarchy_gym.road.default_map",
        "drivehierarchy_gym.catalog",
        "sumo/vehicle_classes.add.xml",
    ],
)
def test_what_decides_belongs_to_it(name: str) -> None:
    assert name in deciding_files()


@pytest.mark.parametrize(
    "name",
    [
        "drivehierarchy_data.card",
        "drivehierarchy_data.cli",
        "drivehierarchy_data.gates",
        "drivehierarchy_data.push",
        "drivehierarchy_gym.agents.vlm",
        "drivehierarchy_gym.env",
        "drivehierarchy_gym.runner.batch",
    ],
)
def test_what_only_reports_does_not(name: str) -> None:
    assert name not in deciding_files()


def test_every_file_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = deciding_files()
    before = code_stamp()
    for name in ("drivehierarchy_data.builders.outcome", "sumo/vehicle_classes.add.xml"):
        edited = tmp_path / "edited"
        edited.write_bytes(files[name].read_bytes() + b"\n")
        monkeypatch.setattr(module, "deciding_files", lambda name=name, edited=edited: {**files, name: edited})
        assert code_stamp() != before
