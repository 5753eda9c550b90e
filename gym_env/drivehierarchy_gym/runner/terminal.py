"""Tables for a terminal of any width: a number is never cut, so a table that is too wide goes on below itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_LEAST_TEXT, _MOST_TEXT = 14, 24
"""Width to which a column of text may shrink before another block is begun: that of its longest word, between these."""
_FRAME = 3
"""What a column takes besides its content: padding and the line before it."""


def print_table(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[int] = (0,),
    title: str = "",
    caption: str = "",
    styles: Sequence[str] = (),
) -> None:
    """Print plain strings, numbers to the right and the columns in `text` to the left.

    Text wraps. Numbers do not: where they need more than the console's width, the columns that are left follow in
    another block under a repeated first column. `styles` has one rich style a row.
    """
    marks = styles or [""] * len(rows)
    blocks = list(_blocks(columns, rows, text, console.width))
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        table = Table(
            box=box.SIMPLE,
            title=escape(title) if title and not number else None,
            title_justify="left",
            caption=escape(caption) if caption and last else None,
            caption_justify="left",
        )
        for column in block:
            fixed = None if column in text else _width(columns, rows, column)
            justify = "left" if column in text else "right"
            table.add_column(escape(columns[column]), justify=justify, width=fixed, overflow="fold")  # type: ignore[arg-type]
        for row, style in zip(rows, marks, strict=True):
            table.add_row(*(escape(row[column]) for column in block), style=style)
        console.print(table)


def _blocks(
    columns: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[int], width: int
) -> Iterator[list[int]]:
    """Columns of each block: as many as fit, every block with the first one."""
    needs = [
        _least(columns, rows, column) if column in text else _width(columns, rows, column)
        for column in range(len(columns))
    ]
    block = [0]
    for column in range(1, len(columns)):
        if len(block) > 1 and sum(needs[c] + _FRAME for c in [*block, column]) + 1 > width:
            yield block
            block = [0]
        block.append(column)
    yield block


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int:
    """Width of a column of numbers: its widest cell, or the longest word of its head."""
    words = [cell_len(word) for word in columns[column].split()]
    return max([*(cell_len(row[column]) for row in rows), *words, 1])


def _least(columns: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int:
    """Width that a column of text keeps, unless it needs less."""
    cells = [columns[column], *(row[column] for row in rows)]
    word = max([cell_len(word) for cell in cells for word in cell.split()], default=0)
    return min(max(map(cell_len, cells)), max(_LEAST_TEXT, min(word, _MOST_TEXT)))
