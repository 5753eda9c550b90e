"""The dataset card of an edition: configurations for `load_dataset`, statistics, and how every label is made."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from drivehierarchy_gym.road.cache import write_text_atomically

from .editions import DATA_FOLDER, Edition
from .gates import GateReport
from .items import SPLITS, Document, option_index
from .questions import TITLES
from .release import QUESTION_FILES
from .selection import KINDS

CARD_FILE = "README.md"


def write_card(edition: Edition, report: GateReport, out: Path) -> None:
    """Writes OUT/README.md."""
    write_text_atomically(out / CARD_FILE, card(edition, report))


def card(edition: Edition, report: GateReport) -> str:
    """The card in Markdown, with the metadata block that the Hub reads."""
    template = files(__package__).joinpath("card_template.md").read_text(encoding="utf-8")
    provenance = edition.manifest.provenance
    return template.format(
        metadata=yaml.safe_dump(_metadata(edition), sort_keys=False, allow_unicode=True, width=1000),
        size=provenance["size"],
        seed=provenance["seed"],
        simulator=provenance["simulator"],
        digest=edition.digest,
        statistics=_statistics(edition),
        answers=_answers(edition),
        worlds=_worlds(edition),
        gates=_gates(report),
    )


def _metadata(edition: Edition) -> dict[str, Any]:
    total = sum(record.items for record in edition.manifest.files.values())
    category = "n<1K" if total < 1000 else "1K<n<10K" if total < 10_000 else "10K<n<100K"
    configs = []
    for task in _tasks(edition):
        splits = [split for split in SPLITS if task in edition.tasks(split)]
        paths = [{"split": split, "path": f"{DATA_FOLDER}/{task}/{split}-*.parquet"} for split in splits]
        configs.append({"config_name": task, "data_files": paths})
    return {
        "pretty_name": f"DriveHierarchy R1-R3 ({edition.name})",
        "license": "apache-2.0",
        "language": ["en"],
        "task_categories": ["visual-question-answering", "image-text-to-text"],
        "tags": ["autonomous-driving", "vision-language-models", "benchmark", "synthetic"],
        "size_categories": [category],
        "configs": configs,
    }


def _tasks(edition: Edition) -> list[str]:
    present = {task for split in SPLITS for task in edition.tasks(split)}
    return [file.task for file in QUESTION_FILES if file.task in present]


def _statistics(edition: Edition) -> str:
    rows = []
    for task in _tasks(edition):
        views = {len(document["images"]) for document in edition.documents(task)}
        span = str(min(views)) if len(views) == 1 else f"{min(views)}-{max(views)}"
        counts = [str(edition.size(task, split)) for split in SPLITS]
        rows.append([f"`{task}`", TITLES[task], KINDS[task][1], span, *counts])
    totals = [str(sum(edition.size(task, split) for task in _tasks(edition))) for split in SPLITS]
    rows.append(["all", "", "", "", *totals])
    return _table(["task", "asks for", "answer", "images", *SPLITS], rows)


def _answers(edition: Edition) -> str:
    rows = []
    for task in _tasks(edition):
        answers = [document["answer"] for document in edition.documents(task)]
        kind = KINDS[task][1]
        if kind == "metres":
            numbers = sorted(float(answer.removesuffix(" m")) for answer in answers)
            text = f"{numbers[0]:.1f} m to {numbers[-1]:.1f} m, median {median(numbers):.1f} m"
        elif kind == "box":
            areas = sorted(_area(answer) for answer in answers)
            text = f"boxes of {areas[0]} to {areas[-1]} pixels, median {_exact(median(areas))}"
        elif kind == "text":
            metas = [document["meta"] for document in edition.documents(task)]
            text = _counted(Counter(f"{meta['action']}/{meta['cause']}" for meta in metas))
        elif kind == "order":
            text = _counted(Counter(f"{len(json.loads(answer))} images" for answer in answers))
        elif kind == "choice":
            documents = edition.documents(task)
            text = _counted(Counter(_right_text(document) for document in documents))
        else:
            text = _counted(Counter(answers))
        rows.append([f"`{task}`", text])
    return _table(["task", "answers of the test split"], rows)


def _worlds(edition: Edition) -> str:
    scenes: dict[str, tuple[str, str]] = {}
    for split in SPLITS:
        for task in edition.tasks(split):
            for document in edition.documents(task, split):
                meta = document["meta"]
                sky = f"{meta['sky']}, sun at {meta['sun_altitude_deg']:g}°"
                scenes[document["scene_id"]] = (sky, meta["scenario"].rpartition("_")[0] or meta["scenario"])
    looks = Counter(look for look, _ in scenes.values())
    families = Counter(family for _, family in scenes.values())
    return f"{len(scenes)} drives. Weather: {_counted(looks)}. Traffic: {_counted(families)}."


def _gates(report: GateReport) -> str:
    rows = [
        [f"`{gate.task}`", gate.name, f"{gate.value:.3g}", f"{gate.limit:.3g}"]
        for gate in report.gates
        if gate.split in ("test", "all")
    ]
    table = _table(["task", "gate", "value", "limit"], rows)
    blind = [gate for gate in report.gates if gate.split == "test" and gate.name.startswith("blind: ")]
    idle = sum(gate.limit >= 1 for gate in blind)
    if not idle:
        return table
    return (
        f"{idle} of the {len(blind)} `blind` rows have a limit of 1 or more and so say nothing: there are too few "
        f"items. The builder's larger sizes show that no answer gives itself away.\n\n{table}"
    )


def _right_text(document: Document) -> str:
    options = document["options"]
    return str(options[option_index(document["answer"], options)][3:])


def _area(answer: str) -> int:
    x1, y1, x2, y2 = json.loads(answer)["bbox"]
    return int((x2 - x1) * (y2 - y1))


def _exact(middle: float) -> str:
    """A median of whole numbers: whole, or halfway between two."""
    return f"{middle:.1f}".removesuffix(".0")


def _counted(counts: Counter[str]) -> str:
    def key(entry: tuple[str, int]) -> tuple[int, str]:
        return -entry[1], entry[0]

    return ", ".join(f"{name.removesuffix('.')} {count}" for name, count in sorted(counts.items(), key=key))


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
