"""What `pip install .` puts on a machine: everything that evaluating needs, the sample included."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from drivehierarchy_data.editions import SAMPLE, open_edition

ROOT = Path(__file__).resolve().parents[2]
LOOK = """
import drivehierarchy_data, lm_eval_drivehierarchy
from drivehierarchy_data.editions import find_edition
edition = find_edition()
print(edition.digest, edition.folder, lm_eval_drivehierarchy.__file__, len(edition.problems()), sep="\\n")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel, as they are installed."""
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_tasks_are_where_lm_eval_looks(installed: Path) -> None:
    folder = installed / "lm_eval" / "tasks" / "drivehierarchy"
    found = {path.relative_to(folder) for path in folder.rglob("*yaml")}
    assert found == {path.relative_to(ROOT / "tasks") for path in (ROOT / "tasks").rglob("*yaml")}


def test_without_a_built_edition_the_installed_sample_is_used(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "DRIVEHIERARCHY_CACHE": str(tmp_path)}
    environment.pop("DRIVEHIERARCHY_DATA", None)
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    digest, folder, module, problems = done.stdout.splitlines()
    assert Path(module).is_relative_to(installed)
    assert Path(folder).is_relative_to(installed)
    assert (digest, problems) == (open_edition(SAMPLE).digest, "0")
