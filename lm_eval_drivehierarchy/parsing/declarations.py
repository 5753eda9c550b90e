"""Where a reply declares its answer: "The answer is …", "Therefore …", a last line that holds nothing else."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .reply import sentences


class Span(NamedTuple):
    """Part of a text: [start, end); `marker` is where the words that announce it begin."""

    marker: int
    start: int
    end: int


_LEADS_TO: Final = (
    r"(?:\b(?:is|are|was|be|becomes)\b(?: \b(?:therefore|thus|then|hence|simply|clearly)\b)?|:|=+>?|→|-+>)"
)
_ANSWER_NOUN: Final = (
    r"\b(?:(?:final|correct|right|best|most likely|most appropriate|predicted|estimated|chosen|selected) ){0,2}"
    r"(?:answer|ans|result|prediction|predicted answer|response|output|solution|conclusion)\b"
    r"|\bfinal (?:count|number|estimate|distance|tally|total|verdict|order|ordering|sequence|choice|box)\b"
)

ANSWER: Final = re.compile(
    rf"(?:{_ANSWER_NOUN})(?:(?!\b(?:because|since|as)\b)[^\n.:=?!→]){{0,60}}?{_LEADS_TO}|"
    rf"\b(?:final )?answer(?= ?[-+.]?\d)|答案(?: ?(?:是|为|:))?",
    re.IGNORECASE,
)
"""Words that announce the answer."""

ANSWER_LINE: Final = re.compile(r"^(?:a|ans) ?:", re.IGNORECASE | re.MULTILINE)
"""The A of "Q: … A: …"; to a choice it is an option."""

CORRECTION: Final = re.compile(
    r"(?:\b(?:actually|correction|wait|on second thought|re-?count(?:ing)?|re-?check(?:ing)?|scratch that|"
    r"i mean|i meant(?: to say)?|oops|my (?:mistake|bad)|make that|hold on|i stand corrected|"
    r"or rather|sorry|i was wrong|changed my mind|take (?:it|that) back|on reflection)\b|"
    r"\b(?:thought|initially|at first|first glance|seem(?:s|ed)?|appear(?:s|ed)?|"
    r"looks? like)\b[^.!?\n]{0,80}?\bbut\b)(?:[.!]+(?=\s)| ?[–—](?=\s))?",
    re.IGNORECASE,
)
"""Words that take back what was said before; an end mark behind them belongs to them: "No, wait. Yes."."""

RETRACTION: Final = re.compile(
    rf"(?:{CORRECTION.pattern})|"
    r"(?:[.?!,;–—-]|^|[(\[](?=no(?:pe)? ?[,.:;!–—-])) ?no(?:pe)?\b ?[,.:;!–—-]{0,2} ?"
    r"(?:it's |it is |rather |make (?:that|it) )?"
    r"(?=[\"'(\[]{0,3}(?:option |choice |image )?[\"'(\[]{0,2}(?-i:[A-Z]\b|\d|\[))",
    re.IGNORECASE,
)
"""The same where "no" is not an answer itself: "B? No, C.", "4... no, 3"."""

CONCLUSION: Final = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|accordingly|in conclusion|to conclude|in summary|to summarize|"
    r"to sum up|overall|finally|ultimately|in short)\b",
    re.IGNORECASE,
)
"""Words that draw a conclusion."""

REFUSAL: Final = re.compile(
    r"\b(?:unknown|n/a|nan|inf|infinity|null|undefined|undetermined|indeterminate|indeterminable|cannot|can't|"
    r"can not|"
    r"unable|impossible|not (?:sure|certain|possible|visible|available|applicable|enough|clear|given|provided)|"
    r"insufficient|unclear|unsure|uncertain|depends|ambiguous)\b",
    re.IGNORECASE,
)
"""Words that decline to answer."""

_MOST = 64
"""Announcements that are looked at, the last ones: more come only from a reply that repeats itself."""

_FILLER = re.compile(r"[\s\"'*:,=>→-]*")


def spans(text: str, marker: re.Pattern[str], *, whole_line: bool = False) -> list[Span]:
    """What follows each occurrence of `marker`, up to the end of its sentence (or of its line).

    Where nothing is left of the sentence, the next one counts: "Answer:", line break, "5".
    """
    ends = _line_ends(text) if whole_line else [end for _, end in sentences(text)]
    found = []
    index = 0
    for match in collections.deque(marker.finditer(text), maxlen=_MOST):
        start = _after_filler(text, match.end())
        while index < len(ends) and ends[index] <= match.end():
            index += 1
        following = index
        while following < len(ends) and ends[following] <= start:
            following += 1
        if following < len(ends):
            found.append(Span(match.start(), start, ends[following]))
    return found


def _after_filler(text: str, position: int) -> int:
    filler = _FILLER.match(text, position, position + 200)
    end = filler.end() if filler else position
    # A minus sign belongs to the number behind it.
    while end > position and text[end - 1] in "-'\"" and end < len(text):
        end -= 1
    return end


def _line_ends(text: str) -> list[int]:
    return [match.start() + 1 for match in re.finditer(r"\n|$", text)]


def lines(text: str) -> list[Span]:
    """The lines of a text that are not empty."""
    found = []
    start = 0
    for line in text.split("\n"):
        if line.strip():
            found.append(Span(start, start, start + len(line)))
        start += len(line) + 1
    return found


def last_first(*groups: Sequence[Span]) -> Iterator[Span]:
    """All spans, the one announced last first."""
    return iter(sorted((span for group in groups for span in group), key=lambda span: -span.marker))
