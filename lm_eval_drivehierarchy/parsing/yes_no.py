"""Yes or no: the word, or a plain statement that something is or is not there."""

from __future__ import annotations

import re
from typing import Final, Literal

from . import declarations
from .declarations import ANSWER, ANSWER_LINE, CONCLUSION, CORRECTION, REFUSAL, Span
from .reply import without_questions
from .unseen import CANNOT_TELL, NO_PICTURE, TOO_POOR

YesNo = Literal["yes", "no"]

YES_NO_KEYS: Final = (
    "exists",
    "exist",
    "present",
    "visible",
    "is_visible",
    "is_present",
    "existence",
    "found",
    "detected",
)

_HEDGE: Final = "hedge"

_YES = r"(?:yes|yeah|yea|yep|yup|affirmative)"
_NO = r"(?:no|nope|nah|negative)"
_OR = r"[\"']? ?(?:/|or|and|\||&) ?[\"']?"
_BOTH = re.compile(rf"\b{_YES}{_OR}{_NO}\b|\b{_NO}{_OR}{_YES}\b", re.IGNORECASE)
_NOT_SAID = re.compile(rf"\bnot ?[:,]? ?(?:a )?[\"']?(?:{_YES}|no)\b", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    rf"\b(?:nothing|no (?:evidence|sign|indication|reason|basis)|(?:does|do|did) not|(?:does|do|did)n't)\b"
    rf"[^.,;:!?\n]{{0,60}}\b(?:suggest|indicat|support|impl|point|say)\w*\b[^.,;:!?\n]{{0,20}}?"
    rf"\b(?:{_YES}|no)\b",
    re.IGNORECASE,
)
"""A word that is said to have nothing for it: "nothing suggests yes"."""
_CONDITION = re.compile(rf"\b(?:{_YES}|{_NO}),? (?:if|unless|depending)\b", re.IGNORECASE)
_YES_TO_NONE = re.compile(
    rf"\b{_YES},? (?:there (?:is|are) )?no (?!other|doubt|question|problem|more|need|matter)[a-z]", re.IGNORECASE
)
"""What says yes and denies the thing in one breath."""
_NOT_BUT = re.compile(
    rf"\b(?:not|isn't|wasn't) (?:a )?[\"']?(?:{_YES}|no)[\"']?[,;.]? (?:but|it's|it is|rather)\b", re.IGNORECASE
)
"""What stands before the answer in "not no but yes"."""
_NUMBERING = re.compile(r"\bno\. ?\d+(?! ?[a-z])", re.IGNORECASE)
"""The abbreviation of "number", which denies nothing."""
# "No" says no where a mark or the end follows, or a new clause begins; before a noun it only denies the noun.
_SAID = re.compile(
    rf"(?<![\w-])(?<!\w')(?:(?P<yes>{_YES})(?!\w|'\w)|(?P<no>{_NO})(?= ?(?:[,.;:!?()\[\]}}\"'\n—–]|$|-(?!\w)))|"
    r"(?P<no_clause>no)(?= (?:there|i|it|we|the image|they)\b|(?<=\ba no) from me\b))",
    re.IGNORECASE,
)
_LEADING_NO = re.compile(
    r"^[\W_]*(?:no|not|none|nothing)\b(?! doubt| problem| sure| certain| but\b)",
    re.I,
)
_WHOLE: Final = {
    "y": "yes", "n": "no", "true": "yes", "false": "no", "correct": "yes", "incorrect": "no", "none": "no",
    "i think so": "yes", "i don't think so": "no", "i do not think so": "no",
    "i believe so": "yes", "i guess so": "yes", "i suppose so": "yes",
    "是": "yes", "是的": "yes", "有": "yes", "不是": "no", "没有": "no", "否": "no", "无": "no",
    "not visible": "no", "not present": "no", "visible": "yes", "present": "yes", "absent": "no",
}  # fmt: skip
_THERE_IS = re.compile(r"\bthere's\b", re.I)
_TRUTH_VALUE = re.compile(r"[:=] ?(true|false)\b", re.I)
_IDIOM = re.compile(
    r"\bno (?:doubt|matter|longer|problem|question)\b|\bnot only\b|"
    r"\bif i (?:had|have|were|am forced) to (?:choose|guess|pick|say|answer|decide)\b|"
    r"\byes[ -]?(?:/|or)[ -]?no (?:question|answer|format)\b|\byes ?/ ?no ?[:?]",
    re.I,
)
_DOUBT = re.compile(
    r"\b(?:may|might|could(?! not)|maybe|perhaps|possibly|if|whether|either|potentially)\b|\bnot (?:sure|"
    r"certain|clear)\b",
    re.I,
)
_SEE = r"(?:see|detect|find|spot|observe|identify)"
_SHOW = r"(?:contains?|shows?|includes?)"
_SEEN = r"(?:visible|present|seen|detected|found)"
_DENIES = re.compile(
    r"\bthere (?:is|are|was|were|(?:appears?|seems?) to be) (?:currently |clearly |actually )?(?:no|not|none|"
    r"zero|0)\b|"
    r"(?:\bnot|n't) (?:think|believe|(?:look|seem|appear)(?: like)?) (?:that )?there (?:is|are|was|were)\b|"
    r"\bthere (?:isn't|aren't|wasn't|weren't)\b|"
    r"\b(?:no|none of the) [\w -]{1,60}? (?:is|are|was|were|can be|appears?|could be|exists?)\b|"
    rf"(?:\bnot|n't|\bcannot|\bunable to) (?:\w+ )?(?:{_SEE}|{_SHOW}|{_SEEN}|any)\b|"
    rf"\b(?:no|none of the|neither) (?:images?|pictures?|photos?|views?|frames?|cameras?)(?: \w+){{0,2}}? {_SHOW}\b|"
    r"(?:\bnot|n't) (?:appear|seem) to (?:be|have|show|contain)\b|"
    r"(?:[,;:]|\bbut|\band|\bonly) ?no (?!doubt|other|more|further|idea)[a-z]|"
    rf"\b(?:isn't|aren't|wasn't|weren't) (?:\w+ )?(?:{_SEEN}|any)\b|"
    rf"\b(?:{_SEE}|{_SHOW}) (?:no|none|zero|0)\b|\babsent\b|[:=] ?none\b|"
    r"\b(?:absolutely|definitely|certainly|probably|likely|apparently|clearly|guess|think|suppose|believe) not\b",
    re.I,
)
_THINGS = r"(?:(?:traffic )?cones|vehicles|cars|trucks|pedestrians|people|bicycles|bikes|cyclists)"
_SOME = (
    rf"(?:a|an|the|{_THINGS}|at least|one|two|three|four|five|some|several|multiple|many|indeed|also|clearly|numerous|"
    r"(?!0\b)\d+)"
)
_ASSERTS = re.compile(
    rf"\bthere (?:is|are|was|were|(?:appears?|seems?) to be) {_SOME}\b|"
    rf"\b(?:i|we) (?:can |could |do )?(?:clearly )?{_SEE} {_SOME}\b|"
    rf"\b(?:is|are) (?:\w+ )?(?:visible|present)\b|\bcan be seen\b|\b{_SHOW} {_SOME}\b"
    r"(?! (?:\w+ ){0,3}?(?:street|road|scene|view|intersection|junction|city|highway)\b)",
    re.I,
)
_OTHERS = rf"(?:a|an|any|the|{_THINGS}|motorcycles|buses|vans)"
_ONLY = r"(?:only|just|solely|exclusively)"
_LIMITS = re.compile(
    rf"(?:[,;(—–-]|\bbut|\band|\b(?:it|this|that|which|they) (?:is|are)|\b(?:it's|that's|they're)) ?not {_OTHERS}\b|"
    rf"\b(?:it|this|that|which|they) (?:isn't|aren't) {_OTHERS}\b|"
    r"\b(?:rather than|instead of|as opposed to)\b(?! \w+ing\b)|"
    rf"\b{_ONLY} {_SHOW}\b(?! (?:one|two|three|\d|a single)\b)|"
    r"(?<!\bleft )(?<!\bright )(?<!\bside )\bonly(?= ?(?:[.,;:!)\n]|$))|"
    r"(?:^|[.,;:!\n] ?)only (?!(?:one|two|three|\d+|a single|partial|part|half|its|from|through|as|when|because)\b)"
    r"(?!\w+ly\b)|"
    r"\bnothing (?:but|except|other than|besides)\b|\b(?:nothing|no one|nobody|none) else\b",
    re.I,
)
"""Words that set what is there against something else, or say it is all: which of the two was asked for is unknown."""
_REJECTS = re.compile(
    r"\bno[,.;:!]? ?(?:but )?(?:that|this)(?:'s| is| was| isn't| wasn't)(?: not)? (?:quite |entirely )?"
    r"(?:right|correct|true|wrong|incorrect|false|a mistake|an error)\b",
    re.I,
)
"""A "no" to what was said before, not to the question."""
_WRITTEN = re.compile(
    rf"\b(?:words?|text|letters?) [\"'](?:{_YES}|no)[\"'] (?:appears?|can be|on|(?:is|are) (?:written|painted|printed|"
    r"visible|shown|seen))\b|"
    r"\b(?:signs?|signboard|billboard|banner|sticker|label|plate)(?: \w+){0,3}:? [\"'](?:yes|no)\b|"
    r"\bno[ -](?:parking|entry|stopping|standing|smoking|turns?|u-turns?|overtaking|passing|outlet|trespassing)"
    r"(?: zone)?[\"']? (?:signs?|markings?|is|are)\b",
    re.I,
)
"""A word that is read in the scene."""


def read_yes_no(text: str) -> YesNo | None:
    """ "yes" or "no" as plain text says it; None when it says neither, both, or that it does not know."""
    text = _NUMBERING.sub(" ", _THERE_IS.sub("there is", without_questions(text)))
    text = _TRUTH_VALUE.sub(lambda found: ": yes" if found[1].lower() == "true" else ": no", text)
    verdict = _whole(text) or _declared(text) or _judged(text)
    return verdict if verdict in ("yes", "no") else None  # type: ignore[return-value]


def _whole(text: str) -> str | None:
    """What a passage says that is one of the words or phrases that answer on their own."""
    return _WHOLE.get(text.strip(" \n.!\"'()[]{}:;,").lower())


def _declared(text: str) -> str | None:
    answers = declarations.spans(text, ANSWER) + declarations.spans(text, ANSWER_LINE)
    corrections = declarations.spans(text, CORRECTION)
    for span in declarations.last_first(answers, corrections):
        if span in answers:
            verdict = _whole(text[span.start : span.end]) or _judged(text[span.start : span.end])
        else:  # what follows the last correction may take it back: "Wait, no. Yes."
            verdict = _judged(text[span.start : len(text) if span == corrections[-1] else span.end], strict=True)
        if verdict is None and span in answers and REFUSAL.search(text, span.start, span.end):
            verdict = _HEDGE
        if verdict is not None:
            return verdict
    lines = declarations.lines(text)
    ends = [_alone(text, lines[-1]), _alone(text, lines[0])] if lines else []
    said = {end for end in ends if end}
    if said:
        return said.pop() if len(said) == 1 else _HEDGE
    for span in declarations.last_first(declarations.spans(text, CONCLUSION)):
        verdict = _judged(text[span.start : span.end], strict=True)
        if verdict in ("yes", "no"):
            return verdict
    return None


def _alone(text: str, line: Span) -> str | None:
    """The word when a line holds no other."""
    return {"yes": "yes", "no": "no"}.get(text[line.start : line.end].strip(" .!\"'()[]{}:;,").lower())


def _judged(text: str, *, strict: bool = False) -> str | None:
    """Verdict on a passage: yes, no, a hedge, or None when it does not say. `strict` takes only the words."""
    text = _NOT_BUT.sub(" ", _IDIOM.sub(" ", text))
    if _UNSUPPORTED.search(text):
        return _HEDGE
    if _BOTH.search(text) or _NOT_SAID.search(text) or _CONDITION.search(text) or _YES_TO_NONE.search(text):
        return _HEDGE
    if _REJECTS.search(text):
        return _HEDGE
    said = {"yes" if match["yes"] else "no" for match in _SAID.finditer(text)}
    leading = _SAID.match(text.lstrip(" \n\"'([{"))
    if len(said) == 2:
        return _HEDGE
    blind = NO_PICTURE.search(text)
    if said:
        if blind and (said == {"no"} or not leading):
            return _HEDGE
        doubt = REFUSAL.search(text) or _DOUBT.search(text) or CANNOT_TELL.search(text) or _WRITTEN.search(text)
        return _HEDGE if doubt and not leading else said.pop()
    if strict:
        return None
    if blind or CANNOT_TELL.search(text) or _WRITTEN.search(text):
        return _HEDGE
    denies, asserts = _LEADING_NO.match(text) or _DENIES.search(text), _ASSERTS.search(_DENIES.sub(" ", text))
    if (asserts and _LIMITS.search(text)) or (denies and TOO_POOR.search(text)):
        return _HEDGE
    if denies and not asserts and not _DOUBT.search(text):
        return "no"
    if asserts and not denies and not _DOUBT.search(text) and not REFUSAL.search(text):
        return "yes"
    if _DOUBT.search(text) or REFUSAL.search(text) or (denies and asserts):
        return _HEDGE
    return None
