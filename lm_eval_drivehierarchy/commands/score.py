"""`drivehierarchy score`: score the replies in a folder, whoever produced them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from drivehierarchy_data.editions import find_edition
from drivehierarchy_data.release import find_questions
from drivehierarchy_gym.runner.terminal import print_table

from ..final_score import FILE_NAME, final_score, score_replies
from ..judge import NoJudge, find_judge
from ..outputs import write_json
from ..parsing import PARSE_RULES
from ..reply_files import (
    ReplyFileError,
    ReplySet,
    questions_of_edition,
    questions_of_release,
    read_replies,
    write_predictions,
)
from ..results import PAPER_EDITION, ModelResult
from ..tasks import RANKS, TASKS, TASKS_BY_ID, tasks_of_rank

INCOMPLETE = 1
"""Exit code: scores were written, but not of every record and item."""


def score(
    folder: Annotated[
        Path, typer.Argument(help="Folder with <task>_pred.jsonl files, or with lm_eval's samples_*.jsonl.")
    ],
    edition: Annotated[
        str | None,
        typer.Option(help="Name or folder of the edition that the predictions answer: adds options, sizes and scenes."),
    ] = None,
    release: Annotated[
        Path | None, typer.Option(help="Folder of the authors' release: the same from its question files.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Hub name or folder of Lingo-Judge, or off; default: wayveai/Lingo-Judge.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model; default: what the files say.")] = None,
    out: Annotated[Path | None, typer.Option(help=f"Where to write the scores; default: FOLDER/{FILE_NAME}.")] = None,
    write_pred: Annotated[
        Path | None, typer.Option(help="Also write the replies as the release's <task>_pred.jsonl into this folder.")
    ] = None,
) -> None:
    """Score replies under both parsing rules and write final_score.json.

    Reads the release's prediction files and the samples of `lm_eval --log_samples`. A line that cannot be used is named
    and left out; a missing reply is not an answer. Of several records of an item the first counts and the others are
    named; of several lm_eval runs of a task the newest counts and the files of the others are named.

    Exit code 0: every item is scored, or has a reason other than its reply (r1_4 without a judge), whatever an older
    run holds. 1: the scores are written, but a record was left out or an item has no reply. 2: refused, nothing is
    written.
    """
    if edition is not None and release is not None:
        raise ReplyFileError("give --edition or --release, not both")
    questions = None
    answered = find_edition(edition) if edition is not None else None
    if answered is not None:
        questions = questions_of_edition(answered)
    elif release is not None:
        questions = questions_of_release(find_questions(release, os.environ))
    found = read_replies(folder, questions)
    if answered is not None and found.edition is None:
        found.edition, found.edition_hash = answered.name, answered.digest
    elif release is not None and found.edition is None:
        found.edition = PAPER_EDITION
    if model is not None:
        found.model = model
    needs_judge = any(replies.task.kind == "text" for replies in found.tasks.values())
    used = find_judge(judge) if needs_judge else NoJudge("no description to judge")
    result = score_replies(found, used)
    path = out or folder / FILE_NAME
    write_json(path, final_score(found, result, path, used))
    if write_pred is not None:
        write_predictions(write_pred, found.tasks)
    print_result(result, Console())
    typer.echo(f"scores: {path}")
    if left_out(found):
        raise typer.Exit(INCOMPLETE)


def left_out(found: ReplySet, *, every_item: bool = True) -> bool:
    """True when a record could not be used or has no reply; with `every_item` also when an item has no record.

    An older run that a newer one replaces is not missed: `eval` leaves one behind whenever it goes on.
    """
    return bool(found.problems) or any(
        replies.problems
        or any(reply.text is None for reply in replies.replies)
        or (every_item and len(replies.replies) < (replies.expected or 0))
        for replies in found.tasks.values()
    )


def print_result(result: ModelResult, console: Console) -> None:
    """Tasks, ranks and S_open under both rules, with parse failures, completeness and every reason and note."""
    console.print(f"{escape(result.model)}, edition {result.edition or 'not known'}")
    estimates = {rule: result.open_loop(rule) for rule in PARSE_RULES}
    rows: list[list[str]] = []
    for rank in RANKS:
        for task in tasks_of_rank(rank):
            if (entry := result.tasks.get(task.id)) is not None:
                cells = [f"{entry.n}/{entry.expected or '?'}"]
                for rule in PARSE_RULES:
                    cells.append(estimates[rule].tasks[task.id].format())
                    cells.append(f"{100 * (entry.rules[rule].parse_fail or 0.0):.1f} %")
                rows.append([task.id, *cells])
            elif task.id in result.absent:
                rows.append([task.id, "", *(cell for _ in PARSE_RULES for cell in ("no score", ""))])
        ranks = (cell for rule in PARSE_RULES for cell in (estimates[rule].ranks[rank].format(), ""))
        rows.append([f"R{rank}", "", *ranks])
    totals = (cell for rule in PARSE_RULES for cell in (estimates[rule].open.format(), ""))
    rows.append(["S_open", "", *totals])
    print_table(
        console,
        ("task", "items", *(column for rule in PARSE_RULES for column in (rule, "unread"))),
        rows,
        caption="scores 0-100 with 95 % intervals; unread: parse failures, which score 0",
        styles=["" if row[0] in TASKS_BY_ID else "bold" for row in rows],
    )
    for task_id, reason in result.absent.items():
        console.print(f"{task_id} has no score: {escape(reason)}", soft_wrap=True)
    if estimates["official"].open.value is None:
        console.print(f"S_open has no value: {escape(estimates['official'].open.reason or '')}", soft_wrap=True)
    partial = [task.id for task in TASKS if task.id in result.tasks and result.tasks[task.id].partial]
    if partial:
        console.print(f"partial results: {', '.join(partial)}")
    for note in result.notes:
        console.print(escape(note), soft_wrap=True)
