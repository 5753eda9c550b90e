"""Kernels are safe to cache: what one of them is made of lies in its own file."""

from __future__ import annotations

import ast
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from numba.core.dispatcher import Dispatcher

from drivehierarchy_data.sources import sights
from drivehierarchy_gym import compiled
from drivehierarchy_gym.agents import evasion, prediction, speed_plan
from drivehierarchy_gym.render import rasterizer, shading

MODULES = (rasterizer, shading, evasion, prediction, speed_plan, sights)
"""The modules that hold kernels."""


def test_these_are_all_modules_with_kernels() -> None:
    packages = (Path(inspect.getfile(compiled)).parent, Path(inspect.getfile(sights)).parents[1])
    found = {path for package in packages for path in package.rglob("*.py") if "@compiled" in path.read_text()}
    assert found == {Path(inspect.getfile(module)) for module in MODULES}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_kernels_use_nothing_from_other_files(module: ModuleType) -> None:
    """The cache would not notice a change there, and go on drawing with the old one."""
    tree = ast.parse(inspect.getsource(module))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    kernels = {name: value for name, value in vars(module).items() if isinstance(value, Dispatcher)}
    assert kernels
    for name, kernel in kernels.items():
        used = set(kernel.py_func.__code__.co_names)
        assert not (used & imported) - {"np", "math"}, name


def test_kernels_are_strict() -> None:
    for module in MODULES:
        for kernel in vars(module).values():
            if isinstance(kernel, Dispatcher):
                assert not kernel.targetoptions.get("fastmath")
                assert not kernel.targetoptions.get("parallel")


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders work differently")
def test_draws_where_nothing_can_be_written(tmp_path: Path) -> None:
    """A read-only installation and a user without a home: slower to start, but it runs."""
    copy = tmp_path / "kernels"
    copy.mkdir()
    shutil.copy(inspect.getfile(compiled), copy / "compiled.py")
    (copy / "one.py").write_text(
        "from compiled import compiled\n@compiled\ndef twice(x):\n    return 2 * x\nprint(twice(21))\n"
    )
    # A file where folders for caches would have to be: not even the super-user can create them.
    (copy / "__pycache__").write_text("")
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    environment = {**os.environ, "HOME": str(blocked), "XDG_CACHE_HOME": str(blocked), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, str(copy / "one.py")], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.strip() == "42", done.stderr
