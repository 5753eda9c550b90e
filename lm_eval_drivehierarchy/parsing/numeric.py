"""Counts and distances: which of the numbers in a reply is the answer."""

from __future__ import annotations

import bisect
import collections
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from . import declarations, json_values
from .declarations import ANSWER, ANSWER_LINE, CONCLUSION, REFUSAL, RETRACTION, Span
from .numbers import COUNTED, METRES_PER_UNIT, Quantity, quantities
from .parsed import decimal
from .reply import sentences, without_questions

NumericKind = Literal["count", "metres"]

COUNT_KEYS: Final = ("count", "total", "total_count", "number", "num", "quantity", "amount", "n", "unique_count")
METRES_KEYS: Final = (
    "distance", "distance_m", "distance_meters", "distance_metres", "distance_in_meters", "distance_in_metres",
    "distance_meter", "estimated_distance", "estimated_distance_m", "estimated_distance_meters", "depth", "meters",
    "metres", "m",
)  # fmt: skip

_HEDGE: Final = "hedge"
"""Verdict on a passage that names more than one answer, or a bound."""

_TOTAL = re.compile(
    r"\b(?:total|grand total|tally|sum)\b[^\n.:=?!→]{0,60}?(?:\b(?:is|are|of|to)\b|:|=|→|->)|"
    r"\bunique\b[^\n.:=?!→]{0,40}?[:=]|\btotall?ing\b|\btotals\b",
    re.I,
)
_IN_TOTAL = re.compile(r"\b(?:in total|in all|altogether|all together|overall|total)\b", re.I)
_ITS_NUMBER_BEFORE = re.compile(r"(?<=\bin )total\b(?! (?:of|is|are)\b)|total(?= ?[:;,(—–-])", re.I)
"""A "total" that its number may stand before: "5 in total: 2 cars and 3 trucks"."""
_IS_THE_ANSWER = re.compile(
    r"\bis (?:the|my) (?:final |correct |best |right |total )?(?:answer|total|count|number|estimate|result|"
    r"distance)\b",
    re.I,
)
_COUNT_WORDS = re.compile(r"\b(?:number|count|quantity|amount)\b[^\n.:=?!→]{0,60}?(?:\b(?:is|are|be)\b|:|=|→|->)", re.I)
_DISTANCE_WORDS = re.compile(
    r"\bdistance(?= \d)|\b(?:distance|range|depth|separation)\b[^\n.:=?!→≈]{0,80}?"
    r"(?:\b(?:is|are|be|of|as|at|about|approximately|around|roughly)\b|:|=|→|->|≈)",
    re.I,
)
_UNIT_IN_LABEL = re.compile(r"(?:\(|\bin |_)([a-z]{1,11})\)?[\"']? ?(?:is|:|=)? ?$", re.I)
_NOUNS = rf"(?:{COUNTED.pattern})"
_COUNTS = re.compile(rf" (?:(?:different|unique|other|visible|red|white|black|parked|moving) ){{0,2}}{_NOUNS}\b", re.I)
"""What follows a number that counts things."""
_SPECIFIC = re.compile(
    r" (?:(?:different|unique|other|visible|red|white|black|parked|moving) ){0,2}"
    r"(car|truck|bus|van|pedestrian|person|people|bicycle|bike|cyclist|(?:traffic )?cone|motorcycle)(?:e?s)?\b",
    re.I,
)
"""A number of things of one kind, so perhaps one part of several."""
_AND_ONE_MORE = re.compile(
    rf"{_SPECIFIC.pattern}(?:,|,? and|,? plus) (?:an?|another) (?:[a-z]+ ){{0,2}}?"
    r"(?:car|truck|bus|van|pedestrian|person|bicycle|bike|cyclist|cone|motorcycle)\b",
    re.I,
)
"""What follows the 2 of "2 cars and a truck"."""
_NEXT_PART = re.compile(r"[,;&\n]|\band\b", re.I)
_RESTATES = re.compile(
    r"\b(?:so|i\.e|that is|that's|namely|exactly|making|meaning|hence|thus|therefore|which is|or|count|answer|"
    r"total)\b",
    re.I,
)
_PLUS = re.compile(r"(?:\+|\bplus) ?$", re.I)
_SENTENCE_ENDS = re.compile(r"[.!?](?:\s|$)")
_RESTATED = re.compile(rf" ?(?:{COUNTED.pattern})? ?\(", re.I)
"""What stands between a number and the same number again in brackets: "four vehicles (4)"."""
_UNIQUE = re.compile(r" (?:unique|distinct|different)\b", re.I)
_DIMENSION = re.compile(r" ?(?:long|wide|tall|high|in (?:length|width|height))\b", re.I)
_RESULT = re.compile(
    r"(?:(?<=[0-9)²³])|(?<=[0-9)²³] ))(?:=|≈)(?= ?[-+.]?[0-9])|(?:→|=>|->)(?= ?[-+.]?[0-9])|"
    r"\b(?:i'd|i would) (?:say|estimate|guess)\b|\bsay(?= (?:about |around )?\d)|\bmy (?:best )?(?:guess|estimate)\b",
    re.I,
)
"""What stands before the result of a sum, or a guess that settles a range."""
_NONE = re.compile(
    rf"\bno (?:(?!other|more|additional|further)[a-z-]{{1,15}} ){{0,3}}{_NOUNS}\b|"
    r"^\W*(?:none|nothing)\b|\bnone (?:of|is|are|visible|at all)\b|\b(?:are|is|be|:|=) none\b|"
    r"(?:\bnot|n't|\bcannot) (?:see|detect|find|spot|observe|identify|contain|show) any\b|"
    rf"\b(?:aren't|isn't|not) any(?: {_NOUNS}\b|(?= ?(?:[.,;!]|$)))",
    re.I,
)
_NONE_WORD = (
    r"(?:\b(?:none|neither|not (?:a single )?one)|"
    r"(?:\bnot|n't|\bcannot) (?:see|detect|find|spot|observe|identify) any)"
)
_NONE_OF = re.compile(rf"{_NONE_WORD} (?:of|among) (?:(?:the|these|those|all|visible|my) ){{0,3}}$", re.I)
"""What stands before the 4 of "none of the 4 pedestrians"."""
_NONE_THERE = re.compile(
    rf"{_NONE_WORD}(?: (?:of|among)(?: (?:the|these|those|all|them|which|whom)){{1,2}}"
    rf"(?:(?: [\w-]{{1,15}}){{0,3}}? {_NOUNS}\b| \d+\b)?)?"
    r"(?: (?:is|are|was|were|can|be|being|lies?|falls?|appears?|located|seen|found|currently|actually)){0,4} "
    r"(?:in|within|inside|beyond|past|between|under|over|closer|nearer|farther|further|less|more|visible|near|far)\b",
    re.I,
)
"""None at a place: whether the place was asked about, or all there are, is unknown."""
_BUT_NONE = re.compile(
    r"\b(?:but|however|although|though|yet)\b,?(?: (?:there (?:is|are)|(?:i|we) (?:can )?see|with))? "
    rf"(?:no (?:(?!other|more|additional|further)[a-z-]{{1,15}} ){{0,3}}{_NOUNS}\b|"
    r"(?:i |we |there )?(?:(?:do|does|did|can|is|are)(?:n't| not|not)) (?:see |detect |find |spot )?any "
    rf"(?!other|more|additional|further)(?:[a-z-]{{1,15}} ){{0,2}}?{_NOUNS}\b)",
    re.I,
)
"""What sets the things that are there against those that are not: either may be what was asked for."""
_NOT_A_NUMBER = re.compile(r"\b(?:nan|inf|infinity)\b", re.I)
_LETTER = re.compile(r"[^\W\d_]")


def read_numeric(text: str, kind: NumericKind) -> float | None:
    """The count or the distance in metres that plain text answers with; None when there is none, or more than one.

    A declared answer goes before mentions, a later one before an earlier one. A count is not rounded here; one in more
    digits than a float holds is an int.
    """
    text = without_questions(text)
    number = _Reader(text, kind).read()
    return number if number is None or kind == "count" else float(number)


def read_json_numeric(value: Any, kind: NumericKind) -> str | None:
    """The text to read in place of a JSON reply, or None when no value of it is the answer.

    The unit may stand in the key ("distance_km") or under a key of its own.
    """
    keys = COUNT_KEYS if kind == "count" else METRES_KEYS
    key, answer = json_values.answer_of(value, keys)
    number = json_values.finite(answer)
    if number is None:
        return answer if isinstance(answer, str) else ("" if answer is not json_values.MISSING else None)
    unit = ""
    if kind == "count" and isinstance(answer, int):
        return str(answer)
    if kind == "metres":
        stated = _stated_unit(value)
        last = key.rpartition("_")[2]
        unit = stated if isinstance(stated, str) else last if "_" in key and last in METRES_PER_UNIT else ""
    return f"{decimal(number)} {unit}".strip()


def _stated_unit(value: Any, depth: int = 0) -> Any:
    """What stands under a key for the unit, next to the answer or around it."""
    if isinstance(value, list) and len(value) == 1:
        return _stated_unit(value[0], depth + 1)
    if not isinstance(value, Mapping) or depth > 4:
        return None
    plain = {json_values.plain_key(key): entry for key, entry in value.items()}
    inner = (_stated_unit(entry, depth + 1) for entry in value.values())
    own = next((plain[key] for key in ("unit", "units", "distance_unit") if key in plain), None)
    return own if own is not None else next((unit for unit in inner if unit is not None), None)


class _Reader:
    def __init__(self, text: str, kind: NumericKind) -> None:
        self.text = text
        self.kind = kind
        self.found = quantities(text)
        self.starts = [quantity.start for quantity in self.found]

    def _inside(self, start: int, end: int) -> list[Quantity]:
        first, last = bisect.bisect_left(self.starts, start), bisect.bisect_left(self.starts, end)
        return [quantity for quantity in self.found[first:last] if quantity.end <= end]

    def read(self) -> float | None:
        for verdict in (self._declared(), self._bare(), self._announced(), self._concluded(), self._anywhere()):
            if verdict is not None:
                return None if isinstance(verdict, str) else verdict
        return None

    def _candidates(self, start: int, end: int) -> list[Quantity]:
        """Numbers of a passage that can answer: counts, or lengths and failing those bare numbers."""
        inside = self._inside(start, end)
        bare = [q for q in inside if q.unit == ""]
        if self.kind == "count":
            return bare
        lengths = [q for q in inside if q.unit == "length" and not _DIMENSION.match(self.text, q.end)]
        return lengths or [q for q in bare if not _COUNTS.match(self.text, q.end)]

    # passages, the most explicit first

    def _declared(self) -> float | str | None:
        answers = declarations.spans(self.text, ANSWER) + declarations.spans(self.text, ANSWER_LINE)
        corrections = declarations.spans(self.text, RETRACTION)
        totals = declarations.spans(self.text, _TOTAL) if self.kind == "count" else []
        totals = [span for span in totals if not self._follows_its_number(span)]
        afterthoughts = self._before(_IS_THE_ANSWER) + (self._before(_IN_TOTAL) if self.kind == "count" else [])
        for span in declarations.last_first(answers, corrections, totals, afterthoughts):
            verdict = self._verdict(span) if span in answers else self._stated(span)
            if span in totals and verdict == _HEDGE:
                verdict = self._first(span)
            if verdict is None and span in answers and REFUSAL.search(self.text, span.start, span.end):
                verdict = _HEDGE
            if verdict is not None:
                return verdict
        return None

    def _follows_its_number(self, total: Span) -> bool:
        """True for the total of "5 in total: 2 cars and 3 trucks", not for that of "2 cars and 3 trucks, total: 5"."""
        if not _ITS_NUMBER_BEFORE.match(self.text, total.marker):
            return False
        before = self._candidates(max(0, total.marker - 80), total.marker)
        between = self.text[before[-1].end : total.marker] if before else ""
        if not before or before[-1].operand or re.search(r"[,;:.!?\n]", between):
            return False
        parts = len(before) > 1 and not _SENTENCE_ENDS.search(self.text, before[-2].end, before[-1].start)
        return not parts

    def _before(self, marker_words: re.Pattern[str]) -> list[Span]:
        """Numbers just before words like "in total", and failing that the rest of the sentence."""
        spans = []
        parts = sentences(self.text)
        starts = [start for start, _ in parts]
        for marker in collections.deque(marker_words.finditer(self.text), maxlen=64):
            start, end = parts[bisect.bisect_right(starts, marker.start()) - 1]
            before = self._candidates(max(start, marker.start() - 80), marker.start())
            after = self._candidates(marker.end(), end)
            apart = bool(before) and re.search(r"[:;,.(] ?$", self.text[before[-1].end : marker.start()]) is not None
            if not before or (apart and after and after[0].start - marker.end() <= 2):
                spans.append(Span(marker.start(), marker.end(), end))
            elif marker.start() - before[-1].end <= 40 and not before[-1].operand:
                spans.append(Span(marker.start(), before[-1].start, before[-1].end))
        return spans

    def _bare(self) -> float | str | None:
        """A last or first line, or a first sentence, that is nothing but a number."""
        lines = declarations.lines(self.text)
        if not lines:
            return None
        parts = sentences(self.text)
        last = self._alone(lines[-1].start, lines[-1].end)
        first = self._alone(lines[0].start, lines[0].end)
        if first is None:
            first = self._alone(*parts[0])
        said = {value for value in (last, first, self._alone(*parts[0]), self._alone(*parts[-1])) if value is not None}
        if len(said) > 1:
            return _HEDGE
        return last if last is not None else first

    def _alone(self, start: int, end: int) -> float | None:
        inside = self._inside(start, end)
        if len(inside) != 1:
            return None
        rest = self.text[start : inside[0].start] + self.text[inside[0].end : end]
        verdict = self._verdict(Span(start, start, end))
        return None if _LETTER.search(rest) or isinstance(verdict, str) else verdict

    def _announced(self) -> float | None:
        """ "The number of … is N", "N unique …", "the distance … is N", when all such places agree."""
        words = _COUNT_WORDS if self.kind == "count" else _DISTANCE_WORDS
        announced = declarations.spans(self.text, words)
        unique = [
            Span(q.start, q.start, q.end)
            for q in self.found[-64:]
            if _UNIQUE.match(self.text, q.end) and self.text[q.end - 1] != "."
        ]
        for spans in (unique if self.kind == "count" else [], announced):
            values = {verdict for span in spans if (verdict := self._stated(span)) is not None}
            if len(values) == 1 and not isinstance(value := values.pop(), str):
                return value
        return None

    def _concluded(self) -> float | None:
        spans = declarations.spans(self.text, CONCLUSION), declarations.spans(self.text, _RESULT)
        for span in declarations.last_first(*spans):
            verdict = self._stated(span)
            if verdict is not None and not isinstance(verdict, str):
                return verdict
        return None

    def _anywhere(self) -> float | str | None:
        if _NOT_A_NUMBER.search(self.text):
            return _HEDGE
        return self._stated(Span(0, 0, len(self.text)))

    # one passage

    def _stated(self, span: Span) -> float | str | None:
        """The verdict on a passage that does not announce the answer: things that are there beside none are a hedge."""
        verdict = self._verdict(span)
        if self.kind == "metres" or not isinstance(verdict, int | float) or verdict == 0:
            return verdict
        first = self._candidates(span.start, span.end)[0]
        beside = _NONE_THERE.search(self.text, span.start, span.end) or _BUT_NONE.search(self.text, first.end, span.end)
        return _HEDGE if beside else verdict

    def _none_of(self, quantity: Quantity) -> bool:
        return _NONE_OF.search(self.text[max(0, quantity.start - 60) : quantity.start]) is not None

    def _first(self, span: Span) -> float | str:
        """The number right at the start of a passage."""
        inside = self._inside(span.start, span.end)
        if len(inside) > 1 and self._of_two_kinds(*inside[:2]):
            return _HEDGE
        if inside and inside[0].start <= span.start + 1 and not inside[0].hedged and inside[0].value is not None:
            return inside[0].value
        return _HEDGE

    def _verdict(self, span: Span) -> float | str | None:
        """The one answer in a passage; `_HEDGE` when it has several, or a bound; None when it has none."""
        candidates = self._candidates(span.start, span.end)
        if self._restated_differently(candidates):
            return _HEDGE
        candidates = [q for q in candidates if not q.aside] or candidates
        if self.kind == "count" and candidates:
            candidates = [q for q in candidates if not self._none_of(q)]
            if not candidates:
                return 0.0 if _NONE_THERE.search(self.text, span.start, span.end) else _HEDGE
        if not candidates:
            none = self.kind == "count" and _NONE.search(self.text, span.start, span.end)
            return 0.0 if none else None
        candidates = _without_remarks(candidates)
        if self.kind == "metres" and len(candidates) > 1 and (value := self._in_two_units(candidates)) is not None:
            return value
        if any(q.hedged or q.value is None for q in candidates):
            return _HEDGE
        if self.kind == "count" and any(q.decimal_comma or self._and_a_part(q) for q in candidates):
            return _HEDGE
        operands = self._operands(candidates)
        results = [q for q in candidates if q not in operands]
        if self.kind == "count" and len(results) == 1 and _AND_ONE_MORE.match(self.text, results[0].end, span.end):
            return _HEDGE
        if self.kind == "count" and self._equal_parts(results):
            return self._reconciled(candidates)
        if results and len({q.value for q in results}) == 1:
            value, factor = results[0].value or 0.0, self._unit_before(span, results[0])
            return value if factor == 1 else value * factor  # an int stays exact
        return self._reconciled(candidates)

    def _and_a_part(self, quantity: Quantity) -> bool:
        return self.text[quantity.start : quantity.end].lower().endswith(("half", "quarter", "quarters"))

    def _restated_differently(self, candidates: Sequence[Quantity]) -> bool:
        """True for "four (5)": the number in brackets alone should say the number before it again."""
        return any(
            second.aside
            and not (first.aside or first.unit or second.unit)
            and first.value != second.value
            and self.text[second.end : second.end + 1] == ")"
            and _RESTATED.fullmatch(self.text[first.end : second.start]) is not None
            for first, second in itertools.pairwise(candidates)
        )

    def _of_two_kinds(self, first: Quantity, second: Quantity) -> bool:
        """True for "2 cars and 3 trucks"."""
        kinds = [_SPECIFIC.match(self.text, quantity.end) for quantity in (first, second)]
        return len({kind[1].lower() for kind in kinds if kind}) == 2

    def _operands(self, candidates: Sequence[Quantity]) -> set[Quantity]:
        """The terms of sums, those with a noun before the sign too: "2 cars + 3 trucks"."""
        terms = {quantity for quantity in candidates if quantity.operand}
        for first, second in itertools.pairwise(candidates):
            if second.operand and _PLUS.search(self.text[max(first.end, second.start - 8) : second.start]):
                terms.add(first)
        return terms

    def _equal_parts(self, results: Sequence[Quantity]) -> bool:
        """True for "2 cars and 2 trucks": two numbers that happen to be equal, not one number said twice."""
        for first, second in itertools.pairwise(results):
            if first.value != second.value:
                continue
            if self._of_two_kinds(first, second):
                return True
            # A comma behind digits is part of the number.
            between = self.text[first.end - 1 : second.start]
            said_again = _SENTENCE_ENDS.search(between) or _RESTATES.search(between)
            if _NEXT_PART.search(between) and not said_again:
                return True
        return False

    def _unit_before(self, span: Span, quantity: Quantity) -> float:
        """Metres per unit of a number without one, from a label in front of it: "Distance (km): 0.02"."""
        if self.kind != "metres" or quantity.unit:
            return 1.0
        label = _UNIT_IN_LABEL.search(self.text[max(0, span.marker, quantity.start - 40) : quantity.start])
        return METRES_PER_UNIT.get(label[1].lower(), 1.0) if label else 1.0

    def _reconciled(self, candidates: Sequence[Quantity]) -> float | str:
        """A total with its parts; else a hedge."""
        values = [q.value for q in candidates if q.value is not None]
        if self.kind == "count":
            largest = max(values)
            whole = len(values) >= 3 and values.count(largest) == 1 and 2 * largest == math.fsum(values)
            return largest if whole else _HEDGE
        return _HEDGE

    def _in_two_units(self, candidates: Sequence[Quantity]) -> float | None:
        """One distance said in several units: "12.5 m or 41 ft"."""
        values = [q.value for q in candidates if q.value is not None and q.unit]
        units = {self.text[q.start : q.end].lower().rstrip("s.")[-2:] for q in candidates}
        same = all(math.isclose(value, values[0], rel_tol=0.03) for value in values)
        return values[0] if same and len(units) == len(values) == len(candidates) else None


def _without_remarks(candidates: list[Quantity]) -> list[Quantity]:
    """Bounds that follow a definite number and agree with it say nothing new: "12 m away, less than 20 m"."""
    definite = [q for q in candidates if not q.hedged and q.value is not None]
    if len({q.value for q in definite}) != 1:
        return candidates
    first = definite[0]

    def agrees(q: Quantity) -> bool:
        if not q.bound or q.value is None or first.value is None or q.start < first.start:
            return False
        return first.value >= q.value if q.bound == "above" else first.value <= q.value

    return [q for q in candidates if not agrees(q)]
