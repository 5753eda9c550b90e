"""Clips without a simulator that every task can ask about, for tests of selection and build."""

from __future__ import annotations

import math
import os
import random
import time
from dataclasses import replace
from pathlib import Path

from drivehierarchy_data.builders.description import SENTENCES
from drivehierarchy_data.scene import CAMERA_ORDER, FRONT_CAMERA, Clip, Frame, Object, Situation
from drivehierarchy_data.sources.drives import DriveRecipe
from drivehierarchy_gym.geometry import Pose
from tests.data.toy_scene import body, clip, frame, image

PICTURED, FUTURE = 20, 7


def toy_clip(recipe: DriveRecipe, width: int) -> Clip | None:
    """A drive of 20 frames; one in ten ends too early."""
    rng = random.Random(recipe.seed)
    if rng.random() < 0.1:
        return None
    made = clip(*_frames(rng), scene_id=recipe.scene_id)
    # Sights are laid out for 1600 pixels, whatever the width that a size asks for.
    frames = [replace(f, images={c: image(rng.getrandbits(30)) for c in f.images}) for f in made.frames]
    return replace(made, frames=tuple(frames), meta={**made.meta, "seed": recipe.seed})


def twin_clip(recipe: DriveRecipe, width: int) -> Clip | None:
    """A drive that looks like the one before it when its number is odd."""
    number = int(recipe.scene_id.split("-")[1])
    made = toy_clip(replace(recipe, seed=f"twins {number // 2}"), width)
    return None if made is None else replace(made, scene_id=recipe.scene_id)


def failing_clip(recipe: DriveRecipe, width: int) -> Clip | None:
    """A drive on which something breaks."""
    raise RuntimeError("the world fell down")


def unlucky_clip(recipe: DriveRecipe, width: int) -> Clip | None:
    """A drive that fails the first time; the folder TOY_MARKS remembers that."""
    mark = Path(os.environ["TOY_MARKS"]) / recipe.scene_id
    if not mark.exists():
        mark.touch()
        raise RuntimeError("the simulator was out of sorts")
    return toy_clip(recipe, width)


def slow_clip(recipe: DriveRecipe, width: int) -> Clip | None:
    """A drive that takes its time, so that one can be interrupted."""
    time.sleep(0.3)
    return toy_clip(recipe, width)


def _frames(rng: random.Random) -> list[Frame]:
    speed = 6.0
    situations = [Situation(action, cause) for action, cause in SENTENCES if not cause.endswith("ahead")]
    kinds = rng.sample(range(7), 3)
    counts = {"Pedestrian": rng.randint(0, 5), "Traffic Cone": rng.randint(0, 5), "Bicycle": rng.randint(0, 5)}
    vehicles = rng.randint(0, 8)
    begin = {category: 6.0 * 8.0 ** rng.random() for category in ("Vehicle", *counts)}
    aside = rng.uniform(-0.3, 0.3)
    frames = []
    for index in range(PICTURED + FUTURE):
        at = 0.5 * speed * index
        objects: list[Object] = []
        pictured = index < PICTURED
        cameras = () if not pictured else CAMERA_ORDER if index % 5 == 0 else (FRONT_CAMERA,)
        for number in range(vehicles):
            kind = kinds[number % 3]
            state, pace, yaw = _behaviour(kind, index)
            seen = CAMERA_ORDER[:2] if number == 0 and len(cameras) > 1 else cameras[:1]
            place = begin["Vehicle"] + 9.1 * number
            left = aside * place + 3.3 - 2.7 * (number % 4)
            entry = body(f"v{number}", place, left, cameras=seen, state=state)
            objects.append(
                replace(entry, x=entry.x + at, speed=pace, yaw=yaw, colour=("red", "blue", None)[number % 3])
            )
        for category, count in counts.items():
            for number in range(count):
                place = begin[category] + 7.3 * number
                left = -aside * place - 4.5 - 1.3 * number
                entry = body(f"{category}{number}", place, left, category, cameras=cameras[:1])
                state, pace = _walk((number + vehicles) % 4, index) if category == "Pedestrian" else (None, 0.0)
                objects.append(replace(entry, x=entry.x + at, state=state, speed=pace))
        frames.append(
            replace(
                frame(*objects, cameras=cameras, speed=speed, situation=rng.choice(situations)),
                origin=Pose(at, 0.0, 0.0),
            )
        )
    return frames


def _behaviour(kind: int, index: int) -> tuple[str, float, float]:
    """State, speed and heading of a vehicle that behaves in one of seven ways, in a cycle of ten frames."""
    phase = index % 10
    if kind == 0:
        return "parked", 0.0, 0.0
    if kind == 1:
        return "stopped", 0.0, 0.0
    if kind == 2:
        return ("moving", 8.0, 0.0)
    if kind == 3:
        return ("moving", 9.0 - 0.9 * phase, 0.0) if phase < 9 else ("stopped", 0.0, 0.0)
    if kind == 4:
        return ("stopped", 0.0, 0.0) if phase < 2 else ("moving", 1.1 * phase, 0.0)
    sign = 1 if kind == 5 else -1
    return "moving", 5.0, sign * math.radians(12.0 * index)


def _walk(kind: int, index: int) -> tuple[str, float]:
    walks = {0: True, 1: False, 2: index % 12 >= 6, 3: index % 12 < 6}[kind]
    return ("moving", 1.3) if walks else ("standing", 0.0)
