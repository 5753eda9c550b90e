"""Answers without a model: the truth, the best guess that never looks, and a random one.

They show what a pipeline does with a perfect and with a blind model, before a real one is run.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.items import Document, letter_at, option_letter, truth
from drivehierarchy_gym.errors import unknown_name

from .parsing.parsed import render

Answerer = Callable[[Document], str]
"""Reply to a document, in the format that its question asks for."""


def oracle(edition: Edition, seed: int) -> Answerer:
    """Always the true answer."""
    return correct_reply


def prior(edition: Edition, seed: int) -> Answerer:
    """The one answer per task that scores best without looking: majority, median, the labels as they are shown.

    Taken from the `train` split where the edition has one, so that it knows nothing of the items it answers.
    """
    known: dict[str, Any] = {}

    def answer(document: Document) -> str:
        task = document["task"]
        kind = document["answer_kind"]
        if kind == "order":
            return render(document["options"], kind)
        if task not in known:
            known[task] = _typical(kind, _known_values(edition, task))
        return render(known[task], kind)

    return answer


def chance(edition: Edition, seed: int) -> Answerer:
    """A random answer of the right form, the same for the same item and seed."""
    known: dict[str, list[Any]] = {}

    def answer(document: Document) -> str:
        task, kind = document["task"], document["answer_kind"]
        source = random.Random(f"{seed}:{document['id']}")
        if kind == "choice":
            return letter_at(source.randrange(len(document["options"])))
        if kind == "order":
            return render(source.sample(document["options"], len(document["options"])), kind)
        if kind == "box":
            return render(_random_box(source, *document["image_size"]), kind)
        if task not in known:
            known[task] = _known_values(edition, task)
        return render(source.choice(known[task]), kind)

    return answer


BASELINES: Final[Mapping[str, Callable[[Edition, int], Answerer]]] = {
    "oracle": oracle,
    "prior": prior,
    "random": chance,
}
"""Name -> maker of an answerer for an edition and a seed."""


def baseline(name: str, edition: Edition, seed: int = 0) -> Answerer:
    """The baseline called `name`. Raises UnknownNameError naming the nearest known ones."""
    try:
        make = BASELINES[name]
    except KeyError:
        raise unknown_name("agent", name, BASELINES) from None
    return make(edition, seed)


def correct_reply(document: Document) -> str:
    """The true answer of a document in the form that its task's instruction asks for."""
    return render(true_value(document), document["answer_kind"])


def true_value(document: Document) -> Any:
    """The answer of a document as the value that parsing its correct reply gives (see `parsing.parsed.Parsed`)."""
    kind, answer = document["answer_kind"], document["answer"]
    if kind == "yes_no":
        return answer.lower()
    if kind == "count":
        return int(answer)
    if kind == "metres":
        return float(answer.removesuffix(" m"))
    if kind == "choice":
        return option_letter(answer, document["options"])
    if kind == "box":
        return truth(kind, answer)["bbox"]
    return truth(kind, answer)


def _known_values(edition: Edition, task: str) -> list[Any]:
    split = "train" if task in edition.tasks("train") else "test"
    return [true_value(document) for document in edition.documents(task, split)]  # type: ignore[arg-type]


def _typical(kind: str, values: Sequence[Any]) -> Any:
    if kind == "count":
        return statistics.median_low(values)
    if kind == "metres":
        # The score falls with the logarithm of the ratio, so the middle is that of the logarithms.
        return round(math.exp(statistics.median(math.log(value + 0.1) for value in values)) - 0.1, 2)
    if kind == "box":
        return [statistics.median_low(corner) for corner in zip(*values, strict=True)]
    counts = Counter(json.dumps(value) for value in values)
    return json.loads(min(counts, key=lambda value: (-counts[value], value)))


def _random_box(source: random.Random, width: int, height: int) -> list[int]:
    x1, x2 = sorted(source.sample(range(width + 1), 2))
    y1, y2 = sorted(source.sample(range(height + 1), 2))
    return [x1, y1, x2, y2]
