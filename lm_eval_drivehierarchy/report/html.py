"""A document as one HTML file that needs nothing else: style, script and figures are inside. Tables sort on a click."""

from __future__ import annotations

import base64
from html import escape

from lm_eval_drivehierarchy.report.document import DAGGER, Block, Cell, Document, Note, Picture, Section, Table, Text

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --page: #ffffff; --line: #d5d5d5; --soft: #f5f6f7; --quiet: #5a5a5a;
  --note: #0072b2; --warn: #b34700; --good: #007a56; --bad: #b34700; --weak: #94427a; --edge: #00000040; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --page: #16181a; --line: #3a3d40; --soft: #202326;
  --quiet: #a8a8a8; --note: #66b6e6; --warn: #f0914f; --good: #4dc9a0; --bad: #f0914f; --weak: #e0a0cc;
  --edge: #ffffff50; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
p { max-width: 46rem; margin: .6rem 0; }
.lead { color: var(--quiet); }
nav { margin: 1rem 0 0; } nav a { margin-right: 1rem; white-space: nowrap; }
a { color: var(--note); }
.note, .warning { max-width: 46rem; margin: .6rem 0; padding: .45rem .8rem; background: var(--soft);
  border-left: 4px solid var(--note); font-size: .93rem; }
.warning { border-color: var(--warn); }
.scroll { overflow-x: auto; margin: .9rem 0; background:
  linear-gradient(to right, var(--page) 40%, transparent) 0 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--page) 40%, transparent) 100% 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--edge), transparent) 0 0 / .8rem 100% no-repeat scroll,
  linear-gradient(to left, var(--edge), transparent) 100% 0 / .8rem 100% no-repeat scroll; }
.scroll:focus-visible { outline: 2px solid var(--note); }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding: 0 0 .35rem; }
th, td { padding: .28rem .6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th.text, td.text { text-align: left; } td.text { min-width: 6rem; overflow-wrap: anywhere; }
td.text:first-child { min-width: 8rem; }
thead th { vertical-align: bottom; border-bottom: 2px solid var(--line); }
thead th button { all: unset; cursor: pointer; font-weight: 600; }
thead th button:focus-visible { outline: 2px solid var(--note); }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
tbody tr:hover { background: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); } .weak { color: var(--weak); font-weight: 600; }
.missing, .open, .footnote { color: var(--quiet); } .footnote { font-size: .85rem; margin: .1rem 0; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; height: auto; background: #fff; }
figcaption { color: var(--quiet); font-size: .9rem; max-width: 46rem; }
@media print { body { max-width: none; padding: 0; font-size: 9.5pt; } nav { display: none; }
  table { font-size: 8pt; } tr, figure { break-inside: avoid; } h2 { break-after: avoid; }
  .scroll { overflow: visible; } }
"""

NO_BREAK = "\u00a0"
BREAKS = ("[", "n=", "on", DAGGER)
"""What a line of a number may begin with."""

SCRIPT = """
for (const button of document.querySelectorAll("thead button")) button.addEventListener("click", () => {
  const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
  const column = [...head.parentNode.children].indexOf(head);
  const up = head.getAttribute("aria-sort") === "descending";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = (row) => row.children[column].dataset.sort ?? row.children[column].textContent;
  const rows = [...body.rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)], [p, q] = [parseFloat(x), parseFloat(y)];
    if (x === "" || y === "") return (x === "") - (y === "");
    const order = Number.isNaN(p) || Number.isNaN(q) ? x.localeCompare(y) : p - q;
    return up ? order : -order;
  });
  body.append(...rows);
});
"""


def html(document: Document) -> str:
    """The whole page as text."""
    links = "".join(f'<a href="#{section.anchor}">{escape(section.title)}</a> ' for section in document.sections)
    body = "\n".join(_section(section) for section in document.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(document.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{escape(document.title)}</h1>\n<p class="lead">{escape(document.lead)}</p>\n<nav>{links}</nav>\n'
        f"{body}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    return f'<section>\n<h2 id="{section.anchor}">{escape(section.title)}</h2>\n{blocks}\n</section>'


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Note):
        kind, word = ("warning", "Warning") if block.warning else ("note", "Note")
        return f'<div class="{kind}"><strong>{word}.</strong> {escape(block.text)}</div>'
    if isinstance(block, Picture):
        data = base64.b64encode(block.png).decode("ascii")
        image = f'<img src="data:image/png;base64,{data}" alt="{escape(block.alt)}">'
        return (
            f'<figure id="figure-{escape(block.name)}">{image}<figcaption>{escape(block.caption)}</figcaption></figure>'
        )
    return _table(block)


def _table(block: Table) -> str:
    def kind(column: int) -> str:
        return ' class="text"' if column < block.text_columns else ""

    head = "".join(
        f'<th scope="col"{kind(column)}><button type="button">{escape(name)}</button></th>'
        for column, name in enumerate(block.columns)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(_cell(cell, block.shown(cell), column < block.text_columns) for column, cell in enumerate(row))
        + "</tr>"
        for row in block.rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table id="table-{escape(block.name)}">\n'
        f"<caption>{escape(block.caption)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"
        + "".join(f'\n<p class="footnote">{mark}: {escape(note)}</p>' for note, mark in block.footnotes.items())
    )


def _cell(cell: Cell, content: str, text: bool) -> str:
    kinds = " ".join([*(["text"] if text else []), *([cell.mark] if cell.mark else [])])
    attributes = f' class="{kinds}"' if kinds else ""
    if cell.sort is not None:
        attributes += f' data-sort="{cell.sort:.10g}"'
    elif not text:
        attributes += ' data-sort=""'
    shown = content if text else _unbroken(content)
    return f"<td{attributes}>{escape(shown)}</td>"


def _unbroken(number: str) -> str:
    """A number that can go on in the next line only before its interval, and before what stands behind that."""
    kept = number.replace(" ", NO_BREAK)
    for start in BREAKS:
        kept = kept.replace(NO_BREAK + start, f" {start}")
    return kept
