"""`drivehierarchy eval`: `lm_eval run` with the model class for endpoints, resumable, and scored at the end."""

from __future__ import annotations

import fnmatch
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from drivehierarchy_data.editions import Edition, find_edition
from drivehierarchy_gym.agents.chat import ChatClient
from drivehierarchy_gym.errors import DriveHierarchyError

from ..final_score import FILE_NAME, final_score, score_replies
from ..judge import find_judge
from ..outputs import write_json
from ..reply_files import read_replies
from ..tasks import LM_EVAL_GROUP, RANKS, TASKS, rank_group
from .score import INCOMPLETE, left_out, print_result

ANSWERS = "answers.jsonl"


class EvaluationError(DriveHierarchyError, ValueError):
    """A run that cannot be started as asked for."""


def evaluate(
    model: Annotated[str, typer.Option(help="Name of the model at the endpoint.")],
    out: Annotated[Path, typer.Option(help="Folder of this evaluation; the same folder goes on with it.")],
    base_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint, up to and with /v1.")],
    tasks: Annotated[str, typer.Option(help="lm-eval tasks or groups, separated by commas.")] = LM_EVAL_GROUP,
    edition: Annotated[
        str | None, typer.Option(help="Name or folder of the edition; default: DRIVEHIERARCHY_DATA, else sim.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many items of each task.", min=1)] = None,
    concurrency: Annotated[int, typer.Option(help="Questions asked at the same time.", min=1)] = 8,
    max_tokens: Annotated[
        int, typer.Option(help="Longest reply in tokens; a model that reasons needs thousands.", min=1)
    ] = 256,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for one reply.", min=1)] = 300.0,
    retries: Annotated[int, typer.Option(help="Further attempts after a failed one.", min=0)] = 4,
    api_key_variable: Annotated[str, typer.Option(help="Environment variable with the key.")] = "OPENAI_API_KEY",
    extra: Annotated[
        list[str] | None, typer.Argument(metavar="[-- LM_EVAL_OPTIONS]", help="Further options of `lm_eval run`.")
    ] = None,
) -> None:
    """Evaluate a model behind an OpenAI-compatible endpoint on R1-R3.

    Every answer is written to OUT/answers.jsonl as it arrives. After an interruption, or when some questions had no
    answer, the same command asks only the rest. Tasks, options, the edition, the endpoint and the name of its model are
    checked first.

    Exit code 0: every item that was asked is scored, or has a reason other than its reply (r1_4 without a judge). 1:
    the scores are written, but some items have no reply. 2: refused or broken off; what was answered is kept.
    """
    tasks = tasks_to_run(tasks, find_edition(edition))
    check_options(extra or ())
    check_endpoint(base_url, model, api_key_variable)
    model_arguments = {
        "base_url": base_url,
        "model": model,
        "answers": str(out / ANSWERS),
        "num_concurrent": concurrency,
        "timeout": timeout,
        "max_retries": retries,
        "api_key_variable": api_key_variable,
    }
    metadata = {"image_placeholders": True, "check_images": False} | (
        {"edition": edition} if edition is not None else {}
    )
    run_lm_eval(
        model_arguments=model_arguments,
        metadata=metadata,
        options=[
            *("--tasks", tasks, "--output_path", str(out), "--log_samples", "--apply_chat_template"),
            *("--gen_kwargs", json.dumps({"max_gen_toks": max_tokens})),
            *(("--limit", str(limit)) if limit is not None else ()),
            *(extra or ()),
        ],
    )
    from lm_eval.utils import sanitize_model_name

    found = read_replies(out / sanitize_model_name(model))
    judge = find_judge()
    result = score_replies(found, judge)
    path = out / FILE_NAME
    write_json(path, final_score(found, result, path, judge))
    print_result(result, Console())
    typer.echo(f"scores: {path}")
    if left_out(found, every_item=limit is None):
        raise typer.Exit(INCOMPLETE)


def tasks_to_run(tasks: str, edition: Edition) -> str:
    """`tasks` as they are where the edition has them all, else those of them that it has; the others are named.

    Raises EvaluationError for a name or pattern that is no task or group of this benchmark, for a task that is asked
    for by its name but is not in the edition, and where nothing remains.
    """
    members = {LM_EVAL_GROUP: TASKS} | {rank_group(rank): [t for t in TASKS if t.rank == rank] for rank in RANKS}
    members |= {task.lm_eval_name: [task] for task in TASKS}
    wanted: set[str] = set()
    absent: set[str] = set()
    for name in map(str.strip, tasks.split(",")):
        matching = fnmatch.filter(members, name)
        if not matching:
            raise EvaluationError(f"--tasks: no task {name!r}; known: {', '.join(members)}")
        asked = {task.id for match in matching for task in members[match]}
        wanted |= asked
        absent |= asked - set(edition.tasks())
        if not asked - absent:
            there = ",".join(task.lm_eval_name for task in TASKS if task.id in edition.tasks())
            raise EvaluationError(
                f"--tasks {name}: edition {edition.name} in {edition.folder} has no test items of "
                f"{', '.join(sorted(asked))}; it has: --tasks {there}"
            )
    if not absent:
        return tasks
    typer.echo(
        f"edition {edition.name} in {edition.folder} has no items of {', '.join(sorted(absent))}: "
        f"{'these' if len(absent) > 1 else 'this'} cannot be asked, and what needs them stays incomplete",
        err=True,
    )
    return ",".join(task.lm_eval_name for task in TASKS if task.id in wanted - absent)


def check_options(options: Sequence[str]) -> None:
    """Raises EvaluationError for an option of lm-eval that these tasks cannot be run with."""
    for option in options:
        name = option.partition("=")[0]
        # argparse takes "--num_few" and "-f2" as well.
        if (name.startswith("--n") and "--num_fewshot".startswith(name)) or name.startswith("-f"):
            raise EvaluationError(f"{option}: the tasks of DriveHierarchy are zero-shot; run without it")


def check_endpoint(base_url: str, model: str, api_key_variable: str) -> None:
    """Asks the endpoint for its models, before anything is loaded.

    Raises EndpointError when it does not answer, refuses the key or has no model of this name.
    """
    client = ChatClient(
        base_url,
        model,
        api_key=os.environ.get(api_key_variable) or None,
        key_hint=f"the key in {api_key_variable}",
    )
    try:
        client.check()
    finally:
        client.close()


def run_lm_eval(*, model_arguments: dict[str, Any], metadata: dict[str, Any], options: Sequence[str]) -> None:
    """Runs `lm_eval run` in this process, where the model class is registered."""
    from lm_eval._cli.harness import HarnessCLI
    from lm_eval.api.registry import register_model
    from lm_eval.utils import setup_logging

    from ..chat_model import MODEL_NAME, DriveHierarchyChat

    setup_logging()
    ours = logging.getLogger("lm_eval_drivehierarchy")
    ours.setLevel(logging.INFO)
    ours.handlers = logging.getLogger("lm_eval").handlers
    ours.propagate = False
    register_model(MODEL_NAME)(DriveHierarchyChat)
    arguments = sys.argv
    sys.argv = [
        "lm_eval",
        *("run", "--model", MODEL_NAME, "--model_args", json.dumps(model_arguments)),
        *("--metadata", json.dumps(metadata)),
        *options,
    ]
    try:
        command = HarnessCLI()
        command.execute(command.parse_args())
    finally:
        sys.argv = arguments
