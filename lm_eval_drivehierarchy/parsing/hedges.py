"""Hedges: what a reply only holds possible is not its answer, whatever the kind.

A hedge is a statement under could, might, may, perhaps, possibly or maybe, or a word or two with a question mark. Words
of opinion and precision (I think, I guess, I believe, probably, likely, about, approximately, roughly) are none: they
declare what the model takes to be so.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from .reply import sentences

_PERCEIVES = (
    r"(?:see|count|find|spot|detect|identify|observe|make out|recogni[sz]e|be (?:seen|counted|found|spotted|detected|"
    r"identified|observed))"
)
# What could be seen was seen, and what a relative clause holds possible is beside the point.
_HEDGE = re.compile(
    rf"(?<!\bthat )(?<!\bwhich )(?<!\bwho )(?:\bcould\b(?! ?not\b)(?! (?:\w+ly )?{_PERCEIVES}\b)|\bmight\b|\bmay\b)"
    r"(?: be\b)?|\b(?:perhaps|possibly|maybe)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.;:!?](?=[\s\"')\]]|$)|,(?=\s)|\n|\bbut\b|\band (?=(?:there|i|it|the)\b)|$", re.IGNORECASE)
_MARK = re.compile(r" ?[:,]? ?")
_AFTERTHOUGHT = re.compile(r"[,(—–-]{0,2} ?\b(?:perhaps|possibly|maybe)[)\"'.!?]*\s*$", re.IGNORECASE)
_TAG = re.compile(r"\b(?:right|ok|okay)\?\W*$", re.IGNORECASE)
_LABEL = re.compile(r"\W*[A-Za-z]\W*")


def without_hedges(text: str, quoted: Sequence[str] = ()) -> str:
    """Plain text with its hedged clauses and bare questions blanked out; the same text when it has none.

    A hedge inside a JSON object, or inside one of the `quoted` phrases (the words of the options), is left: there it
    says something about the scene.
    """
    parts = sentences(text)
    asked = {part for part in parts if _asks(text[slice(*part)])}
    labels = {  # "A. parked?"
        label
        for label, question in itertools.pairwise(parts)
        if question in asked and _LABEL.fullmatch(text[slice(*label)])
    }
    afterthoughts = {(start, end) for start, end in parts if _AFTERTHOUGHT.search(text[max(start, end - 40) : end])}
    blank = [*asked, *labels, *afterthoughts]
    kept = [
        match.span() for phrase in quoted if _HEDGE.search(phrase) for match in _phrase(phrase).finditer(text.lower())
    ]
    depth = position = covered = 0
    for hedge in _HEDGE.finditer(text):
        depth += text.count("{", position, hedge.start()) - text.count("}", position, hedge.start())
        position = hedge.start()
        if depth > 0 or position < covered or any(start <= hedge.start() < end for start, end in kept):
            continue
        mark = _MARK.match(text, hedge.end())
        clause_end = _CLAUSE_END.search(text, mark.end() if mark else hedge.end())
        covered = clause_end.start() if clause_end else len(text)
        blank.append((hedge.start(), covered))
    if not blank:
        return text
    characters = list(text)
    for start, end in blank:
        characters[start:end] = " " * (end - start)
    return "".join(characters).strip(" ")


def _asks(sentence: str) -> bool:
    asked = sentence.rstrip(" \"')]")
    return asked.endswith("?") and not _TAG.search(asked) and len(asked.split()) < 3


def _phrase(words: str) -> re.Pattern[str]:
    return re.compile(r"[^a-z0-9]{1,3}".join(map(re.escape, words.split())))
