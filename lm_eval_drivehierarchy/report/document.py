"""A page as data: sections of text, tables and figures, without a word on how they are written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Mark = Literal["good", "bad", "weak", "missing", "open"]
SYMBOLS: dict[Mark, str] = {"good": "▲", "bad": "▼", "weak": "●", "missing": "–", "open": "?"}
"""Shown with the text, so that no meaning rests on colour."""


DAGGER = "†"


@dataclass(frozen=True, slots=True)
class Cell:
    """`sort` is what the cell is ordered by (its text when None), `note` what is said of it under the table."""

    text: str
    sort: float | None = None
    mark: Mark | None = None
    note: str | None = None

    @property
    def shown(self) -> str:
        """The text with the symbol of its mark; what is missing has the symbol only where no words say so."""
        if self.mark is None or (self.mark == "missing" and self.text):
            return self.text
        return f"{self.text} {SYMBOLS[self.mark]}".strip()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under named columns; all columns but the first `text_columns` are numbers."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    text_columns: int = 1

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: a row has {len(row)} cells for {len(self.columns)} columns")

    @property
    def footnotes(self) -> dict[str, str]:
        """Note of a cell -> its mark, †1, †2 and so on in the order of the cells."""
        notes = dict.fromkeys(cell.note for row in self.rows for cell in row if cell.note is not None)
        return {note: f"{DAGGER}{number}" for number, note in enumerate(notes, start=1)}

    def shown(self, cell: Cell) -> str:
        """The text of a cell with its symbol and the mark of its note."""
        return cell.shown if cell.note is None else f"{cell.shown} {self.footnotes[cell.note]}"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, as PNG; `alt` says in words what it shows."""

    name: str
    caption: str
    alt: str
    png: bytes


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A caveat or, with `warning`, something wrong or missing in the inputs."""

    text: str
    warning: bool = False


Block = Table | Picture | Text | Note


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """Name of the section in links."""
        return slug(self.title)


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    lead: str
    sections: tuple[Section, ...]

    def pictures(self) -> list[Picture]:
        """All figures in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Picture)]


def slug(name: str) -> str:
    """A name as part of an id."""
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def table(
    name: str, caption: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], text_columns: int = 1
) -> Table:
    """A table from any sequences."""
    return Table(name, caption, tuple(columns), tuple(tuple(row) for row in rows), text_columns)
