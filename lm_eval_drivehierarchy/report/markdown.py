"""A document as GitHub-flavoured Markdown; figures are links to PNG files beside it."""

from __future__ import annotations

from lm_eval_drivehierarchy.report.document import Block, Document, Note, Picture, Table, Text

FIGURES_FOLDER = "figures"


def markdown(document: Document) -> str:
    """The whole page. Figures are expected at ``figures/<name>.png``."""
    parts = [f"# {_escape(document.title)}", _escape(document.lead)]
    for section in document.sections:
        parts.append(f"## {_escape(section.title)}")
        parts += [_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return _escape(block.text)
    if isinstance(block, Note):
        return f"> **{'Warning' if block.warning else 'Note'}.** {_escape(block.text)}"
    if isinstance(block, Picture):
        alt = _escape(block.alt).replace("[", "(").replace("]", ")")
        return f"![{alt}]({FIGURES_FOLDER}/{block.name}.png)\n\n*{_escape(block.caption)}*"
    return _table(block)


def _table(block: Table) -> str:
    rule = [":--" if column < block.text_columns else "--:" for column in range(len(block.columns))]
    lines = [
        "| " + " | ".join(_escape(name) for name in block.columns) + " |",
        "| " + " | ".join(rule) + " |",
        *("| " + " | ".join(_cell(block.shown(cell)) for cell in row) + " |" for row in block.rows),
    ]
    notes = [f"{mark}: {_escape(note)}" for note, mark in block.footnotes.items()]
    return "\n\n".join([f"*{_escape(block.caption)}*", "\n".join(lines), *notes])


def _cell(shown: str) -> str:
    return _escape(shown) or " "


def _escape(text: str) -> str:
    """Backslashes before what Markdown or HTML would read as markup."""
    for character in "\\`*_|<>$":
        text = text.replace(character, "\\" + character)
    text = text.replace("](", "]\\(")  # no link
    return " ".join(text.split())
