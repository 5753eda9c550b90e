"""Words that deny what a model was given, not what is in the scene: no picture, no information, no way to tell."""

from __future__ import annotations

import re
from typing import Final

_PICTURE = (
    r"(?:images?|pictures?|photos?|photographs?|screenshots?|attachments?|files?|uploads?|frames?|inputs?|visuals?|"
    r"visual (?:inputs?|content|data|information))"
)
_GIVEN = (
    r"(?:attached|uploaded|provided|supplied|shared|given|included|sent|received|loaded|accessible|available|"
    r"displayed|rendered)"
)
_KIND_OF_PICTURE = (
    rf"(?:{_GIVEN}|visible|actual|accompanying|clear|usable|valid|input|camera|front|visual|embedded|such|real|"
    r"readable|corresponding)"
)
_NOT = r"(?:\bnot|n't|\bcannot|\bunable to|\bnever)"

NO_PICTURE: Final = re.compile(
    # "no image attached", but not "no image shows a car"
    rf"\b(?:no|without (?:an?|the|any))(?: {_KIND_OF_PICTURE}){{0,2}} {_PICTURE}\b"
    r"(?! (?:(?:that|which|where|in which) )?(?:shows?|contains?|includes?|depicts?|features?|has|have|there)\b)|"
    # "the image was not attached", but not "a car in the image is not visible"
    rf"(?<!\bin )(?<!\bin the )(?<!\bin this )\b{_PICTURE} "
    r"(?:(?:is|was|are|were|has|have|had|did|does|do|could|can|seems|appears) ?(?:not\b|n't)|\w{2,5}n't|cannot)"
    rf"(?: (?:been|be|to be|to have been|appear to be|seem to be|actually|properly|currently)){{0,2}} "
    rf"(?:{_GIVEN}|visible|there|shown|seen|viewed|opened|accessed|load|open|display|come through)\b"
    r"(?! (?:an?|any|the)\b)|"
    rf"\b{_PICTURE} (?:is|was|are|were|(?:seems?|appears?) to be) (?:missing|empty|blank|corrupt(?:ed)?|broken)\b|"
    # "I cannot see the attached image"
    rf"{_NOT}(?: \w+){{0,2}}? (?:see|view|access|open|find|detect|spot|identify|observe|receive|get|have|load|"
    r"process|interpret|analy[sz]e|look at|provide|attach|include|upload|received|provided|attached|included|"
    r"uploaded|given|shown|sent|(?:seem|appear) to be)"
    rf"(?: (?:the|an?|any|your|this|that|these|those))?(?: {_KIND_OF_PICTURE}){{0,2}} {_PICTURE}\b|"
    rf"{_NOT}(?: (?:an?|any))(?: {_KIND_OF_PICTURE}){{0,2}} {_PICTURE}\b|"
    # "nothing was uploaded", "I don't see anything attached", "no visual was included"
    rf"\b(?:nothing|anything)(?: (?:is|was|has been|been|to be|actually|seems|appears)){{0,3}} {_GIVEN}\b|"
    rf"\bno (?:\w+ ){{1,4}}?(?:is|are|was|were|has been|have been) (?:actually )?{_GIVEN}\b"
    rf"(?! in (?:the|this) (?:scene|view|{_PICTURE})\b)|"
    rf"(?:\bno|{_NOT}(?: (?:have|got|given))?(?: any)?)(?: direct| visual)? access to (?:\w+ ){{0,3}}?{_PICTURE}\b",
    re.IGNORECASE,
)
"""Words that say there was nothing to look at."""

_TELL = r"(?:tell|know|say|determin|be (?:sure|certain)|being (?:sure|certain)|verif|judg|confirm|answer|decid|assess)"

CANNOT_TELL: Final = re.compile(
    r"\bno (?:(?:clear|definite|definitive|conclusive|certain|visible|visual|actual|useful|relevant|specific|direct|"
    r"reliable|available|sufficient|image|further) ){0,2}"
    r"(?:information|info|answer|comment|response|reply|content|context|data|details?|idea|clue|opinion|visibility|"
    r"view|determination|conclusions?|judge?ment|verdict)\b|"
    rf"(?:{_NOT}(?: \w+){{0,2}}?|\bno) (?:enough|sufficient|adequate)\b|"
    rf"{_NOT}(?: \w+){{0,2}}? any (?:\w+ )?(?:information|info|details?|context|data|clue|idea)\b|"
    rf"\b(?:no|{_NOT} (?:an?|any))(?: \w+){{0,2}}? (?:way|means|method|possibility|basis|grounds) "
    rf"(?:to|of|for me to|for)(?: \w+)? {_TELL}|"
    r"\bnothing (?:can|could) be (?:determined|said|concluded|inferred|made out|discerned|told)\b|"
    r"\bnothing to (?:go on|look at|analy[sz]e|evaluate|judge)\b|"
    rf"{_NOT} (?:\w+ )?see (?:(?:it|this|that|them|the \w+) )?(?:clearly|well|properly|much)\b",
    re.IGNORECASE,
)
"""Words that say there is not enough to answer from."""

TOO_POOR: Final = re.compile(
    r"\btoo (?:dark|dim|blurry|blurred|unclear|pixelated|grainy|noisy|low|foggy|hazy|overexposed)\b", re.IGNORECASE
)
"""Words that blame the picture; they take back a denial, not what was seen all the same."""
