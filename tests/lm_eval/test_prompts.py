"""The text a model is shown, line by line."""

from __future__ import annotations

from lm_eval_drivehierarchy.prompts import PERSONA, system_prompt, user_prompt
from lm_eval_drivehierarchy.tasks import TASKS, task


def test_the_system_message_is_persona_and_format() -> None:
    for entry in TASKS:
        assert system_prompt(entry) == f"{PERSONA} {entry.format_instruction}"


def test_options_one_a_line() -> None:
    prompt = user_prompt(
        task("r1_1_c"),
        question="Which state?",
        options=["A. moving.", "B. parked."],
        views=["front"],
        placeholders=False,
    )
    assert prompt == "Which state?\nOptions:\nA. moving.\nB. parked."


def test_images_first_where_placeholders_are_wanted() -> None:
    prompt = user_prompt(task("r2_1"), question="How many?", options=[], views=["a", "b", "c"], placeholders=True)
    assert prompt == "<image>\n<image>\n<image>\nHow many?"
    assert "<image>" not in user_prompt(
        task("r2_1"), question="How many?", options=[], views=["a", "b", "c"], placeholders=False
    )


def test_labels_stand_before_their_images() -> None:
    prompt = user_prompt(task("r3_2"), question="", options=["A", "B"], views=["A", "B"], placeholders=True)
    assert prompt == f"Image A\n<image>\nImage B\n<image>\n{task('r3_2').questions[0]}\nLabels: A, B."


def test_labels_are_explained_where_all_images_come_first() -> None:
    prompt = user_prompt(
        task("r3_2"), question="Which order?", options=["A", "B"], views=["A", "B"], placeholders=False
    )
    assert prompt == (
        "The images above are, in the order in which they are shown: image A, image B.\nWhich order?\nLabels: A, B."
    )
