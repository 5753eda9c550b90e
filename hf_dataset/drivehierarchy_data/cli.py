"""`drivehierarchy data`: import, check and describe editions of the R1-R3 data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from drivehierarchy_gym.runner.wording import counted

from .editions import edition_folder, find_edition
from .errors import DataError
from .gates import GateReport, check_edition
from .image_roots import ImageRoots
from .items import SPLITS
from .release import find_questions
from .release_import import EXCLUDED_FILE, import_release
from .sizes import SIZES, SizeName

app = typer.Typer(no_args_is_help=True, help="Data of R1-R3: build, import, check and describe editions.")

_EditionArgument = Annotated[
    str | None, typer.Argument(help="Folder or name (sim, release) of the edition; default: the one that lm_eval uses.")
]


NAVSIM_HELP = (
    "NAVSIM: the folder that holds navsim_logs/ and sensor_blobs/, or the one that holds navsim_L3_2/images/ "
    "(the release's paths are NAVSIM_RANK/navsim_L3_2/images/…)."
)


@app.command("import-release")
def import_release_command(
    release: Annotated[Path | None, typer.Option(help="Folder of the authors' release.", show_default=False)] = None,
    nuscenes: Annotated[Path | None, typer.Option(help="nuScenes: the folder that holds samples/.")] = None,
    drama: Annotated[Path | None, typer.Option(help="DRAMA: the folder that holds combined/.")] = None,
    lingoqa: Annotated[Path | None, typer.Option(help="LingoQA: the folder that holds images/.")] = None,
    navsim: Annotated[Path | None, typer.Option(help=NAVSIM_HELP)] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; default: where lm_eval finds it.")] = None,
) -> None:
    """Turn the authors' records and your copies of their images into the edition `release`. Resumes."""
    console = Console()
    questions = find_questions(release, os.environ)
    folders = {"nuscenes": nuscenes, "drama": drama, "lingoqa": lingoqa, "navsim": navsim}
    roots = ImageRoots({name: folder for name, folder in folders.items() if folder is not None})
    for name, folder in roots.folders.items():
        if not folder.is_dir():
            raise DataError(f"--{name} {folder}: no such folder")
    target = out or edition_folder("release")
    with Progress(console=console) as progress:
        bars: dict[str, TaskID] = {}

        def report(task: str, done: int, total: int) -> None:
            if task not in bars:
                bars[task] = progress.add_task(task, total=total)
            progress.update(bars[task], completed=done)

        result = import_release(questions, target, roots, progress=report)
    for note in result.notes:
        console.print(note)
    counts = result.counts()
    table = Table("task", "items", "left out", "why")
    for task in sorted({*result.edition.tasks(), *counts}):
        reasons = counts.get(task, {})
        why = ", ".join(f"{reason} {number}" for reason, number in reasons.items())
        table.add_row(task, str(result.edition.size(task)), str(sum(reasons.values())), why)
    console.print(table)
    console.print(f"edition: {result.edition.folder}; what was left out: {result.edition.folder / EXCLUDED_FILE}")


@app.command()
def build(
    edition: Annotated[Literal["sim"], typer.Option(help="Edition to build; sim is made from the R4 world.")] = "sim",
    size: Annotated[SizeName, typer.Option(help="Items a task: 2, 20, or 1,000 and training splits.")] = "mini",
    out: Annotated[Path | None, typer.Option(help="Where to write; default: where lm_eval finds it.")] = None,
    seed: Annotated[int, typer.Option(help="Other seeds give other drives and questions.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes that drive and picture.", min=1)] = os.cpu_count() or 1,
) -> None:
    """Build the sim edition. Resumes; the same seed and size give the same bytes, whatever the number of workers."""
    from .build import build_sim  # the simulated world takes a second to load

    console = Console()
    target = out or edition_folder(edition)
    with Progress(console=console) as progress:
        bars: dict[str, TaskID] = {}
        tenths: dict[str, int] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done, total=total)
            if not console.is_terminal and tenths.get(what) != (tenth := 10 * done // total):
                tenths[what] = tenth  # a log gets lines instead of bars
                console.print(f"{what}: {done} of {total}")

        result = build_sim(target, size, seed, workers, report)
    _print_gates(console, result.report)
    counts = ", ".join(f"{split} {number}" for split, number in SIZES[size].items.items())
    console.print(f"edition: {result.edition.folder}; items a task: {counts}; digest {result.edition.digest[:16]}")


@app.command()
def gates(edition: _EditionArgument = None) -> None:
    """Judge a sim edition: valid labels, balance, quotas, and whether rules that never look do better than chance."""
    report = check_edition(find_edition(edition))
    _print_gates(Console(), report)
    if not report.passed:
        raise DataError("some gates are not passed:\n" + "\n".join(report.failures()))


@app.command()
def push(
    repo: Annotated[str, typer.Argument(help="Dataset on the Hub: OWNER/NAME.")],
    edition: Annotated[
        str | None, typer.Option(help="Folder or name of the edition; default: the sim edition that was built.")
    ] = None,
    private: Annotated[bool, typer.Option(help="Make the dataset private when it is created.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be uploaded; no connection.")] = False,
) -> None:
    """Upload an edition with its card and metadata to the Hub. The token is the one of `huggingface-cli login`."""
    from .push import check_repo, edition_to_push, push_edition, uploads  # loads the Hub's client

    console = Console()
    check_repo(repo)
    found = edition_to_push(edition)
    files = uploads(found)
    for path in files:
        console.print(f"{path.stat().st_size:>12,} {path.relative_to(found.folder.parent).as_posix()}")
    size = sum(path.stat().st_size for path in files) / 1e6
    console.print(f"{counted(len(files), 'file')}, {size:.1f} MB for {repo}")
    if not dry_run:
        console.print(push_edition(found, repo, private=private))


def _print_gates(console: Console, report: GateReport) -> None:
    table = Table("task", "split", "gate", "value", "limit", "")
    for gate in report.gates:
        verdict = "ok" if gate.passed else "FAILED"
        table.add_row(gate.task, gate.split, gate.name, f"{gate.value:.3g}", f"{gate.limit:.3g}", verdict)
    console.print(table)


@app.command()
def info(edition: _EditionArgument = None) -> None:
    """Show which edition is found, where it lies and what it holds."""
    console = Console()
    found = find_edition(edition)
    console.print(f"{found.name}: {found.folder}")
    table = Table("task", *SPLITS)
    tasks = sorted({task for split in SPLITS for task in found.tasks(split)})
    for task in tasks:
        table.add_row(task, *(str(found.size(task, split)) for split in SPLITS))
    console.print(table)


@app.command()
def check(edition: _EditionArgument = None) -> None:
    """Read every byte of an edition and compare it with its checksums."""
    found = find_edition(edition)
    problems = found.problems()
    for problem in problems:
        typer.echo(problem)
    if problems:
        differing = counted(len(problems), "file is", "files are")
        raise DataError(f"{found.folder}: {differing} not as recorded; rebuild or re-copy the edition")
    typer.echo(f"{found.folder}: {len(found.manifest.files)} files are as recorded")
