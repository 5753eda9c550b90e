"""Orders: the labels of the images, each once, in the sequence that a reply settles on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from . import declarations, json_values
from .declarations import ANSWER, ANSWER_LINE, CONCLUSION, RETRACTION
from .json_values import MISSING
from .reply import sentences, without_questions

ORDER_KEYS: Final = (
    "order", "correct_order", "sequence", "correct_sequence", "ordering", "sorted", "labels", "ordered_labels",
    "order_of_images", "chronological_order", "temporal_order", "images",
)  # fmt: skip

_ORDER_NOUN = re.compile(
    r"\b(?:order|ordering|sequence|arrangement)\b[^\n:=?!]{0,60}?(?:\b(?:is|are|be|as follows)\b|:|=|→|->)|^order ?:|"
    r"\bnot\b[^.\n]{0,80}?\bbut\b|\b(?:i'd|i would) (?:say|go with)\b|"
    r"\b(?:final|revised|corrected|updated)(?: guess)? ?:|"
    r"\b(?:order|arrange|sort|place|put|rank) (?:them|these|the images)(?: as| like this| in)?\b",
    re.I | re.M,
)
_ECHO = re.compile(
    r"^.*\b(?:option labels|labels|options|output format|images? (?:given|provided|shown)|in which they are shown|"
    r"shuffled|input)\b ?(?:are|is)? ?:.*$",
    re.I | re.M,
)
_WORDS_BETWEEN: Final = frozenset(
    (
        "image", "images", "frame", "frames", "photo", "picture", "option", "label", "scene", "the", "then", "next",
        "and", "followed", "by", "finally", "first", "second", "third", "fourth", "fifth", "last", "lastly", "is",
        "comes", "step", "position", "after", "that", "afterwards", "afterward", "should", "be", "come", "earliest",
        "latest", "taken", "starts", "start", "starting", "ends", "with", "it", "goes", "go", "to", "st", "nd", "rd",
        "th", "which", "at", "in", "place", "order", "number", "no", "one", "two", "three", "four", "five",
        "respectively", "sequence", "ending",
    )
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_ORDINALS: Final = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "last": -1,
    "earliest": 1,
    "latest": -1,
}
_POSITION = rf"(?P<position>[0-9](?:st|nd|rd|th)?|{'|'.join(_ORDINALS)})"
_NUMBERED_AFTER = re.compile(
    r"\s?(?:[:=→#(-]|->|is|at|position|in position|comes|should be|the|\s)*\s?"
    rf"(?:number |no\.? |position |#)?{_POSITION}\b",
    re.I,
)
_NUMBERED_BEFORE = re.compile(
    rf"(?:^|[\s,;(#]){_POSITION}[.):=]?\s?(?:[-:=→]|->|is|comes|,)?\s?(?:the )?(?:image |frame )?[\"'(\[]*$", re.I
)
_REASON = re.compile(r"\b(?:because|since|where|based on|due to|given)\b", re.I)
"""Words after which an order is explained."""
_ARTICLE = re.compile(
    r"(?:^|(?<=[.!\n:] )|(?<=\n))(?:A|An) (?!then |and |before |comes |is |goes |first |followed )"
    r"(?![a-z ]*\b(?:not|never)\b)[a-z]+(?: [a-z]+){0,8}? (?:in|at|from|through) (?=(?:the )?(?:image |frame )?[A-Z]\b)"
)
"""What begins with an article, which is no label: "A car is seen in B"."""
_IN_A_FIGURE = re.compile(r"\b[A-Za-z]_\{?([A-Z])\b\}?")
"""A label as an index, as in a figure: F_A."""
_BACKWARDS: Final = re.compile(r"←|<-|\bafter\b(?! that)")
_DENIED = re.compile(r"\([^()]{0,20}\bnot\b[^()]{0,80}\)", re.I)
_SEQUENCE = re.compile(
    r"\b(?:first|then|next|follow\w+|finally|last(?:ly)?|earliest|order|sequence|start\w*|end\w*)\b", re.I
)
"""Words of somebody who tells an order."""
_POSITION_KEYS: Final = ("position", "order", "rank", "index", "step", "place", "number")
_LABEL_KEYS: Final = ("label", "image", "frame", "name", "id", "option")
_REMARK = re.compile(r" ?\((?![^()]*\b[A-Z]\b)[^()]*\)")
_EARLY = r"(?:the )?(?:earliest|oldest|first|start|beginning)(?: image| frame| one)?"
_LATE = r"(?:the )?(?:latest|newest|most recent|last|end)(?: image| frame| one)?"
_TO = r" ?(?:to|through|→|->) ?"
_FORWARDS = re.compile(
    rf"\b(?:(?:ordered|sorted|listed),? )?(?:(?:from )?{_EARLY}{_TO}{_LATE}|(?:earliest|oldest) first)\b", re.I
)
"""The order asked for, announced: it says nothing about a label."""
_REVERSED = re.compile(
    rf"(?<!\bnot )(?<!\bnot in )\b(?:in |from )?(?:{_LATE}{_TO}{_EARLY}|(?:the )?(?:latest|newest|most recent) first|"
    r"(?:a |the )?(?:reversed?|inverse) (?:chronological|temporal|time) order|reverse chronologically)\b",
    re.I,
)
_SHOWN = re.compile(r"\b(?:are|were|is|shown|given|presented|provided|appear) ?$", re.I)
"""What may speak of the images as shown, before "in reverse chronological order"."""
_ANNOUNCES = re.compile(
    r"[^\w\[\n]{0,3}(?:(?:the )?(?:images|order|sequence|they)\b ?)?(?:(?:is|are|would be)\b)?[^\w\[]{0,4}"
    r"(?=[\[1-9]|[A-Z]\b|(?:image|frame|first)\b)",
)
_MOST_REVERSED: Final = 8
"""Announcements of a reversed order that are looked at; a reply with more of them repeats itself."""
_TIME = re.compile(r"\bt(?:ime)? ?[_=]? ?(?=\d\b)", re.I)
"""The t of "t0: D, t1: A"."""
_TITLE = r"(?:image|frame|photo|picture|option|label|img|view)[ _-]?"

_NUMBERED_LINE = re.compile(
    r"#?(?P<place>[1-9])(?:st|nd|rd|th)? ?(?:[.):=|-]|->|→)+ ?"
    rf"(?:the )?(?:{_TITLE})?[\"'(\[]?(?P<label>[A-Za-z])(?![\w'])"
    r"(?! [a-z])",
    re.I,
)


def read_order(text: str, labels: Sequence[str] | None) -> list[str] | None:
    """The order that plain text settles on; None when there is none, or more than one, or a label is missing or extra.

    Without `labels` two or more different single letters make an order.
    """
    text = _IN_A_FIGURE.sub(r"\1", _DENIED.sub(" ", _ECHO.sub(" ", without_questions(text))))
    text = _ARTICLE.sub("", text).strip(" \n")
    known = list(labels) if labels else None
    if not any(label.lower().startswith("t") for label in known or ()):
        text = _TIME.sub("", text)
    text = _turned(_FORWARDS.sub(" ", text), known).strip(" \n")
    if not text:
        return None
    answers = declarations.spans(text, ANSWER, whole_line=True) + declarations.spans(text, ANSWER_LINE, whole_line=True)
    nouns = declarations.spans(text, _ORDER_NOUN, whole_line=True)
    corrections = declarations.spans(text, RETRACTION, whole_line=True)
    for span in declarations.last_first(answers, nouns, corrections):
        for end in (span.end, len(text)):
            found = _orders(text[span.start : end], known)
            if found:
                return _only(found)
    lines = declarations.lines(text)
    alone = [order for line in (lines[-1], lines[0]) if (order := _whole(text[line.start : line.end], known))]
    if alone:
        return _only(alone)
    for span in declarations.last_first(declarations.spans(text, CONCLUSION, whole_line=True)):
        found = _orders(text[span.start : span.end], known)
        if len(found) == 1:
            return found[0]
    return _only(_orders(text, known))


def _turned(text: str, known: list[str] | None) -> str:
    """`text` with every order that it announces as latest first, before or behind it, put earliest first."""
    found = list(itertools.islice(_REVERSED.finditer(text), _MOST_REVERSED + 1))
    if len(found) > _MOST_REVERSED:
        return ""
    ends = [end for _, end in sentences(text)] if found else []
    turned_from = len(text)
    for announced in reversed(found):
        start = max((end for end in ends if end <= announced.start()), default=0)
        end = min((end for end in ends if end >= announced.end()), default=len(text))
        if end > turned_from:  # "latest first (newest to oldest)" turns once
            continue
        lead = _ANNOUNCES.match(text, announced.end())
        if lead:
            answer = ANSWER.search(text, lead.end())
            for until in (end, min(answer.start() if answer else turned_from, turned_from, lead.end() + 2000)):
                order = _only(_orders(text[lead.end() : until], known))
                if order:
                    of_the_shown = _SHOWN.search(text[max(start, announced.start() - 20) : announced.start()])
                    stated = " " if of_the_shown else f"order: {', '.join(order[::-1])}.\n"
                    text = f"{text[: announced.start()]}{stated}{text[until:]}"
                    turned_from = announced.start()
                    break
        elif not text[announced.end() : end].strip(" \n.,;:)]\"'"):
            begin = max(start, *(text.rfind(mark, start, announced.start()) + 1 for mark in ":=\n"))
            order = _only(_orders(text[begin : announced.start()].rstrip(" ,;(["), known))
            if order:
                text = f"{text[:begin]} {', '.join(order[::-1])}.\n{text[end:]}"
                turned_from = begin
    return text


def read_json_order(value: Any, labels: Sequence[str] | None) -> list[str] | None:
    """The order of a JSON value: a list of labels, one under a key, or labels with their positions."""
    known = list(labels) if labels else None
    if isinstance(value, Mapping):
        ranked = _ranked(value, known)
        if ranked:
            return ranked
        _, value = json_values.answer_of(value, ORDER_KEYS)
    if value is MISSING or value is None:
        return None
    if isinstance(value, str):
        return read_order(value, labels)
    return _of_items(value, known) if isinstance(value, list) else None


def _ranked(value: Mapping[Any, Any], known: list[str] | None) -> list[str] | None:
    """{"A": 2, "B": 1} or {"1": "B", "2": "A"} as an order."""
    pairs = [(str(key), entry) for key, entry in value.items()]
    by_label = {_label(key, known): entry for key, entry in pairs}
    if None not in by_label and all(
        isinstance(entry, int) and not isinstance(entry, bool) for entry in by_label.values()
    ):
        return _by_position([(entry, label or "") for label, entry in by_label.items()], known)
    if all(key.isascii() and key.isdigit() and len(key) < 4 for key, _ in pairs):
        labelled = [(int(key), _label(str(entry), known)) for key, entry in pairs]
        if all(label for _, label in labelled):
            return _by_position([(position, label or "") for position, label in labelled], known)
    return None


def _by_position(ranked: list[tuple[int, str]], known: list[str] | None) -> list[str] | None:
    positions = sorted(position for position, _ in ranked)
    if (
        not positions
        or positions != list(range(positions[0], positions[0] + len(positions)))
        or positions[0] not in (0, 1)
    ):
        return None
    return _complete([label for _, label in sorted(ranked)], known)


def _of_items(items: list[Any], known: list[str] | None) -> list[str] | None:
    if len(items) == 1 and isinstance(items[0], list | str):
        return _of_items(items[0], known) if isinstance(items[0], list) else read_order(items[0], known)
    if items and all(isinstance(item, Mapping) for item in items):
        return _of_entries(items[:64], known)
    found = [_label(item, known) for item in items[:64] if isinstance(item, str)]
    if len(found) != len(items) or None in found:
        return None
    return _complete([label for label in found if label], known)


def _of_entries(entries: list[Mapping[Any, Any]], known: list[str] | None) -> list[str] | None:
    """[{"position": 1, "label": "B"}, …], by position; without positions, in the order of the list."""
    ranked = []
    for place, entry in enumerate(entries, start=1):
        plain = {json_values.plain_key(str(key)): value for key, value in entry.items()}
        label = next((found for key in _LABEL_KEYS if (found := _label(str(plain.get(key, "")), known))), None)
        stated = next((plain[key] for key in _POSITION_KEYS if isinstance(plain.get(key), int)), place)
        if label is None:
            return None
        ranked.append((stated, label))
    return _by_position(ranked, known)


def _label(item: str, known: list[str] | None) -> str | None:
    """The label that an item is, "Image B" and "(b)" included."""
    bare = re.sub(rf"^(?:{_TITLE})", "", item.strip(" \n\"'()[].,:"), flags=re.IGNORECASE).strip(" \"'()[]")
    if known is not None:
        by_case = {label.casefold(): label for label in known}
        return bare if bare in known else by_case.get(bare.casefold())
    return bare.upper() if len(bare) == 1 and bare.isascii() and bare.isalpha() else None


def _complete(order: list[str], known: list[str] | None) -> list[str] | None:
    """`order` when it names every label once."""
    if len(set(order)) != len(order) or len(order) < (1 if known else 2):
        return None
    return order if known is None or sorted(order) == sorted(known) else None


def _only(found: list[list[str]]) -> list[str] | None:
    return found[0] if found and all(order == found[0] for order in found) else None


def _orders(text: str, known: list[str] | None) -> list[list[str]]:
    """The complete orders in a passage: those in lists, else the one of each line or sentence, else the whole of it."""
    listed = [json_values.decode(text[start:end]) for start, end in json_values.bracketed(text)]
    found = [order for value in listed if value is not MISSING and (order := read_json_order(value, known))]
    if not found:
        found = [
            order for start, end in json_values.bracketed(text) if (order := _whole(text[start + 1 : end - 1], known))
        ]
    if found:
        return found
    lines = [(line.start, line.end) for line in declarations.lines(text)]
    for parts in (lines, sentences(text)):
        found = [order for start, end in parts if (order := _whole(text[start:end].rstrip(". "), known))]
        if found:
            return found
    whole = _whole(text, known) or _numbered_lines(text, known) or _mentioned(text, known)
    return [whole] if whole else []


def _whole(text: str, known: list[str] | None) -> list[str] | None:
    """The order that a passage is, apart from marks and words like "then" between the labels."""
    text = _REASON.split(text, maxsplit=1)[0].strip(" \n.,;:\"'()[]{}<>")
    if len(text) > 2000 or "..." in text:
        return None
    run_together = [*text] if text.isalpha() and len(text) > 1 and (text.isupper() or text.islower()) else None
    if run_together and known and all(len(label) == 1 for label in known):
        order = _complete([letter.upper() for letter in run_together] if text not in known else run_together, known)
        if order or text.isupper():
            return order
    mentions = _mentions(text, known)
    if len(mentions) < 2 and not (known and len(known) == 1):
        return None
    edges = [0, *itertools.chain.from_iterable((match.start(), match.end()) for match, _ in mentions), len(text)]
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    inner = {gap.strip(" ,").lower() for gap in gaps[1:-1]}
    if inner == {"before"} and all(map(_fills, (gaps[0], gaps[-1]))):
        return _complete([label for _, label in mentions], known)
    if any(0 < sum(mark in gap for gap in gaps[1:-1]) < len(gaps) - 2 for mark in "/|("):
        return None  # "B, D, A/C"
    if not all(map(_fills, gaps)):
        without_remarks = _REMARK.sub("", text) if "→" in text or "->" in text else text
        return None if without_remarks == text else _whole(without_remarks, known)
    return _arranged(text, mentions, gaps, known)


def _fills(gap: str) -> bool:
    return all(word in _WORDS_BETWEEN for word in _WORD.findall(gap.lower()))


def _arranged(
    text: str, mentions: list[tuple[re.Match[str], str]], gaps: list[str], known: list[str] | None
) -> list[str] | None:
    order = [label for _, label in mentions]
    count = len(order)
    before = [_position(_NUMBERED_BEFORE.search(text[: match.start()][-24:]), count) for match, _ in mentions]
    after = [_position(_NUMBERED_AFTER.match(text[match.end() : match.end() + 40]), count) for match, _ in mentions]
    for positions in (before, after):
        if None not in positions:
            ranked = [(position or 0, label) for position, label in zip(positions, order, strict=True)]
            return _by_position(ranked, known)
    between = " ".join(gaps[1:-1])
    if re.search(r"[0-9]", between):
        return None
    # "B is last, C is first": with positions for some labels only, they must agree with the order of mention.
    stated = after if sum(map(bool, after)) > sum(map(bool, before)) else before
    if any(position not in (None, place) for place, position in enumerate(stated, start=1)):
        return None
    if _BACKWARDS.search(between):
        arrows = [bool(_BACKWARDS.search(gap)) for gap in gaps[1:-1]]
        return _complete(order[::-1], known) if all(arrows) else None
    return _complete(order, known)


def _numbered_lines(text: str, known: list[str] | None) -> list[str] | None:
    """Lines "1. B - far away", "2 | D", …: each with its place, its label and whatever is said about it."""
    found = [_NUMBERED_LINE.match(text, line.start, line.end) for line in declarations.lines(text)]
    numbered = [match for match in found if match]
    labels = [_label(match["label"], known) for match in numbered]
    if len(numbered) < 2 or None in labels:
        return None
    ranked = [(int(match["place"]), label or "") for match, label in zip(numbered, labels, strict=True)]
    return _by_position(ranked, known)


def _position(match: re.Match[str] | None, count: int) -> int | None:
    """Place that a number or an ordinal next to a label gives it; "last" is `count`."""
    if match is None:
        return None
    word = match["position"].lower()
    place = _ORDINALS.get(word) or int(word[0])
    return count if place < 0 else place


def _mentions(text: str, known: list[str] | None) -> list[tuple[re.Match[str], str]]:
    names = sorted(known or (), key=len, reverse=True)
    pattern = "|".join((*map(re.escape, names), "[A-Z]"))
    found = [(match, match[0]) for match in re.finditer(rf"(?<!\w)(?<!\w')(?:{pattern})(?!\w|'\w)", text)]
    if found or not names:
        return found
    # All in lower case: "c, a, b".
    by_case = {name.lower(): name for name in names}
    pattern = "|".join(re.escape(name.lower()) for name in names)
    return [(match, by_case[match[0]]) for match in re.finditer(rf"(?<![\w'])(?:{pattern})(?![\w'])", text)]


def _mentioned(text: str, known: list[str] | None) -> list[str] | None:
    """Prose that names every image once, each as "image B", in the order in which they come."""
    if re.search(
        r"\b(?:before|after(?! that)|preced\w+|prior|later than|earlier than|or|not|unclear|precedes)\b", text, re.I
    ):
        return None
    found = [match[1] for match in itertools.islice(re.finditer(rf"\b{_TITLE}[\"'(]?([A-Z])(?![\w'])", text, re.I), 64)]
    labels = [label for item in found if (label := _label(item, known)) is not None]
    if (labels == known if known else labels == sorted(labels)) and not _SEQUENCE.search(text):
        return None  # every image is described, one after the other as they are shown
    return _complete(labels, known) if len(labels) == len(found) and len(labels) > 1 else None
