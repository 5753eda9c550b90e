"""Quality gates of a sim edition (paper, Table 6, and the blind check): each a number, a limit and a verdict.

They read the finished items, not the builders' intentions, so that they also judge sim editions from elsewhere.
Editions of other data do not record what the gates compare labels with (categories, objects, speeds, frames).
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .blind import blind_scores
from .builders.distance import BUCKETS
from .builders.ordering import LEAST_SPEED
from .builders.relations import relation
from .editions import SIM_EDITION, Edition
from .errors import DataError
from .items import SPLITS, Document, Split, letter_at, option_index, option_letter, references
from .scene import CAMERA_ORDER, CATEGORIES
from .selection import ITEMS_PER_SCENE, LABEL_SHARES


@dataclass(frozen=True, slots=True)
class Gate:
    """One check of one task. `value` must not exceed `limit`."""

    task: str
    split: str
    name: str
    value: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether the value keeps to the limit; what is not a number does not."""
        return self.value <= self.limit + 1e-9


@dataclass(frozen=True, slots=True)
class GateReport:
    """All gates of an edition."""

    gates: tuple[Gate, ...]

    @property
    def passed(self) -> bool:
        """Whether every gate is passed."""
        return all(gate.passed for gate in self.gates)

    def failures(self) -> list[str]:
        """What failed, one line each."""
        return [
            f"{gate.task} ({gate.split}): {gate.name} is {gate.value:.3g}, at most {gate.limit:.3g} is allowed"
            for gate in self.gates
            if not gate.passed
        ]


def check_edition(edition: Edition) -> GateReport:
    """Runs every gate on every task and split of a sim edition. Raises DataError for another edition."""
    if edition.name != SIM_EDITION:
        raise DataError(
            f"{edition.folder}: the gates judge {SIM_EDITION} editions; edition {edition.name!r} does not record what "
            "they compare labels with (`drivehierarchy data check` compares its files with their checksums)"
        )
    gates: list[Gate] = []
    scenes: dict[str, set[str]] = defaultdict(set)
    shown: dict[str, set[str]] = defaultdict(set)
    for split in SPLITS:
        for task in edition.tasks(split):
            documents = edition.documents(task, split)
            scenes[split] |= {document["scene_id"] for document in documents}
            for document in documents:
                for image in document["images"]:
                    shown[image.name].add(document["scene_id"])
            gates += check_task(task, split, documents)
    shared = sum(len(scenes[a] & scenes[b]) for i, a in enumerate(SPLITS) for b in SPLITS[i + 1 :])
    gates.append(Gate("all", "all", "scenes in two splits", shared, 0))
    gates.append(Gate("all", "all", "images in two scenes", sum(len(names) > 1 for names in shown.values()), 0))
    return GateReport(tuple(gates))


def check_task(task: str, split: Split, documents: Sequence[Document]) -> Iterator[Gate]:
    """The gates of one task."""
    names = [(d["question"], tuple(i.name for i in d["images"]), tuple(d["options"])) for d in documents]
    yield Gate(task, split, "duplicate items", len(names) - len(set(names)), 0)
    per_scene = Counter(document["scene_id"] for document in documents)
    yield Gate(task, split, "items of one scene", max(per_scene.values()), ITEMS_PER_SCENE)
    for name, is_wrong in _FAULTS.get(task, {}).items():
        yield Gate(task, split, name, sum(map(is_wrong, documents)), 0)
    if documents[0]["answer_kind"] == "choice":
        yield Gate(task, split, "imbalance of letters", _letter_imbalance(documents), 1)
    if task == "r2_2_b":
        changes = sum(bool(document["meta"]["is_state_change"]) for document in documents)
        yield Gate(task, split, "share without a change", 1 - changes / len(documents), 0.75)
    if task == "r2_2_a":
        yield Gate(task, split, "overlapping clips", _overlapping(documents), 0)
    share = LABEL_SHARES.get(task, 1.0)
    for rule, score, chance in blind_scores(documents, share):
        spread = 3 * math.sqrt(max(chance * (1 - chance), 0.01) / len(documents))
        yield Gate(task, split, f"blind: {rule}", score, chance + spread + 1 / len(documents))


# --- faults of single items ------------------------------------------------------------------------------------------


def _unknown_category(document: Document) -> bool:
    return document["meta"]["category"] not in CATEGORIES


def _wrong_count(document: Document) -> bool:
    return int(document["answer"]) != len(document["meta"]["object_ids"])


def _existence_disagrees(document: Document) -> bool:
    return (document["answer"] == "Yes") != bool(document["meta"]["object_ids"])


def _bad_distance(document: Document) -> bool:
    meta = document["meta"]
    stated, true = float(document["answer"].removesuffix(" m")), float(meta["true_distance_m"])
    agrees = abs(stated - true) <= 0.005 + 1e-9 and abs(math.hypot(*meta["ego_xy"]) - true) < 1e-6
    return not (math.isfinite(true) and true > 0 and agrees)


def _outside_bucket(document: Document) -> bool:
    meta = document["meta"]
    ranges = {name: (low, high) for name, _, low, high in BUCKETS}
    low, high = ranges[meta["bucket"]]
    return not all(low <= distance <= high for distance in meta["distances_m"])


def _pixel_outside(*keys: str) -> Callable[[Document], bool]:
    def is_wrong(document: Document) -> bool:
        width, height = document["image_size"]
        pixels = [document["meta"][key] for key in keys]
        return not all(0 <= u < width and 0 <= v < height for u, v in pixels)

    return is_wrong


def _box_outside(document: Document) -> bool:
    width, height = document["image_size"]
    x1, y1, x2, y2 = json.loads(document["answer"])["bbox"]
    return not (0 <= x1 < x2 <= width and 0 <= y1 < y2 <= height)


def _poor_references(document: Document) -> bool:
    return len(references(document["answer"], document["meta"])) < 2


def _wrong_views(document: Document) -> bool:
    return tuple(document["views"]) != CAMERA_ORDER


def _no_overlap(document: Document) -> bool:
    meta = document["meta"]
    total = int(document["answer"])
    return total != meta["total_unique_count"] or sum(meta["camera_breakdown"].values()) <= total


def _not_consecutive(document: Document) -> bool:
    numbers = [int(frame.rpartition("/")[2]) for frame in document["meta"]["frames"]]
    return len(numbers) != len(document["images"]) or any(b - a != 1 for a, b in pairwise(numbers))


def _wrong_unique_count(document: Document) -> bool:
    return int(document["answer"]) != len(set(document["meta"]["unique_instance_tokens"]))


def _wrong_relation(document: Document) -> bool:
    meta, options = document["meta"], document["options"]
    forward, left = np.subtract(meta["subject_ego_xy"], meta["reference_ego_xy"])
    right = option_index(document["answer"], options)
    return options[right] != f"{letter_at(right)}. {relation(float(forward), float(left))}."


def _slow(document: Document) -> bool:
    return min(document["meta"]["speeds_mps"]) < LEAST_SPEED


def _wrong_order(document: Document) -> bool:
    return len(json.loads(document["answer"])) != document["meta"]["n_images"]


_FAULTS: dict[str, dict[str, Callable[[Document], bool]]] = {
    "r1_1_a": {"unknown categories": _unknown_category, "wrong answers": _existence_disagrees},
    "r1_1_b": {"unknown categories": _unknown_category, "wrong counts": _wrong_count},
    "r1_1_c": {"unknown categories": _unknown_category},
    "r1_2_a": {"unknown categories": _unknown_category, "bad distances": _bad_distance},
    "r1_2_b": {"bad distances": _bad_distance, "pixels outside": _pixel_outside("pixel_coords")},
    "r1_2_c": {"wrong counts": _wrong_count, "outside the range": _outside_bucket},
    "r1_3": {"boxes outside": _box_outside},
    "r1_4": {"fewer than two references": _poor_references},
    "r2_1": {"wrong views": _wrong_views, "without overlap": _no_overlap},
    "r2_2_a": {"gaps in clips": _not_consecutive, "wrong counts": _wrong_unique_count},
    "r2_2_b": {"gaps in clips": _not_consecutive},
    "r2_3": {"wrong relations": _wrong_relation, "pixels outside": _pixel_outside("subject_pixel", "reference_pixel")},
    "r3_2": {"standing ego": _slow, "wrong lengths": _wrong_order},
}
"""Task -> what an item must not have, and how it is found."""


def _letter_imbalance(documents: Sequence[Document]) -> int:
    """Largest difference between the frequencies of two answer letters, among items with as many options."""
    letters: dict[int, Counter[str]] = defaultdict(Counter)
    for document in documents:
        size = len(document["options"])
        letters[size].update({letter_at(i): 0 for i in range(size)})
        letters[size][option_letter(document["answer"], document["options"])] += 1
    return max(max(counts.values()) - min(counts.values()) for counts in letters.values())


def _overlapping(documents: Sequence[Document]) -> int:
    frames = Counter(frame for document in documents for frame in document["meta"]["frames"])
    return sum(count - 1 for count in frames.values())
