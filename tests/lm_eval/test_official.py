"""The official rule against an independent statement of the released evaluator, and its oddities one by one."""

from __future__ import annotations

import json
import math
import os
import random
from typing import Any

import pytest

from lm_eval_drivehierarchy.official import official_score, official_value, round_half_up
from lm_eval_drivehierarchy.parsing import parse_answer
from lm_eval_drivehierarchy.scoring import TruthError, score_answer

from . import released_evaluator

REPLIES = int(os.environ.get("DRIVEHIERARCHY_OFFICIAL_REPLIES", "24000"))
"""Replies compared; a release of this project is checked with 100,000."""

TRUTHS: dict[str, list[Any]] = {
    "yes_no": ["Yes", "No", "yes", "no", "Yes."],
    "count": ["0", "1", "5", "24", 5, 3.0, "7."],
    "metres": ["17.77 m", "0.00 m", "119.69 m", "52.54", 20, 17.5],
    "choice": ["A", "B", "C", "B. parked.", "C. No Change (It remains moving).", "A. Turn left.", "parked"],
    "box": [
        {"bbox": [264, 709, 525, 1469], "format": "xyxy"},
        {"bbox": [0, 0, 2704, 1520], "format": "xyxy"},
        {"bbox": [100.5, 100, 300, 200.25], "format": "xyxy"},
    ],
    "order": [["A", "B", "C"], ["E", "D", "C", "B", "A"], ["C", "A", "D", "B"], ["A"]],
}
FRAGMENTS = {
    "yes_no": [
        "yes", "no", "YES", "Not", "sure", "y", "n", "true", "false", "none", "yesterday", "ye s", "İ", "\u212a",
    ],
    "count": [
        "5", "-5", "4.5", "5.5", "-0.5", ".5", "1,234", "1e3", "1e", "2E+2", "1e400", "+7", "５", "٣", "²", "five",
        "--3",
    ],
    "metres": [
        "17.77", "m", "km", "-3", ".5", "5.", "1,5", "1e-3", "1e999", "9e307", "inf", "nan", "0", "10-15", "٣.٤",
    ],
    "choice": [
        "A", "b", "(B)", "B.", "[c]", "{D}", "option", "Answer", "CHOICE", "options", "answers", ":", "-", "A or B",
        "é", "ß", "parked", "It", "moving.", "option a", "B -", '"B"', "I", "a car", "Turn left", "anſwer",
        "cho\u0131ce b", "opt\u0131on \u212a", "no change it remains moving",
    ],
    "box": [
        "[264, 709, 525, 1469]", "264", "709", "525", "1469", "[", "]", ",", "null", "NaN", "Infinity", "1e999",
        "true", '{"bbox": ', '{"bbox": [264, 709, 525, 1469]}', '{"bbox_2d": [1, 2, 3, 4]}',
        "[[264, 709, 525, 1469]]", '"264px"', "[1, 2, 3]", '[["a"]]', "-5", ".5", "}", '"', "x1",
    ],
    "order": [
        '["A", "B", "C"]', '["C","B"]', "A", "B", "C", "D", "E", "Z", "->", ",", "[", "]", '"A"', '{"order": ["A"]}',
        "null", "1", "Image", "I", "a", "option b", '["option c", "A.", 3, null, ["B"]]', "é", "B_", "true", "(C)",
    ],
}  # fmt: skip
COMMON = [
    " ", "\n", ".", "!", "The answer is ", "Answer: ", "**", "`", "\t", "\u00a0", "\u200b", "\u2212", "–", "x", "0", "",
    "\x1c", "\u2003",
]  # fmt: skip


def _reply(kind: str, truth: Any, random_: random.Random) -> str:
    fate = random_.random()
    if fate < 0.1:
        return truth if isinstance(truth, str) else json.dumps(truth)
    if fate < 0.2:
        letters = [chr(random_.choice((random_.randrange(32, 127), random_.randrange(0xD7FF)))) for _ in range(8)]
        return "".join(letters[: random_.randrange(9)])
    if fate < 0.3 and kind == "box":
        return json.dumps([random_.randrange(-50, 3000) for _ in range(random_.choice((3, 4, 4, 4, 5)))])
    if fate < 0.3 and kind in ("count", "metres"):
        return f"{random_.uniform(-5, 150):.{random_.randrange(4)}f}"
    pool = FRAGMENTS[kind] * 2 + COMMON
    return "".join(random_.choice(pool) + random_.choice(("", "", " ")) for _ in range(random_.randrange(1, 8)))


@pytest.mark.parametrize("kind", sorted(TRUTHS))
def test_equals_an_independent_statement_of_the_release(kind: str) -> None:
    random_ = random.Random(f"official {kind}")
    scored = failed = 0
    for _ in range(REPLIES // len(TRUTHS)):
        truth = random_.choice(TRUTHS[kind])
        reply = _reply(kind, truth, random_)
        expected = released_evaluator.score(kind, truth, reply)
        found = score_answer(kind, truth, reply, rule="official")  # type: ignore[arg-type]
        if expected is None:
            failed += 1
            assert (found.score, found.status) == (0.0, "unparseable"), (truth, reply)
        else:
            scored += 1
            assert found.status != "unparseable", (truth, reply)
            assert found.score == pytest.approx(expected, rel=1e-9, abs=1e-9), (truth, reply)
    # The mixture must try both, or it shows nothing.
    assert min(scored, failed) > REPLIES // len(TRUTHS) // 50


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(0.5, 1), (1.5, 2), (2.5, 3), (2.4999, 2), (-0.5, -1), (-1.5, -2), (-0.4, 0), (0.0, 0), (7.0, 7)],
)
def test_halves_are_rounded_away_from_zero(number: float, rounded: int) -> None:
    assert round_half_up(number) == rounded


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        # The first number counts, wherever it stands; commas are spaces.
        ("count", "There are 2 cars and 3 trucks, so 5 in total", 2),
        ("count", "1,234", 1),
        ("count", "-3", 0),
        ("count", "2.5", 3),
        ("count", "1e2", 100),
        ("count", "five", None),
        ("count", "1e999", None),
        ("count", "٣", 3),
        ("metres", "17,77 m", 17.0),
        ("metres", ".5", 0.5),
        ("metres", "-4", 0.0),
        ("metres", "0.02 km", 0.02),
        ("metres", "1e999", math.inf),
        ("metres", "NaN", None),
        ("metres", "bbox_2d", 2.0),
        # Prefixes are enough for yes and no.
        ("yes_no", "not sure", "no"),
        ("yes_no", "None", "no"),
        ("yes_no", "yesterday", "yes"),
        ("yes_no", "It is yes", None),
        ("yes_no", "n.", "no"),
        ("yes_no", "<think>yes</think>no", None),
        # Letters: alone, leading with a mark, or announced.
        ("choice", "b", "B"),
        ("choice", "(b) parked", "B"),
        ("choice", "B - parked", "B"),
        ("choice", "A car", "a car"),
        ("choice", "I think so", "i think so"),
        ("choice", "the options", "S"),
        ("choice", "Answer: parked", "arked"),
        ("choice", "the answer is B", "the answer is b"),
        ("choice", "answer B", "B"),
        ("choice", "!?", None),
        # Boxes: JSON first, else any four numbers.
        ("box", '{"bbox": [5, 6, 1, 2]}', [1.0, 2.0, 5.0, 6.0]),
        ("box", '{"bbox_2d": [264, 709, 525, 1469]}', [2.0, 264.0, 709.0, 525.0]),
        ("box", "[[1, 2, 3, 4], [5, 6, 7, 8]]", [1.0, 2.0, 3.0, 4.0]),
        ("box", '"[1, 2, 3, 4]"', [1.0, 2.0, 3.0, 4.0]),
        ("box", "x 1 y 2 x 3 y 4 5", [1.0, 2.0, 3.0, 4.0]),
        ("box", "[1, 2, 3]", None),
        # Orders: single capital letters, each once, perhaps not all.
        ("order", '["C", "A"]', ["C", "A"]),
        ("order", "I would say c then a", ["I", "C", "A"]),
        ("order", "A A B", ["A", "B"]),
        ("order", '{"order": ["A", "B"]}', None),
        ("order", '"A, B"', ["A"]),
        ("order", "no labels", None),
    ],
)
def test_oddities(kind: Any, reply: str, value: Any) -> None:
    assert official_value(kind, reply) == value
    parsed = parse_answer(reply, kind, rule="official")
    assert parsed.value == value
    assert (parsed.status == "unparseable") == (value is None)


def test_an_incomplete_order_is_completed_in_the_true_order() -> None:
    assert official_score("order", ["A", "B", "C"], "C") == pytest.approx(100 / 3)
    assert official_score("order", ["A", "B", "C"], "Z") == 100.0


def test_texts_are_compared_where_a_letter_is_missing() -> None:
    assert official_score("choice", "B. parked.", "Parked") == 100.0
    assert official_score("choice", "B", "parked") == 0.0
    assert official_score("choice", "parked", "A.") is None


def test_a_box_of_nan_is_scored_as_the_release_scores_it() -> None:
    truth = {"bbox": [0, 0, 100, 100], "format": "xyxy"}
    assert official_score("box", truth, "[NaN, 0, 50, 100]") == 100.0
    assert official_score("box", truth, "[0, 0, Infinity, 50]") == 0.0


def test_json_that_is_nested_too_deep_is_a_parse_failure() -> None:
    for kind in ("box", "order"):
        assert parse_answer("[" * 100_000 + "]" * 100_000, kind, rule="official").status == "unparseable"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "truth"),
    [("yes_no", "maybe"), ("count", "many"), ("metres", math.nan), ("metres", math.inf), ("box", {}), ("order", [])],
)
def test_an_unreadable_truth_raises(kind: Any, truth: Any) -> None:
    with pytest.raises(TruthError, match="truth"):
        score_answer(kind, truth, "5", rule="official")
