"""Files derived from others, kept between runs: written atomically, named after what they were made from."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import platformdirs
import shapely
from numpy.typing import NDArray

CACHE_VARIABLE = "DRIVEHIERARCHY_CACHE"
"""Environment variable that moves the cache folder."""


def cache_folder() -> Path:
    """Folder for derived files; not created here."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("drivehierarchy", appauthor=False))


def code_digest(*modules: ModuleType) -> str:
    """Short digest of the source of `modules` and of the geometry library: what they made before is stale when it
    changes."""
    text = shapely.geos_version_string + "".join(inspect.getsource(module) for module in modules)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file and rename it to `path`: others see the old file or the whole new one.

    The temporary file has the same name, lies on the same disk and does not survive an error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".partial-") as folder:
        partial = Path(folder) / path.name
        write(partial)
        os.replace(partial, path)


def write_text_atomically(path: Path, text: str) -> None:
    """`write_atomically` of UTF-8; line breaks stay as they are."""
    write_atomically(path, lambda partial: partial.write_bytes(text.encode()))


def cached_arrays(name: str, build: Callable[[], Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Arrays kept in the cache file `name`.npz, or what `build` returns, which is then kept.

    `name` has to change whenever the arrays would. A damaged file is replaced; a folder that cannot be written to only
    costs the time to build again.
    """
    path = cache_folder() / f"{name}.npz"
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        arrays: dict[str, Any] = dict(build())
    with contextlib.suppress(OSError):
        write_atomically(path, lambda partial: np.savez(partial, **arrays))
    return arrays
