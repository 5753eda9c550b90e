"""The functions that the task YAMLs in `tasks/` point to: data in, prompts, images, answers read and scored.

lm-eval calls them in this order: `load` once per task, with everything given as model argument or metadata; `text` and
`images` for each item; `official` and `flexible` once per task with all replies; `results` for each item and rule.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import datasets
from lm_eval.api.samplers import ContextSampler

from drivehierarchy_data.editions import (
    BUILD_COMMANDS,
    DATA_FOLDER,
    ENVIRONMENT_VARIABLE,
    SAMPLE,
    SIM_EDITION,
    Edition,
    edition_folder,
    find_edition,
)
from drivehierarchy_data.errors import ImageError
from drivehierarchy_data.images import ImageSequence
from drivehierarchy_data.shards import ImageLocation
from drivehierarchy_gym.errors import DriveHierarchyError

from .judge import LingoJudge, NoJudge, find_judge
from .parsing import ParseRule
from .prompts import system_prompt, user_prompt
from .replies import Outcome, Reply, outcomes
from .tasks import TASKS
from .tasks import task as task_named
from .wording import counted

_log = logging.getLogger(__name__)


class HarnessError(DriveHierarchyError, ValueError):
    """A run that would be silently wrong, refused before it starts."""


_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def in_one_sentence(otherwise: _Hook) -> _Hook:
    """An exception hook that prints an error raised on purpose as its sentence alone, and leaves others to `otherwise`.

    The plain `lm_eval` command catches nothing, so a refusal would end in a traceback. The traceback is still logged
    at level DEBUG.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, DriveHierarchyError):
            otherwise(kind, error, trace)
            return
        _log.debug("traceback of the error", exc_info=error)
        print(f"error: {error}", file=sys.stderr)

    return hook


sys.excepthook = in_one_sentence(sys.excepthook)


@dataclass(frozen=True, slots=True)
class ImageHandling:
    """What the model class of a run does with images.

    `placeholders`: it wants `<image>` in the text where an image goes, as hf-multimodal and vllm-vlm do; lm-eval's API
    classes put all images before the text and would leave the word standing. `limit`: it drops the images after so
    many, None when it takes all.
    """

    placeholders: bool
    limit: int | None

    @classmethod
    def of(
        cls,
        *,
        max_images: int | str | None,
        image_placeholders: bool | str | None,
        base_url: str | None,
        pretrained: str | None,
        model: str | None,
    ) -> ImageHandling:
        """Told from the model arguments, for lm-eval does not say which class will run.

        A `base_url`, or a `model` without `pretrained`, belongs to an API class, whose `max_images` is 1 when it is not
        given. `image_placeholders` overrides the guess.
        """
        api = base_url is not None or (model is not None and pretrained is None)
        placeholders = (
            not api if image_placeholders is None else str(image_placeholders).lower() in ("true", "1", "yes")
        )
        if max_images is not None:
            return cls(placeholders, int(max_images))
        return cls(placeholders, 1 if api and not placeholders else None)


def load(
    *,
    task: str,
    edition: str | None = None,
    max_images: int | str | None = None,
    image_placeholders: bool | str | None = None,
    base_url: str | None = None,
    pretrained: str | None = None,
    model: str | None = None,
    check_images: bool = True,
    **_unused: Any,
) -> dict[str, datasets.Dataset]:
    """The test items of a task, without their pixels.

    Items with a damaged image are logged and left out, for lm-eval's model classes would end the run at the first one;
    `edition_items` still counts them, so that the result is marked as partial.

    Args:
        task: id in the task table, from the YAML.
        edition: name or folder (`--metadata edition=…`); default: environment variable DRIVEHIERARCHY_DATA, else sim.
        max_images, base_url, pretrained, model: model arguments, see `ImageHandling`.
        image_placeholders: `--metadata image_placeholders=true|false`, for model classes that the guess gets wrong.
        check_images: False for a model class that leaves damaged images out itself.

    Raises EditionNotFoundError or DataError when there is nothing to load, HarnessError when images would be dropped.
    """
    found = find_edition(edition)
    handling = ImageHandling.of(
        max_images=max_images,
        image_placeholders=image_placeholders,
        base_url=base_url,
        pretrained=pretrained,
        model=model,
    )
    documents = found.documents(task)
    most = max(len(document["images"]) for document in documents)
    if handling.limit is not None and most > handling.limit:
        largest = max(entry.views[1] for entry in TASKS)
        raise HarnessError(
            f"task {task} shows up to {most} images, but this model class passes on {handling.limit} and drops the "
            f"others without a word, so the scores would be wrong. Add max_images={most} to --model_args "
            f"(max_images={largest} is enough for every task)."
        )
    if task_named(task).kind == "text" and isinstance(judge := find_judge(), NoJudge):
        _log.warning("task %s and S_open will have no score: %s", task, judge.reason)
    by_name = (edition or os.environ.get(ENVIRONMENT_VARIABLE) or SIM_EDITION) == SIM_EDITION
    _tell_edition(found.name, found.folder, by_name)
    whole = _whole(task, documents) if check_images else documents
    rows = [_row(document, found, len(documents), handling.placeholders) for document in whole]
    return {"test": datasets.Dataset.from_list(rows)}


def _whole(task: str, documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The documents whose images are all undamaged. Raises HarnessError when there is none."""
    whole = []
    for document in documents:
        try:
            for location in document["images"]:
                location.read()
        except ImageError as error:
            _log.error("item %s: %s; left out", document["id"], error)
            continue
        whole.append(document)
    remedy = "rebuild or re-copy the edition and run the same command again"
    if not whole:
        raise HarnessError(f"no item of task {task} is left: all {len(documents)} have damaged images; {remedy}")
    if damaged := len(documents) - len(whole):
        _log.warning(
            "%d of %d items of task %s have damaged images and are left out; %s", damaged, len(documents), task, remedy
        )
    return whole


@cache
def _tell_edition(name: str, folder: Path, by_name: bool) -> None:
    """Says once which data is used; aloud when it is the small sample, whose scores are no results.

    `by_name`: the sample was not given as a folder, but found where no sim edition is built.
    """
    if folder == SAMPLE / DATA_FOLDER:
        _log.warning(
            "%susing the small sample of the sim edition in %s, which only shows that a set-up works; for results: %s",
            "no sim edition is built: " if by_name else "",
            folder,
            BUILD_COMMANDS["sim"].format(folder=edition_folder("sim")).replace("--size mini", "--size full"),
        )
    else:
        _log.info("using edition %s in %s", name, folder)


def _row(document: Mapping[str, Any], edition: Edition, items: int, placeholders: bool) -> dict[str, Any]:
    """A document as lm-eval keeps and logs it: names of images in place of images."""
    locations: Sequence[ImageLocation] = document["images"]
    return {
        **{key: value for key, value in document.items() if key not in ("images", "meta")},
        "meta": json.dumps(document["meta"], ensure_ascii=False, sort_keys=True),
        "system": system_prompt(task_named(document["task"])),
        "placeholders": placeholders,
        "edition": edition.name,
        "edition_hash": edition.digest,
        "edition_items": items,
        "image_file": locations[0].shard,
        "image_row": locations[0].row,
        "image_names": [location.name for location in locations],
    }


class NoExamples(ContextSampler):
    """Refuses few-shot examples: an example without its images would be noise, and the benchmark has none."""

    def sample(self, n: int, *args: Any, **kwargs: Any) -> Sequence[dict[str, Any]]:
        raise HarnessError(f"the tasks of DriveHierarchy are zero-shot: run without --num_fewshot (asked for {n})")


def text(document: Mapping[str, Any]) -> str:
    """The user turn of an item."""
    return user_prompt(
        task_named(document["task"]),
        question=document["question"],
        options=document["options"],
        views=document["views"],
        placeholders=document["placeholders"],
    )


def images(document: Mapping[str, Any]) -> ImageSequence:
    """The images of an item, still in their file."""
    return ImageSequence(
        [
            ImageLocation(document["image_file"], document["image_row"], index, name)
            for index, name in enumerate(document["image_names"])
        ]
    )


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """What a filter hands on: an outcome, and the item of which edition it belongs to."""

    outcome: Outcome
    item: str
    edition_hash: str

    def __str__(self) -> str:
        return str(self.outcome)


def official(responses: Sequence[Sequence[str | None]], documents: Sequence[Mapping[str, Any]]) -> list[ScoredReply]:
    """Filter: every reply read and scored as the released evaluator does."""
    return _filter("official", responses, documents)


def flexible(responses: Sequence[Sequence[str | None]], documents: Sequence[Mapping[str, Any]]) -> list[ScoredReply]:
    """Filter: every reply read as a fair reader would."""
    return _filter("flexible", responses, documents)


def _filter(
    rule: ParseRule, responses: Sequence[Sequence[str | None]], documents: Sequence[Mapping[str, Any]]
) -> list[ScoredReply]:
    """Scores all replies of a task at once, so that the judge works in batches.

    Raises HarnessError when not one item was answered: lm-eval would leave the task out of its rank without a word.
    """
    replies = [reply_to(document, response[0]) for document, response in zip(documents, responses, strict=True)]
    if all(reply.text is None for reply in replies):
        raise HarnessError(
            f"not one of {counted(len(replies), 'item')} of task {documents[0]['task']} was answered, so nothing is "
            "scored; see the log for the reasons and run the same command again"
        )
    judge = find_judge() if task_named(replies[0].task).kind == "text" else None
    scored = outcomes(replies, rule, judge if isinstance(judge, LingoJudge) else None)
    return [
        ScoredReply(outcome, document["id"], document["edition_hash"])
        for outcome, document in zip(scored, documents, strict=True)
    ]


def reply_to(document: Mapping[str, Any], response: str | None) -> Reply:
    """A document of lm-eval together with the model's reply."""
    return Reply(
        item=document["id"],
        task=document["task"],
        text=response,
        truth=task_named(document["task"]).truth(document["answer"], json.loads(document["meta"])),
        question=document["question"],
        options=tuple(document["options"]) or None,
        image_size=(document["image_size"][0], document["image_size"][1]),
        scene=document["scene_id"],
    )


def results(document: Mapping[str, Any], replies: Sequence[ScoredReply]) -> dict[str, float]:
    """Metrics of one item under one rule; see `Outcome.metrics`.

    Raises HarnessError when the reply was given to a prompt of another edition: lm-eval's request cache does not know
    which edition its prompts are of.
    """
    reply = replies[0]
    if (reply.item, reply.edition_hash) != (document["id"], document["edition_hash"]):
        raise HarnessError(
            f"the requests of task {document['task']} come from a cache of another edition; "
            "run again with --cache_requests refresh, or without it"
        )
    return reply.outcome.metrics(task_named(document["task"]))
