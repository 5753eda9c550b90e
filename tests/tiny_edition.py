"""A small edition of all fourteen tasks, made of noise: every item has its own images, answers vary, nothing leaks."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

from drivehierarchy_data.editions import DATA_FOLDER, Edition, open_edition, shard_path, write_manifest
from drivehierarchy_data.images import EncodedImage
from drivehierarchy_data.items import Item, Split
from drivehierarchy_data.release import QUESTION_FILES, QuestionFile
from drivehierarchy_data.shards import write_shard

WIDTH, HEIGHT = 96, 54
CAMERAS = ("CAM_FRONT", "CAM_FRONT_LEFT", "CAM_FRONT_RIGHT", "CAM_BACK", "CAM_BACK_LEFT", "CAM_BACK_RIGHT")
CATEGORIES = ("Vehicle", "Pedestrian", "Bicycle", "Traffic Cone")
VIEWS = {
    "r1_4": tuple(f"t{i}" for i in range(5)),
    "r2_1": CAMERAS,
    "r2_2_a": tuple(f"t{i}" for i in range(10)),
    "r2_2_b": tuple(f"t{i}" for i in range(5)),
    "r3_2": ("A", "B", "C", "D"),
}
"""Views of the tasks with more than one image."""

CHOICES = {
    "r1_1_c": ("moving.", "parked.", "stopped."),
    "r2_2_b": (
        "It transitions from moving to stopped.",
        "No Change (It remains stopped).",
        "No Change (It remains moving).",
        "It transitions from stopped to moving.",
    ),
    "r2_3": ("Front.", "Rear-Left.", "Rear.", "Right."),
    "r3_1": ("Keep going straight.", "Turn left.", "Turn right.", "Stationary."),
}
QUESTIONS = {
    "r1_1_a": "Is there any {category} visible in CAM_FRONT?",
    "r1_1_b": "How many {category}s are visible in CAM_FRONT?",
    "r1_1_c": "What is the current status of the nearest {category} in CAM_FRONT?",
    "r1_2_a": "What is the distance to the nearest {category} in CAM_FRONT? Answer in meters.",
    "r1_2_b": "In CAM_FRONT, calculate the distance to the {category} located at pixel coordinates [40, 30].",
    "r1_2_c": "How many {category}s are within the Near range (<20m) in CAM_FRONT?",
    "r1_3": "Locate the {category} crossing the street. Give [xmin, ymin, xmax, ymax].",
    "r1_4": "What action are you currently taking as the driver, and why?",
    "r2_1": "Given the 6 surround-view images, how many unique vehicles are visible?",
    "r2_2_a": "Observing the sequence for the next 5.0 seconds, how many unique vehicles appear in CAM_FRONT?",
    "r2_2_b": "Focus on the {category} at pixel coordinates [40, 30]. How does its state change?",
    "r2_3": "What is the position of the {category} at [40, 30] relative to the Vehicle at [70, 20]?",
    "r3_1": "What is the future state of the {category} located at [10.0, 10.0, 40.0, 30.0]?",
    "r3_2": "",
}


def noise(seed: int, width: int = WIDTH, height: int = HEIGHT) -> EncodedImage:
    """A picture that only `seed` makes."""
    pixels = np.random.default_rng(seed).integers(0, 255, (height // 6, width // 6, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((width, height), Image.Resampling.NEAREST).save(buffer, "JPEG", quality=60)
    return EncodedImage.of(buffer.getvalue(), width, height)


def item(file: QuestionFile, index: int, split: Split = "test") -> Item:
    """Item `index` of a task: the answers of neighbouring indices differ."""
    views = VIEWS.get(file.task, ("CAM_FRONT",))
    options: tuple[str, ...] = ()
    category = CATEGORIES[index % len(CATEGORIES)]
    meta: dict[str, object] = {"category": category}
    if file.answer_kind == "yes_no":
        answer = ("Yes", "No")[index % 2]
    elif file.answer_kind == "count":
        answer = str(1 + index % 7)
    elif file.answer_kind == "metres":
        answer = f"{5 + 7.31 * (index % 9):.2f} m"
    elif file.answer_kind == "choice":
        turned = CHOICES[file.task][index % 3 :] + CHOICES[file.task][: index % 3]
        options = tuple(f"{chr(65 + i)}. {text}" for i, text in enumerate(turned))
        chosen = options[index % len(options)]
        answer = chosen if file.task in ("r2_2_b", "r3_1") else chosen[0]
    elif file.answer_kind == "box":
        answer = json.dumps({"bbox": [4 + index, 5, 40 + index, 30 + index % 5], "format": "xyxy"})
    elif file.answer_kind == "order":
        options = views
        answer = json.dumps([views[(i + index) % len(views)] for i in range(len(views))])
    else:
        reasons = ("the light is red", "the road is clear", "a cyclist is ahead")
        answer = f"I am slowing down because {reasons[index % 3]}."
        meta["references"] = [answer, f"Slowing down since {reasons[index % 3]}."]
    base = (
        100_000 * (1 + [f.task for f in QUESTION_FILES].index(file.task)) + 20 * index + (7 if split != "test" else 0)
    )
    return Item(
        id=f"{file.task}-{split}-{index:04d}",
        task=file.task,
        rank=file.rank,
        source="noise",
        scene_id=f"{split}-{index // 2:03d}",
        question=QUESTIONS[file.task].format(category=category),
        answer=answer,
        answer_kind=file.answer_kind,
        images=tuple(noise(base + i) for i in range(len(views))),
        views=views,
        options=options,
        meta=meta,
    )


def build(out: Path, items_per_task: int = 6, items_per_shard: int = 4, edition: str = "sim") -> Edition:
    """An edition in `out` with `items_per_task` items of every task, in shards of `items_per_shard`."""
    for file in QUESTION_FILES:
        items = [item(file, index) for index in range(items_per_task)]
        for index, start in enumerate(range(0, items_per_task, items_per_shard)):
            path = shard_path(out / DATA_FOLDER, file.task, "test", index)
            write_shard(path, items[start : start + items_per_shard], f"noise {start}")
    write_manifest(out / DATA_FOLDER, edition, {"seed": 0})
    return open_edition(out)
