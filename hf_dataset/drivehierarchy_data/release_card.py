"""The card of a release edition: configurations for `load_dataset`, what it was made from, and what it lacks."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from drivehierarchy_gym.road.cache import write_text_atomically

from .card_parts import CARD_FILE, card_head, counts_text, table, tasks_of
from .editions import DATA_FOLDER, Edition
from .items import SPLITS
from .questions import TITLES
from .release import QUESTION_FILES

LICENCE = "cc-by-nc-sa-4.0"
"""Of the authors' records; the images are under the terms of their own publishers."""


def write_release_card(edition: Edition, out: Path, reasons_file: str) -> None:
    """Writes OUT/README.md. `reasons_file` is the file beside the manifest that says why each record was left out."""
    write_text_atomically(out / CARD_FILE, release_card(edition, reasons_file))


def release_card(edition: Edition, reasons_file: str) -> str:
    """The card in Markdown, with the metadata block that `load_dataset` reads."""
    template = files(__package__).joinpath("release_card_template.md").read_text(encoding="utf-8")
    return template.format(
        metadata=card_head(edition, LICENCE, []),
        example=tasks_of(edition)[0],
        digest=edition.digest,
        content=_content(edition),
        reasons=f"{DATA_FOLDER}/{reasons_file}",
    )


def _content(edition: Edition) -> str:
    rows = []
    for file in QUESTION_FILES:
        items = sum(edition.size(file.task, split) for split in SPLITS)
        left_out = counts_text(edition.manifest.excluded.get(file.task, {}))
        rows.append([f"`{file.task}`", TITLES[file.task], file.source, str(items), left_out or "nothing"])
    return table(["task", "asks for", "images from", "items", "left out"], rows)
