"""Multiple choice by the flexible rule: one table of replies and the option that a fair reader takes from each."""

from __future__ import annotations

import pytest

from lm_eval_drivehierarchy.parsing import Parsed, parse_answer

STATES = ["A. moving.", "B. parked.", "C. stopped."]
CHANGES = [
    "A. It transitions from parked to moving.",
    "B. It transitions from moving to parked.",
    "C. No Change (It remains stopped).",
    "D. No Change (It remains moving).",
]
TRANSITIONS = [
    "A. It transitions from stopped to moving.",
    "B. It transitions from moving to stopped.",
    "C. No Change (It remains stopped).",
    "D. No Change (It remains moving).",
]
RELATIONS = ["A. Left.", "B. Rear-Left.", "C. Front.", "D. Front-Right."]
ACTIONS = ["A. Keep going straight.", "B. Turn left.", "C. Back up.", "D. Turn right."]

OK = [("A", "A"), ("B", "B"), ("C", "C"), (" B\n", "B")]

RECOVERED = [
    # a letter and nothing else
    ("B.", "B"),
    ("B)", "B"),
    ("(B)", "B"),
    ("[B]", "B"),
    ("{B}", "B"),
    ("<B>", "B"),
    ('"B"', "B"),
    ("'B'", "B"),
    ("“B”", "B"),
    ("b", "B"),
    ("b.", "B"),
    ("(b)", "B"),
    ("a", "A"),
    ("a)", "A"),
    ("**B**", "B"),
    ("**B.**", "B"),
    ("*B*", "B"),
    ("`B`", "B"),
    ("__B__", "B"),
    ("```\nB\n```", "B"),
    ("Ｂ", "B"),
    ("（Ｂ）", "B"),
    ("Ⓑ", "B"),
    ("𝐁", "B"),
    ("\u200bB", "B"),
    ("B<|im_end|>", "B"),
    ("B</s>", "B"),
    ("B<|endoftext|>Human: A or C?", "B"),
    ("\\boxed{B}", "B"),
    ("$\\boxed{\\text{B}}$", "B"),
    ("$\\boxed{\\mathrm{(B)}}$", "B"),
    ("\\(\\boxed{B}\\)", "B"),
    ("\\boxed{B. \\text{parked}}", "B"),
    ("<answer>B</answer>", "B"),
    ("<answer>B. parked.</answer>", "B"),
    ("<answer>The answer is B</answer>", "B"),
    ("A or C? <answer>B</answer>", "B"),
    ("\\boxed{A} no, \\boxed{B}", "B"),
    ("\\boxed{A} no. Answer: B", "B"),
    ("Answer: A, or rather \\boxed{B}", "B"),
    ("<answer>A</answer> Wait. The answer is B.", "B"),
    ("- B", "B"),
    ("> B", "B"),
    ("# B", "B"),
    ("- B. parked", "B"),
    # a letter with its words
    ("B. parked.", "B"),
    ("B. parked", "B"),
    ("B) parked", "B"),
    ("(B) parked", "B"),
    ("B: parked", "B"),
    ("B - parked", "B"),
    ("B — parked", "B"),
    ("B, parked", "B"),
    ("B parked", "B"),
    ("**B. parked.**", "B"),
    ("**B**. parked", "B"),
    ("b) parked", "B"),
    ("B. Parked, because its lights are off.", "B"),
    ("B. The car is parked at the kerb.", "B"),
    ("A. moving", "A"),
    ("A moving", "A"),
    ("A. The car is moving.", "A"),
    # words alone
    ("parked", "B"),
    ("Parked.", "B"),
    ("parked.", "B"),
    ("**parked**", "B"),
    ("It is parked.", "B"),
    ("The vehicle is parked.", "B"),
    ("The nearest vehicle is parked at the roadside.", "B"),
    ("A car is parked.", "B"),
    ("moving", "A"),
    ("A pedestrian is moving.", "A"),
    ("The car is not moving, it is stopped.", "C"),
    # declarations
    ("Answer: B", "B"),
    ("answer: b", "B"),
    ("ANSWER: B", "B"),
    ("Answer: (B)", "B"),
    ("Answer: **B**", "B"),
    ("**Answer:** B", "B"),
    ("**Answer: B**", "B"),
    ("Answer:\nB", "B"),
    ("Answer:\n\n**B. parked.**", "B"),
    ("Answer B", "B"),
    ("Answer: B. parked.", "B"),
    ("Answer: parked", "B"),
    ("Answer: Option B", "B"),
    ("The answer is B", "B"),
    ("The answer is B.", "B"),
    ("The answer is (B).", "B"),
    ("The answer is **B**.", "B"),
    ("The answer is: B", "B"),
    ("The answer is option B", "B"),
    ("The answer is option (b).", "B"),
    ("The answer is parked.", "B"),
    ("The answer is A", "A"),
    ("The answer is A.", "A"),
    ("The answer is A because it is moving.", "A"),
    ("The correct answer is B. Here's why: A is wrong since the car stands.", "B"),
    ("The correct answer is B, not A.", "B"),
    ("The answer is not A but B.", "B"),
    ("The correct option is B", "B"),
    ("The correct choice is B: parked", "B"),
    ("The best answer is B", "B"),
    ("My answer: B", "B"),
    ("Final answer: B", "B"),
    ("**Final Answer**: B", "B"),
    ("Final Answer\nB", "B"),
    ("Option B", "B"),
    ("option b", "B"),
    ("Option B.", "B"),
    ("Option (B)", "B"),
    ("Option B: parked", "B"),
    ("Option B is correct.", "B"),
    ("B is correct", "B"),
    ("B is the correct answer.", "B"),
    ("(B) is the right option", "B"),
    ("A is wrong, B is right.", "B"),
    ("I choose B", "B"),
    ("I would choose option B.", "B"),
    ("I select (B)", "B"),
    ("I'd go with B.", "B"),
    ("So B", "B"),
    ("So the answer is B.", "B"),
    ("The car stands at the kerb. Therefore, B.", "B"),
    ("The car stands at the kerb, therefore option B.", "B"),
    ("The car stands at the kerb.\n\nB", "B"),
    ("The car stands at the kerb.\n\n**B**", "B"),
    ("The car stands at the kerb.\n\nB. parked.", "B"),
    ("B\n\nThe car stands at the kerb.", "B"),
    ("B because A and C do not fit.", "B"),
    ("B, because the lights are off", "B"),
    ("B. The other options A and C are wrong.", "B"),
    ("Neither A nor B, so C", "C"),
    ("A is not correct; C is not correct; thus B.", "B"),
    ("It may be parked or stopped, but B is most appropriate", "B"),
    ("The status of the vehicle is parked", "B"),
    ("B.parked", "B"),
    ("C. A pretty sunny road", "C"),
    ("B (parked)", "B"),
    ("b (parked)", "B"),
    ("Letter: B", "B"),
    ("Choice: B", "B"),
    ("Selected option: B", "B"),
    ("I think the answer is B", "B"),
    ("It's B.", "B"),
    ("B!", "B"),
    ("Most likely B.", "B"),
    ("The vehicle is parked (B).", "B"),
    ("The answer is a.", "A"),
    ("The answer is b because the lights are off.", "B"),
    ("b because the lights are off", "B"),
    ("B (not A)", "B"),
    ("答案是B", "B"),
    ("答案：B", "B"),
    ("It looked like A at first, but it is B.", "B"),
    # a later declaration over an earlier one, and over mentions
    ("Answer: A\nAnswer: B", "B"),
    ("Answer: A. Wait, I was wrong. Answer: B", "B"),
    ("The answer is A. Actually, the answer is B.", "B"),
    ("At first it seems moving, but the answer is parked.", "B"),
    ("A. moving - no.\nB. parked - yes.\nC. stopped - no.\nAnswer: B", "B"),
    ("A. moving\nB. parked\nC. stopped\n\nThe correct answer is B.", "B"),
    ("Options:\nA. moving.\nB. parked.\nC. stopped.\nAnswer: B", "B"),
    ("Option A is incorrect. Option C is incorrect. Option B is correct.", "B"),
    ("A is ruled out and C is ruled out, so B.", "B"),
    ("Not A. Not C. B.", "B"),
    ("A: no, B: yes, C: no", "B"),
    ("B.\nB.", "B"),
    ("B B", "B") if False else ("B, B", "B"),
    ("Answer: B\nAnswer: B", "B"),
    # JSON
    ('{"answer": "B"}', "B"),
    ('{"answer": "b"}', "B"),
    ('{"answer": "B. parked."}', "B"),
    ('{"answer": "parked"}', "B"),
    ("{'answer': 'B'}", "B"),
    ('{"option": "B"}', "B"),
    ('{"choice": "B", "confidence": 0.8}', "B"),
    ('{"reasoning": "A and C do not fit", "answer": "B"}', "B"),
    ('{"answer": {"letter": "B", "text": "parked"}}', "B"),
    ('{"answer": ["B"]}', "B"),
    ('["B"]', "B"),
    ('[{"answer": "B"}]', "B"),
    ('```json\n{"answer": "B"}\n```', "B"),
    ('The answer: {"answer": "B"}', "B"),
    ('{"answer": "B"', "B"),
    # reasoning
    ("<think>A or C?</think>B", "B"),
    ("<think>The answer is A.</think>\n\nB", "B"),
    ("The answer is A.</think>B", "B"),
    ("[THINK]A[/THINK]B", "B"),
    ("◁think▷A◁/think▷B", "B"),
    ("<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
    ("~~A~~ B", "B"),
]

UNPARSEABLE = [
    "选B",
    "Opt B",
    "A definitely",
    "",
    " ",
    ".",
    "?",
    "Answer:",
    "Answer",
    "The answer",
    "The Answer is unclear.",
    "I cannot answer this.",
    "I cannot determine it, so no answer.",
    "unknown",
    "N/A",
    "NaN",
    "none",
    "None of the above",
    "D",
    "E",
    "(D)",
    "D. reversing.",
    "Option D",
    "Answer: D",
    "Answer: E. none",
    "The answer is B or rather D. Answer: D",
    "Z",
    "1",
    "2",
    "Option 2",
    "AB",
    "ANSWER: AB",
    "ABC",
    "A and B",
    "A, B",
    "A or B",
    "A/B",
    "A/B/C",
    "A & B",
    "Both A and B",
    "Either A or C",
    "B or maybe C",
    "A: no, B: no",
    "A. no",
    "None of A, B",
    "C > B > A",
    "A.M.",
    "U.S.A.",
    "The car in lane C is parked (B).",
    "It cannot be A, so it is B or C",
    "The answer isn't A",
    "The car was moving and has stopped",
    "Option A: moving. Option B: parked. Option C: stopped.",
    "Answer: A or B",
    "Answer: A, B",
    "The answer is A or B.",
    "The answer is A and C",
    "B or C",
    "(A) or (B)",
    "A B",
    "moving or parked",
    "It is either parked or stopped.",
    "The car is moving, the truck is parked.",
    "not parked",
    "It is not parked.",
    "The car isn't moving.",
    "B. moving.",
    "A) stopped",
    "A. moving.\nB. parked.\nC. stopped.",
    "A. moving. B. parked. C. stopped.",
    "A: moving\nB: parked\nC: stopped",
    "What is the current status of the nearest Vehicle in CAM_FRONT?\nOptions:\nA. moving.\nB. parked.\nC. stopped.",
    "Choose the correct option and output only the option letter (e.g., A/B/C) without any extra text.",
    "Reply with the letter of the correct option (A, B, C, ...) and nothing else.",
    "<letter>",
    "[letter]",
    "Answer: <option letter>",
    "A car",
    "A car is on the road.",
    "I think",
    "I",
    "Vitamin C",
    "The car in lane B",
    "Image B shows a car.",
    "CAM_B",
    "B-road",
    "a car",
    "The answer is a car.",
    "Answers vary.",
    "Cars",
    "car",
    "Based on the image",
    "As an AI model I cannot say",
    '{"answer": null}',
    '{"answer": ""}',
    '{"answer": "D"}',
    '{"answer": "A or B"}',
    '{"answer": ["A", "B"]}',
    '["A", "B"]',
    '{"A": 0.2, "B": 0.8}',
    "<think>B",
    "<think>The answer is B.",
    "B <think>",
    "[THINK]B",
    "<answer></answer>",
    "\\boxed{}",
    "\\boxed{A \\text{ or } B}",
    "\\boxed{D}",
    "I pick A\nI pick B" if False else "A is correct. B is correct.",
    "All of the above",
]

WITH_OTHER_OPTIONS = [
    (["A. parked.", "B. moving.", "C. stopped."], "B. It's stopped.", None),
    (["A. parked.", "B. moving.", "C. stopped."], "B. It's moving.", "B"),
    (["A. parked.", "B. moving.", "C. stopped."], "B. The vehicle is stopped.", None),
    (TRANSITIONS, "stopped to moving", "A"),
    (TRANSITIONS, "Moving to stopped.", "B"),
    (TRANSITIONS, "It remains stopped", "C"),
    (TRANSITIONS, "The answer is: stopped to moving", "A"),
    (TRANSITIONS, "A. stopped to moving", "A"),
    (TRANSITIONS, "A. moving to stopped", None),
    (["A. Front-Left.", "B. Front-Right."], "Frontleft", "A"),
    (["A. Front-Left.", "B. Left."], "Frontleft.", "A"),
    (CHANGES, "It transitions from parked to moving.", "A"),
    (CHANGES, "It transitions from moving to parked", "B"),
    (CHANGES, "No Change (It remains stopped).", "C"),
    (CHANGES, "No change, it remains moving.", "D"),
    (CHANGES, "D. No Change (It remains moving).", "D"),
    (CHANGES, "The vehicle: no change (it remains stopped)", "C"),
    (CHANGES, "No Change", None),
    (CHANGES, "moving", None),
    (CHANGES, "A. It transitions from moving to parked.", None),
    (CHANGES, "The answer is C: No Change (It remains stopped).", "C"),
    (RELATIONS, "Left", "A"),
    (RELATIONS, "Rear-Left", "B"),
    (RELATIONS, "rear left", "B"),
    (RELATIONS, "Rear Left.", "B"),
    (RELATIONS, "The vehicle is to the rear-left.", "B"),
    (RELATIONS, "It is in front.", "C"),
    (RELATIONS, "Front-Right", "D"),
    (RELATIONS, "The answer is Front-Right.", "D"),
    (RELATIONS, "D. Front-Right.", "D"),
    (RELATIONS, "Right", None),
    (RELATIONS, "Rear-Right", None),
    (RELATIONS, "front or left", None),
    (RELATIONS, "D", "D"),
    (ACTIONS, "Turn left.", "B"),
    (ACTIONS, "It will turn left at the intersection.", "B"),
    (ACTIONS, "The car will keep going straight.", "A"),
    (ACTIONS, "B. Turn left.", "B"),
    (ACTIONS, "Back up", "C"),
    (ACTIONS, "turn left or turn right", None),
    (ACTIONS, "It will not turn left.", None),
    (ACTIONS, "It will not turn left; it will turn right.", "D"),
    (ACTIONS, "C. Turn left.", None),
    (ACTIONS, "Change to the left lane.", None),
    (["A. with_rider.", "B. without_rider."], "with_rider", "A"),
    (["A. with_rider.", "B. without_rider."], "without_rider", "B"),
    (["A. with_rider.", "B. without_rider."], "without rider", "B"),
    (["A. with_rider.", "B. without_rider."], "C", None),
    (["moving", "parked"], "B", "B"),
    (["moving", "parked"], "parked", "B"),
    (["moving", "parked"], "C", None),
    (["(A) moving", "(B) parked"], "A", "A"),
    (["A) moving", "B) parked"], "parked", "B"),
    (["A. moving.", "B. standing.", "C. sitting or lying."], "sitting or lying", "C"),
    (["A. moving.", "B. standing.", "C. sitting or lying."], "The person is sitting or lying.", "C"),
]


@pytest.mark.parametrize(("reply", "value"), OK)
def test_requested_format_is_ok(reply: str, value: str) -> None:
    assert parse_answer(reply, "choice", options=STATES) == Parsed(value, "ok")


@pytest.mark.parametrize(("reply", "value"), RECOVERED)
def test_recovered(reply: str, value: str) -> None:
    assert parse_answer(reply, "choice", options=STATES) == Parsed(value, "recovered")


@pytest.mark.parametrize("reply", UNPARSEABLE)
def test_unparseable(reply: str) -> None:
    assert parse_answer(reply, "choice", options=STATES) == Parsed(None, "unparseable")


@pytest.mark.parametrize(("options", "reply", "value"), WITH_OTHER_OPTIONS)
def test_words_of_the_options(options: list[str], reply: str, value: str | None) -> None:
    assert parse_answer(reply, "choice", options=options).value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [("B", "B"), ("Answer: F", "F"), ("(c)", "C"), ("A car", None), ("I", "I"), ("moving", None), ("A or B", None)],
)
def test_without_options_any_letter_may_be_answered(reply: str, value: str | None) -> None:
    assert parse_answer(reply, "choice").value == value


POSTURES = ["A. moving.", "B. standing."]
DENIALS = (
    "The pedestrian does not appear to be {}.", "The pedestrian does not seem to be {}.",
    "It doesn't look like it is {}.", "The man never seems to be {}.", "I don't think the man near the red car is {}.",
    "I do not believe it is {}.",
    "The pedestrian shows no sign of {}.", "There is no evidence that the pedestrian is {}.",
    "There's no visible indication of it {}.", "The pedestrian is not {}.", "The pedestrian stopped {}.",
    "The pedestrian has ceased {}.", "The man quit {}.", "non-{}", "It is non-{}.",
    "The pedestrian is anything but {}.",
    "It is far from {}.", "The pedestrian is hardly {}.", "It refrains from {}.", "No {} pedestrian, no {} cyclist.",
)  # fmt: skip
YET_TO_COME = (
    "The pedestrian is about to start {}.", "It will soon begin {}.", "It has yet to start {}.",
    "It is ready to start {}.", "It waits before {}.", "It waits before it starts {}.",
    "The pedestrian has not started {}.",
)  # fmt: skip
DOUBTS = (
    "I can't tell whether it is {}.", "It's hard to say whether the pedestrian is {}.",
    "It's unclear if the pedestrian is {} or not", "Whether it is {} cannot be determined.",
    "Whether the pedestrian is {} is unclear", "Not enough information to say it's {}.",
    "Insufficient evidence to conclude that it is {}.", "I cannot confirm that the man is {}.",
    "It is impossible to know the pedestrian is {}.", "The image does not reveal whether the pedestrian is {}.",
    "It depends on whether the man is {}.", "I'm not sure if it is {}", "The image is too dark to tell if it is {}.",
    "If the pedestrian were {}, the legs would look different.", "I don't know whether it is {}, walking or sitting.",
)  # fmt: skip


@pytest.mark.parametrize("words", ["moving", "standing"])
@pytest.mark.parametrize("reply", [*DENIALS, *YET_TO_COME, *DOUBTS])
def test_words_that_are_denied_or_in_doubt_name_no_option(reply: str, words: str) -> None:
    assert parse_answer(reply.format(*[words] * reply.count("{}")), "choice", options=POSTURES).value is None


@pytest.mark.parametrize(
    "reply",
    [
        "I'm not sure whether it is B.",
        "It's unclear whether B is correct.",
        "It isn't clear if the answer is B.",
        "I can't say that B is right.",
        "I don't think B is right.",
        "It doesn't look like B.",
    ],
)
def test_a_letter_in_doubt_is_no_answer(reply: str) -> None:
    assert parse_answer(reply, "choice", options=POSTURES).value is None


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It appears to be moving.", "A"),
        ("Looks like it is moving.", "A"),
        ("The pedestrian looks as if it is moving.", "A"),
        ("The pedestrian started moving.", "A"),
        ("No, moving.", "A"),
        ("There is no doubt that it is moving.", "A"),
        ("If I had to choose I would say moving.", "A"),
        ("Even if it is dark, the pedestrian is moving.", "A"),
        ("I can't tell whether it is walking fast, but it is moving.", "A"),
        ("I can't tell for sure, but most likely B.", "B"),
        ("I can't tell whether it is moving or standing. My answer: B", "B"),
        ("To see whether it is moving I look at the legs. It is standing.", "B"),
        ("It does not appear to be walking, so it is standing.", "B"),
        ("It does not appear to be moving and is standing.", "B"),
        ("It doesn't seem to be going anywhere; it is standing.", "B"),
        ("I don't think it is moving; it is standing.", "B"),
        ("The pedestrian stopped and is standing.", "B"),
        ("The person doesn't look at the car and is moving.", "A"),
        ("There is no sign of a crossing; the pedestrian is moving.", "A"),
        ("A. It does not appear to be standing.", "A"),
        ("B. The pedestrian does not seem to be moving.", "B"),
        ("It does not appear to be moving.\nB", "B"),
    ],
)
def test_a_denial_or_a_doubt_reaches_to_the_end_of_its_clause(reply: str, value: str) -> None:
    assert parse_answer(reply, "choice", options=POSTURES).value == value


def test_a_doubt_that_is_an_option_is_answered_by_its_words() -> None:
    options = ["A. It is unclear whether it moves.", "B. It moves."]
    assert parse_answer("It is unclear whether it moves.", "choice", options=options).value == "A"


CORRECTIONS = (
    "My answer is {}. Wait, no — {}.", "My answer is {}. Wait, no - {}", "{}. Wait, no. {}.", "Answer: {}. No — {}.",
    "Answer: {}, no - it's {}.", "The answer is {}. Sorry, I meant {}.", "The answer is {}; I meant option {}.",
    "Answer: {}. I meant to say {}.", "The answer is {} (no, {})", "{} (no: {})", "Answer: {} (wait, {})",
    "The answer is {} (sorry, {}).", "{} (or rather {})", "The answer is {}. Oops, {}.", "{}, make that {}.",
    "The answer is {}. My mistake, {}.", "Answer: {}. Hold on. It's {}.", "Answer: {}. I stand corrected: {}.",
    "Answer: {}. Let me double check: the legs... {} is right.", "First guess: {}. Final: {}",
    "Answer: {}. Let me check again. The legs differ. {} is the correct answer.",
    "Answer: {}\nOn closer inspection the legs differ.\n{} is right.", "Initial answer: {}. Revised: {}.",
    "{} (wrong). {} (right).", "{} (incorrect), {} (correct)", "Option {} (false). Option {} (true).",
    "{} (no), {} (yes)", "{} (ruled out)\n{} (fits)", "{} - wrong, {} - right",
)  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [("A", "B"), ("B", "A")])
@pytest.mark.parametrize("reply", CORRECTIONS)
def test_a_correction_replaces_the_letter_before_it(reply: str, first: str, second: str) -> None:
    assert parse_answer(reply.format(first, second), "choice", options=POSTURES).value == second


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Answer: A. Although B is right at first sight.", "A"),
        ("Answer: A. B is right behind the car.", "A"),
        ("Answer: A. If it stood, B would be correct.", "A"),
        ("Answer: A. Wait, let me check. Yes, A is right.", "A"),
        ("Answer: A — no doubt.", "A"),
        ("A. No sign of B.", "A"),
        ("A. Sorry, I cannot see more.", "A"),
        ("A (no further explanation)", "A"),
        ("A (not B)", "A"),
        ("B (right), A (wrong)", "B"),
        ("B is right. Answer: A", "A"),
        ("A (no)", None),
        ("Answer: A. Wait, that is wrong.", None),
        ("The answer is A. Hmm, that's not right.", None),
        ("Answer: A. Wait, no.", None),
        ("Answer: A. Wait, that is wrong. Answer: B", "B"),
    ],
)
def test_what_is_no_correction_and_what_takes_an_answer_back(reply: str, value: str | None) -> None:
    assert parse_answer(reply, "choice", options=POSTURES).value == value


@pytest.mark.parametrize(("first", "second", "value"), [("moving", "standing", "B"), ("standing", "moving", "A")])
@pytest.mark.parametrize(
    "reply",
    [
        "{}? No, {}.",
        "Is it {}? No, {}.",
        "{}... no, {}",
        "It is {}. No, it is {}.",
        "It is {} — no, wait, {}.",
        "The pedestrian is {}. Sorry, {}.",
        "The pedestrian was {} earlier but is now {}.",
        "It was {} before but now it is {}.",
        "The pedestrian had been {}, but he is now {}.",
        "The pedestrian used to be {}; now it is {}.",
        "Previously {}, now {}.",
    ],
)
def test_words_that_replace_others(reply: str, first: str, second: str, value: str) -> None:
    assert parse_answer(reply.format(first, second), "choice", options=POSTURES).value == value


@pytest.mark.parametrize(
    "reply",
    [
        "Moving? No. Standing? No.",
        "moving: no, standing: no",
        "moving - no, standing - no",
        "moving, standing",
        "It was moving and standing.",
        "It was moving earlier and is not now standing.",
    ],
)
def test_words_that_do_not_replace_others(reply: str) -> None:
    assert parse_answer(reply, "choice", options=POSTURES).value != "B"


def test_the_joined_words_of_a_direction_are_replaced_too() -> None:
    options = ["A. Front-Left.", "B. Front-Right.", "C. Rear-Right.", "D. Right."]
    assert parse_answer("Rear-Right? No, Front-Left.", "choice", options=options).value == "A"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("A it is.", "A"),
        ("B it is!", "B"),
        ("So B it is.", "B"),
        ("Option A it is", "A"),
        ("A it is not.", None),
        ("Both A and B are possible, but B fits better.", "B"),
        ("A and B both fit, but A fits best.", "A"),
        ("A or B; B matches the image better", "B"),
        ("A is possible, but B describes the scene better.", "B"),
        ("A or B, but B seems better.", "B"),
        ("A is better than B.", "A"),
        ("A fits better. B fits better.", None),
        ("A and B are possible.", None),
        ("A and B fit equally well.", None),
        ("A or B, and neither fits better.", None),
    ],
)
def test_the_letter_preferred(reply: str, value: str | None) -> None:
    assert parse_answer(reply, "choice", options=POSTURES).value == value


MANOEUVRES = ["A. Keep going straight.", "B. Turn left.", "C. Turn right.", "D. Stationary."]
SIDES = ["A. Front-Left.", "B. Front-Right.", "C. Rear-Right.", "D. Right."]
LANES = ["A. Change to the left lane.", "B. Change to the right lane.", "C. Stop."]


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        (MANOEUVRES, "Turn left or right"),
        (MANOEUVRES, "Turn right or left"),
        (MANOEUVRES, "Turn left/right"),
        (MANOEUVRES, "It will turn left or to the right."),
        (MANOEUVRES, "turn left (or right)"),
        (MANOEUVRES, "Turn left; or right"),
        (MANOEUVRES, "Answer: turn right, or maybe left"),
        (MANOEUVRES, "turn left and right"),
        (MANOEUVRES, "Left or turn right"),
        (MANOEUVRES, "Turn left or straight"),
        (MANOEUVRES, "turn left or go straight"),
        (SIDES, "Front-Left or Right"),
        (SIDES, "Front-Left/Right"),
        (SIDES, "Rear-Right or Left"),
        (SIDES, "Front or rear-right"),
        (LANES, "Change to the left lane or the right one"),
        (LANES, "Change to the left or right lane"),
        (CHANGES, "No change, it remains stopped or moving"),
        (CHANGES, "It transitions from parked to moving or stopped"),
    ],
)
def test_an_alternative_cut_short_is_no_answer(options: list[str], reply: str) -> None:
    assert parse_answer(reply, "choice", options=options).value is None


@pytest.mark.parametrize(
    ("options", "reply", "value"),
    [
        (MANOEUVRES, "It will turn left right after the crossing.", "B"),
        (MANOEUVRES, "It will turn left and right after that it stops.", "B"),
        (MANOEUVRES, "Turn left at this crossing or at the next one", "B"),
        (MANOEUVRES, "The vehicle in the left or right lane will turn left.", "B"),
        (MANOEUVRES, "It will turn left and leave the frame on the left.", "B"),
        (MANOEUVRES, "The car on the right will turn left.", "B"),
        (MANOEUVRES, "Turn left, not right or straight", "B"),
        (LANES, "Change to the left lane", "A"),
        (POSTURES, "standing or waiting at the kerb", "B"),
    ],
)
def test_what_is_no_alternative(options: list[str], reply: str, value: str) -> None:
    assert parse_answer(reply, "choice", options=options).value == value
