"""Reply files of two kinds: the release's `<task>_pred.jsonl`, and the samples that `lm_eval --log_samples` writes.

Nothing is skipped in silence: a line that cannot be used is named with its file, its number and the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.errors import DataError
from drivehierarchy_data.release import PREDICTION_SUFFIX, QUESTION_FILES, answer_of, id_of, read_questions
from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.surrogates import without_surrogates

from .outputs import write_text
from .replies import Reply
from .results import MIXED
from .scoring import TruthError, read_truth
from .tasks import LM_EVAL_GROUP, TASKS, TASKS_BY_ID, Task
from .tasks import task as task_named
from .wording import counted

SAMPLES = re.compile(rf"samples_{LM_EVAL_GROUP}_(?P<task>\w+?)_(?P<date>\d{{4}}-\d\d-\d\dT[\d.-]+)\.jsonl")
RESULTS = "results_{date}.json"


class ReplyFileError(DriveHierarchyError, ValueError):
    """A folder or file without replies that can be scored."""


@dataclass(frozen=True, slots=True)
class Question:
    """What an edition or a question file knows about an item, to be joined to a prediction by its id."""

    task: str
    truth: Any
    options: tuple[str, ...] | None
    image_size: tuple[int, int] | None
    scene: str


@dataclass
class TaskReplies:
    """The replies to one task. `expected` is the number of items that there are, None when nothing tells it;
    `problems` are sentences about lines that could not be used."""

    task: Task
    files: list[Path]
    replies: list[Reply] = field(default_factory=list)
    expected: int | None = None
    problems: list[str] = field(default_factory=list)
    logged: dict[tuple[str, str], float] = field(default_factory=dict)
    """(item, rule) -> score that lm-eval logged; for descriptions, when no judge is at hand any more."""


@dataclass
class ReplySet:
    """All replies of one model in a folder."""

    folder: Path
    model: str
    tasks: dict[str, TaskReplies] = field(default_factory=dict)
    edition: str | None = None
    edition_hash: str | None = None
    protocol: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    """Sentences about the files of older runs, which are left out though nothing is wrong with them."""


def questions_of_edition(edition: Edition) -> dict[str, Question]:
    """Item id -> question, of every test item of an edition."""
    return {
        document["id"]: Question(
            task=document["task"],
            truth=task_named(document["task"]).truth(document["answer"], document["meta"]),
            options=tuple(document["options"]) or None,
            image_size=tuple(document["image_size"]),
            scene=document["scene_id"],
        )
        for task in edition.tasks()
        for document in edition.documents(task)
    }


def questions_of_release(folder: Path) -> dict[str, Question]:
    """Item id -> question, of every record of the authors' question files."""
    found = {}
    for file in QUESTION_FILES:
        for record in read_questions(folder, file).records:
            found[record.id] = Question(
                task=file.task,
                truth=task_named(file.task).truth(record.answer, record.meta),
                options=record.options or None,
                image_size=record.image_size,
                scene=record.scene_id,
            )
    return found


def read_replies(folder: Path, questions: Mapping[str, Question] | None = None) -> ReplySet:
    """Every reply in `folder` or one level below it, of one model.

    Of several lm-eval runs of a task the newest counts, of several records of an item the first; the others are named.
    `questions` adds to predictions what their files do not hold: options, image sizes, scenes, and how many
    items there are.

    Raises ReplyFileError when there is nothing to read, or files of both kinds, or of several models.
    """
    if not folder.is_dir():
        raise ReplyFileError(f"{folder}: no such folder")
    predictions = _found(folder, f"*{PREDICTION_SUFFIX}")
    samples = [path for path in _found(folder, "samples_*.jsonl") if SAMPLES.fullmatch(path.name)]
    if predictions and samples:
        raise ReplyFileError(f"{folder} holds both {predictions[0].name} and {samples[0].name}; score each kind alone")
    if not predictions and not samples:
        raise ReplyFileError(
            f"{folder} holds neither <task>{PREDICTION_SUFFIX} nor samples_{LM_EVAL_GROUP}_<task>_<date>.jsonl "
            "(lm_eval writes the latter with --log_samples --output_path)"
        )
    folders = sorted({path.parent for path in predictions or samples})
    if len(folders) > 1:
        raise ReplyFileError(
            f"{folder} holds results of several models ({', '.join(f.name for f in folders)}); name one"
        )
    if predictions:
        return _read_predictions(folders[0], predictions, questions)
    return _read_samples(folders[0], samples)


def _found(folder: Path, pattern: str) -> list[Path]:
    return sorted([*folder.glob(pattern), *folder.glob(f"*/{pattern}")])


def _lines(path: Path, problems: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file:number, record) of every line that is a JSON object; the others are named in `problems`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReplyFileError(f"{path}: cannot be read ({error.strerror or error})") from error
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(f"{where}: not JSON ({error})")
            continue
        if b"\\ud" in line.lower():  # half a character, perhaps, which no file and no terminal takes
            record = json.loads(without_surrogates(json.dumps(record, ensure_ascii=False)))
        if isinstance(record, dict):
            yield where, record
        else:
            problems.append(f"{where}: a record must be a JSON object, not {type(record).__name__}")


# --- the release's prediction files ----------------------------------------------------------------------------------


def _read_predictions(folder: Path, paths: Sequence[Path], questions: Mapping[str, Question] | None) -> ReplySet:
    found = ReplySet(folder, folder.name)
    for path in paths:
        problems: list[str] = []
        records = [
            (where, item, record)
            for where, record in _lines(path, problems)
            if (item := _item_id(where, record, problems)) is not None
        ]
        if not records:
            found.problems.append(f"{path}: no record that can be scored" + "".join(f"; {p}" for p in problems[:3]))
            continue
        task = _task_of(path, [item for _, item, _ in records], questions)
        replies = found.tasks.setdefault(task.id, TaskReplies(task, []))
        replies.files.append(path)
        replies.problems += problems
        if questions is not None:
            replies.expected = sum(question.task == task.id for question in questions.values())
        seen = {reply.item for reply in replies.replies}
        for where, item, record in records:
            if item in seen:
                replies.problems.append(f"{where}: item {item} was answered before; this line is left out")
                continue
            reply = _prediction(where, item, record, task, questions, replies.problems)
            if reply is not None:
                seen.add(item)
                replies.replies.append(reply)
    if not found.tasks:
        raise ReplyFileError(f"nothing can be scored: {'; '.join(found.problems)}")
    return found


def _item_id(where: str, record: Mapping[str, Any], problems: list[str]) -> str | None:
    try:
        return id_of(record)
    except DataError as error:
        problems.append(f"{where}: {error}")
        return None


def _task_of(path: Path, items: Sequence[str], questions: Mapping[str, Question] | None) -> Task:
    """The task of a prediction file, told by its ids and, where these are none of the release's, by its name."""
    tasks = {questions[item].task for item in items if questions is not None and item in questions}
    if not tasks:
        tasks = {task.id for task in TASKS for item in items if item.startswith(task.release.id_prefix)}
    if not tasks:
        tasks = {task.id for task in TASKS if _names(path, task)}
    if len(tasks) > 1:
        tasks = {task for task in tasks if _names(path, task_named(task))} or tasks
    if len(tasks) != 1:
        known = f"ids of {' and '.join(sorted(tasks))}" if tasks else f"ids such as {items[0]!r}, of no known task,"
        raise ReplyFileError(f"{path} holds {known}; a file holds the predictions of one task")
    return task_named(tasks.pop())


def _names(path: Path, task: Task) -> bool:
    return path.name.removesuffix(PREDICTION_SUFFIX).lower() in (task.id, task.release.stem.lower())


def _prediction(
    where: str,
    item: str,
    record: Mapping[str, Any],
    task: Task,
    questions: Mapping[str, Question] | None,
    problems: list[str],
) -> Reply | None:
    text = record.get("model_prediction")
    known = questions.get(item) if questions is not None else None
    if questions is not None and known is None:
        problems.append(f"{where}: item {item} is not in the edition; left out")
        return None
    if known is not None and known.task != task.id:
        problems.append(f"{where}: item {item} is of task {known.task}, this file of {task.id}; left out")
        return None
    if text is not None and not isinstance(text, str):
        problems.append(f"{where}: 'model_prediction' is {type(text).__name__}, not text; left out")
        return None
    try:
        given = answer_of(record)
        options = known.options if known else None
        if task.kind == "text":
            if not isinstance(given, str):
                raise TruthError(f"truth {given!r} must be a sentence")
            same = known is None or given in known.truth
        else:
            same = known is None or read_truth(task.kind, given, options) == read_truth(task.kind, known.truth, options)
            read_truth(task.kind, given, options)
        if not same:
            raise TruthError(f"truth {given!r} differs from the edition's, {known.truth if known else None!r}")
    except (TruthError, DataError) as error:
        problems.append(f"{where}: item {item}: {error}; left out")
        return None
    return Reply(
        item=item,
        task=task.id,
        text=text,
        truth=known.truth if known else given,
        question=str(record.get("question") or ""),
        options=options,
        image_size=known.image_size if known else None,
        scene=known.scene if known else None,
        images=_named_images(record),
    )


def _named_images(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """(label, path) of the images that a prediction names, where the release's runner writes them."""
    if isinstance(labelled := record.get("images"), list):
        entries = [entry for entry in labelled if isinstance(entry, Mapping)]
        return tuple((str(entry.get("label", "")), str(entry.get("path", ""))) for entry in entries)
    paths = record.get("image_paths") or [record.get("image_path")]
    return tuple(("", path) for path in paths if isinstance(path, str)) if isinstance(paths, list) else ()


def write_predictions(folder: Path, replies: Mapping[str, TaskReplies]) -> list[Path]:
    """The replies as the release's prediction files, for its own scorer; missing replies are left out, as there.

    Each record has the fields of the release's runner; images are named as the edition or the file read names them.
    """
    written = []
    for task_replies in replies.values():
        task = task_replies.task
        lines = []
        for reply in task_replies.replies:
            if reply.text is None:
                continue
            given = reply.truth[0] if task.kind == "text" and not isinstance(reply.truth, str) else reply.truth
            record = {
                task.release.id_field: reply.item,
                "question": reply.question,
                "ground_truth": given,
                "model_prediction": reply.text,
            }
            if task.kind == "order":
                record["ground_truth_order"] = given
                record["images"] = [{"label": label, "path": path} for label, path in reply.images]
            elif len(reply.images) == 1:
                record["image_path"] = reply.images[0][1]
            elif reply.images:
                record["image_paths"] = [path for _, path in reply.images]
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        path = folder / task.release.prediction_file
        write_text(path, "".join(lines))
        written.append(path)
    return written


# --- lm-eval's samples -----------------------------------------------------------------------------------------------


def _read_samples(folder: Path, paths: Sequence[Path]) -> ReplySet:
    found = ReplySet(folder, folder.name)
    runs: dict[str, list[tuple[str, Path]]] = {}
    for path in paths:
        match = SAMPLES.fullmatch(path.name)
        assert match is not None
        if match["task"] not in TASKS_BY_ID:
            found.problems.append(f"{path}: {match['task']!r} is not one of the fourteen tasks; left out")
            continue
        runs.setdefault(match["task"], []).append((match["date"], path))
    for task in TASKS:
        if task.id in runs:
            *older, (date, path) = sorted(runs[task.id])
            if older:
                found.superseded.append(
                    f"{task.id}: {counted(len(older), 'older run')} left out, {path.name} counts: "
                    + ", ".join(str(left) for _, left in older)
                )
            _read_task_samples(found, task, path)
            _read_results(found, folder / RESULTS.format(date=date))
    if not found.tasks:
        raise ReplyFileError(f"{folder}: no samples of a known task; {'; '.join(found.problems)}")
    return found


def _read_task_samples(found: ReplySet, task: Task, path: Path) -> None:
    replies = TaskReplies(task, [path])
    seen: set[str] = set()
    lines: set[tuple[str, str]] = set()
    for where, sample in _lines(path, replies.problems):
        try:
            document = sample["doc"]
            item = document["id"]
            if document["task"] != task.id:
                raise ValueError(f"the item belongs to task {document['task']}")
            rule = str(sample.get("filter"))
            if (item, rule) in lines:
                replies.problems.append(f"{where}: item {item} was answered before; this line is left out")
                continue
            lines.add((item, rule))
            if "score" in sample:
                replies.logged[item, rule] = float(sample["score"])
            if item in seen:  # once for each filter
                continue
            edition = (document["edition"], document["edition_hash"])
            if found.edition is not None and edition != (found.edition, found.edition_hash):
                raise ValueError(f"the item is of edition {edition[0]!r}, others in this folder are of another")
            meta = json.loads(document["meta"])
            reply = Reply(
                item=item,
                task=task.id,
                text=None if sample.get("missing") else sample["resps"][0][0],
                truth=task.truth(document["answer"], meta),
                question=document["question"] or task.questions[0],  # an order may have none of its own
                options=tuple(document["options"]) or None,
                image_size=(document["image_size"][0], document["image_size"][1]),
                scene=document["scene_id"],
                images=tuple(
                    (view if task.kind == "order" else "", name)
                    for view, name in zip(document["views"], document.get("image_names", ()), strict=False)
                ),
            )
        except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            replies.problems.append(f"{where}: not a sample of this benchmark ({type(error).__name__}: {error})")
            continue
        found.edition, found.edition_hash = edition
        replies.expected = document["edition_items"]
        seen.add(item)
        replies.replies.append(reply)
    if replies.replies:
        found.tasks[task.id] = replies
    else:
        found.problems.append(f"{path}: no sample that can be scored" + "".join(f"; {p}" for p in replies.problems[:3]))


def _read_results(found: ReplySet, path: Path) -> None:
    """Model name, settings and versions, from the file that lm-eval writes next to the samples of a run.

    Settings and versions in which the runs of a folder differ are given as `MIXED`. Raises ReplyFileError where they
    are of different models.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        model = content.get("model_name")
        kinds = {json.dumps(entry.get("generation_kwargs"), sort_keys=True) for entry in content["configs"].values()}
        protocol = {
            "model_class": (content.get("config") or {}).get("model"),
            "generation": json.loads(kinds.pop()) if len(kinds) == 1 else MIXED,
            "chat_template": bool(content.get("chat_template") is not None),
            "system_instruction": content.get("system_instruction"),
        }
        versions = {"lm_eval": str(content.get("lm_eval_version"))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"{path}: cannot be read ({error}); name and settings of the model are unknown"
        if message not in found.problems:
            found.problems.append(message)
        return
    if found.protocol and model and str(model) != found.model:
        raise ReplyFileError(
            f"{path}: model_name: found {str(model)!r}, other runs in the folder are of {found.model!r}; put the files "
            "of each model into a folder of its own"
        )
    found.model = str(model or found.model)
    found.protocol = _agreed(found.protocol, protocol)
    found.versions = _agreed(found.versions, versions)


def _agreed(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    return {key: value if before.get(key, value) == value else MIXED for key, value in now.items()}
