"""The `drivehierarchy` command: one table of sub-commands, each imported only when it is the one that runs.

So `drivehierarchy r4 --help` loads neither lm_eval nor datasets. A new sub-command is one line in `SUBCOMMANDS`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer
import typer.core
import typer.main


class Subcommand(NamedTuple):
    """A sub-command: `module:attribute` of a Typer app (a group of commands) or of a function (one command)."""

    target: str
    help: str


SUBCOMMANDS: dict[str, Subcommand] = {
    "demo": Subcommand(
        "lm_eval_drivehierarchy.commands.demo:demo", "Drive ten scenarios, build data, evaluate a baseline, report."
    ),
    "data": Subcommand("drivehierarchy_data.cli:app", "Data of R1-R3: import, check and describe editions."),
    "eval": Subcommand(
        "lm_eval_drivehierarchy.commands.evaluate:evaluate", "Evaluate a model behind an endpoint on R1-R3; resumes."
    ),
    "score": Subcommand(
        "lm_eval_drivehierarchy.commands.score:score", "Score replies of lm_eval or of the release's scripts."
    ),
    "serve": Subcommand(
        "lm_eval_drivehierarchy.commands.serve:serve", "Serve a baseline as a chat endpoint, to try a pipeline."
    ),
    "tasks-dir": Subcommand(
        "lm_eval_drivehierarchy.commands.tasks_dir:tasks_dir", "Print the folder with the lm-eval tasks."
    ),
    "r4": Subcommand(
        "drivehierarchy_gym.cli:app", "Closed-loop driving (R4): run agents, list, show, replay, summarise"
    ),
    "paper": Subcommand(
        "lm_eval_drivehierarchy.commands.paper:paper", "Recompute the paper's tables and print what agrees."
    ),
    "report": Subcommand(
        "lm_eval_drivehierarchy.commands.report:report", "Turn the results of models into a page with figures."
    ),
    "leaderboard": Subcommand(
        "lm_eval_drivehierarchy.commands.leaderboard:leaderboard_command",
        "Rank complete results on one sortable page; refuse the others with reasons.",
    ),
    "sft": Subcommand(
        "lm_eval_drivehierarchy.commands.sft:app", "Training from weak tasks: targets, training sets, comparisons."
    ),
    "calibrate": Subcommand(
        "lm_eval_drivehierarchy.commands.calibrate:calibrate_command",
        "Weights of a pool of models, and how the ranking depends on them.",
    ),
}


class LazyCommand(typer.core.TyperCommand):
    """Stands for a sub-command in listings; imports it when it is called."""

    def __init__(self, name: str, subcommand: Subcommand) -> None:
        super().__init__(name=name, help=subcommand.help, short_help=subcommand.help, callback=_never)
        self._target = subcommand.target

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        return self._load().make_context(*args, **kwargs)

    def _load(self) -> Any:
        module, _, attribute = self._target.partition(":")
        target: typer.Typer | Callable[..., Any] = getattr(importlib.import_module(module), attribute)
        if not isinstance(target, typer.Typer):
            app = typer.Typer(add_completion=False)
            app.command(self.name)(target)
            return typer.main.get_command(app)
        return typer.main.get_group(target)


class DriveHierarchyGroup(typer.core.TyperGroup):
    """The sub-commands of `SUBCOMMANDS`; an error raised on purpose ends in one line and exit code 2."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, subcommand in SUBCOMMANDS.items():
            self.add_command(LazyCommand(name, subcommand), name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            from drivehierarchy_gym.errors import DriveHierarchyError

            if not isinstance(error, DriveHierarchyError):
                raise
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error


def _never() -> None:
    raise AssertionError("a LazyCommand is replaced by its target before it runs")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"drivehierarchy {importlib.metadata.version('lm-eval-drivehierarchy')}")
        raise typer.Exit


app = typer.Typer(
    cls=DriveHierarchyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="DriveHierarchy: which driving capability of a vision-language model fails.",
)


@app.callback()
def drivehierarchy(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the command as a whole."""
