"""`drivehierarchy tasks-dir`: where the task YAMLs lie, for an lm_eval that lives in another environment."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import typer

from drivehierarchy_gym.errors import DriveHierarchyError

from ..tasks import LM_EVAL_GROUP


def tasks_dir() -> None:
    """Print the folder with the lm-eval tasks, for `lm_eval --include_path`."""
    typer.echo(find_tasks_dir())


def find_tasks_dir() -> Path:
    """The YAMLs of a source checkout, else those installed into lm-eval. Raises DriveHierarchyError for neither."""
    checkout = Path(__file__).resolve().parents[2] / "tasks"
    places = [checkout]
    specification = importlib.util.find_spec("lm_eval")
    for location in (specification.submodule_search_locations or ()) if specification else ():
        places.append(Path(location) / "tasks" / LM_EVAL_GROUP)
    for place in places:
        if (place / "_group.yaml").is_file():
            return place
    raise DriveHierarchyError(f"no task files in {' or '.join(map(str, places))}; install lm-eval-drivehierarchy again")
