"""Scores by hand-computed values, truths in every form the release has, and what must raise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_drivehierarchy import formulas
from lm_eval_drivehierarchy.parsing import PARSE_RULES
from lm_eval_drivehierarchy.scoring import (
    NO_JUDGE,
    NO_TRUTH,
    Scored,
    TruthError,
    box_conventions,
    read_truth,
    score_answer,
)

STATES = ["A. moving.", "B. parked.", "C. stopped."]
GOLD = {"bbox": [100, 100, 200, 300], "format": "xyxy"}


@pytest.mark.parametrize(
    ("truth", "answer", "score"),
    [
        (5, 5, 100.0),
        (20, 21, 100.0),  # E = tau
        (20, 19, 100.0),
        (5, 6, 50.0),  # E = .2: half credit
        (5, 4, 50.0),
        (0, 0, 100.0),
        (0, 1, 100 * 2 ** (-0.95 / 0.15)),  # max(y, 1) = 1
        (1, 2, 100 * 2 ** (-0.95 / 0.15)),
        (10, 14, 100 * 2 ** (-0.35 / 0.15)),
    ],
)
def test_counts(truth: int, answer: int, score: float) -> None:
    assert formulas.count_score(truth, answer) == pytest.approx(score, rel=1e-12)


def test_the_two_scales() -> None:
    scale = formulas.COUNT_SCALE
    assert scale == pytest.approx(0.15 / math.log(2))
    assert scale == pytest.approx(0.2164, abs=5e-5)
    assert formulas.metres_score(0.0, 0.1 * (math.e - 1)) == pytest.approx(100 / math.e)


@pytest.mark.parametrize(
    ("truth", "answer", "score"),
    [
        (17.77, 17.77, 100.0),
        (9.9, 19.9, 50.0),  # a factor of two after the offset
        (19.9, 9.9, 50.0),
        (0.0, 0.0, 100.0),
        (0.0, 0.1, 50.0),
        (0.0, 9.9, 1.0),
        (10.0, 0.0, 100 * 0.1 / 10.1),
        (10.0, math.inf, 0.0),
    ],
)
def test_distances(truth: float, answer: float, score: float) -> None:
    assert formulas.metres_score(truth, answer) == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize(
    ("box", "score"),
    [
        ([100, 100, 200, 300], 100.0),
        ([100, 100, 200, 200], 50.0),
        ([150, 100, 250, 300], 100 / 3),
        ([200, 100, 300, 300], 0.0),
        ([0, 0, 10, 10], 0.0),
        ([150, 150, 150, 250], 0.0),
        ([50, 50, 250, 350], 100 * 20000 / 60000),
    ],
)
def test_boxes(box: list[float], score: float) -> None:
    assert formulas.box_score(GOLD["bbox"], box) == pytest.approx(score, rel=1e-12)  # type: ignore[arg-type]


def test_two_empty_boxes_score_nothing() -> None:
    assert formulas.box_score([5, 5, 5, 5], [5, 5, 5, 5]) == 0.0


@pytest.mark.parametrize(
    ("truth", "order", "score"),
    [
        ("ABC", "ABC", 100.0),
        ("ABC", "CBA", 0.0),
        ("ABC", "ACB", 200 / 3),
        ("ABC", "CAB", 100 / 3),
        ("ABCD", "BACD", 100 * 5 / 6),
        ("EDBAC", "EDBAC", 100.0),
        ("A", "A", 100.0),
    ],
)
def test_orders(truth: str, order: str, score: float) -> None:
    assert formulas.order_score([*truth], [*order]) == pytest.approx(score, rel=1e-12)


@given(st.permutations("ABCDE"), st.permutations("ABCDE"))
def test_an_order_and_its_reverse_share_all_pairs(truth: list[str], order: list[str]) -> None:
    forward, backward = formulas.order_score(truth, order), formulas.order_score(truth, order[::-1])
    assert forward + backward == pytest.approx(100.0)
    assert formulas.order_score(order, truth) == pytest.approx(forward)


@given(st.floats(0, 500), st.floats(0, 500))
def test_scores_stay_within_the_scale_and_prefer_the_nearer(truth: float, answer: float) -> None:
    score = formulas.metres_score(truth, answer)
    assert 0.0 <= score <= 100.0
    assert formulas.metres_score(truth, (truth + answer) / 2) >= score - 1e-9


@pytest.mark.parametrize("rule", PARSE_RULES)
@pytest.mark.parametrize(
    ("kind", "truth", "reply", "options", "value"),
    [
        ("yes_no", "Yes", "yes", None, "yes"),
        ("yes_no", "No", "no", None, "no"),
        ("count", "24", "24", None, 24),
        ("count", 24, "24", None, 24),
        ("metres", "17.77 m", "17.77", None, 17.77),
        ("metres", "52.54 m", "52.54", None, 52.54),
        ("metres", 20, "20", None, 20.0),
        ("choice", "B", "B", STATES, "B"),
        ("choice", "B. parked.", "B", STATES, "B"),
        ("choice", "C. Turn left.", "C", ["A. Back up.", "B. Turn right.", "C. Turn left."], "C"),
        ("choice", "B", "B", None, "B"),
        ("box", GOLD, "[100, 100, 200, 300]", None, [100.0, 100.0, 200.0, 300.0]),
        ("box", [100, 100, 200, 300], "[100, 100, 200, 300]", None, [100.0, 100.0, 200.0, 300.0]),
        ("order", ["D", "E", "C", "B", "A"], '["D", "E", "C", "B", "A"]', list("ABCDE"), list("DECBA")),
        ("order", ["B", "A"], '["B", "A"]', None, ["B", "A"]),
    ],
)
def test_the_true_answer_in_the_requested_format_scores_100(
    kind: Any, truth: Any, reply: str, options: list[str] | None, value: Any, rule: Any
) -> None:
    assert score_answer(kind, truth, reply, options=options, rule=rule) == Scored(100.0, "ok", value)


@pytest.mark.parametrize(
    ("kind", "truth", "reply", "options", "score", "status"),
    [
        ("yes_no", "Yes", "No.", None, 0.0, "recovered"),
        ("yes_no", "Yes", "not sure", None, 0.0, "unparseable"),
        ("count", "5", "There are 2 cars and 4 trucks, so 6 in total.", None, 50.0, "recovered"),
        ("count", "5", "5-6", None, 0.0, "unparseable"),
        ("count", "0", "There are no vehicles.", None, 100.0, "recovered"),
        ("metres", "9.90 m", "0.0199 km", None, 50.0, "recovered"),
        ("choice", "B. parked.", "It is parked.", STATES, 100.0, "recovered"),
        ("choice", "B", "It is parked.", STATES, 100.0, "recovered"),
        ("choice", "B", "A or B", STATES, 0.0, "unparseable"),
        ("choice", "B", "D", STATES, 0.0, "unparseable"),
        ("box", GOLD, "The box is [100, 100, 200, 200].", None, 50.0, "recovered"),
        ("box", GOLD, "[x1, y1, x2, y2]", None, 0.0, "unparseable"),
        ("order", ["A", "B", "C"], "A -> C -> B", ["A", "B", "C"], 200 / 3, "recovered"),
        ("order", ["A", "B", "C"], "C", ["A", "B", "C"], 0.0, "unparseable"),
        ("order", ["A", "B", "C"], '["A", "B"]', None, 0.0, "unparseable"),
        ("order", ["A", "B"], '["A", "C"]', None, 0.0, "unparseable"),
    ],
)
def test_flexible_scores(
    kind: Any, truth: Any, reply: str, options: list[str] | None, score: float, status: str
) -> None:
    scored = score_answer(kind, truth, reply, options=options)
    assert (scored.score, scored.status) == (pytest.approx(score), status)
    assert (scored.value is None) == (status == "unparseable")


# --- truths ----------------------------------------------------------------------------------------------------------

BROKEN = [
    ("yes_no", None),
    ("yes_no", ""),
    ("yes_no", "maybe"),
    ("yes_no", 1),
    ("count", None),
    ("count", ""),
    ("count", "many"),
    ("count", "-1"),
    ("count", -1),
    ("count", 2.5),
    ("count", math.nan),
    ("count", True),
    ("count", "5 or 6"),
    ("metres", None),
    ("metres", "far"),
    ("metres", "17.77 km"),
    ("metres", "-3 m"),
    ("metres", math.nan),
    ("metres", math.inf),
    ("metres", [17.77]),
    ("choice", None),
    ("choice", ""),
    ("choice", "D"),
    ("choice", "B. moving."),
    ("choice", "reversing"),
    ("choice", 2),
    ("box", None),
    ("box", {}),
    ("box", {"bbox": None}),
    ("box", {"bbox": [1, 2, 3]}),
    ("box", {"bbox": [1, 2, 3, math.nan], "format": "xyxy"}),
    ("box", {"bbox": [1, 2, 3, "4"], "format": "xyxy"}),
    ("box", {"bbox": [1, 2, 3, 4], "format": "xywh"}),
    ("box", [5, 5, 5, 10]),
    ("box", "[1, 2, 3, 4]"),
    ("order", None),
    ("order", []),
    ("order", "ABC"),
    ("order", ["A", "A", "B"]),
    ("order", ["A", 2, "C"]),
    ("order", ["A", "B"]),
    ("text", None),
    ("text", ""),
    ("text", []),
    ("text", ["I brake.", " "]),
    ("text", 5),
]
OPTIONS: dict[str, list[str]] = {"choice": STATES, "order": ["A", "B", "C"]}
REPLIES = {
    "yes_no": "yes", "count": "5", "metres": "5", "choice": "B", "box": "[1, 2, 3, 4]", "order": '["A", "B", "C"]',
    "text": "I brake.",
}  # fmt: skip


@pytest.mark.parametrize(("kind", "truth"), BROKEN)
def test_a_broken_truth_raises_and_is_named(kind: Any, truth: Any) -> None:
    with pytest.raises(TruthError) as caught:
        score_answer(kind, truth, REPLIES[kind], options=OPTIONS.get(kind))
    assert repr(truth) in str(caught.value)


@pytest.mark.parametrize("kind", sorted(REPLIES.keys() - {"text"}))
def test_a_broken_truth_raises_even_when_the_reply_is_unparseable(kind: Any) -> None:
    with pytest.raises(TruthError):
        score_answer(kind, None, "", options=OPTIONS.get(kind))


@pytest.mark.parametrize(
    ("kind", "truth", "value"),
    [
        ("yes_no", "Yes.", "yes"),
        ("yes_no", True, "yes"),
        ("count", "4.", 4),
        ("count", 4.0, 4),
        ("metres", "32.00 m.", 32.0),
        ("metres", "32 meters", 32.0),
        ("choice", "B.", "B"),
        ("choice", "parked", "B"),
        ("choice", "C. stopped.", "C"),
        ("box", {"bbox": [200, 300, 100, 100], "format": "xyxy"}, [100.0, 100.0, 200.0, 300.0]),
        ("order", ("C", "A", "B"), ["C", "A", "B"]),
    ],
)
def test_truths_in_other_spellings(kind: Any, truth: Any, value: Any) -> None:
    assert read_truth(kind, truth, OPTIONS.get(kind)) == value


def test_kinds_without_a_single_truth() -> None:
    for kind in ("text", "action"):
        with pytest.raises(ValueError, match="no single true value"):
            read_truth(kind, "x")  # type: ignore[arg-type]


# --- free text and actions -------------------------------------------------------------------------------------------


class _Judge:
    """Remembers what it was asked."""

    def __init__(self, probability: float) -> None:
        self.probability = probability
        self.asked: list[tuple[str, Sequence[str], str]] = []

    def __call__(self, question: str, references: Sequence[str], answer: str) -> float:
        self.asked.append((question, references, answer))
        return self.probability


def test_free_text_is_scored_by_the_judge() -> None:
    judge = _Judge(0.25)
    scored = score_answer("text", ["I stop.", "I brake."], "Answer: I brake", question="What do you do?", judge=judge)
    assert scored == Scored(25.0, "recovered", "I brake")
    assert judge.asked == [("What do you do?", ["I stop.", "I brake."], "I brake")]


def test_official_text_is_compared_with_the_first_reference_as_it_is() -> None:
    judge = _Judge(1.0)
    scored = score_answer(
        "text", ["I stop.", "I brake."], " Answer: I brake ", question="What?", judge=judge, rule="official"
    )
    assert scored == Scored(100.0, "ok", "Answer: I brake")
    assert judge.asked == [("What?", ["I stop."], "Answer: I brake")]


def test_without_a_judge_there_is_no_score_but_a_reason() -> None:
    assert score_answer("text", "I stop.", "I brake.") == Scored(None, "ok", "I brake.", NO_JUDGE)


@pytest.mark.parametrize("rule", PARSE_RULES)
def test_empty_text_scores_0_without_asking(rule: Any) -> None:
    judge = _Judge(1.0)
    assert score_answer("text", "I stop.", " ", question="What?", judge=judge, rule=rule) == Scored(
        0.0, "unparseable", None
    )
    assert judge.asked == []


def test_an_empty_question_is_a_parse_failure_of_the_release() -> None:
    assert score_answer("text", "I stop.", "I brake.", question=" ", judge=_Judge(1.0), rule="official").score == 0.0


def test_the_judge_must_be_told_the_question_and_answer_with_a_number() -> None:
    with pytest.raises(ValueError, match="question"):
        score_answer("text", "I stop.", "I brake.", judge=_Judge(1.0))
    with pytest.raises(ValueError, match="nan"):
        score_answer("text", "I stop.", "I brake.", question="What?", judge=_Judge(math.nan))


def test_actions_have_no_truth() -> None:
    scored = score_answer("action", None, "steer: 0.1\ntarget_speed_mps: 5")
    assert scored == Scored(None, "ok", {"steer": 0.1, "target_speed_mps": 5.0}, NO_TRUTH)


# --- coordinate conventions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "best"),
    [
        ("[264, 709, 525, 1469]", "pixels"),
        ("[0.0976, 0.4664, 0.1942, 0.9664]", "fractions"),
        ("[98, 466, 194, 966]", "thousandths"),
    ],
)
def test_conventions_are_told_apart_but_pixels_are_scored(reply: str, best: str) -> None:
    truth = {"bbox": [264, 709, 525, 1469], "format": "xyxy"}
    found = box_conventions(truth, reply, (2704, 1520))
    assert max(found, key=lambda name: found[name]) == best
    assert found[best] > 97
    assert score_answer("box", truth, reply, image_size=(2704, 1520)).score == pytest.approx(found["pixels"])


def test_conventions_of_a_reply_without_a_box() -> None:
    assert box_conventions(GOLD, "on the left", (1600, 900)) == {}
    with pytest.raises(TruthError):
        box_conventions({}, "[1, 2, 3, 4]", (1600, 900))
