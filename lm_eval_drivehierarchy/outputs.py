"""Files that commands write for people and programs: whole or not at all, or refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.road.cache import write_atomically


class OutputError(DriveHierarchyError, OSError):
    """A file that cannot be written."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, its folder included. Raises OutputError naming it."""
    try:
        write_atomically(path, lambda partial: partial.write_bytes(content))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); give another place") from error


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8; line breaks stay as they are."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """`write_text` of JSON. Raises ValueError for NaN and infinity."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
