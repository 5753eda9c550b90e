"""Which code an edition was made by, so that a resumed build does not mix the drives of two versions."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import drivehierarchy_gym

_PACKAGES = {"drivehierarchy_gym": Path(drivehierarchy_gym.__file__).parent, __package__: Path(__file__).parent}
_MAKERS = tuple(
    f"{__package__}.{name}" for name in ("sources.sim", "sources.drives", "builders", "selection", "shards")
)
"""Modules that make drives, questions, choices and files; whatever they import belongs to them."""
_ALONE = tuple(f"{__package__}.{name}" for name in ("build", "sizes"))
"""Modules that decide too, but also import what only reports."""


def code_stamp() -> str:
    """Digest of the source files that decide what a build gives, and of nothing else."""
    digest = hashlib.sha256()
    for name, path in sorted(deciding_files().items()):
        digest.update(name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def deciding_files() -> dict[str, Path]:
    """The files behind `code_stamp`: our modules that the makers import, at any depth, and the data beside them."""
    found: dict[str, Path] = {}
    waiting = list(_MAKERS)
    while waiting:
        module = waiting.pop()
        path = _source(module)
        if path is not None and module not in found:
            found[module] = path
            waiting += _imports(module, path)
    found |= {module: path for module in _ALONE if (path := _source(module)) is not None}
    folders = {path.parent for path in found.values()}
    return found | {f"{folder.name}/{path.name}": path for folder in folders for path in folder.glob("*.xml")}


def _source(module: str) -> Path | None:
    package, *parts = module.split(".")
    if package not in _PACKAGES:
        return None
    path = _PACKAGES[package].joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _imports(module: str, path: Path) -> Iterator[str]:
    """Names that may be modules: of `from package import name`, both."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)
