"""`drivehierarchy r4`: run agents on scenarios, list and show scenarios, replay and summarise results."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drivehierarchy_gym.runner.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from drivehierarchy_gym.runner.batch import BatchReport

# Everything heavy is imported inside the commands: `--help` answers at once.

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Closed-loop driving (R4): run agents, list, show, replay, summarise.",
)

PLAIN_WIDTH = 160
"""Columns of tables that do not go to a terminal."""

SuiteOption = Annotated[str, typer.Option(help="open, release, or a folder of scenario files.")]
ReleaseOption = Annotated[
    Path | None,
    typer.Option(help="Folder of the authors' release, for suite release.", envvar="DRIVEHIERARCHY_RELEASE"),
]
ScenarioOption = Annotated[
    list[str] | None, typer.Option("--scenario", "-s", help="Scenario id or glob; may be repeated. Default: all.")
]
FamilyOption = Annotated[
    list[str] | None, typer.Option("--family", "-f", help="Family or glob; may be repeated. Default: all.")
]


@app.command()
def run(
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="expert, follower, constant, random, vlm, or module:Class.")
    ] = "expert",
    suite: SuiteOption = "open",
    release: ReleaseOption = None,
    scenario: ScenarioOption = None,
    family: FamilyOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the results.")] = Path("results/r4"),
    name: Annotated[
        str | None, typer.Option(help="Name of the model's folder below --out. Default: the model's, or the agent's.")
    ] = None,
    backend: Annotated[str, typer.Option(help="Simulator: sumo.")] = "sumo",
    observation: Annotated[
        str | None, typer.Option(help="full (with pictures) or state. Default: what the agent needs.")
    ] = None,
    profile: Annotated[str, typer.Option(help="release, or strict: red lights cost.")] = "release",
    command_chooser: Annotated[str, typer.Option(help="Navigation command: release, or lane.")] = "release",
    parse_rule: Annotated[str, typer.Option(help="How a reply is read: official, or flexible.")] = "official",
    prompt_file: Annotated[Path | None, typer.Option(help="Template of the driving prompt.")] = None,
    repeats: Annotated[int, typer.Option(help="Runs of every scenario, each with a seed of its own.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the batch.")] = 0,
    workers: Annotated[int, typer.Option("--workers", "-w", help="Runs at the same time.")] = 1,
    engine: Annotated[str, typer.Option(help="local processes, or ray.")] = "local",
    frames: Annotated[bool, typer.Option("--frames", help="Keep the pictures of every decision.")] = False,
    agent_timeout: Annotated[
        float,
        typer.Option(
            help="Seconds for one answer of the agent; for vlm, of one request. A late agent costs this wait once: the "
            "car holds its last control and the drive goes on, without asking again, until the late call returns."
        ),
    ] = 60.0,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE for the agent, VALUE as JSON or text; repeatable.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="vlm: model at the endpoint.")] = None,
    base_url: Annotated[str | None, typer.Option(help="vlm: OpenAI-compatible endpoint, with /v1.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="vlm: environment variable of the api key. Default: OPENAI_API_KEY.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="vlm: sampling temperature. Default: 0.", min=0)] = None,
    max_tokens: Annotated[int | None, typer.Option(help="vlm: longest reply. Default: 1024.", min=1)] = None,
    conversation_window: Annotated[
        int | None, typer.Option(help="vlm: user turns the model sees. Default: 1, the present one.", min=1)
    ] = None,
    jpeg_quality: Annotated[
        int | None, typer.Option(help="vlm: of the pictures sent. Default: 90.", min=1, max=100)
    ] = None,
    retries: Annotated[
        int | None, typer.Option(help="vlm: further attempts of a failed request. Default: 4.", min=0)
    ] = None,
    extra_body: Annotated[
        str | None, typer.Option(help="vlm: JSON object of further request fields; null leaves a field out.")
    ] = None,
) -> None:
    """Drive scenarios with an agent; the same command again continues where it was broken off.

    Exit code 0: every run has a result. 1: runs are void or the batch stopped. 2: it could not be started.
    """
    from drivehierarchy_gym.runner.batch import BatchOptions, run_batch
    from drivehierarchy_gym.runner.watch import BatchDisplay

    given = {
        "model": model,
        "base_url": base_url,
        "api_key_env": api_key_env,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "conversation_window": conversation_window,
        "jpeg_quality": jpeg_quality,
        "retries": retries,
        "extra_body": None if extra_body is None else _json_object("--extra-body", extra_body),
    }
    agent_options = {key: value for key, value in given.items() if value is not None}
    if agent == "vlm":
        agent_options.setdefault("request_timeout", agent_timeout)
    agent_options |= _key_values(option or [])
    environment: dict[str, Any] = {"backend": backend, "profile": profile}
    environment |= {"command_chooser": command_chooser, "parse_rule": parse_rule}
    if release is not None:
        environment["release"] = str(release)
    if prompt_file is not None:
        environment["prompt_file"] = str(prompt_file.resolve())
    options = BatchOptions(
        out=out,
        agent=agent,
        agent_options=agent_options,
        name=name,
        suite=suite,
        scenarios=tuple(scenario or ()),
        families=tuple(family or ()),
        environment=environment,
        observation=observation,
        repeats=repeats,
        seed=seed,
        workers=workers,
        engine=engine,  # type: ignore[arg-type]
        frames=frames,
        agent_timeout=agent_timeout,
        command=tuple(sys.argv),
    )
    console = _console()
    try:
        with BatchDisplay(console) as display:
            report = run_batch(options, display)
    except KeyboardInterrupt:
        typer.echo("interrupted; the same command continues", err=True)
        raise typer.Exit(130) from None
    _conclude(console, report)


def _conclude(console: Console, report: BatchReport) -> None:
    from drivehierarchy_gym.errors import DriveHierarchyError
    from drivehierarchy_gym.runner.collection import collect
    from drivehierarchy_gym.runner.summary import summarise
    from drivehierarchy_gym.runner.tables import print_summary

    try:
        collection = collect([report.model_folder])
    except DriveHierarchyError as error:  # something else lies there: the runs are done all the same
        typer.echo(f"error: no summary: {error}", err=True)
        raise typer.Exit(1) from None
    for note in collection.notes:
        typer.echo(f"note: {note}", err=True)
    if collection.of(report.model):
        print_summary(console, summarise(collection, report.model))
    typer.echo(f"results: {report.model_folder}")
    if report.stopped:
        typer.echo(f"error: the batch stopped: {report.stopped.strip()}", err=True)
    elif not report.complete:
        void = counted(len(report.voids), "run is", "runs are")
        typer.echo(f"error: {void} void; the same command tries again", err=True)
    if not report.complete:
        raise typer.Exit(1)


@app.command("list")
def list_scenarios(
    suite: SuiteOption = "open",
    release: ReleaseOption = None,
    scenario: ScenarioOption = None,
    family: FamilyOption = None,
) -> None:
    """List the scenarios of a suite."""
    from rich.table import Table

    from drivehierarchy_gym.runner.batch import select
    from drivehierarchy_gym.scenarios.suites import load_suite

    found = load_suite(suite, release)
    table = Table(
        title=f"suite {found.name}: {counted(len(found), 'scenario')}, hash {found.hash[:16]}", title_justify="left"
    )
    for column in ("scenario", "family", "actors", "description"):
        table.add_column(column, no_wrap=column == "scenario")
    for name in select(found, scenario or (), family or ()):
        content = found.scenario(name)
        table.add_row(name, found.entry(name).group, str(len(content.actors)), content.description)
    _console().print(table)


@app.command()
def show(
    scenario: Annotated[str, typer.Argument(help="Scenario id.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="PNG to write. Default: <scenario>.png.")] = None,
    suite: SuiteOption = "open",
    release: ReleaseOption = None,
    seed: Annotated[int, typer.Option(help="Seed of the background traffic.")] = 0,
) -> None:
    """Draw a scenario's map: roads, route, everybody in it and where they go."""
    from drivehierarchy_gym.runner.scenario_map import draw_scenario
    from drivehierarchy_gym.scenarios.suites import load_suite

    target = out or Path(f"{scenario}.png")
    _check_suffix(target, (".png",))
    plan = load_suite(suite, release).plan(scenario, seed)
    _check_output(target)
    draw_scenario(plan, target)
    for note in plan.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(str(target))


@app.command()
def replay(
    run: Annotated[Path, typer.Argument(help="Folder of a run, of a model, or of all results.")],
    scenario: Annotated[str | None, typer.Option("--scenario", "-s", help="Scenario to show. Default: all.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Video (.mp4 or .gif); a folder for several runs.")
    ] = None,
    release: ReleaseOption = None,
    fps: Annotated[int, typer.Option(help="Pictures a second; 4 is real time.", min=1, max=60)] = 4,
) -> None:
    """Make videos of finished runs, from their kept pictures or by driving the same drive again."""
    from drivehierarchy_gym.runner.replay import SUFFIXES, find_runs, frames, read_run, write_video

    folders = find_runs(run, scenario)
    target = out or (Path("replay") if len(folders) > 1 else Path(f"{folders[0].name}.mp4"))
    if len(folders) == 1:
        _check_suffix(target, SUFFIXES)
    for folder in folders:
        path = target
        if len(folders) > 1:
            base = run.resolve()
            path = target / ("_".join(folder.resolve().relative_to(base).parts) + ".mp4")
        _check_output(path)
        count = write_video(path, frames(read_run(folder), None if release is None else str(release)), fps)
        typer.echo(f"{path}  {count} frames")


@app.command()
def summary(
    folders: Annotated[list[Path], typer.Argument(help="Folders of results, of the runner or of the release.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV to write. Default: result_summary.csv in the first folder.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0)] = 0,
) -> None:
    """Print scores by family with intervals, and write the release's result_summary.csv.

    Exit code 1 when runs are missing: the table says which.
    """
    from drivehierarchy_gym.runner.collection import collect
    from drivehierarchy_gym.runner.summary import summarise, write_summary_csv
    from drivehierarchy_gym.runner.tables import print_summary

    collection = collect(folders)
    for note in collection.notes:
        typer.echo(f"note: {note}", err=True)
    console = _console()
    missing = False
    for model in collection.models:
        if not collection.of(model):
            typer.echo(f"{model}: no valid result ({len(collection.missing(model))} runs missing)", err=True)
            missing = True
            continue
        found = summarise(collection, model, seed=seed)
        print_summary(console, found)
        missing = missing or bool(found.missing)
    target = out or folders[0] / "result_summary.csv"
    _check_output(target)
    write_summary_csv(target, collection.results)
    typer.echo(f"written: {target}")
    if missing:
        raise typer.Exit(1)


def _console() -> Console:
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def _check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    if path.suffix.lower() not in suffixes:
        raise typer.BadParameter(f"{path} does not end in {' or '.join(suffixes)}", param_hint="--out")


def _check_output(path: Path) -> None:
    """Make the folder of an output and try to write there, before any work is done for it."""
    from drivehierarchy_gym.errors import DriveHierarchyError

    try:
        probe = path.with_name(f".{path.name}.{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        probe.touch()
        probe.unlink()
    except (OSError, ValueError) as error:  # ValueError: a path without a last part
        raise DriveHierarchyError(
            f"{path}: cannot be written ({getattr(error, 'strerror', None) or error}); give another --out"
        ) from None


def _json(text: str) -> Any:
    """JSON as the standard has it: no NaN, no Infinity.

    Raises:
        ValueError: it is something else.
    """

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not a number")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _json_object(name: str, text: str) -> dict[str, Any]:
    try:
        value = _json(text)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint=name) from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"a JSON object is needed, found {text!r}", param_hint=name)
    return value


def _key_values(pairs: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"KEY=VALUE is needed, found {pair!r}", param_hint="--option")
        try:
            found[key] = _json(text)
        except ValueError:
            found[key] = text
    return found
