"""Reasoning blocks of several model families, taken out of replies."""

from __future__ import annotations

import pytest

from drivehierarchy_gym.reasoning import strip_reasoning


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("B", "B"),
        ("<think>A</think>B", "B"),
        ("x <think>A</think>B", "x B"),
        ("<THINK>A</THINK>B", "B"),
        ("<thinking>A</thinking>B", "B"),
        ("< think >A</ think >B", "B"),
        ('<think time="3">A</think>B', "B"),
        ("<seed:think>A</seed:think>B", "B"),
        ("<thought>A</thought>B", "B"),
        ("<reasoning>A</reasoning>B", "B"),
        ("<rationale>A</rationale>B", "B"),
        ("<analysis>A</analysis>B", "B"),
        ("<reflection>A</reflection>B", "B"),
        ("<scratchpad>A</scratchpad>B", "B"),
        ("<|think|>A<|/think|>B", "B"),
        ("[THINK]A[/THINK]B", "B"),
        ("◁think▷A◁/think▷B", "B"),
        ("<|begin_of_thought|>A<|end_of_thought|>B", "B"),
        ("<|START_THINKING|>A<|END_THINKING|>B", "B"),
        ("<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
        ("<|channel|>commentary to=x<|message|>A<|end|><|channel|>final<|message|>B", "B"),
        ("analysisThe car …assistantfinalB", "B"),
        # Families close their own blocks, and blocks nest.
        ("<reasoning>A <think>C</think> D</reasoning>B", "B"),
        ("<think>A<think>C</think>D</think>B", "B"),
        ("<think>1</think>B<think>2</think>", "B"),
        # The opening tag stood in the prompt.
        ("A</think>B", "B"),
        ("A</think>C</think>B", "B"),
        # No end, no answer.
        ("<think>A", None),
        ("B<think>A", None),
        ("A</think>B<think>", None),
        ("<reasoning>A</think>B", None),
        ("<|channel|>analysis<|message|>A", None),
        # No tags at all.
        ("[analysis] A [answer] B", "[analysis] A [answer] B"),
        ("I think <b>B</b>", "I think <b>B</b>"),
        ("<thinker>B", "<thinker>B"),
    ],
)
def test_strip_reasoning(text: str, answer: str | None) -> None:
    assert strip_reasoning(text) == answer
