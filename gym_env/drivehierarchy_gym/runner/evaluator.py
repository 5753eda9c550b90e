"""Identity of the evaluator: results are comparable only where everything that decides a score was the same code."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from drivehierarchy_gym.agents.registry import AGENTS, agent_factory

PACKAGE = Path(__file__).parent.parent
DOES_NOT_DECIDE = ("agents", "runner", "render", "cli.py")
"""Parts of the package without influence on what an action leads to or how it is scored."""


@cache
def evaluator_hash() -> str:
    """First 16 hex digits of the SHA-256 over names and contents of the sources that decide a score."""
    paths = (path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in DOES_NOT_DECIDE)
    return _hash(PACKAGE, paths)


def evaluator() -> dict[str, str]:
    """Version of the distribution, hash of the deciding sources, version of SUMO."""
    return {
        "version": metadata.version("lm-eval-drivehierarchy"),
        "hash": evaluator_hash(),
        "sumo": metadata.version("eclipse-sumo"),
    }


def agent_hash(name: str) -> str | None:
    """Hash of the agent's sources: of all agents for one of ours, of its module for `module:Class` (None without file).

    Results of one driver are continued only with the same driver.
    """
    if name in AGENTS:
        return _hash(PACKAGE, (PACKAGE / "agents").rglob("*.py"))
    file = importlib.import_module(agent_factory(name).__module__).__file__
    return None if file is None else _hash(Path(file).parent, [Path(file)])


def _hash(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda p: p.relative_to(root).as_posix()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:16]
