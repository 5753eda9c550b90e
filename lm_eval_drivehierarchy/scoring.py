"""From a reply and the truth to a score.

The truth is taken as the release stores it: "17.77 m", "24", "Yes", a letter or a whole option, {"bbox": [...],
"format": "xyxy"}, a list of labels, a sentence. A truth that cannot be read raises: a broken record is never the
model's failure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from drivehierarchy_gym.errors import DriveHierarchyError

from .formulas import box_score, count_score, exact_score, metres_score, order_score, within_scale
from .official import official_score
from .parsing import AnswerKind, ParseRule, ParseStatus, parse_answer
from .parsing.choice import Options, normalised
from .parsing.parsed import ordered_corners

Judge = Callable[[str, Sequence[str], str], float]
"""(question, reference answers, the model's answer) -> probability in [0, 1] that it says the same (Eq. 11)."""

NO_JUDGE: Final = "no judge: free text is scored by Lingo-Judge, which was not given"
NO_TRUTH: Final = "an action has no true value in a single reply: the closed loop scores whole episodes"


class TruthError(DriveHierarchyError, ValueError):
    """The true answer of a record cannot be what its kind says."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Score 0-100 of a reply, with how it was read (`parsing.Parsed`).

    `score` is 0 for an unparseable reply and None where no score can be given; `reason` then says why.
    """

    score: float | None
    status: ParseStatus
    value: Any
    reason: str | None = None


def score_answer(
    kind: AnswerKind,
    truth: Any,
    text: str,
    *,
    options: Sequence[str] | None = None,
    image_size: tuple[int, int] | None = None,
    rule: ParseRule = "flexible",
    question: str | None = None,
    judge: Judge | None = None,
) -> Scored:
    """Score a reply against the truth (Appendix D).

    `text` replies need a `judge` and the `question` it is told; without a judge their score is None, except that an
    unparseable reply scores 0 all the same. For them `truth` may be a list of reference answers, the best of which
    counts (the official rule takes the first). `action` replies are only parsed. Under the official rule score and
    parse failure are those of the release. Raises TruthError for a truth that cannot be read; otherwise as
    `parse_answer`.
    """
    parsed = parse_answer(text, kind, options=options, image_size=image_size, rule=rule)
    if kind == "action":
        return Scored(None, parsed.status, parsed.value, NO_TRUTH)
    if kind == "text":
        return _judged(truth, parsed.value, parsed.status, rule, question, judge)
    if rule == "official":
        try:
            score = official_score(kind, truth, text)
        except ValueError as error:
            raise TruthError(str(error)) from error
        if score is None:
            return Scored(0.0, "unparseable", None)
        return Scored(score, parsed.status, parsed.value)
    expected = read_truth(kind, truth, options)
    if parsed.value is None:
        return Scored(0.0, "unparseable", None)
    if kind == "order" and set(parsed.value) != set(expected):
        # Without the labels of the item the reply was read alone; it leaves some out or names others.
        return Scored(0.0, "unparseable", None)
    return Scored(_FORMULAS[kind](expected, parsed.value), parsed.status, parsed.value)


_FORMULAS: Final[Mapping[str, Callable[[Any, Any], float]]] = {
    "yes_no": exact_score,
    "choice": exact_score,
    "count": count_score,
    "metres": metres_score,
    "box": box_score,
    "order": order_score,
}


def _judged(
    truth: Any, answer: str | None, status: ParseStatus, rule: ParseRule, question: str | None, judge: Judge | None
) -> Scored:
    references = _references(truth)
    if answer is None or (rule == "official" and question is not None and not question.strip()):
        return Scored(0.0, "unparseable", None)
    if judge is None:
        return Scored(None, status, answer, NO_JUDGE)
    if question is None:
        raise ValueError("the judge is told the question: pass question=…")
    probability = judge(question, references[:1] if rule == "official" else references, answer)
    if not math.isfinite(probability):
        raise ValueError(f"the judge returned {probability!r} for answer {answer!r}; it must be in [0, 1]")
    return Scored(within_scale(100.0 * probability), status, answer)


# --- truths ----------------------------------------------------------------------------------------------------------

_COUNT = re.compile(r"(\d+)(?:\.0+)?\.?", re.ASCII)
_METRES = re.compile(r"(\d+(?:\.\d+)?) ?(?:m|meters?|metres?)?\.?", re.ASCII)


def read_truth(kind: AnswerKind, truth: Any, options: Sequence[str] | None = None) -> Any:
    """The true value, of the type that `parse_answer` gives for `kind`. Raises TruthError when there is none."""
    reader = _TRUTHS.get(kind)
    if reader is None:
        raise ValueError(f"answers of kind {kind!r} have no single true value")
    value = reader(truth, options)
    if value is None:
        given = "" if options is None else f" with options {list(options)!r}"
        raise TruthError(f"truth {truth!r} is no answer of kind {kind!r}{given}; correct or leave out the record")
    return value


def _yes_no(truth: Any, options: Sequence[str] | None) -> str | None:
    if isinstance(truth, bool):
        return "yes" if truth else "no"
    word = truth.strip().rstrip(".").lower() if isinstance(truth, str) else None
    return word if word in ("yes", "no") else None


def _count(truth: Any, options: Sequence[str] | None) -> int | None:
    if isinstance(truth, str):
        match = _COUNT.fullmatch(truth.strip())
        return int(match[1]) if match else None
    number = _non_negative(truth)
    return int(number) if number is not None and number.is_integer() else None


def _metres(truth: Any, options: Sequence[str] | None) -> float | None:
    if isinstance(truth, str):
        match = _METRES.fullmatch(truth.strip())
        return _non_negative(float(match[1])) if match else None
    return _non_negative(truth)


def _non_negative(truth: Any) -> float | None:
    if isinstance(truth, bool) or not isinstance(truth, int | float):
        return None
    number = float(truth)
    return number if math.isfinite(number) and number >= 0 else None


def _choice(truth: Any, options: Sequence[str] | None) -> str | None:
    if not isinstance(truth, str):
        return None
    known = Options.of(options)
    text = truth.strip()
    if options and text in options:
        return known.letters[list(options).index(text)]
    letter = re.fullmatch(r"([A-Z])(?:[.)](?:\s.*)?)?", text, re.DOTALL)
    if letter and letter[1] in known.letters:
        words = normalised(text[2:])
        if not words or not options or known.words.get(letter[1], words) == words:
            return letter[1]
        return None
    named = [option for option, words in known.words.items() if words == normalised(text)]
    return named[0] if len(named) == 1 else None


def _box(truth: Any, options: Sequence[str] | None) -> list[float] | None:
    corners = truth
    if isinstance(truth, Mapping):
        corners = truth.get("bbox") if truth.get("format", "xyxy") == "xyxy" else None
    if not isinstance(corners, Sequence) or isinstance(corners, str) or len(corners) != 4:
        return None
    numbers = [float(c) for c in corners if isinstance(c, int | float) and not isinstance(c, bool)]
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
        return None
    box = ordered_corners(numbers)
    return box if box[0] < box[2] and box[1] < box[3] else None


def _order(truth: Any, options: Sequence[str] | None) -> list[str] | None:
    if not isinstance(truth, Sequence) or isinstance(truth, str) or not truth:
        return None
    labels = [label for label in truth if isinstance(label, str) and label]
    if len(labels) != len(truth) or len(set(labels)) != len(labels):
        return None
    return labels if options is None or sorted(labels) == sorted(options) else None


_TRUTHS: Final[Mapping[str, Callable[[Any, Sequence[str] | None], Any]]] = {
    "yes_no": _yes_no,
    "count": _count,
    "metres": _metres,
    "choice": _choice,
    "box": _box,
    "order": _order,
}


def _references(truth: Any) -> list[str]:
    references = [truth] if isinstance(truth, str) else truth
    if (
        not isinstance(references, Sequence)
        or not references
        or not all(isinstance(reference, str) and reference.strip() for reference in references)
    ):
        raise TruthError(f"truth {truth!r} of kind 'text' must be a sentence or a list of sentences")
    return list(references)


# --- boxes under other conventions -----------------------------------------------------------------------------------


def box_conventions(truth: Any, text: str, image_size: tuple[int, int]) -> dict[str, float]:
    """Score of a box reply under each coordinate convention: pixels, fractions (0-1) and thousandths (0-1000).

    A diagnosis beside the score, which always is the one in pixels: a column near zero that comes to life under another
    convention shows that the model sees the object and only counts its coordinates otherwise. Empty for a reply without
    a box. Raises TruthError as `read_truth`.
    """
    expected = read_truth("box", truth)
    box = parse_answer(text, "box", image_size=image_size).value
    if box is None:
        return {}
    width, height = image_size
    scales = {"pixels": (1.0, 1.0), "fractions": (width, height), "thousandths": (width / 1000.0, height / 1000.0)}
    return {
        name: box_score(expected, [box[0] * x, box[1] * y, box[2] * x, box[3] * y]) for name, (x, y) in scales.items()
    }
