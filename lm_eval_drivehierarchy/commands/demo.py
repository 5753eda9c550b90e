"""`drivehierarchy demo`: the main job on what the package ships, from nothing to a report, in a few minutes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from drivehierarchy_data.build import build_sim
from drivehierarchy_data.editions import Edition
from drivehierarchy_gym.runner.batch import BatchOptions, BatchReport, run_batch
from drivehierarchy_gym.runner.collection import Collection, SceneResult, collect
from drivehierarchy_gym.runner.contact_sheet import write_contact_sheet, write_reel
from drivehierarchy_gym.runner.summary import summarise, write_summary_csv
from drivehierarchy_gym.runner.tables import print_summary
from drivehierarchy_gym.runner.terminal import print_table
from drivehierarchy_gym.runner.watch import BatchDisplay
from lm_eval_drivehierarchy.baselines import baseline
from lm_eval_drivehierarchy.commands.evaluate import evaluate
from lm_eval_drivehierarchy.commands.report import report as write_page
from lm_eval_drivehierarchy.outputs import write_text
from lm_eval_drivehierarchy.serve import BaselineServer, ItemFinder
from lm_eval_drivehierarchy.wording import counted

DRIVERS = ("expert", "follower")
"""Who drives: one that sees everything, and one that follows its route and ignores everybody."""
BASELINE = "prior"
"""Who answers the questions: it never looks, and gives each task's most usual answer."""
REEL = ("01_pedestrian_encounter", "02_obstacle_avoidance", "05_t_intersection", "10_roundabout")
"""Families in the video."""


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")] = Path("out/demo"),
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    workers: Annotated[int, typer.Option("--workers", "-w", help="Runs at the same time.")] = 2,
) -> None:
    """Drive the ten open scenarios, build a small edition, evaluate a baseline on it, and report.

    The same command again continues. Exit code 1: a run has no result.
    """
    console = Console(width=None if sys.stdout.isatty() else 120)
    _drive(out, seed, workers, console)
    _answer(out, seed, workers, console)
    found = collect([out / "r4"])
    for driver in DRIVERS:
        print_summary(console, summarise(found, driver))
    _print_comparison(found, console)
    write_summary_csv(out / "r4" / "result_summary.csv", found.results)
    _pictures(out, found)
    _write_report(out, found)
    runs = [str(out / "open_loop" / BASELINE), *(str(out / "r4" / driver) for driver in DRIVERS)]
    write_page(runs, out=out / "profile", title="DriveHierarchy demo")
    console.print(f"report: {out / 'report.md'}", soft_wrap=True)


def _drive(out: Path, seed: int, workers: int, console: Console) -> None:
    for driver in DRIVERS:
        options = BatchOptions(
            out=out / "r4",
            agent=driver,
            seed=seed,
            workers=workers,
            frames=driver == DRIVERS[0],
            command=tuple(sys.argv),
        )
        with BatchDisplay(console) as display:
            report = run_batch(options, display)
        _stop_if_incomplete(report)


def _answer(out: Path, seed: int, workers: int, console: Console) -> None:
    console.print("building the sim edition, size mini")
    edition = build_sim(out / "sim", "mini", seed, workers, lambda what, done, total: None).edition
    with _served(edition, seed) as url:
        evaluate(BASELINE, out=out / "open_loop" / BASELINE, base_url=url, edition=str(edition.folder))


@contextmanager
def _served(edition: Edition, seed: int) -> Iterator[str]:
    """Base URL of the baseline, for as long as the context lasts."""
    server = BaselineServer(ItemFinder(edition), baseline(BASELINE, edition, seed), BASELINE, ("127.0.0.1", 0), None)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _stop_if_incomplete(report: BatchReport) -> None:
    if not report.complete:
        for outcome in report.voids:
            typer.echo(f"error: {outcome.place.label}: {outcome.detail}", err=True)
        raise typer.Exit(1)


def _by_scenario(found: Collection) -> dict[str, dict[str, SceneResult]]:
    table: dict[str, dict[str, SceneResult]] = {}
    for driver in DRIVERS:
        for result in found.of(driver):
            table.setdefault(result.scenario, {})[driver] = result
    return table


def _print_comparison(found: Collection, console: Console) -> None:
    rows = []
    for scenario, results in _by_scenario(found).items():
        scores = [results[driver].score for driver in DRIVERS]
        rows.append([scenario, *(part for s in scores for part in (f"{s.score_composed:.2f}", s.termination_reason))])
    columns = ["scenario", *(head for driver in DRIVERS for head in (f"S {driver}", "ended by"))]
    ends = range(2, len(columns), 2)
    print_table(console, columns, rows, text=(0, *ends), title="scenario by scenario")


def _pictures(out: Path, found: Collection) -> None:
    runs = {result.group: result.path.parent for result in found.of(DRIVERS[0])}
    write_contact_sheet(out / "contact_sheet.png", list(runs.values()))
    write_reel(out / "video.mp4", [runs[family] for family in REEL])


def _write_report(out: Path, found: Collection) -> None:
    lines = [
        "# DriveHierarchy demo",
        "",
        "Closed-loop driving (R4), suite `open`: ten scenarios on a real road network, driven on SUMO alone. "
        "S = route x safety x efficiency of each run, 0 to 100. `expert` sees the whole world; `follower` follows its "
        "route and ignores everybody.",
        "",
        "| scenario | " + " | ".join(f"S {driver} | ended by" for driver in DRIVERS) + " |",
        "|---|" + "---:|---|" * len(DRIVERS),
    ]
    for scenario, results in _by_scenario(found).items():
        scores = [results[driver].score for driver in DRIVERS]
        cells = [f"{score.score_composed:.2f} | {score.termination_reason}" for score in scores]
        lines.append(f"| {scenario} | " + " | ".join(cells) + " |")
    lines.append("")
    for driver in DRIVERS:
        total = summarise(found, driver).total
        interval = "" if total.interval is None else f" [{total.interval[0]:.2f}, {total.interval[1]:.2f}]"
        lines.append(
            f"- `{driver}`: mean S {total.composed:.2f}{interval} over {total.scored} of "
            f"{counted(total.planned, 'run')}"
        )
    lines += [
        "",
        "The decisive moment of every run of `expert`, and a [video](video.mp4) of four of them at double speed:",
        "",
        "![contact sheet](contact_sheet.png)",
        "",
        "Open-loop questions (R1-R3) on a freshly rendered `mini` edition, answered by the baseline "
        f"`{BASELINE}`, which never looks: see [the profile](profile/report.html), which joins both parts.",
        "",
        "Every number comes from the `scene_score.json` files below `r4/`; `r4/result_summary.csv` has them by family.",
        "",
    ]
    write_text(out / "report.md", "\n".join(lines))
