"""The blind check: how often is a rule right that never looks at an image?

Rules may use the question's type, its category and the options as they are shown. What they learn they learn from one
half of the items and are asked about the other. (Left out one by one, an item would make its own answer a little rarer
among the others, and a rule that follows frequencies would look worse than chance.)
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .items import Document, letter_at, option_index

CLOSE_DISTANCE = 0.10
"""A guessed distance within this share of the true one is right."""
CLOSE_BOX = 0.5
"""A guessed box is right from this IoU on."""


def blind_scores(documents: Sequence[Document], share: float) -> Iterator[tuple[str, float, float]]:
    """Name, share of right answers and chance level of every rule for the answer kind of `documents`.

    `share` is the largest share that one answer may have by design; for open answers it is the chance level.
    """
    kind = documents[0]["answer_kind"]
    if kind == "choice":
        yield from _choices(documents)
    elif kind == "order":
        yield from _orders(documents)
    elif kind == "metres":
        yield "usual distance", _usual(documents, _metres, _geometric_mean, _is_close), share
    elif kind == "box":
        yield "usual box", _usual(documents, _box, _mean_box, _overlaps), share
    else:
        label = _class if kind == "text" else _answer
        yield "usual answer", _usual(documents, label, _most_frequent, _equal), share


def group_of(document: Document) -> str:
    """What the question gives away besides its options."""
    meta = document["meta"]
    return " ".join(str(meta[key]) for key in ("category", "bucket") if key in meta)


# --- choices and orders ----------------------------------------------------------------------------------------------


def _choices(documents: Sequence[Document]) -> Iterator[tuple[str, float, float]]:
    count = len(documents)
    chance = sum(1 / len(document["options"]) for document in documents) / count
    right = [option_index(d["answer"], d["options"]) for d in documents]
    positions = Counter(right)
    for position in range(max(len(document["options"]) for document in documents)):
        yield f"option {letter_at(position)}", positions[position] / count, chance
    lengths = [[len(option) for option in document["options"]] for document in documents]
    yield "longest option", _mean(_tied(row, max(row), at) for row, at in zip(lengths, right, strict=True)), chance
    yield "shortest option", _mean(_tied(row, min(row), at) for row, at in zip(lengths, right, strict=True)), chance
    yield "likeliest text", _likeliest_text(documents, right), chance
    yield "likeliest of its set", _likeliest_of_set(documents, right), chance


def _tied(row: Sequence[float], wanted: float, right: int) -> float:
    """Chance of hitting the right one when one of the options of the wanted length is drawn."""
    return (row[right] == wanted) / row.count(wanted)


def _likeliest_text(documents: Sequence[Document], right: Sequence[int]) -> float:
    """The option that, where it is shown in the other half, is right most often."""
    shown: dict[tuple[int, str, str], int] = defaultdict(int)
    hits: dict[tuple[int, str, str], int] = defaultdict(int)
    rows = [[(group_of(d), option[3:]) for option in d["options"]] for d in documents]
    for number, (row, at) in enumerate(zip(rows, right, strict=True)):
        for place, text in enumerate(row):
            shown[(number % 2, *text)] += 1
            hits[(number % 2, *text)] += place == at
    total = 0.0
    for number, (row, at) in enumerate(zip(rows, right, strict=True)):
        other = 1 - number % 2
        # A text that was never seen is as likely as any.
        rates = [(hits[(other, *text)] + 1 / len(row)) / (shown[(other, *text)] + 1) for text in row]
        total += _tied([round(rate, 9) for rate in rates], round(max(rates), 9), at)
    return total / len(documents)


def _likeliest_of_set(documents: Sequence[Document], right: Sequence[int]) -> float:
    """The option that, where the same options are shown in the other half, is right most often."""
    hits: dict[tuple[int, str, frozenset[str]], Counter[str]] = defaultdict(Counter)
    rows = [[option[3:] for option in document["options"]] for document in documents]
    keys = [(group_of(document), frozenset(row)) for document, row in zip(documents, rows, strict=True)]
    for number, (key, row, at) in enumerate(zip(keys, rows, right, strict=True)):
        hits[(number % 2, *key)][row[at]] += 1
    total = 0.0
    for number, (key, row, at) in enumerate(zip(keys, rows, right, strict=True)):
        counts = [hits[(1 - number % 2, *key)][text] for text in row]
        total += _tied(counts, max(counts), at)
    return total / len(documents)


def _orders(documents: Sequence[Document]) -> Iterator[tuple[str, float, float]]:
    chance = _mean(1 / np.prod(range(1, len(document["options"]) + 1)) for document in documents)
    for name, step in (("as shown", 1), ("reversed", -1)):
        hits = [json.loads(document["answer"]) == list(document["options"])[::step] for document in documents]
        yield name, _mean(hits), float(chance)


# --- open answers ----------------------------------------------------------------------------------------------------


def _usual(
    documents: Sequence[Document],
    value_of: Callable[[Document], Any],
    summary: Callable[[Sequence[Any]], Any],
    is_right: Callable[[Any, Any], bool],
) -> float:
    """Share of the items that the summary of the other half of their group answers."""
    groups: dict[str, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for number, document in enumerate(documents):
        groups[group_of(document)][number % 2].append(value_of(document))
    hits = 0
    for halves in groups.values():
        for asked, known in (halves, halves[::-1]):
            if known:
                guess = summary(known)
                hits += sum(is_right(guess, value) for value in asked)
    return hits / len(documents)


def _answer(document: Document) -> str:
    return str(document["answer"])


def _class(document: Document) -> str:
    return f"{document['meta']['action']} {document['meta']['cause']}"


def _metres(document: Document) -> float:
    return float(document["answer"].removesuffix(" m"))


def _box(document: Document) -> tuple[float, ...]:
    width, height = document["image_size"]
    x1, y1, x2, y2 = json.loads(document["answer"])["bbox"]
    return x1 / width, y1 / height, x2 / width, y2 / height


def _most_frequent(values: Sequence[str]) -> str:
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _mean_box(values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(float(value) for value in np.mean(values, axis=0))


def _equal(guess: str, value: str) -> bool:
    return guess == value


def _is_close(guess: float, value: float) -> bool:
    return abs(guess - value) <= CLOSE_DISTANCE * value


def _overlaps(guess: Sequence[float], value: Sequence[float]) -> bool:
    width = min(guess[2], value[2]) - max(guess[0], value[0])
    height = min(guess[3], value[3]) - max(guess[1], value[1])
    inner = max(width, 0.0) * max(height, 0.0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (guess, value)]
    return inner >= CLOSE_BOX * (sum(areas) - inner)


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))
