"""What holds for every reply: no crash, no value without a status, a canonical form, linear time."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drivehierarchy_data.items import ANSWER_KINDS as ITEM_KINDS
from lm_eval_drivehierarchy.parsing import ANSWER_KINDS, PARSE_RULES, Parsed, parse_answer, render
from lm_eval_drivehierarchy.prompts import system_prompt, user_prompt
from lm_eval_drivehierarchy.tasks import FORMAT_INSTRUCTIONS, TASKS

OPTIONS: dict[str, list[str]] = {"choice": ["A. moving.", "B. parked.", "C. stopped."], "order": ["A", "B", "C"]}
SIZE = (1600, 900)

PIECES = [
    "<think>", "</think>", "<answer>", "</answer>", "\\boxed{", "}", "{", "[", "]", "(", ")", "**", "`", "```", "\n",
    "answer", "Answer:", "yes", "no", "A", "B", "C", "5", "17.77", "m", "km", "-", "–", "→", "or", "and", "/", ",",
    ".", "?", '"', "'", "not", "total", "so", "wait", "actually", "NaN", "1e999", "½", "٣", "²", "İ", "ß", "\u200b",
    "\ud800", "one", "hundred", "of", "which", "x1", "bbox_2d", '{"answer":', "null", "Option", "image", "#", "|", "~~",
    "%", "px", "between", "to", "1,234", "_", "=", "+", "±", "\\text{", "$", "&lt;", "...", "①", "Ⓑ", "parked", "first",
    "last", "is", "<|im_end|>", "<|im_start|>", "assistant", "</s>", "<pad>", "no,", "1 024", "±", "x1, y1, w, h",
    "left", "right", "behind", "1. B", "{\"position\":",
]  # fmt: skip
REPLIES = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join),
)


def _parse(reply: str, kind: Any, rule: Any = "flexible") -> Parsed:
    return parse_answer(reply, kind, options=OPTIONS.get(kind), image_size=SIZE, rule=rule)


@settings(max_examples=300, deadline=None)
@given(reply=REPLIES)
@example(reply="\x00\ud800İ")
@example(reply="[" * 3000)
def test_never_crashes_and_is_canonical(reply: str) -> None:
    for kind in ANSWER_KINDS:
        for rule in PARSE_RULES:
            parsed = _parse(reply, kind, rule)
            assert (parsed.value is None) == (parsed.status == "unparseable"), (kind, rule)
        parsed = _parse(reply, kind)
        if parsed.value is not None:
            assert _parse(render(parsed.value, kind), kind) == Parsed(parsed.value, "ok"), kind


@given(value=st.integers(0, 10**9))
def test_counts_survive_the_canonical_form(value: int) -> None:
    assert parse_answer(render(value, "count"), "count") == Parsed(value, "ok")


@given(value=st.floats(0, 1e300))
def test_distances_survive_the_canonical_form(value: float) -> None:
    assert parse_answer(render(value, "metres"), "metres") == Parsed(value, "ok")


@given(corners=st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4))
def test_boxes_survive_the_canonical_form(corners: list[float]) -> None:
    box = [*(sorted(corners[0::2])), *(sorted(corners[1::2]))]
    box = [box[0], box[2], box[1], box[3]]
    assert parse_answer(render(box, "box"), "box") == Parsed(box, "ok")


@given(order=st.permutations("ABCDE"))
def test_orders_survive_the_canonical_form(order: list[str]) -> None:
    assert parse_answer(render(order, "order"), "order", options=list("ABCDE")) == Parsed(order, "ok")


@pytest.mark.parametrize(
    "filler",
    [
        "5, ",
        "1" * 999,
        " ",
        "(",
        '{"a":',
        "'",
        "~~",
        "\\boxed{",
        "answer is ",
        "OPTION   ",
        "A, ",
        "(1,2) ",
        "<pad>",
        "assistant ",
        "1 000 ",
        "no, ",
        "not A or ",
        "x, y, w, h ",
        "1. B\n",
    ],
)
def test_time_is_linear(filler: str) -> None:
    """100,000 characters take a second or two; in quadratic time one kind would take minutes."""
    reply = (filler * 100_000)[:100_000]
    start = time.process_time()
    for kind in ANSWER_KINDS:
        _parse(reply, kind)
    assert time.process_time() - start < 60.0


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_an_echoed_prompt_is_no_answer(task: Any) -> None:
    options = OPTIONS.get(task.kind, [])
    views = options if task.kind == "order" else [f"t{index}" for index in range(task.views[1])]
    prompt = user_prompt(task, question=task.questions[0], options=options, views=views, placeholders=False)
    if task.kind == "text":
        return
    for echo in (FORMAT_INSTRUCTIONS[task.kind], system_prompt(task), prompt, f"{system_prompt(task)}\n{prompt}"):
        assert parse_answer(echo, task.kind, options=options or None).status == "unparseable", echo


def test_kinds_are_those_of_the_items_and_the_action() -> None:
    assert set(ANSWER_KINDS) == {*ITEM_KINDS, "action"}


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="unknown answer kind 'number'"):
        parse_answer("5", "number")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown parsing rule 'strict'"):
        parse_answer("5", "count", rule="strict")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing generation"):
        parse_answer(None, "count")  # type: ignore[arg-type]
