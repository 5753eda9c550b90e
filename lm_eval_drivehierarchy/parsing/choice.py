"""Multiple choice: the letter that a reply settles on, or the one option whose words it repeats."""

from __future__ import annotations

import bisect
import collections
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from drivehierarchy_data.items import letter_at

from . import declarations
from .declarations import CONCLUSION, REFUSAL, RETRACTION, Span
from .doubts import without_doubts
from .reply import sentences, without_questions

CHOICE_KEYS: Final = (
    "answer_letter", "letter", "option", "choice", "selected_option", "selected", "correct_option", "correct_answer",
    "option_letter", "selection",
)  # fmt: skip

_OPTION = re.compile(r"\s*[(\[]?([A-Za-z])[)\].:、-]\s*(.*)", re.DOTALL)
_SUBJECT = re.compile(
    r"(?:(?:it|they|this|that)(?: s| re| is| are| was| were)|the (?:\w+ ){1,2}(?:is|are|was|were)|is|are) "
)
"""What may stand before an option's words: "It's stopped", normalised."""
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")
_AGREES = re.compile(
    r"\b(?:that's|that is|you're|you are|quite|all) right(?= ?(?:[,.:;!]|$))|,? right\?(?=\W*$)|\balright\b",
    re.IGNORECASE,
)
"""A "right" that is no direction."""
_DIRECTION = r"(?:front|forward|ahead|rear|back|behind|left|right)"
_DIRECTIONS_ONLY = re.compile(rf"{_DIRECTION}(?: {_DIRECTION})*")
_TOWARDS = r"(?:slightly |a bit |somewhat )?(?:(?:to|in|on|towards?) )?(?:the )?"
_JOINING = rf"(?:[- ]|,? and (?:also )?{_TOWARDS}|,? (?=slightly|a bit|somewhat|to|in|on|towards?){_TOWARDS})"
_DIRECTION_BEFORE = re.compile(rf"\b{_DIRECTION}{_JOINING}$")
_DIRECTION_AFTER = re.compile(rf"{_JOINING}{_DIRECTION}\b")
"""Another direction joined to an option's: "behind and to the left" is not "left"."""
_DIRECTION_INSIDE = re.compile(rf"\b{_DIRECTION}\b")
_LINKS = r" ?(?:(?:maybe|perhaps|possibly|to|in|on|into|towards?|the|a|go|going|it|is|be|stay|stays) ){0,3}"
_OR = r"[,;]? ?\(?(?:/|\||&|\b(?:or|and/or)\b)"
_OR_AND = rf"(?:{_OR}|,? and\b)"
_OR_WORD = re.compile(rf"{_OR}{_LINKS}(?P<word>[a-z]+)")
_OR_DIRECTION = re.compile(rf"{_OR_AND}{_LINKS}{_DIRECTION}\b(?! ?(?:away|after|before|now|then|there|of|at|up)\b)")
_DIRECTION_OR = re.compile(rf"\b{_DIRECTION}{_OR_AND}{_LINKS}$")
"""The same as an alternative cut short: "turn left or right"."""


@dataclass(frozen=True, slots=True)
class Options:
    """The letters that may be answered, and the words behind each. Without options any letter may be, and no words."""

    letters: str
    words: dict[str, str]

    @classmethod
    def of(cls, options: Sequence[str] | None) -> Options:
        """From the strings shown, "A. moving."; strings without a letter get A, B, C, … in order."""
        if not options:
            return cls("ABCDEFGHIJKLMNOPQRSTUVWXYZ", {})
        split = [_OPTION.fullmatch(option) for option in options]
        if all(split) and len({match[1].upper() for match in split if match}) == len(options):
            pairs = [(match[1].upper(), match[2]) for match in split if match]
        else:
            pairs = [(letter_at(index), option) for index, option in enumerate(options)]
        words = {letter: normalised(text) for letter, text in pairs}
        # Words that two options share single out neither; a bare label has none.
        told_apart = {
            letter: text for letter, text in words.items() if len(text) > 1 and [*words.values()].count(text) == 1
        }
        return cls("".join(letter for letter, _ in pairs), told_apart)

    def phrases(self) -> list[tuple[str, str]]:
        """(letter, words) that name an option: all of it, and what it says behind an "it" when no other says that."""
        said = [(letter, _IT.split(words)[-1]) for letter, words in self.words.items() if _IT.search(words)]
        counts = collections.Counter(words for _, words in said)
        return [*self.words.items(), *(entry for entry in said if counts[entry[1]] == 1 and " " in entry[1])]


_IT = re.compile(r"(?:^|\s)it ")


def normalised(text: str) -> str:
    """Words of an option or a reply, lower-cased, one space between them: "No Change (It …)." -> "no change it …"."""
    return _NOT_A_WORD.sub(" ", text.lower()).strip()


def _without_subject(words: str) -> str:
    subject = _SUBJECT.match(words)
    return words[subject.end() :] if subject else words


_LONGEST_ENDING: Final = 200
"""Characters of a passage that may be the end of an option's words."""

_HEDGE: Final = "?"
"""Verdict on a passage that names two options, none of those there are, or none on purpose."""

_ANSWER = re.compile(
    r"(?:\b(?<!each )(?<!every )(?<!other )(?:(?:final|correct|right|best|most likely|most appropriate|"
    r"predicted|chosen|selected) ){0,2}"
    r"(?:answer|ans|(?:option|choice|letter)(?! [\"'(\[]?[A-Z]\b)|response|prediction|output|result|solution|"
    r"conclusion|selection)\b"
    r"(?:(?!\b(?:because|since|as)\b)[^\n.:=?!→]){0,60}?"
    r"(?:\b(?:is|would be|should be|must be|will be)\b|:|=+>?|→|-+>)"
    r"|(?<!or )\b(?:most likely|more likely|leaving|leaves)(?: only)?(?= (?:option |"
    r"choice )?[\"'(\[]?(?-i:[A-Z])(?![\w']))"
    r"|\b(?:i|we)(?:'d| would| will|'ll)? (?:choose|select|pick|go with|answer|opt for)\b"
    r"|\b(?:choose|select|pick|answer with|go with|opt for)(?= (?:option |choice |letter )?[\"'(\[]?[A-Z]\b)"
    r"|\b(?:final|revised|corrected|updated)(?: guess)? ?:"
    r"|\banswer(?= ?[(\[\"']?[A-Z](?![\w']))|答案(?: ?(?:是|为|:))?)",
    re.IGNORECASE,
)
_LETTER = re.compile(r"(?<!\w)(?<!\w')[A-Za-z](?!\w|'\w)")
_NOUN = r"(?:option|choice|answer|letter)"
_ASSERTED = re.compile(
    rf"(?<![Aa]lthough )(?<![Ww]hile )(?<![Tt]hough )(?:\b{_NOUN} |"
    rf"(?<![\w']))[\"'(\[]?(?P<letter>(?!I [a-z])[A-Z])[\"')\].:]{{0,2}}(?: \([^()\n]{{0,80}}\)| [\w -]{{1,80}}?)? "
    r"(?:(?P<verb>is|seems|looks|appears|would be|must be|should be) (?:to be )?"
    r"(?:(?:clearly|most likely|likely|probably|therefore|thus|definitely) )?(?:the )?(?:(?:more|most|best) )?"
    r"(?:(?P<merit>correct|right|best|answer)|accurate|appropriate|true|likely|valid|fit|match|"
    r"better(?= ?(?:[.,;!)\n]|$)| (?:than|because|since|as|option|choice|answer|fit|match)\b))\b"
    r"|(?:fits|matches|suits|describes)(?: (?!no\b|not\b|less\b|than\b|and\b|or\b|nor\b)\w+){0,3} (?:better|best)\b)",
)
_MERIT_ENDS = re.compile(r" ?(?:[.,;!)\n]|$)| (?:one|answer|option|choice|because|since|as|after all|instead)\b")
_TAKEN_BACK = re.compile(
    r"\b(?:wait|no|sorry|hmm+|oops|actually)\b[,.!–— -]{1,3}(?:(?:that|this|it)(?:'s| is| was)|i was|i am|i'm) "
    r"(?:wrong|incorrect|mistaken|not (?:right|correct|true))\b|\bwait,? no\b\W*$",
    re.I,
)
"""What takes an answer back and puts none in its place."""
_REPLACING = re.compile(
    # "Moving? No, standing."
    r"(?:[.?!,;(–—]|^) ?no(?:pe)?\b ?[,.:;!–—-]{1,2} ?(?:wait,? |actually,? |rather,? )?(?:it's |it is )?"
    r"(?:the \w+ is )?$"
    # "was moving earlier but is now standing"
    r"|\b(?:was|were|been|used to|previously|earlier|before|initially|formerly)\b[^.!?\n]{0,80}?\b(?:now|currently)"
    r"(?: \w+){0,2} $"
)
"""What stands before the words of an option that take the place of others."""
_JUDGED = re.compile(r" ?[?:–—-]")
_DENIED_AFTER = re.compile(
    r"[\"')\].:]{0,2}(?: (?!because|since|so|but|and|or|not|which|while|rather|instead|as\b)[\w-]+){0,3}? ?"
    r"(?:is|are|was|can be|can|would be|seems|looks|does|do|has been|isn't|aren't|doesn't|don't|can't|cannot)? ?"
    r"(?:also |clearly |definitely |both |all )?"
    r"(?:not|n't|wrong|incorrect|false|ruled out|eliminated|excluded|unlikely|less likely|invalid|impossible|out)\b"
    r"|[\"')\].:]{0,2} ?[-–—:,]? ?no(?= ?(?:[.!,;\n]|$))"
    r"|[\"')\].:]{0,2} ?[(\[](?:no|wrong|incorrect|false|not (?:correct|right)|ruled out|eliminated|excluded|"
    r"impossible)[)\]]",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    r"(?:\bnot|n't|\bthan|\b(?:anything|everything|any option) (?:but|except)|\brather than|\binstead of|"
    r"\brule[sd]? out|\beliminat(?:e|es|ed|ing)|\bexclud(?:e|es|ed|ing)|"
    rf"\bdismiss(?:ed)?|\bnor|\bneither|\bunlike)(?: be)?(?: {_NOUN})? ?[\"'(\[]?$",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?:\bnot|n't|\bnever|\bno longer|\bneither|\bnor|\bwithout|\brather than|"
    r"\binstead of)(?: (?!but\b)\w+){0,2} ?$"
    # over, not there, or yet to come: "stopped moving", "non-moving", "about to start moving"
    r"|\b(?:stop(?:s|ped|ping)?|ceas(?:e|es|ed|ing)|quit|halt(?:s|ed)?|finish(?:es|ed)|avoids?|no|zero|far from|"
    r"anything but|hardly|barely|scarcely|(?:refrain(?:s|ed|ing)?|prevented|kept) from)(?: (?:actively|any))? $"
    r"|\bnon[- ]?$"
    r"|\b(?:before|until|prior to)(?: it)?(?: (?:start|begin|resume)s)? $"
    r"|\b(?:to|will|may|might|could|can|would|'ll)(?: (?!but\b)\w+){0,2} (?:start|begin|resume) $",
    re.I,
)
_WORDS_BEFORE = re.compile(
    r"[.!?] $|(?:^|[\n:=>→(\[\"',;]|"
    rf"\b(?:{_NOUN}|options|choices|is|be|pick|choose|select|with|for|so|therefore|thus|hence|it's|its|"
    rf"definitely|clearly|"
    r"probably|likely|say|but|rather|and|or|nor|not|isn't|than|to|either|both|neither|between|actually|mean|"
    r"meant|sorry|wait|"
    r"guess|think|believe|suppose|no|only|"
    r"leaving|leaves|except|out|eliminate|exclude|dismiss|certainly|surely|obviously)) ?$",
    re.I,
)
_NOUN_BEFORE = re.compile(rf"\b{_NOUN}s? ?[:=]? ?[\"'(\[]?$", re.I)
_ARTICLE_FOLLOWS = re.compile(r" [a-z]")
_VERB_FOLLOWS = re.compile(
    r" (?:is|was|and|or|because|since|as|are|seems|would|cannot|can|nor|but|if|with|not|than|rather|instead|over|"
    r"(?:best |clearly |only )?(?:fits|matches|describes|applies|makes sense|remains)|fits|"
    r"it is(?= ?(?:[.,;!\n]|$)))\b"
)
_ENDS = re.compile(r" ?(?:$|[\n,;:!?()\]\"'—–/&|]|\.(?![A-Za-z]\b)|-(?!\w))")
_TITLED = re.compile(rf"^(?:[<{{](?=[A-Za-z][>}}]))?[\"'(\[]*(?:{_NOUN} [\"'(\[]*)?([A-Za-z])(?!\w|'\w)", re.I)
_OPINION = r"I (?:think|believe|guess|suppose)\b"
_JOINED = re.compile(
    rf"[\"')\].:?]{{0,2}}(?:, {_OPINION},?)? ?(?:,|/|&|\+|\||\bor\b|\band\b) ?"
    r"(?:maybe |perhaps |possibly |also |even )?(?:[Oo]ption |[Cc]hoice )?[\"'(\[]?"
    rf"(?!{_OPINION})([A-Z])(?![\w'])"
)
_JOINED_WITH_WORDS = re.compile(r"(?:/|\||&|\bor\b|\band\b) ?(?:[Oo]ption )?[\"'(\[]{0,2}([A-Z])[)\].:](?![A-Za-z]\b)")
_NOT = re.compile(r"\b(?:not|neither|rather|instead|unlike)\b|n't\b", re.I)
_ONLY_POSSIBLE = re.compile(
    r"[\"')\].:]{0,2} (?:is|seems|looks|could be|may be|might be|can be) (?:also |both )?(?:possible|plausible|"
    r"conceivable)\b"
)
_ENUMERATED = re.compile(r"(?:^|[,;.] )[\"'(\[]{0,3}([A-Z])[)\].:](?![A-Za-z]\b)", re.M)
_LETTER_LINE = re.compile(r" ?[\"'(\[]?([A-Z])[\"')\].]{0,2} ?")
_REST_OF_A_DENIAL = re.compile(r"[\"')\]]{0,2},? ?(?:or|nor|and)(?: option)? [\"'(\[]{0,2}")
_IN_BRACKETS = re.compile(r",? ?[(\[]")
_NONE_OF = re.compile(r"\b(?:none of|all of the above|no option|neither option|no correct)\b", re.I)


def read_choice(text: str, options: Options) -> str | None:
    """Letter of the option that plain text settles on; None when it settles on none, or on one that does not exist."""
    text = _AGREES.sub(" ", without_questions(text))
    reader = _Reader(text, options)
    stated = without_doubts(text)
    verdict = reader.read() if stated == text or reader.is_an_option() else _Reader(stated, options).read()
    return None if verdict == _HEDGE else verdict


@dataclass(frozen=True, slots=True)
class _Mention:
    letter: str
    start: int
    end: int
    denied: bool


class _Reader:
    def __init__(self, text: str, options: Options) -> None:
        self.text = text
        self.options = options
        self.mentions = list(self._mentions())
        self.starts = [mention.start for mention in self.mentions]
        self.worded = self._worded()
        self.worded_starts = [mention.start for mention in self.worded]
        self.ends = [end for _, end in sentences(text)]
        self.enumerated = self._lists_options()

    def read(self) -> str | None:
        for passage in (self._alone, self._declared, self._asserted, self._leading, self._last_line, self._concluded):
            verdict = passage()
            if verdict is not None:
                return verdict
        verdict = self._verdict(Span(0, 0, len(self.text)))
        return _HEDGE if verdict is not None and self._another_letter(verdict) else verdict

    def is_an_option(self) -> bool:
        """True when the reply repeats an option and says nothing else."""
        return self._by_words(normalised(self.text)) is not None

    # passages, the most explicit first

    def _alone(self) -> str | None:
        """The reply is a letter, or an option's words, and nothing else."""
        bare = self.text.strip(" \n.,:;!?#\"'()[]{}<>")
        if len(bare) == 1 and bare.isascii() and bare.isalpha():
            return self._existing(bare)
        return self._fitting(normalised(self.text))

    def _declared(self) -> str | None:
        answers = declarations.spans(self.text, _ANSWER, whole_line=True)
        corrections = declarations.spans(self.text, RETRACTION)
        for span in declarations.last_first(answers, corrections, self._worded_corrections()):
            verdict = self._head(span)
            if verdict is None:
                sentence_end = self._sentence_end(span.start)
                verdict = self._verdict(Span(span.marker, span.start, min(span.end, sentence_end)))
            if verdict is None and span in answers and REFUSAL.search(self.text, span.start, span.end):
                verdict = _HEDGE
            if verdict is not None:
                return self._unless_corrected(verdict, span.start)
        return None

    def _worded_corrections(self) -> list[Span]:
        """The words of an option that replace others: "Moving? No, standing.", but not "moving: no, standing: no"."""
        found = []
        for mention in self.worded[1:][-64:]:
            start = max(0, mention.start - 120)
            replacing = _REPLACING.search(self.text[start : mention.start].lower())
            if replacing and not mention.denied and not _JUDGED.match(self.text, mention.end):
                found.append(Span(start + replacing.start(), mention.start, self._sentence_end(mention.start)))
        return found

    def _unless_corrected(self, verdict: str, position: int) -> str:
        """`verdict`, read at `position`, when what follows neither takes it back nor asserts another letter."""
        asserted = {
            match["letter"]
            for match in collections.deque(_ASSERTED.finditer(self.text, position), maxlen=64)
            if match["verb"] == "is" and match["merit"] and _MERIT_ENDS.match(self.text, match.end())
        }
        if verdict != _HEDGE and asserted - {verdict}:
            return self._existing(asserted.pop()) if len(asserted) == 1 else _HEDGE
        return _HEDGE if not asserted and _TAKEN_BACK.search(self.text, position) else verdict

    def _asserted(self) -> str | None:
        """ "B is the correct answer": the last such, unless two differ."""
        letters = {match["letter"] for match in collections.deque(_ASSERTED.finditer(self.text), maxlen=64)}
        if not letters:
            return None
        return self._existing(letters.pop()) if len(letters) == 1 else _HEDGE

    def _leading(self) -> str | None:
        """ "B. parked. The others …", but not a list of the options."""
        if self.enumerated or not self.text:
            return None
        end = self.text.find("\n")
        verdict = self._head(Span(0, 0, end if end >= 0 else len(self.text)))
        last = _LETTER_LINE.fullmatch(self.text, self.text.rfind("\n") + 1)
        if verdict is not None and end >= 0 and last and last[1].upper() != verdict:
            return _HEDGE
        return None if verdict is None else self._unless_corrected(verdict, 0)

    def _last_line(self) -> str | None:
        lines = declarations.lines(self.text)
        if len(lines) < 2:
            return None
        if self.enumerated:  # only a letter that stands alone, below the options
            alone = [line for line in lines if _LETTER_LINE.fullmatch(self.text, line.start, line.end)]
            return self._head(lines[-1]) if alone == lines[-1:] else None
        return self._head(lines[-1])

    def _concluded(self) -> str | None:
        for span in declarations.last_first(declarations.spans(self.text, CONCLUSION)):
            verdict = self._verdict(span)
            if verdict is not None and verdict != _HEDGE:
                return verdict
        return None

    def _lists_options(self) -> bool:
        """True when the options are told one after another, each on a line of its own or with its own words."""
        titled = {match[1] for match in _ENUMERATED.finditer(self.text)}
        with_words = {
            mention.letter
            for mention in self.mentions[:64]
            if self._words_follow(mention.letter, self._after(mention.end))
        }
        return len(titled) > 1 or len(with_words) > 1

    def _after(self, position: int) -> str:
        return self.text[position : position + 400]

    def _another_letter(self, letter: str) -> bool:
        """True when a letter of another option stands alone in the text, whatever it does there."""
        denied = {mention.start for mention in self.mentions if mention.denied}
        for match in _LETTER.finditer(self.text):
            other = match[0]
            if other == letter or other not in self.options.letters or match.start() in denied:
                continue
            if other in "AI" and _ARTICLE_FOLLOWS.match(self.text, match.end()):
                continue
            return bool(self.options.words) or other not in "AI"
        return False

    # one passage

    def _sentence_end(self, position: int) -> int:
        index = bisect.bisect_right(self.ends, position)
        return self.ends[index] if index < len(self.ends) else len(self.text)

    def _head(self, span: Span) -> str | None:
        """The letter that a passage begins with; `_HEDGE` when a second one is joined to it."""
        passage = self.text[span.start : span.end]
        match = _TITLED.match(passage)
        if match is None:
            return None
        letter, end = match[1], match.end(1)
        rest = passage[end:]
        titled = len(match[0].strip("\"'([")) > 1
        joined = _JOINED.match(rest)
        if joined and joined[1] != letter:
            return None if _DENIED_AFTER.match(rest, joined.end()) else _HEDGE
        with_words = _JOINED_WITH_WORDS.search(rest.split("\n", 1)[0], 0, 80)
        if with_words and with_words[1] != letter.upper() and not _NOT.search(rest, 0, with_words.start()):
            return _HEDGE
        if _DENIED_AFTER.match(rest) or _ONLY_POSSIBLE.match(rest):
            return None
        if not _ENDS.match(rest):
            predicate = _VERB_FOLLOWS.match(rest) is not None or self._words_follow(letter, rest)
            if not (predicate or (titled and letter not in "aAI")) or (letter in "aiI" and not titled):
                return None
        elif letter.islower() and letter != passage.strip(" \"'()[]{}.:\n") and not re.match(r"[)\].:]", rest):
            return None
        verdict = self._existing(letter)
        if verdict != _HEDGE and self._contradicted(verdict, rest):
            return _HEDGE
        return verdict

    def _words_follow(self, letter: str, rest: str) -> bool:
        words = self.options.words.get(letter.upper())
        return bool(words) and normalised(rest[: 4 * len(words or "") + 20]).startswith(words or "")

    def _contradicted(self, letter: str, rest: str) -> bool:
        """True when the words right behind a letter are exactly those of another option."""
        line = rest.split("\n", 1)[0]
        by_words = self._fitting(normalised(line))
        if by_words is None:
            by_words = self._fitting(_without_subject(normalised(line)))
        if by_words is None:
            sentence = normalised(re.split(r"(?<=\w)[.;,](?=\s|$)", line.lstrip("\"')].: -"), maxsplit=1)[0])
            by_words = self._fitting(sentence) or self._fitting(_without_subject(sentence))
        return by_words not in (None, _HEDGE, letter)

    def _verdict(self, span: Span) -> str | None:
        """The one option that a passage names, by letter or else by its words."""
        inside = self._between(self.mentions, self.starts, span)
        affirmed = {mention.letter for mention in inside if not mention.denied}
        if _NONE_OF.search(self.text, span.start, span.end):
            return _HEDGE
        worded = self._between(self.worded, self.worded_starts, span)
        if affirmed:
            hedged = len(affirmed) > 1 or self._labelled_otherwise(inside, worded)
            return _HEDGE if hedged else self._existing(affirmed.pop())
        said = [mention for mention in worded if not mention.denied]
        if any(self._joined_to_a_direction(mention) or self._cut_short(mention) for mention in said):
            return _HEDGE
        named = {mention.letter for mention in said}
        if named:
            return named.pop() if len(named) == 1 else _HEDGE
        if worded or span.end - span.start > _LONGEST_ENDING:
            return None
        return self._by_ending(normalised(self.text[span.start : span.end]))

    def _labelled_otherwise(self, letters: list[_Mention], worded: list[_Mention]) -> bool:
        """True for the words of one option with the letter of another one in brackets behind them: "parked (C)"."""
        behind = {mention.start: mention.letter for mention in letters if not mention.denied}
        return any(
            (bracket := _IN_BRACKETS.match(self.text, mention.end)) is not None
            and behind.get(bracket.end(), mention.letter) != mention.letter
            for mention in worded
            if not mention.denied
        )

    def _joined_to_a_direction(self, mention: _Mention) -> bool:
        text = self.text
        if not _DIRECTIONS_ONLY.fullmatch(normalised(text[mention.start : mention.end])):
            return False
        before = text[max(0, mention.start - 40) : mention.start].lower()
        return bool(
            _DIRECTION_BEFORE.search(before) or _DIRECTION_AFTER.match(text[mention.end : mention.end + 60].lower())
        )

    def _cut_short(self, mention: _Mention) -> bool:
        """True for an option joined by "or" to what is left of another one: "turn left or right"."""
        before = self._before(mention).lower()
        after = self.text[mention.end : mention.end + 60].lower()
        alternative = _OR_WORD.match(after)
        if alternative:
            endings = {words.split()[-1] for letter, words in self.options.words.items() if letter != mention.letter}
            if alternative["word"] in endings:
                return True
        if not _DIRECTION_INSIDE.search(normalised(self.text[mention.start : mention.end])):
            return False
        return bool(_DIRECTION_OR.search(before) or _OR_DIRECTION.match(after))

    @staticmethod
    def _between(mentions: list[_Mention], starts: list[int], span: Span) -> list[_Mention]:
        first, last = bisect.bisect_left(starts, span.start), bisect.bisect_left(starts, span.end)
        return [mention for mention in mentions[first:last] if mention.end <= span.end]

    def _existing(self, letter: str) -> str:
        return letter.upper() if letter.upper() in self.options.letters else _HEDGE

    def _fitting(self, words: str) -> str | None:
        return self._by_words(words) or self._by_ending(words)

    def _by_words(self, words: str) -> str | None:
        """The option with these words, "frontleft" read as "front left"."""
        together = words.replace(" ", "")
        found = [letter for letter, text in self.options.words.items() if text.replace(" ", "") == together]
        return found[0] if len(found) == 1 else None

    def _by_ending(self, words: str) -> str | None:
        """The one option that ends with these two words or more: "stopped to moving"."""
        if " " not in words:
            return None
        found = [letter for letter, text in self.options.words.items() if text.endswith(f" {words}")]
        return found[0] if len(found) == 1 else None

    # mentions

    def _mentions(self) -> list[_Mention]:
        """Letters that name an option: in brackets or quotes, after "option", or with a mark behind them."""
        found: list[_Mention] = []
        for match in _LETTER.finditer(self.text):
            letter, start, end = match[0], match.start(), match.end()
            before, rest = self.text[max(0, start - 40) : start], self.text[end : end + 60]
            if not self._names_option(letter, before, rest):
                continue
            denied = bool(_DENIED_BEFORE.search(before)) or bool(_DENIED_AFTER.match(rest))
            if not denied and found and found[-1].denied and _DENIED_BEFORE.search(self._before(found[-1])):
                denied = _REST_OF_A_DENIAL.fullmatch(self.text[found[-1].end : start][:40]) is not None
            found.append(_Mention(letter.upper(), start, end, denied))
        for index in range(len(found) - 2, -1, -1):  # "A and C can be ruled out"
            first, second = found[index], found[index + 1]
            gap = self.text[first.end : second.start][:40]
            denied_after = second.denied and _DENIED_AFTER.match(self.text[second.end : second.end + 60])
            if denied_after and not first.denied and _REST_OF_A_DENIAL.fullmatch(gap):
                found[index] = replace(first, denied=True)
        return found

    def _before(self, mention: _Mention) -> str:
        return self.text[max(0, mention.start - 40) : mention.start]

    def _names_option(self, letter: str, before: str, rest: str) -> bool:
        if before[-1:] in ("(", "[", '"', "'") and rest[:1] in (")", "]", '"', "'"):
            return True
        ends, predicate = _ENDS.match(rest) is not None, _VERB_FOLLOWS.match(rest) is not None
        article = letter in "AI" and _ARTICLE_FOLLOWS.match(rest) is not None and not predicate
        if _NOUN_BEFORE.search(before):
            return ends or (letter.isupper() and not article)
        # The search looks over every position of `before`: last, so that "A A A …" does without.
        stands_alone = ends or (predicate and letter != "I")
        return stands_alone and letter.isupper() and _WORDS_BEFORE.search(before) is not None

    def _worded(self) -> list[_Mention]:
        """Where the words of an option stand, longer options first, so that "front" is not seen in "front left"."""
        if not self.options.words:
            return []
        ordered = sorted(self.options.phrases(), key=lambda item: -len(item[1]))
        patterns = [
            (f"{letter}{index}", re.sub(r"\\? ", r"[^a-z0-9\\n]{1,3}", re.escape(words)))
            for index, (letter, words) in enumerate(ordered)
        ]
        matcher = re.compile(
            r"(?<![a-z0-9])(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns) + r")(?![a-z0-9])"
        )
        text = "".join(letter if len(letter) == 1 else " " for letter in map(str.lower, self.text))
        found = []
        for match in matcher.finditer(text):
            denied = _NEGATION.search(text[max(0, match.start() - 40) : match.start()]) is not None
            found.append(_Mention((match.lastgroup or "")[:1], match.start(), match.end(), denied))
        return found
