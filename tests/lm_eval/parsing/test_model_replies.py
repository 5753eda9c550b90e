"""Replies as vision-language models write them, and the value that a fair reader takes from each.

`model_replies.jsonl` has one reply a line: prose, markup, JSON, chat-template tokens, changes of mind, contradictions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_drivehierarchy.parsing import ANSWER_KINDS, parse_answer

CASES = [json.loads(line) for line in (Path(__file__).parent / "model_replies.jsonl").read_text("utf-8").splitlines()]
SIZE = (2704, 1520)
OPTIONS = {
    "states": ["A. moving.", "B. parked.", "C. stopped."],
    "relations": ["A. Left.", "B. Rear-Left.", "C. Front.", "D. Front-Right."],
    "sides": ["A. Right.", "B. Left.", "C. Front-Left.", "D. Rear."],
    "transitions": [
        "A. It transitions from stopped to moving.",
        "B. It transitions from moving to stopped.",
        "C. No Change (It remains stopped).",
        "D. No Change (It remains moving).",
    ],
    "outcomes": ["A. Keep going straight.", "B. Turn left.", "C. Turn right.", "D. Stationary."],
    "lanes": [
        "A. Change to the left lane.",
        "B. Turn left.",
        "C. Slightly offset to the left while maneuvering.",
        "D. Keep going straight.",
    ],
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}: {case['reply']!r:.60}")
def test_a_fair_reader(case: dict[str, Any]) -> None:
    shown = case.get("options")
    options = list("ABCD") if case["kind"] == "order" else OPTIONS[shown] if isinstance(shown, str) else shown
    parsed = parse_answer(case["reply"], case["kind"], options=options, image_size=SIZE)
    value = parsed.value
    if case["kind"] == "action" and value is not None:
        value = [value["steer"], value["target_speed_mps"]]
    if case["kind"] in ("metres", "box", "action") and value is not None and case["value"] is not None:
        assert value == pytest.approx(case["value"], abs=1e-6)
    else:
        assert value == case["value"]


def test_every_kind_and_both_verdicts_occur() -> None:
    assert {(case["kind"], case["value"] is None) for case in CASES} >= {
        (kind, missing) for kind in ANSWER_KINDS for missing in (False, True)
    }


TOKENS = [
    "<|im_end|>", "<|im_start|>assistant\n", "<|eot_id|>", "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<|assistant|>", "</s>", "<s>", "<pad>", "<bos>", "<eos>", "<|endoftext|>", "<start_of_turn>model\n",
    "<end_of_turn>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "[/INST]", "assistant\n", "ASSISTANT: ",
]  # fmt: skip
ANSWERS: dict[str, Any] = {
    "yes_no": ("yes", "yes"),
    "count": ("3", 3),
    "metres": ("12.5", 12.5),
    "choice": ("B", "B"),
    "box": ("[264, 709, 525, 1469]", [264.0, 709.0, 525.0, 1469.0]),
    "order": ('["B", "D", "A", "C"]', ["B", "D", "A", "C"]),
    "text": ("The light is red.", "The light is red."),
    "action": ("steer: 0.1\ntarget_speed_mps: 5.0", {"steer": 0.1, "target_speed_mps": 5.0}),
}


@pytest.mark.parametrize("kind", ANSWER_KINDS)
@pytest.mark.parametrize("token", TOKENS)
def test_template_tokens_say_nothing_in_any_kind(kind: Any, token: str) -> None:
    answer, value = ANSWERS[kind]
    options = {"choice": OPTIONS["states"], "order": list("ABCD")}.get(kind)
    before = parse_answer(token + answer, kind, options=options, image_size=SIZE)
    assert (before.value, before.status) == (value, "recovered")
    assert parse_answer(token, kind, options=options, image_size=SIZE).status == "unparseable"


@pytest.mark.parametrize("kind", ANSWER_KINDS)
@pytest.mark.parametrize(
    "token", ["<|im_end|>", "<|eot_id|>", "</s>", "<|endoftext|>", "<end_of_turn>", "<eos>", "<pad>"]
)
def test_what_follows_the_end_of_a_turn_is_not_the_answer(kind: Any, token: str) -> None:
    answer, value = ANSWERS[kind]
    options = {"choice": OPTIONS["states"], "order": list("ABCD")}.get(kind)
    reply = f"{answer}{token}\n<|im_start|>user\nno 7 C [1, 2, 3, 4] A, B, C, D steer: 0.9\ntarget_speed_mps: 9"
    assert parse_answer(reply, kind, options=options, image_size=SIZE).value == value
