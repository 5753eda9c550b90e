"""Identity of the evaluator: results are comparable only where everything that decides a score was the same code."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
DOES_NOT_DECIDE = ("agents", "runner", "render", "cli.py")
"""Parts of the package without influence on what an action leads to or how it is scored."""


@cache
def evaluator_hash() -> str:
    """First 16 hex digits of the SHA-256 over names and contents of the sources that decide a score."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py"), key=lambda p: p.relative_to(PACKAGE).as_posix()):
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] not in DOES_NOT_DECIDE:
            digest.update(relative.as_posix().encode() + b"\0")
            digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:16]


def evaluator() -> dict[str, str]:
    """Version of the distribution, hash of the deciding sources, version of the traffic simulation."""
    return {
        "version": metadata.version("lm-eval-drivehierarchy"),
        "hash": evaluator_hash(),
        "sumo": metadata.version("eclipse-sumo"),
    }
