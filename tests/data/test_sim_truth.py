"""Labels of real drives, against a second opinion (`independent`): visibility, counts, boxes, pixels, distances.

DRIVEHIERARCHY_CHECKED_ITEMS sets how many items of each task are checked; the default keeps the test short.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from drivehierarchy_data.builders import BUILDERS
from drivehierarchy_data.drafts import Draft
from drivehierarchy_data.scene import Clip, Frame
from drivehierarchy_data.selection import thin_out
from drivehierarchy_data.sources.drives import DriveRecipe, recipe
from drivehierarchy_data.sources.sights import BOTTOM, COLUMN, COUNT, LEFT, RIGHT, ROW, TOP, measure
from drivehierarchy_data.sources.sim import Cameras, SimSource, drawn, drive
from drivehierarchy_data.visibility import VISIBLE_PIXELS
from drivehierarchy_gym.backends import make_backend
from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.render.scene import SceneRenderer
from drivehierarchy_gym.road.default_map import surroundings
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.state import Snapshot
from tests.data import independent

CHECKED = int(os.environ.get("DRIVEHIERARCHY_CHECKED_ITEMS", "2"))
WIDTH = 800
DOUBT = 1.5
"""Where boxes and meshes disagree about who is in front, a body near the limit of visibility may be counted or not: one
with up to so many times its pixels, or as many times fewer."""


@pytest.fixture(scope="module")
def source() -> Iterator[SimSource]:
    made = SimSource(Cameras.of_width(WIDTH))
    yield made
    made.close()


@pytest.fixture(scope="module")
def clips(source: SimSource) -> list[tuple[DriveRecipe, Clip]]:
    """Clips of as many drives as it takes."""
    made = []
    for number in range(1 + CHECKED // 3):
        job = recipe(11, "test", number)
        clip = source.clip(job)
        if clip is not None:
            made.append((job, clip))
    return made


class Oracle:
    """The second opinion on one drive."""

    def __init__(self, job: DriveRecipe) -> None:
        plan = job.plan()
        backend = make_backend("sumo")
        try:
            self._snapshots = drive(backend, plan).snapshots
        finally:
            backend.close()
        network = load_network(plan.network_file)
        self._renderer = SceneRenderer(network, surroundings(plan.network_file), plan.weather, samples=1)
        self._cameras = Cameras.of_width(WIDTH).specs
        self._owners = lru_cache(maxsize=64)(self._look)

    def snapshot(self, index: int) -> Snapshot:
        return drawn(self._snapshots[index])

    def _look(self, index: int, camera: str) -> np.ndarray:
        return independent.owners(self._renderer, self._cameras[camera], self.snapshot(index))

    def pixels(self, index: int, camera: str) -> dict[str, int]:
        """Visible pixels of every body."""
        counts = np.bincount(self._owners(index, camera).ravel() + 1, minlength=1)[1:]
        return {self.snapshot(index).actors[n].id: int(count) for n, count in enumerate(counts) if count}

    def plainly(self, index: int, camera: str, category: str) -> tuple[set[str], set[str]]:
        """Bodies of a category that must count as visible, and those that may."""
        limit = VISIBLE_PIXELS * (WIDTH / 1600) ** 2
        models = {body.id: body.model for body in self.snapshot(index).actors}
        counts = {
            name: count
            for name, count in self.pixels(index, camera).items()
            if ACTOR_MODELS[models[name]].category == category
        }
        must = {name for name, count in counts.items() if count >= limit * DOUBT}
        return must, {name for name, count in counts.items() if count >= limit / DOUBT}

    def owner(self, index: int, camera: str, u: int, v: int) -> str:
        number = int(self._owners(index, camera)[v, u])
        return "" if number < 0 else self.snapshot(index).actors[number].id

    def box(self, index: int, camera: str, name: str) -> list[int]:
        number = [body.id for body in self.snapshot(index).actors].index(name)
        rows, columns = np.nonzero(self._owners(index, camera) == number)
        return [int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1]

    def distance(self, index: int, name: str) -> float:
        snapshot = self.snapshot(index)
        return independent.distance(snapshot, next(body for body in snapshot.actors if body.id == name))


@pytest.fixture(scope="module")
def oracles(clips: list[tuple[DriveRecipe, Clip]]) -> dict[str, Oracle]:
    return {clip.scene_id: Oracle(job) for job, clip in clips}


@pytest.fixture
def drafts(
    request: pytest.FixtureRequest, clips: list[tuple[DriveRecipe, Clip]], oracles: dict[str, Oracle]
) -> list[tuple[Draft, Oracle]]:
    """Drafts of the task that the test is about, drawn at random."""
    task = request.param
    found = [
        (draft, oracles[clip.scene_id]) for job, clip in clips for draft in thin_out(BUILDERS[task](clip), job.seed)
    ]
    assert found, f"no draft of {task}"
    return random.Random(task).sample(found, min(CHECKED, len(found)))


def task(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("drafts", names, indirect=True)


@task("r1_1_a", "r1_1_b", "r1_2_c")
def test_who_is_visible(drafts: list[tuple[Draft, Oracle]]) -> None:
    for draft, oracle in drafts:
        ((index, camera),) = draft.views
        must, may = oracle.plainly(index, camera, draft.meta["category"])
        if "bucket" in draft.meta:
            low, high = {"Near": (0, 20), "Mid": (20, 50), "Far": (50, 1e9)}[draft.meta["bucket"]]
            must, may = ({n for n in names if low <= oracle.distance(index, n) < high} for names in (must, may))
        assert must <= set(draft.meta["object_ids"]) <= may


@task("r1_1_c", "r1_2_a")
def test_who_is_nearest_and_how_far(drafts: list[tuple[Draft, Oracle]]) -> None:
    for draft, oracle in drafts:
        ((index, camera),) = draft.views
        must, may = oracle.plainly(index, camera, draft.meta["category"])
        target = draft.meta["target_object_id"]
        distance = oracle.distance(index, target)
        assert target in may
        assert distance <= min((oracle.distance(index, name) for name in must), default=distance)
        if draft.task == "r1_2_a":
            assert draft.truth == f"{distance:.2f} m"


@task("r1_2_b")
def test_whom_a_pixel_shows_and_how_far(drafts: list[tuple[Draft, Oracle]]) -> None:
    for draft, oracle in drafts:
        ((index, camera),) = draft.views
        assert oracle.owner(index, camera, *draft.meta["pixel_coords"]) == draft.meta["target_object_id"]
        assert draft.truth == f"{oracle.distance(index, draft.meta['target_object_id']):.2f} m"


@task("r1_3")
def test_boxes(drafts: list[tuple[Draft, Oracle]]) -> None:
    for draft, oracle in drafts:
        ((index, camera),) = draft.views
        found = oracle.box(index, camera, draft.meta["target_object_id"])
        assert np.abs(np.subtract(found, json.loads(draft.truth)["bbox"])).max() <= 1


@task("r2_1", "r2_2_a")
def test_who_is_visible_over_views(drafts: list[tuple[Draft, Oracle]]) -> None:
    for draft, oracle in drafts:
        pairs = [oracle.plainly(index, camera, "Vehicle") for index, camera in draft.views]
        must, may = (set[str]().union(*names) for names in zip(*pairs, strict=True))
        assert len(must) <= int(draft.truth) <= len(may)


@task("r2_2_b", "r2_3", "r3_1")
def test_whom_questions_point_at(drafts: list[tuple[Draft, Oracle]]) -> None:
    for draft, oracle in drafts:
        index, camera = draft.views[0]
        if draft.task == "r2_2_b":
            pairs = [((draft.meta["u"], draft.meta["v"]), draft.meta["target_instance_token"])]
        elif draft.task == "r2_3":
            pairs = [
                (draft.meta[f"{role}_pixel"], draft.meta[f"{role}_instance_token"]) for role in ("subject", "reference")
            ]
        else:
            box = oracle.box(index, camera, draft.meta["target_object_id"])
            stated = draft.question.partition("[")[2].partition("]")[0]
            assert np.abs(np.subtract(box, [float(part) for part in stated.split(",")])).max() <= 1
            continue
        for (u, v), name in pairs:
            assert oracle.owner(index, camera, u, v) == name


def test_the_same_recipe_gives_the_same_pictures(source: SimSource, clips: list[tuple[DriveRecipe, Clip]]) -> None:
    job, clip = clips[0]
    again = source.clip(job)
    assert again is not None
    assert [pictures(frame) for frame in again.frames] == [pictures(frame) for frame in clip.frames]
    assert [replace(frame, images={}) for frame in again.frames] == [replace(frame, images={}) for frame in clip.frames]


def pictures(frame: Frame) -> dict[str, bytes]:
    return {camera: image.encoded().data for camera, image in frame.images.items()}


def test_measure_agrees_with_counting() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(-1, 4, (30, 40), dtype=np.int32)
    ids[:, 20:] = np.where(ids[:, 20:] == 3, 0, ids[:, 20:])
    table = measure(ids, 4)
    for number in range(3):
        rows, columns = np.nonzero(ids == number + 1)
        entry = table[number]
        assert entry[COUNT] == len(rows)
        assert (entry[LEFT], entry[TOP]) == (columns.min(), rows.min())
        assert (entry[RIGHT], entry[BOTTOM]) == (columns.max() + 1, rows.max() + 1)
        assert ids[entry[ROW], entry[COLUMN]] == number + 1
        distances = (columns - columns.mean()) ** 2 + (rows - rows.mean()) ** 2
        own = (entry[COLUMN] - columns.mean()) ** 2 + (entry[ROW] - rows.mean()) ** 2
        assert own == pytest.approx(distances.min())
    assert table[3, COUNT] == 0


def test_far_bodies_are_not_drawn(clips: list[tuple[DriveRecipe, Clip]]) -> None:
    for _, clip in clips:
        for frame in clip.frames:
            for body in frame.objects:
                if body.sights:
                    assert frame.distance(body) < 103.0
