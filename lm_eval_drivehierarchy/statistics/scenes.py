"""Items summed by scene: the sufficient statistics of every interval, since scenes, not items, are independent.

Questions about one drive share its traffic, light and camera, so the item is not the unit of sampling. All estimators
here are functions of n, the sum and the sum of squares per (scene, task).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SceneSums:
    """Per scene (rows, G) and task (columns, T): item counts, sums and sums of squares of the scores."""

    scenes: tuple[str, ...]
    tasks: tuple[str, ...]
    counts: Floats
    sums: Floats
    squares: Floats

    def __post_init__(self) -> None:
        shape = (len(self.scenes), len(self.tasks))
        for name in ("counts", "sums", "squares"):
            array = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"SceneSums.{name} has shape {array.shape}, expected (scenes, tasks) = {shape}")
            if not np.isfinite(array).all():
                raise ValueError(f"SceneSums.{name} holds NaN or infinity: broken records must be excluded first")
        empty = self.counts.sum(axis=0) == 0
        if empty.any():
            names = [task for task, none in zip(self.tasks, empty, strict=True) if none]
            raise ValueError(f"no item at all for {', '.join(names)}: leave the task out instead")

    @classmethod
    def of_items(cls, tasks: Sequence[str], scenes: Sequence[str], scores: ArrayLike) -> SceneSums:
        """Sums of parallel sequences with one entry per item. Raises ValueError on NaN or unequal lengths."""
        values = np.asarray(scores, dtype=float)
        if not len(tasks) == len(scenes) == values.size:
            raise ValueError(f"{len(tasks)} tasks, {len(scenes)} scenes and {values.size} scores: lengths must agree")
        if values.size == 0:
            raise ValueError("no item at all")
        if not np.isfinite(values).all():
            at = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"item {at} of {tasks[at]} (scene {scenes[at]}) has score {values[at]}: exclude it first")
        task_names, column = np.unique(np.asarray(tasks, dtype=object), return_inverse=True)
        scene_names, row = np.unique(np.asarray(scenes, dtype=object), return_inverse=True)
        shape = (len(scene_names), len(task_names))
        flat = row * shape[1] + column

        def summed(weights: Floats | None) -> Floats:
            return np.bincount(flat, weights=weights, minlength=shape[0] * shape[1]).astype(float).reshape(shape)

        return cls(tuple(scene_names), tuple(task_names), summed(None), summed(values), summed(values**2))

    @cached_property
    def totals(self) -> Floats:
        """Items per task, (T,)."""
        return self.counts.sum(axis=0)

    @cached_property
    def means(self) -> Floats:
        """Mean score per task over items, (T,): Eq. 13 of the paper."""
        return self.sums.sum(axis=0) / self.totals

    @cached_property
    def influence(self) -> Floats:
        """First-order influence of each scene on each task's mean, (G, T); every column sums to zero."""
        return (self.sums - self.counts * self.means) / self.totals

    @cached_property
    def strata(self) -> NDArray[np.int64]:
        """Stratum of each scene, (G,): tasks that share no scene, even through others, were sampled apart.

        In the release R1-3, R1-4 and R3-2 come from data sets of their own; in the sim edition all tasks share scenes.
        """
        present = (self.counts > 0).astype(float)
        linked = present.T @ present > 0
        while True:
            wider = linked.astype(float) @ linked > 0
            if (wider == linked).all():
                break
            linked = wider
        first_linked_task = linked.argmax(axis=1)
        return np.unique(first_linked_task[present.argmax(axis=1)], return_inverse=True)[1].astype(np.int64)

    @cached_property
    def variance_within(self) -> tuple[Floats, Floats]:
        """Item variance and its intra-scene correlation per task, both (T,), by one-way analysis of variance."""
        present = self.counts > 0
        scenes = present.sum(axis=0)
        safe = np.where(present, self.counts, 1.0)
        scene_means = self.sums / safe
        inside = np.maximum((self.squares - self.sums * scene_means).sum(axis=0), 0.0)
        between = (self.counts * (scene_means - self.means) ** 2).sum(axis=0)
        free_inside, free_between = self.totals - scenes, scenes - 1
        mean_inside = np.divide(inside, free_inside, out=np.zeros_like(inside), where=free_inside > 0)
        mean_between = np.divide(between, free_between, out=np.zeros_like(between), where=free_between > 0)
        size = np.ones_like(inside)
        np.divide(
            self.totals - (self.counts**2).sum(axis=0) / self.totals, free_between, out=size, where=free_between > 0
        )
        of_scenes = np.where(free_inside > 0, np.maximum(mean_between - mean_inside, 0.0) / np.maximum(size, 1.0), 0.0)
        variance = of_scenes + np.where(free_inside > 0, mean_inside, mean_between)
        correlation = np.divide(of_scenes, variance, out=np.zeros_like(variance), where=variance > 0)
        return variance, correlation

    def keep(self, rows: NDArray[np.bool_], tasks: Sequence[str]) -> SceneSums:
        """The same sums for some scenes and tasks only."""
        columns = np.array([self.tasks.index(task) for task in tasks])
        chosen = np.ix_(np.flatnonzero(rows), columns)
        scenes = tuple(scene for scene, kept in zip(self.scenes, rows, strict=True) if kept)
        return SceneSums(scenes, tuple(tasks), self.counts[chosen], self.sums[chosen], self.squares[chosen])
