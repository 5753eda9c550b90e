"""Which training items are used: scenes held out for validation, and equal numbers of samples for fair comparisons."""

from __future__ import annotations

import hashlib
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from ..wording import counted
from .errors import SftError
from .samples import Sample, SceneKey

T = TypeVar("T")


def held_out_scenes(scenes: Iterable[SceneKey], share: float, seed: int) -> frozenset[SceneKey]:
    """Scenes kept for validation: `share` of them, rounded up.

    They depend on all scenes of a training split and on `seed`, not on the tasks that are trained on, so that runs
    with different tasks learn from, and are validated on, the same scenes.
    """
    if not 0 < share < 1:
        raise SftError(f"validation share {share:g} must lie between 0 and 1; the paper held out 0.05")
    known = sorted(set(scenes))
    if len(known) < 2:
        raise SftError(
            f"{counted(len(known), 'scene')} cannot be divided into training and validation; build a larger edition"
        )
    ranked = sorted(known, key=lambda scene: hashlib.sha256(f"{seed}:{scene[0]}:{scene[1]}".encode()).digest())
    return frozenset(ranked[: min(math.ceil(share * len(known)), len(known) - 1)])


def draw(samples: Sequence[Sample], count: int | None, seed: int) -> list[Sample]:
    """`count` samples in random order, as many of each task as of any other; all of them without `count`.

    Raises SftError naming the tasks that have too few.
    """
    by_task: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_task[sample.task].append(sample)
    chosen = list(samples)
    if count is not None:
        tasks = sorted(by_task)
        wanted = {task: count // len(tasks) + (place < count % len(tasks)) for place, task in enumerate(tasks)}
        short = [
            f"{task} has {len(by_task[task])} of {wanted[task]}" for task in tasks if len(by_task[task]) < wanted[task]
        ]
        if short or count < len(tasks):
            reason = ", ".join(short) or f"{len(tasks)} tasks need at least as many"
            raise SftError(
                f"{counted(count, 'training sample')} cannot be drawn equally: {reason}; ask for another number"
            )
        chosen = [sample for task in tasks for sample in _shuffled(by_task[task], f"{seed}:{task}")[: wanted[task]]]
    return _shuffled(chosen, f"{seed}")


def _shuffled(entries: Sequence[T], seed: str) -> list[T]:
    return random.Random(f"sft:{seed}").sample(entries, len(entries))
