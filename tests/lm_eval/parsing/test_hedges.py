"""What a reply only holds possible is unparseable in every kind; what it thinks, guesses or estimates is its answer."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_drivehierarchy.parsing import parse_answer

OPTIONS = ["A. stopped.", "B. parked.", "C. moving."]
ANSWERS: dict[str, list[tuple[str, Any]]] = {
    "count": [("3", 3), ("three", 3)],
    "metres": [("12 m", 12.0), ("12.5", 12.5)],
    "yes_no": [("yes", "yes"), ("no", "no")],
    "choice": [("A", "A"), ("B", "B"), ("'B'", "B")],
    "box": [("[10, 20, 30, 40]", [10.0, 20.0, 30.0, 40.0])],
}
CASES = [(kind, *answer) for kind, answers in ANSWERS.items() for answer in answers]
HEDGES = (
    "It could be {}.", "It might be {}.", "It may be {}.", "The answer could be {}.", "The answer might be: {}",
    "perhaps {}", "Perhaps {}.", "possibly {}", "Maybe {}.", "Answer: maybe {}", "{}, maybe", "{} (possibly)",
    "{}, perhaps.", "{}?", "I'm not sure. {}?", "Answer: {}?",
)  # fmt: skip
DECLARATIONS = (
    "I think {}.", "I think {}", "I guess {}", "I believe {}.", "I think it's {}", "Probably {}", "Likely {}.",
    "My answer: {}",
)  # fmt: skip
KEPT = (
    "Answer: {}. The view may be obstructed.", "It might be foggy. Answer: {}",
    "Maybe I should look again.\nAnswer: {}",
)  # fmt: skip


def value(reply: str, kind: Any) -> Any:
    return parse_answer(reply, kind, options=OPTIONS if kind == "choice" else None).value


@pytest.mark.parametrize(("kind", "answer", "expected"), CASES)
@pytest.mark.parametrize("hedge", HEDGES)
def test_a_hedge_is_no_answer(kind: str, answer: str, expected: Any, hedge: str) -> None:
    assert value(answer, kind) == expected
    assert value(hedge.format(answer), kind) is None


@pytest.mark.parametrize(("kind", "answer", "expected"), CASES)
@pytest.mark.parametrize("declaration", [*DECLARATIONS, *KEPT])
def test_an_opinion_is_an_answer_and_a_hedge_beside_it_takes_nothing_away(
    kind: str, answer: str, expected: Any, declaration: str
) -> None:
    assert value(declaration.format(answer), kind) == expected


def test_hedged_orders_are_no_answers() -> None:
    for hedge in HEDGES:
        assert parse_answer(hedge.format('["B", "A", "C"]'), "order", options=["A", "B", "C"]).value is None


@pytest.mark.parametrize(
    ("kind", "reply", "expected"),
    [
        ("count", "There are 3 cars. There might be more.", 3),
        ("count", "There may be more cars hidden, but I count 3.", 3),
        ("count", "3 cars, one of which may be a van", 3),
        ("count", "I could only see 3 cars.", 3),
        ("count", "There are 3 cars that could be trucks.", 3),
        ("count", '{"reason": "one could be turning, perhaps", "count": 3}', 3),
        ("count", '{"count": "maybe 3"}', None),
        ("metres", "approximately 12 m", 12.0),
        ("metres", "about 12 m", 12.0),
        ("metres", "roughly 12 m", 12.0),
        ("metres", "The car is 12 m away, possibly moving.", 12.0),
        ("metres", "The car could be 12 m away.", None),
        ("yes_no", "I could not see any cones.", "no"),
        ("yes_no", "Yes, there could be a car.", "yes"),
        ("yes_no", "I believe so", "yes"),
        ("choice", "B? No, C.", "C"),
        ("choice", "B, right?", "B"),
        ("choice", "A. stopped?", None),
        ("choice", "My choice: 'B'", "B"),
        ("choice", "I choose 'B'.", "B"),
        ("choice", "B, I think.", "B"),
        ("choice", "B, I think, or C", None),
        ("choice", "I think B is wrong. C.", "C"),
    ],
)
def test_what_a_hedge_reaches(kind: str, reply: str, expected: Any) -> None:
    assert value(reply, kind) == expected


def test_a_hedge_in_the_words_of_an_option_is_part_of_it() -> None:
    options = ["A. The car might stop.", "B. The car turns."]
    assert parse_answer("The car might stop.", "choice", options=options).value == "A"
    assert parse_answer("Maybe the car turns.", "choice", options=options).value is None
