"""`drivehierarchy paper`: recompute the paper's tables and print what agrees."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from drivehierarchy_gym.runner.terminal import print_table
from lm_eval_drivehierarchy.paper import Audit, Check, Number, Status, audit

_COLOURS: dict[Status, str] = {"agrees": "green", "known discrepancy": "yellow", "differs": "bold red"}
_MARKS: dict[Status, str] = {"agrees": "=", "known discrepancy": "~", "differs": "x"}


def paper(
    as_json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON and nothing else.")] = False,
    brief: Annotated[bool, typer.Option("--brief", help="One line a section instead of every number.")] = False,
) -> None:
    """Recompute every number of the paper's Tables 1-4 that follows from others, and print agreement.

    Exit code 1 when a number differs that is not a known discrepancy.
    """
    found = audit()
    if as_json:
        typer.echo(json.dumps(as_record(found), indent=1, ensure_ascii=False))
    else:
        _print(found, Console(), brief)
    if found.counts()["differs"]:
        raise typer.Exit(1)


def as_record(found: Audit) -> dict[str, object]:
    """The audit as plain JSON types."""
    return {
        "source": found.source,
        "counts": found.counts(),
        "checks": [asdict(check) | {"difference": check.difference} for check in found.checks],
        "remarks": [asdict(remark) for remark in found.remarks],
    }


def _print(found: Audit, console: Console, brief: bool) -> None:
    console.print(f"Tables of {found.source}, recomputed from each other\n")
    if brief:
        rows = []
        for section, checks in _sections(found):
            gaps = [abs(check.difference) for check in checks if check.difference is not None]
            statuses = [str(sum(check.status == status for check in checks)) for status in _COLOURS]
            rows.append([section, str(len(checks)), *statuses, f"{max(gaps):.4f}" if gaps else ""])
        print_table(console, ("section", "numbers", "agree", "known", "differ", "largest gap"), rows)
    else:
        for section, checks in _sections(found):
            _print_section(section, checks, console)
    for check in found.checks:
        if check.status != "agrees":
            console.print(
                f"[{_COLOURS[check.status]}]{check.status}[/] {escape(check.section)}, {escape(check.name)}: printed "
                f"{escape(_number(check.printed, check.decimals))}, recomputed "
                f"{escape(_number(check.recomputed, check.decimals))}. "
                f"{escape(check.note)}"
            )
    console.print()
    for remark in found.remarks:
        console.print(f"[bold]{escape(remark.title)}.[/] {escape(remark.text)}")
    counts = found.counts()
    console.print(
        f"\n{len(found.checks)} numbers: {counts['agrees']} agree, {counts['known discrepancy']} known discrepancies, "
        f"{counts['differs']} differ"
    )


def _print_section(section: str, checks: list[Check], console: Console) -> None:
    noted = any(check.note and check.status == "agrees" for check in checks)
    rows = []
    for check in checks:
        gap, extra = check.difference, check.decimals + bool(check.decimals)
        row = [
            f"{_MARKS[check.status]} {check.name}",
            _number(check.printed, check.decimals),
            _number(check.recomputed, extra),
            "" if gap is None else f"{gap:+.{extra}f}",
        ]
        rows.append([*row, *([check.note] if noted else [])])
    worded = any(isinstance(check.printed, str) for check in checks)
    columns = ("number", "printed", "recomputed", "difference", *(["note"] if noted else []))
    text = (0, *((1, 2) if worded else ()), *((4,) if noted else ()))
    styles = ["" if check.status == "agrees" else _COLOURS[check.status] for check in checks]
    print_table(console, columns, rows, text=text, title=section, styles=styles)


def _sections(found: Audit) -> list[tuple[str, list[Check]]]:
    return [(name, list(checks)) for name, checks in groupby(found.checks, key=lambda check: check.section)]


def _number(value: Number, decimals: int) -> str:
    return value if isinstance(value, str) else f"{value:.{decimals}f}"
