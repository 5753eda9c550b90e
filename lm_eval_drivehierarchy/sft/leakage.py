"""What a training set must not share with a test split: scenes (and with them clips), image files, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import lm_eval_drivehierarchy.sft.likeness as likeness_module
from drivehierarchy_data.build import Progress
from drivehierarchy_data.editions import Edition
from drivehierarchy_data.shards import ImageLocation
from drivehierarchy_gym.road.cache import cached_arrays, code_digest

from .errors import SftError
from .likeness import BITS, SAME_PICTURE, Hashes, hashes_of, nearest
from .samples import SceneKey, scene_of

SCENE, IMAGE, PICTURE = "scene in a test split", "image in a test split", "picture like one in a test split"


@dataclass(frozen=True)
class TestSplit:
    """The test items of an edition: `names` of the image files, `hashes` (N, 255) of the pictures in the same order."""

    __test__ = False  # not a test case

    edition: str
    digest: str
    scenes: frozenset[SceneKey]
    names: tuple[str, ...]
    hashes: Hashes

    @classmethod
    def of(cls, edition: Edition, progress: Progress) -> TestSplit:
        """Reads every test image once; the hashes are kept in the cache folder under the digest of the edition.

        Raises SftError when the edition has no test split, ImageError for a damaged image.
        """
        scenes: set[SceneKey] = set()
        images: dict[str, ImageLocation] = {}
        for task in edition.tasks("test"):
            for document in edition.documents(task, "test"):
                scenes.add(scene_of(document))
                images |= {location.name: location for location in document["images"]}
        if not images:
            raise SftError(f"edition {edition.name} in {edition.folder} has no test items to compare with")
        names = tuple(sorted(images))
        step = f"pictures of the test split of {edition.name}"
        key = f"test-pictures-{edition.digest[:16]}-{code_digest(likeness_module)}"
        arrays = cached_arrays(
            key,
            lambda: {"hashes": hashes_by_name(images, lambda done: progress(step, done, len(names)))},
        )
        progress(step, len(names), len(names))
        return cls(edition.name, edition.digest, frozenset(scenes), names, arrays["hashes"])


@dataclass(frozen=True, slots=True)
class Overlap:
    """Why something must not be trained on: one of SCENE, IMAGE, PICTURE, and the test material it meets."""

    reason: str
    test: str


class Tests:
    """All test splits that a training set is kept apart from."""

    __test__ = False  # not a test case

    def __init__(self, splits: Sequence[TestSplit]) -> None:
        self.splits = tuple(splits)
        self._scenes = {scene: split.edition for split in splits for scene in split.scenes}
        self._names = {name: split.edition for split in splits for name in split.names}
        self._all_names = [(split.edition, name) for split in splits for name in split.names]
        self._hashes = np.concatenate([split.hashes for split in splits] or [np.zeros((0, BITS), dtype=bool)])

    def scene(self, scene: SceneKey) -> Overlap | None:
        """The overlap of a scene."""
        edition = self._scenes.get(scene)
        return Overlap(SCENE, f"{edition}: scene {scene[1]} of {scene[0]}") if edition is not None else None

    def pictures(self, names: Sequence[str], hashes: Hashes) -> dict[str, Overlap]:
        """Overlaps of images, by name."""
        found = {name: Overlap(IMAGE, f"{self._names[name]}: {name}") for name in names if name in self._names}
        rows, distances = nearest(hashes, self._hashes)
        for name, row, distance in zip(names, rows, distances, strict=True):
            if distance <= SAME_PICTURE and name not in found:
                edition, other = self._all_names[row]
                found[name] = Overlap(PICTURE, f"{edition}: {other} ({distance} of {BITS} bits differ)")
        return found


def hashes_by_name(images: Mapping[str, ImageLocation], progress: Callable[[int], None]) -> Hashes:
    """Hashes (N, 255) of images in the order of their sorted names. Raises ImageError for a damaged image."""
    stored = sorted(images, key=images.__getitem__)  # read as they lie
    readers = [_reader(images[name]) for name in stored]
    hashes = hashes_of(readers, progress)
    return hashes[sorted(range(len(stored)), key=stored.__getitem__)]


def _reader(location: ImageLocation) -> Callable[[], tuple[bytes, str]]:
    return lambda: (location.read(), str(location))
