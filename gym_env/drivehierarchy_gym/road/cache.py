"""Files derived from others, kept between runs: written atomically, named after what they were made from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

CACHE_VARIABLE = "DRIVEHIERARCHY_CACHE"
"""Environment variable that moves the cache folder."""


def cache_folder() -> Path:
    """Folder for derived files; not created here."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("drivehierarchy", appauthor=False))


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file and rename it to `path`: others see the old file or the whole new one.

    The temporary file has the same name, lies on the same disk and does not survive an error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".partial-") as folder:
        partial = Path(folder) / path.name
        write(partial)
        os.replace(partial, path)
