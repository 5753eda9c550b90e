"""Orders by the flexible rule: one table of replies and the order that a fair reader takes from each."""

from __future__ import annotations

import pytest

from lm_eval_drivehierarchy.parsing import Parsed, parse_answer

LABELS = ["A", "B", "C"]
CAB = ["C", "A", "B"]

OK = ['["C", "A", "B"]', '["C","A","B"]', ' ["C", "A", "B"]\n']

RECOVERED = [
    # an article is no label
    "A car is seen in C, then A, then B.",
    "A pedestrian in C, then A, then B",
    "A bus appears from image C, then image A, then image B",
    "['C', 'A', 'B']",
    "[C, A, B]",
    "[C A B]",
    "(C, A, B)",
    "{C, A, B}",
    "C, A, B",
    "C,A,B",
    "C, A, B.",
    "C, A, and B",
    "C A B",
    "CAB",
    "C-A-B",
    "C - A - B",
    "C > A > B",
    "C < A < B",
    "C -> A -> B",
    "C->A->B",
    "C --> A --> B",
    "C → A → B",
    "C→A→B",
    "C => A => B",
    "C ⇒ A ⇒ B",
    "C ➔ A ➔ B",
    "$C \\rightarrow A \\rightarrow B$",
    "$C \\to A \\to B$",
    "B ← A ← C",
    "B <- A <- C",
    "C | A | B",
    "C; A; B",
    "C\nA\nB",
    "1. C\n2. A\n3. B",
    "1) C\n2) A\n3) B",
    "1: C\n2: A\n3: B",
    "1. C 2. A 3. B",
    "(1) C (2) A (3) B",
    "① C ② A ③ B",
    "1. Image C\n2. Image A\n3. Image B",
    "1st: C, 2nd: A, 3rd: B",
    "2. A\n1. C\n3. B",
    "A: 2, B: 3, C: 1",
    "A=2, B=3, C=1",
    "A - 2nd, B - 3rd, C - 1st",
    "- C\n- A\n- B",
    "* C\n* A\n* B",
    "Image C, Image A, Image B",
    "Image C → Image A → Image B",
    "image C, image A, image B",
    "Frame C, then Frame A, then Frame B",
    "C, then A, then B",
    "First C, then A, finally B.",
    "First C, followed by A, and then B.",
    "C first, then A, and B last.",
    "C comes first, A comes second and B comes last",
    "C is first, A is second, and B is third.",
    "B is last, C is first, A is second.",
    "A second, C first, B third",
    "1 - C, 2 - A, 3 - B",
    "First: C; Second: A; Third: B",
    "Image C (first), Image A (second), Image B (third)",
    "The order is C, then A and then B",
    "The sequence is C→A→B because the bus gets nearer.",
    "C before A before B",
    "The order is not A, B, C but C, A, B",
    "A, B, C is wrong; the right order is C, A, B",
    "I would order them C, A, B",
    "C, A, B, respectively",
    "F_C, F_A, F_B",
    '{"order": "C, A, B", "reason": "..."}',
    '[{"label": "C"}, {"label": "A"}, {"label": "B"}]',
    '{"first": "C", "second": "A", "third": "B"}',
    "First is C, second is A, and third is B.",
    "c, a, b",
    "[c, a, b]",
    "Ｃ, Ａ, Ｂ",
    "［Ｃ，Ａ，Ｂ］",
    "“C”, “A”, “B”",
    '"C", "A", "B"',
    '["Image C", "Image A", "Image B"]',
    '["c", "a", "b"]',
    '["C", "A", "B"].',
    '**["C", "A", "B"]**',
    '`["C", "A", "B"]`',
    '```json\n["C", "A", "B"]\n```',
    '```\n["C", "A", "B"]\n```',
    '[\n  "C",\n  "A",\n  "B"\n]',
    "**C, A, B**",
    "**C** → **A** → **B**",
    "\\boxed{C, A, B}",
    "\\boxed{C \\to A \\to B}",
    '\\boxed{["C", "A", "B"]}',
    "\\boxed{\\text{C, A, B}}",
    '<answer>["C", "A", "B"]</answer>',
    "<answer>C, A, B</answer>",
    "<answer>C -> A -> B</answer>",
    '["C", "A", "B"]<|im_end|>',
    'Answer: ["C", "A", "B"]',
    "Answer: C, A, B",
    "Answer: CAB",
    "Answer:\nC, A, B",
    "The answer is C, A, B.",
    'The correct order is ["C", "A", "B"].',
    "The correct order is C, A, B.",
    "The correct order is: C -> A -> B",
    "The correct order of the images is C, A, B.",
    "The chronological order is:\n1. C\n2. A\n3. B",
    "Order: C, A, B",
    "Correct order: C A B",
    "Sequence: C → A → B",
    "Final order: C, A, B",
    'Final answer:\n["C", "A", "B"]',
    'The images were A, B, C. The correct order is ["C", "A", "B"].',
    "At first I took it for A, B, C. Actually, C, A, B.",
    "Answer: A, B, C\nAnswer: C, A, B",
    "In A the bus is near. In B it has passed. In C it is far.\n\nC, A, B",
    'In A the bus is near. In B it has passed. In C it is far.\n["C", "A", "B"]',
    "C, A, B\n\nIn A the bus is near. In B it has passed. In C it is far.",
    'Option labels: A, B, C.\nOutput format: ["A", "B", ...].\n["C", "A", "B"]',
    "Option labels: A, B, C.\nC, A, B",
    "Image C shows the bus far away, image A near, and image B behind.",
    "C, A, B\nC, A, B",
    '["C", "A", "B"] ["C", "A", "B"]',
    '{"order": ["C", "A", "B"]}',
    '{"answer": ["C", "A", "B"]}',
    '{"answer": "C, A, B"}',
    '{"order": "C -> A -> B"}',
    "{'order': ['C', 'A', 'B']}",
    '{"reasoning": "A, B, C is wrong", "answer": ["C", "A", "B"]}',
    '```json\n{"order": ["C", "A", "B"]}\n```',
    '{"A": 2, "B": 3, "C": 1}',
    '{"1": "C", "2": "A", "3": "B"}',
    '{"order": {"1": "C", "2": "A", "3": "B"}}',
    '[["C", "A", "B"]]',
    '<think>["A", "B", "C"]</think>["C", "A", "B"]',
    'A, B, C?</think>["C", "A", "B"]',
    "~~A, B, C~~ C, A, B",
]

UNPARSEABLE = [
    "A bus is not seen in C, then A, then B",
    "",
    "[]",
    "A",
    "C, A",
    '["C", "A"]',
    '["C", "A", "A"]',
    '["C", "A", "B", "B"]',
    '["C", "A", "B", "D"]',
    '["C", "A", "D"]',
    "C, A, B, D",
    "CABD",
    "CAA",
    '["A", "B", ...]',
    '["C", "A", ...]',
    "C, A, ...",
    'Output only the ordered list of option labels in the format ["A", "B", ...] with no extra text.',
    'Reply with the labels in the right order as a JSON list, ["A", "B", ...], and nothing else.',
    'Please determine the correct order of the images.\nOption labels: A, B, C.\nOutput format: ["A", "B", ...].',
    "Option labels: A, B, C.",
    "C, A, B or C, B, A",
    '["C", "A", "B"] or ["C", "B", "A"]',
    "C, A, B\nA, B, C",
    "either C, A, B or A, B, C",
    "I cannot determine the order.",
    "unknown",
    "The images are in the correct order.",
    "A is before B.",
    "B comes after A.",
    "A comes after C, and B is last.",
    "Image A was taken after image C and before image B.",
    "[1, 2, 3]",
    "1, 2, 3",
    "3, 1, 2",
    '{"order": null}',
    '{"order": []}',
    '{"A": 1, "B": 1, "C": 2}',
    '{"A": 1, "B": 3, "C": 5}',
    "A: 2, B: 2, C: 1",
    "<think>C, A, B",
    "C, A, B <think>",
    "<answer></answer>",
    "A car, a bus and a cyclist",
    "NaN",
    "C → A ← B",
    "B is last, C, A",
    "not C, A, B",
    "C before A and before B",
    "C → A → B → C",
    "The images above are, in the order in which they are shown: image A, image B, image C.",
    "Labels: A, B, C.",
]


@pytest.mark.parametrize("reply", OK)
def test_requested_format_is_ok(reply: str) -> None:
    assert parse_answer(reply, "order", options=LABELS) == Parsed(CAB, "ok")


@pytest.mark.parametrize("reply", RECOVERED)
def test_recovered(reply: str) -> None:
    assert parse_answer(reply, "order", options=LABELS) == Parsed(CAB, "recovered")


@pytest.mark.parametrize("reply", UNPARSEABLE)
def test_unparseable(reply: str) -> None:
    assert parse_answer(reply, "order", options=LABELS) == Parsed(None, "unparseable")


@pytest.mark.parametrize(
    ("reply", "labels", "value"),
    [
        ('["B", "A"]', None, ["B", "A"]),
        ("B, A", None, ["B", "A"]),
        ("E -> D -> B -> A -> C", None, ["E", "D", "B", "A", "C"]),
        ("B", None, None),
        ("A car", None, None),
        ('["E", "D", "B", "A", "C"]', list("ABCDE"), ["E", "D", "B", "A", "C"]),
        ("EDBAC", list("ABCDE"), ["E", "D", "B", "A", "C"]),
        ("1. E 2. D 3. B 4. A 5. C", list("ABCDE"), ["E", "D", "B", "A", "C"]),
        ("First image E, then D, B, A, and finally C", list("ABCDE"), ["E", "D", "B", "A", "C"]),
        ("D, C, B, A", list("ABCDE"), None),
        ('["t2", "t1"]', ["t1", "t2"], ["t2", "t1"]),
        ("t2 -> t1", ["t1", "t2"], ["t2", "t1"]),
        ('["A"]', ["A"], ["A"]),
    ],
)
def test_other_labels(reply: str, labels: list[str] | None, value: list[str] | None) -> None:
    assert parse_answer(reply, "order", options=labels).value == value


FORWARDS = (
    "Earliest to latest: {}", "From earliest to latest: {}", "Earliest first: {}", "Oldest to newest: {}",
    "In chronological order: {}", "{} (earliest to latest)", "{}, from earliest to latest",
    "The order from the earliest to the latest is {}.", "Order (earliest → latest): {}", "From first to last: {}",
    "Ordered from earliest to latest: {}", "Not latest first but earliest first: {}", "From start to end: {}",
)  # fmt: skip
REVERSED = (
    "Latest first: {}", "Latest to earliest: {}", "In reverse chronological order: {}.", "From latest to earliest: {}",
    "From the latest to the earliest: {}", "Newest to oldest: {}", "Most recent first: {}", "{} (latest first)",
    "{}, from latest to earliest", "{} in reverse chronological order.", "Order (latest to earliest): {}",
    "The images in reverse chronological order are: {}", "The order from latest to earliest is {}.",
    "Answer: {} (newest to oldest)", "Latest → earliest: {}", "Listed latest first, the images are {}",
    "Latest first (newest to oldest): {}",
)  # fmt: skip
LISTS = ("C, A, B", '["C", "A", "B"]', "C → A → B", "C, then A, then B")


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize(
    ("announcement", "value"), [*((text, CAB) for text in FORWARDS), *((text, CAB[::-1]) for text in REVERSED)]
)
def test_an_order_is_read_in_the_direction_announced(announcement: str, listed: str, value: list[str]) -> None:
    assert parse_answer(announcement.format(listed), "order", options=LABELS).value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Latest first:\nB\nA\nC", CAB),
        ("Latest first:\n1. B\n2. A\n3. C", CAB),
        ("Earliest to latest:\nC\nA\nB", CAB),
        ("In reverse chronological order: B, A, C. So the answer is C, A, B.", CAB),
        ("Latest first: B, A, C. Answer: C, A, B", CAB),
        ("Reverse chronological order: B, A, C. Chronological order: C, A, B.", CAB),
        ("The images are shown in reverse chronological order, so the correct order is C, A, B.", CAB),
        ("Looking from the latest to the earliest image, the bus shrinks. C, A, B", CAB),
        ("From latest to earliest, the bus gets smaller.\nAnswer: C, A, B", CAB),
        ("The images are in reverse chronological order: C, A, B.", None),
        ("Latest first: A, B", None),
        ("Earliest to latest: A, B", None),
        ("Latest first: A, B, C or A, C, B", None),
    ],
)
def test_what_a_direction_reaches(reply: str, value: list[str] | None) -> None:
    assert parse_answer(reply, "order", options=LABELS).value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("t0: C, t1: A, t2: B", CAB),
        ("t0: C\nt1: A\nt2: B", CAB),
        ("t=0: C, t=1: A, t=2: B", CAB),
        ("t_1: C, t_2: A, t_3: B", CAB),
        ("T0 → C, T1 → A, T2 → B", CAB),
        ("t2: B, t1: A, t0: C", CAB),
        ("A: t1, B: t2, C: t0", CAB),
        ("t0: image C, t1: image A, t2: image B", CAB),
        ("0: C, 1: A, 2: B", CAB),
        ("t0: C, t2: A, t3: B", None),
        ("t0: C, t0: A, t1: B", None),
    ],
)
def test_points_in_time_are_places(reply: str, value: list[str] | None) -> None:
    assert parse_answer(reply, "order", options=LABELS).value == value


def test_points_in_time_that_are_labels_stay_labels() -> None:
    assert parse_answer("t2, t1, t3", "order", options=["t1", "t2", "t3"]).value == ["t2", "t1", "t3"]


@pytest.mark.parametrize(
    "reply",
    [
        "First guess: A, B, C. Final: C, A, B",
        "First guess: A, B, C. Final guess: C, A, B",
        "Initial: A, B, C. Revised: C, A, B",
        "Draft: A, B, C\nCorrected: C, A, B",
        "A, B, C. Oops, C, A, B",
        "A, B, C. I meant C, A, B.",
        "A, B, C (no, C, A, B)",
    ],
)
def test_the_corrected_order_counts(reply: str) -> None:
    assert parse_answer(reply, "order", options=LABELS).value == CAB
