"""What every dataset card has: its file, the head that `load_dataset` and the Hub read, counts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

from .editions import DATA_FOLDER, Edition
from .items import SPLITS
from .release import QUESTION_FILES

CARD_FILE = "README.md"
"""Beside the data folder: the place where `load_dataset` and the Hub look for a card."""


def tasks_of(edition: Edition) -> list[str]:
    """Tasks that have items in any split, in the order of the benchmark."""
    present = {task for split in SPLITS for task in edition.tasks(split)}
    return [file.task for file in QUESTION_FILES if file.task in present]


def card_head(edition: Edition, licence: str, tags: Sequence[str]) -> str:
    """The metadata as YAML, without the lines of dashes around it: a configuration for every task, and what the Hub
    shows. `licence` is one of the Hub's names, `tags` come after those of every edition."""
    total = sum(record.items for record in edition.manifest.files.values())
    category = "n<1K" if total < 1000 else "1K<n<10K" if total < 10_000 else "10K<n<100K"
    configs = []
    for task in tasks_of(edition):
        splits = [split for split in SPLITS if task in edition.tasks(split)]
        paths = [{"split": split, "path": f"{DATA_FOLDER}/{task}/{split}-*.parquet"} for split in splits]
        configs.append({"config_name": task, "data_files": paths})
    metadata = {
        "pretty_name": f"DriveHierarchy R1-R3 ({edition.name})",
        "license": licence,
        "language": ["en"],
        "task_categories": ["visual-question-answering", "image-text-to-text"],
        "tags": ["autonomous-driving", "vision-language-models", "benchmark", *tags],
        "size_categories": [category],
        "configs": configs,
    }
    return str(yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=1000))


def counts_text(counts: Mapping[str, int]) -> str:
    """For example "Yes 12, No 11": the most frequent first, equals in alphabetical order."""

    def key(entry: tuple[str, int]) -> tuple[int, str]:
        return -entry[1], entry[0]

    return ", ".join(f"{name.removesuffix('.')} {count}" for name, count in sorted(counts.items(), key=key))


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
