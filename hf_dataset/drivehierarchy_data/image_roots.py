"""Where the images that the release names lie on this machine: one root folder per upstream dataset."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from .errors import DataError, ImageError

RELEASE_PREFIXES = {
    "nuscenes": "/data/sets/nuscenes/",
    "drama": "/data/sets/Drama/",
    "lingoqa": "/data/sets/LingoQA/",
    "navsim": "/data/sets/NAVSIM_RANK/",
}
"""Dataset -> how its paths begin in the release."""


@dataclass(frozen=True)
class ImageRoots:
    """Root folders of the upstream datasets, as far as the user has them: dataset -> folder.

    nuScenes: the folder that holds `samples`. DRAMA: the one that holds `combined`, or any above it. LingoQA: the
    one that holds `images`. NAVSIM: the authors' repack, or the dataset's own folder with `navsim_logs` and
    `sensor_blobs`.
    """

    folders: Mapping[str, Path]

    def locate(self, path: str, dataset: str, meta: Mapping[str, Any]) -> Path:
        """The file on this machine for `path` of the release. Raises ImageError saying where it was looked for.

        The release's path is shortened from the left until a file exists below the root, so a root may be any of the
        folders along the path. NAVSIM frames that the authors renamed are found again through their log.
        """
        root = self.folders.get(dataset)
        if root is None:
            if (here := Path(path)).is_file():
                return here
            raise ImageError(f"no folder given for {dataset}: pass --{dataset} DIR")
        parts = PurePosixPath(path.removeprefix(RELEASE_PREFIXES[dataset])).parts
        for start in range(len(parts)):
            if (candidate := root.joinpath(*parts[start:])).is_file():
                return candidate
        if dataset == "navsim" and (frame := _navsim_frame(root, path, meta)) is not None:
            return frame
        raise ImageError(f"{root.joinpath(*parts)} does not exist, nor does a shorter path below {root}")


def _navsim_frame(root: Path, path: str, meta: Mapping[str, Any]) -> Path | None:
    """The original NAVSIM image of a frame that the release renamed: label -> frame index -> token -> log -> file."""
    data = meta.get("meta_data", {})
    frame_index = next((i["frame_idx"] for i in meta.get("image_frames", ()) if i["path"] == path), None)
    chronological = data.get("frame_idxs_chronological", [])
    if frame_index not in chronological:
        return None
    token = data["sample_tokens_chronological"][chronological.index(frame_index)]
    split, log = data["split"], data["log_name"]
    log_file = root / "navsim_logs" / split / f"{log}.pkl"
    if not log_file.is_file():
        return None
    data_path = _camera_paths(log_file, data["cam_channel"]).get(token)
    candidate = root / "sensor_blobs" / split / data_path if data_path else None
    return candidate if candidate is not None and candidate.is_file() else None


_PICKLE_GLOBALS = {
    (module, name)
    for module in ("numpy.core.multiarray", "numpy._core.multiarray")
    for name in ("_reconstruct", "scalar")
} | {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}
"""All that a NAVSIM log needs; anything else in a pickle could run code."""


class _LogUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PICKLE_GLOBALS:
            raise pickle.UnpicklingError(f"refuses {module}.{name}")
        return super().find_class(module, name)


@lru_cache(maxsize=32)
def _camera_paths(log_file: Path, camera: str) -> dict[str, str]:
    """Sample token -> image path of one camera, of every frame of a NAVSIM log."""
    try:
        frames = _LogUnpickler(io.BytesIO(log_file.read_bytes())).load()
        return {frame["token"]: frame["cams"][camera]["data_path"] for frame in frames}
    except (OSError, pickle.UnpicklingError, EOFError, KeyError, TypeError, AttributeError, ImportError) as error:
        raise DataError(f"{log_file}: not a NAVSIM log ({type(error).__name__}: {error})") from error
