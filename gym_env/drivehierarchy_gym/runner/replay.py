"""A finished run as a video: its kept frames, or the same drive simulated again from `steps.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import gymnasium
import imageio.v2 as imageio
import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.env import DriveHierarchyEnv
from drivehierarchy_gym.errors import DriveHierarchyError, unknown_name
from drivehierarchy_gym.frame import compose_frame
from drivehierarchy_gym.road.cache import write_atomically
from drivehierarchy_gym.runner.evaluator import evaluator
from drivehierarchy_gym.runner.manifest import MANIFEST_FILE, Manifest, read_manifest
from drivehierarchy_gym.runner.records import FRAMES_FOLDER, SCORE_FILE, STEPS_FILE, SceneScore, read_score

FRAMES_PER_SECOND = 4
"""A frame a decision: played at this rate, the video runs as fast as the drive did."""
SUFFIXES = (".mp4", ".gif")
CODEC = ("-crf", "20", "-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1")
"""One thread and no time stamps: the same frames give the same file."""


class ReplayError(DriveHierarchyError, ValueError):
    """A run that cannot be shown, or that does not repeat."""


@dataclass(frozen=True)
class RunFiles:
    """One finished run: its folder, its score and its steps, in order."""

    folder: Path
    score: SceneScore
    steps: tuple[Mapping[str, Any], ...]


def find_runs(folder: Path, scenario: str | None) -> list[Path]:
    """Folders of finished runs: `folder` itself, or those below it whose scenario is `scenario`.

    Raises:
        ReplayError: no run there.
        UnknownNameError: no run of that scenario there; names the nearest.
    """
    if (folder / SCORE_FILE).exists():
        return [folder]
    found = sorted(path.parent for path in folder.rglob(SCORE_FILE))
    if not found:
        raise ReplayError(f"{folder}: no {SCORE_FILE} in or below it; give the folder of a finished run")
    if scenario is None:
        return found
    names = {path: path.parent.name if path.name.startswith("repeat_") else path.name for path in found}
    wanted = [path for path in found if names[path] == scenario]
    if not wanted:
        raise unknown_name(f"scenario in {folder}", scenario, set(names.values()))
    return wanted


def read_run(folder: Path) -> RunFiles:
    """Read a finished run.

    Raises:
        ReplayError: steps are missing, cut off, or it has no score.
        ResultError: the score is damaged.
    """
    score = read_score(folder / SCORE_FILE)
    if score is None:
        raise ReplayError(f"{folder}: this run is void; there is nothing to show")
    path = folder / STEPS_FILE
    try:
        with path.open(encoding="utf-8") as file:
            steps = tuple(json.loads(line) for line in file)
    except OSError as error:
        raise ReplayError(f"{path}: {error.strerror}; only runs of this project's runner can be shown") from error
    except ValueError as error:
        raise ReplayError(f"{path}: not JSON lines ({error})") from error
    if not steps:
        raise ReplayError(f"{path}: no steps in it")
    return RunFiles(folder, score, steps)


def frames(run: RunFiles, release: str | None = None) -> Iterator[NDArray[np.uint8]]:
    """Frames uint8 (H, W, 3) RGB, one before the first decision and one after each; see `compose_frame`.

    Raises:
        ReplayError: simulated again, the drive is another one (other versions, another world).
    """
    if (run.folder / FRAMES_FOLDER).is_dir():
        yield from _kept_frames(run)
    else:
        yield from _simulated_frames(run, release)


def _kept_frames(run: RunFiles) -> Iterator[NDArray[np.uint8]]:
    for number in range(len(run.steps) + 1):
        step = run.steps[number - 1] if number else None
        pictures = []
        for name in ("front", "bev"):
            path = run.folder / FRAMES_FOLDER / f"{number + 1:06d}_{name}.jpg"
            picture = cv2.imread(str(path))
            if picture is None:
                raise ReplayError(f"{path}: missing or not a picture; delete {path.parent} to simulate the run again")
            pictures.append(np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), dtype=np.uint8))
        time, speed, command, score = (
            (0.0, 0.0, "", 0.0)
            if step is None
            else (step["time"], step["ego"]["speed"], step["command"], step["score"])
        )
        ending = f"   {run.score.termination_reason}" if number == len(run.steps) else ""
        status = f"{run.score.scene_id}   {time:6.2f} s   {speed:4.1f} m/s   {command}   score {score:.1f}{ending}"
        yield compose_frame(pictures[0], pictures[1], status)


def _simulated_frames(run: RunFiles, release: str | None) -> Iterator[NDArray[np.uint8]]:
    manifest = _manifest_of(run.folder)
    extra = run.score.extra
    if extra.get("evaluator") != evaluator():
        raise ReplayError(
            f"{run.folder}: driven with {extra.get('evaluator')}, this is {evaluator()}: it would be another drive; "
            "install that version, or run the scenario again"
        )
    environment = gymnasium.make(
        "DriveHierarchy-R4",
        disable_env_checker=True,
        render_mode="rgb_array",
        scenario=run.score.scene_id,
        action_mode=extra["action_mode"],
        observation="state",
        **{**manifest.settings["environment"], "suite": extra["suite"], "release": release, "prompt_file": None},
    )
    env = environment.unwrapped
    assert isinstance(env, DriveHierarchyEnv)
    try:
        env.reset(seed=extra["seed"])
        yield _picture(env)
        for step in run.steps:
            _, _, terminated, truncated, _ = env.step(step["action"])
            yield _picture(env)
            ego, then = env.ticks[-1].ego, step["ego"]
            if (ego.x, ego.y, ego.yaw, ego.speed) != (then["x"], then["y"], then["yaw"], then["speed"]):
                raise ReplayError(
                    f"{run.folder}: at {step['time']:.2f} s the car is at ({ego.x:.3f}, {ego.y:.3f}), and was at "
                    f"({then['x']:.3f}, {then['y']:.3f}): this is not the same world"
                )
            if terminated or truncated:
                break
    finally:
        environment.close()


def _picture(env: DriveHierarchyEnv) -> NDArray[np.uint8]:
    picture = env.render()
    assert picture is not None
    return picture


def _manifest_of(folder: Path) -> Manifest:
    for parent in folder.resolve().parents:
        if (parent / MANIFEST_FILE).exists():
            return read_manifest(parent / MANIFEST_FILE)
    raise ReplayError(
        f"{folder}: no {MANIFEST_FILE} above it; only runs of this project's runner can be simulated again"
    )


def write_video(path: Path, pictures: Iterator[NDArray[np.uint8]], fps: int = FRAMES_PER_SECOND) -> int:
    """Write a video in one step; the number of its frames.

    Raises:
        ReplayError: the file name ends in neither .mp4 nor .gif.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ReplayError(f"{path}: a video ends in {' or '.join(SUFFIXES)}")
    count = 0

    def write(partial: Path) -> None:
        nonlocal count
        if path.suffix.lower() == ".gif":
            images: Any = [
                cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) for picture in pictures
            ]
            count = len(images)
            imageio.mimwrite(partial, images, duration=1000 / fps, loop=0)
            return
        writer: Any = imageio.get_writer(
            partial, fps=fps, codec="libx264", macro_block_size=2, ffmpeg_params=list(CODEC)
        )
        with closing(writer):  # a writer's own context leaves ffmpeg running after an error
            for picture in pictures:
                count += 1
                writer.append_data(picture)

    write_atomically(path, write)
    return count
