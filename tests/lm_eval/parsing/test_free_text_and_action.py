"""Free text and driving actions: what is taken off a reply, and what is kept word for word."""

from __future__ import annotations

import pytest

from drivehierarchy_gym.action_text import ACTION_FORMAT
from lm_eval_drivehierarchy.parsing import Parsed, parse_answer

SENTENCE = "I am turning left, as the road bends that way."


@pytest.mark.parametrize("reply", [SENTENCE, f"  {SENTENCE}\n", "5", "Stopping.", "The answer is that I brake."])
def test_a_plain_answer_is_ok(reply: str) -> None:
    assert parse_answer(reply, "text") == Parsed(reply.strip(), "ok")


@pytest.mark.parametrize(
    "reply",
    [
        f"Answer: {SENTENCE}",
        f"**Answer:** {SENTENCE}",
        f"Final answer: {SENTENCE}",
        f"The answer is: {SENTENCE}",
        f"Answer:\n{SENTENCE}",
        f"The road bends and nobody is ahead.\n\nAnswer: {SENTENCE}",
        f"<think>Which way?</think>{SENTENCE}",
        f"Which way?</think>\n{SENTENCE}",
        f"<answer>{SENTENCE}</answer>",
        f"Some thoughts. <answer>{SENTENCE}</answer>",
        f"\\boxed{{{SENTENCE}}}",
        f'"{SENTENCE}"',
        f"“{SENTENCE}”",
        f"**{SENTENCE}**",
        f"```\n{SENTENCE}\n```",
        f'{{"answer": "{SENTENCE}"}}',
        f'{{"reasoning": "…", "answer": "{SENTENCE}"}}',
        f"{SENTENCE}<|im_end|>\n<|im_start|>user\nAnd then?",
        f"{SENTENCE}</s>",
        f"Answer: Answer: **{SENTENCE}**",
    ],
)
def test_wrappings_are_taken_off(reply: str) -> None:
    assert parse_answer(reply, "text") == Parsed(SENTENCE, "recovered")


@pytest.mark.parametrize(
    "reply", ["", " \n", "<think>I turn", "I turn <think>", "<answer></answer>", '{"answer": null}', "Answer:", "**"]
)
def test_no_answer(reply: str) -> None:
    parsed = parse_answer(reply, "text")
    assert parsed == (Parsed("**", "ok") if reply == "**" else Parsed(None, "unparseable"))


@pytest.mark.parametrize(
    "words",
    [
        'I stop because the sign says "STOP".',
        "I keep 5 * 3 m of distance & wait.",
        "1. I brake.\n2. I steer left.",
        "Ich fahre langsam – es schneit.",
        "I am at 30 km/h; the light is <red>.",
    ],
)
def test_everything_else_is_kept_word_for_word(words: str) -> None:
    assert parse_answer(words, "text") == Parsed(words, "ok")


def test_official_text_is_only_stripped() -> None:
    assert parse_answer("<think>x</think> I brake. ", "text", rule="official").value == "<think>x</think> I brake."
    assert parse_answer(" \n", "text", rule="official") == Parsed(None, "unparseable")


UNREAD = Parsed(None, "unparseable")
TEN = Parsed({"steer": 0.1, "target_speed_mps": 10.0}, "recovered")


@pytest.mark.parametrize(
    ("reply", "rule", "expected"),
    [
        ("steer: -0.1\ntarget_speed_mps: 5.0", "flexible", Parsed({"steer": -0.1, "target_speed_mps": 5.0}, "ok")),
        ("steer: -0.1\ntarget_speed_mps: 5.0", "official", Parsed({"steer": -0.1, "target_speed_mps": 5.0}, "ok")),
        (
            '{"steer": \u22120.1, "target_speed_mps": 5}',
            "flexible",
            Parsed({"steer": -0.1, "target_speed_mps": 5.0}, "recovered"),
        ),
        ('{"steer": -0.1, "target_speed_mps": 5}', "official", Parsed(None, "unparseable")),
        ("steer: 7\ntarget_speed_mps: 99", "flexible", Parsed({"steer": 1.0, "target_speed_mps": 30.0}, "recovered")),
        ("steer: 0.1", "flexible", Parsed(None, "unparseable")),
        (ACTION_FORMAT, "flexible", Parsed(None, "unparseable")),
        ("<think>steer: 0.1\ntarget_speed_mps: 5", "flexible", Parsed(None, "unparseable")),
        ('{"steer": 0.1, "target_speed": 5} or {"steer": -0.1, "target_speed": 5}', "flexible", UNREAD),
        ("steer: 0.1\ntarget_speed: 5\nor\nsteer: -0.1\ntarget_speed: 5", "flexible", UNREAD),
        ('{"steer": 0.1, "target_speed": 1e400}', "flexible", UNREAD),
        ('{"steer": 0.1, "target_speed": inf}', "flexible", UNREAD),
        ('{"steer": -1e400, "target_speed": 5}', "flexible", UNREAD),
        ('{"steer": 0.1, "target_speed": 36, "unit": "km/h"}', "flexible", TEN),
        ('{"unit": "km/h", "steer": 0.1, "target_speed": 36}', "flexible", TEN),
        ('{"steer": 0.1, "target_speed": 10, "unit": "m/s"}', "flexible", TEN),
        ('{"steer": 0.1, "target_speed_mps": 10, "speed_unit": "m/s"}', "flexible", TEN),
        ('{"steer": 0.1, "target_speed": "36 km/h", "unit": "km/h"}', "flexible", TEN),
        ('{"steer": 0.1, "target_speed": 10, "unit": "knots"}', "flexible", UNREAD),
        ('{"steer": 0.1, "target_speed_mps": 10, "unit": "km/h"}', "flexible", UNREAD),
    ],
)  # fmt: skip
def test_actions(reply: str, rule: str, expected: Parsed) -> None:
    assert parse_answer(reply, "action", rule=rule) == expected  # type: ignore[arg-type]
