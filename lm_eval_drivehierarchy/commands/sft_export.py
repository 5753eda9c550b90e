"""`drivehierarchy sft export` and `check`: training sets for the usual frameworks, apart from every test split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.progress import Progress, TaskID

from drivehierarchy_data.editions import BUILD_COMMANDS, Edition, find_edition
from drivehierarchy_data.errors import EditionNotFoundError
from drivehierarchy_gym.errors import unknown_name
from drivehierarchy_gym.runner.terminal import print_table
from lm_eval_drivehierarchy.sft.errors import SftError
from lm_eval_drivehierarchy.sft.recipe import RUN_SCRIPT, SCRIPTS, Framework
from lm_eval_drivehierarchy.wording import counted

_EditionOption = Annotated[
    str | None, typer.Option(help="Name or folder of the edition; default: DRIVEHIERARCHY_DATA, else sim.")
]
_AgainstOption = Annotated[
    list[str] | None, typer.Option(help="Further edition whose test split must be kept apart; repeat.")
]


def export_command(
    tasks: Annotated[str, typer.Option(help="Tasks to train on, separated by commas; `sft targets` prints them.")],
    out: Annotated[Path, typer.Option(help="Folder of the training set; the same command goes on with it.")],
    framework: Annotated[str, typer.Option("--format", help=f"Framework: {', '.join(SCRIPTS)}.")] = "ms-swift",
    edition: _EditionOption = None,
    samples: Annotated[
        int | None, typer.Option(help="Training samples, equally many of each task; default: all there are.", min=1)
    ] = None,
    validation: Annotated[float, typer.Option(help="Share of the training scenes held out for validation.")] = 0.05,
    against: _AgainstOption = None,
    seed: Annotated[int, typer.Option(help="Other seeds hold out other scenes and draw other samples.", min=0)] = 0,
) -> None:
    """Write a training set with the prompts, images and answer forms of the evaluation, and a script that trains on it.

    Only the train split is used. Scenes, images and look-alike pictures of test splits are left out and counted.
    """
    if framework not in SCRIPTS:
        raise unknown_name("format", framework, SCRIPTS)
    from lm_eval_drivehierarchy.sft.export import export  # loads lm_eval

    console = Console()
    names = [name.strip().lower() for name in tasks.split(",") if name.strip()]
    with _Bars(console) as bars:
        result = export(
            find_edition(edition),
            names,
            cast(Framework, framework),
            out,
            progress=bars.report,
            validation=validation,
            samples=samples,
            seed=seed,
            against=_editions(against),
        )
    manifest = result.manifest
    rows = [[task, *(str(counts.get(task, 0)) for counts in manifest["counts"].values())] for task in manifest["tasks"]]
    rows.append(["scenes", *(str(number) for number in manifest["scenes"].values())])
    print_table(console, ("task", *manifest["counts"]), rows)
    for reason, items in result.left_out.items():
        console.print(f"left out: {counted(len(items), 'item')} ({reason})")
    typer.echo(f"train with: {out / RUN_SCRIPT}")


def check_command(
    folder: Annotated[Path, typer.Argument(help="Folder of an exported training set.")],
    edition: Annotated[
        str | None,
        typer.Option(help="Folder of the edition that was exported; default: looked for under its recorded name."),
    ] = None,
    against: _AgainstOption = None,
) -> None:
    """Read a training set again and prove that it shares no scene, image or picture with a test split.

    The test splits are those of the very editions that the export was made from and kept apart from, and of any further
    one that is named. Where one of the recorded editions is not found, or only another build of it, nothing is proved
    and the command fails.
    """
    from lm_eval_drivehierarchy.sft.export import check_export, read_manifest, recorded_tests  # loads lm_eval

    recorded = recorded_tests(folder, read_manifest(folder))
    editions = _editions([*([edition] if edition is not None else []), *(against or [])])
    for digest, name in recorded.items():
        if digest not in {entry.digest for entry in editions}:
            editions += [entry for entry in _found(name) if entry.digest not in {e.digest for e in editions}]
    with _Bars(Console()) as bars:
        problems = check_export(folder, editions, bars.report)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise SftError(
            f"{folder}: {counted(len(problems), 'problem')}; do not train on it, export again into an empty folder"
        )
    checked = ", ".join(f"{entry.name} (digest {entry.digest[:16]})" for entry in editions)
    typer.echo(f"{folder}: nothing is shared with the test split of {checked}")


def _editions(names: list[str] | None) -> list[Edition]:
    return [find_edition(name) for name in names or ()]


def _found(name: str) -> list[Edition]:
    """Editions that this machine has under a recorded name, or as its default."""
    found: dict[str, Edition] = {}
    for wanted in (None, *([name] if name in BUILD_COMMANDS else [])):
        try:
            edition = find_edition(wanted)
        except EditionNotFoundError:
            continue
        if edition.name == name:
            found.setdefault(edition.digest, edition)
    return list(found.values())


class _Bars(Progress):
    """Progress bars, one for each step that is reported."""

    def __init__(self, console: Console) -> None:
        super().__init__(console=console)
        self._steps: dict[str, TaskID] = {}

    def report(self, step: str, done: int, total: int) -> None:
        """Shows how far a step is."""
        if step not in self._steps:
            self._steps[step] = self.add_task(step, total=total)
        self.update(self._steps[step], completed=done)
