"""Doubts: what a reply says it cannot tell, or takes not to be so, is not what it answers.

"I can't tell whether it is moving", "there is no sign that it is moving" and "it does not appear to be moving" all hold
the words of an option that nobody chose.
"""

from __future__ import annotations

import re

_SUBJECT = r"(?:it|he|she|they|this|that|there|the|a|an|any)\b"
_TELL = (
    r"(?:tell|say|know|determine|conclude|claim|confirm|establish|judge|verify|infer|assert|be (?:sure|certain)|assess|"
    r"decide|discern|ascertain)"
)
_NOT = r"(?:\b(?:not|never|cannot|unable|insufficient|hard|difficult|impossible|too (?:\w+ )?to)\b|n't\b)"
_DOUBT = re.compile(
    r"\bwhether\b"
    rf"|(?<!\bas )(?<!\beven )\bif (?={_SUBJECT})"
    # "not enough information to say it's moving"; with a comma behind it, the rest is said all the same
    rf"|{_NOT}(?: (?!(?:but|and|so|only|just)\b)\w+){{0,4}}? {_TELL}(?: (?:for sure|for certain|with certainty))?"
    rf"(?= (?:that|{_SUBJECT}))"
    # "does not appear to be moving", "I don't think the man is moving"
    r"|(?:\b(?:not|never|hardly)\b|n't\b)(?: \w+ly)? (?:appear|seem|look|think|believe|suppose|feel)(?:s|ed|ing)?\b"
    r"|\bno(?: \w+){0,2} (?:signs?|indications?|evidence|hints?|traces?|proof|reason)\b",
    re.IGNORECASE,
)
# A comma inside "moving, standing or sitting" ends nothing.
_END = re.compile(
    r"[.;:!?—–](?=[\s\"')\]]|$)|,(?=\s)(?![^,.;:!?\n]{0,40}(?:,[^,.;:!?\n]{0,40})?\bor\b)|\n|$"
    r"|\b(?:but|so|therefore|thus|hence|because|since|while|however|though|although|rather|instead)\b"
    rf"|\band (?=(?:i|is|are|seems|appears|looks|remains|instead|rather|therefore|{_SUBJECT})\b)"
    rf"|\bas (?={_SUBJECT})",
    re.IGNORECASE,
)


def without_doubts(text: str) -> str:
    """Plain text with the clauses blanked out that the reply does not hold to be so; its length stays."""
    parts = []
    position = 0
    while (doubt := _DOUBT.search(text, position)) is not None:
        end = _END.search(text, doubt.end())
        until = end.start() if end else len(text)
        parts += [text[position : doubt.start()], " " * (until - doubt.start())]
        position = until
    return "".join([*parts, text[position:]])
