"""Writes a report to a folder: Markdown with its figures, one self-contained HTML page, and the numbers as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from lm_eval_drivehierarchy.outputs import write_bytes
from lm_eval_drivehierarchy.report.analysis import Analysis
from lm_eval_drivehierarchy.report.content import report
from lm_eval_drivehierarchy.report.html import html
from lm_eval_drivehierarchy.report.markdown import FIGURES_FOLDER, markdown
from lm_eval_drivehierarchy.report.record import record

HTML_FILE, MARKDOWN_FILE, JSON_FILE = "report.html", "report.md", "report.json"


def write_report(folder: Path, analysis: Analysis, title: str) -> list[Path]:
    """Write all files, each whole or not at all; returns their paths, the page first. Raises OutputError."""
    document = report(analysis, title)
    numbers = json.dumps(record(analysis), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    contents = {
        HTML_FILE: html(document).encode(),
        MARKDOWN_FILE: markdown(document).encode(),
        JSON_FILE: numbers.encode(),
        **{f"{FIGURES_FOLDER}/{picture.name}.png": picture.png for picture in document.pictures()},
    }
    written = []
    for name, content in contents.items():
        path = folder / name
        write_bytes(path, content)
        written.append(path)
    return written
