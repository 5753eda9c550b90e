"""The prompt's facts and format lines, and errors that tell a template's author what to change."""

import re
from pathlib import Path

import pytest

from drivehierarchy_gym.action_text import parse_action, parse_keys
from drivehierarchy_gym.prompt import (
    ANSWER_FORMATS,
    PLACEHOLDERS,
    PromptError,
    PromptTemplate,
    load_template,
    route_points_text,
)

VALUES = {
    "speed_mps": 6.25,
    "command": "turn left at the intersection",
    "distance_to_goal_m": 81.04,
    "route_points": route_points_text([(5.0, 0.04), (9.96, -1.25)]),
    "answer_format": ANSWER_FORMATS["text"],
    "max_speed_mps": 30.0,
    "time_s": 2.5,
}


def test_the_default_prompt_states_the_facts_with_the_precision_of_the_release() -> None:
    text = load_template().render(VALUES)
    assert "6.2 m/s and are to turn left at the intersection" in text
    assert "81.0 metres of route" in text
    assert "(forward_m, right_m): [(5.0, 0.0), (10.0, -1.2)]" in text


def test_the_default_prompt_ends_with_the_two_lines_of_the_release() -> None:
    lines = load_template().render(VALUES).splitlines()
    assert lines[-2:] == ["steer: <float in [-1.0, 1.0]>", "target_speed_mps: <float in [0.0, 30.0]>"]


def test_an_echo_of_a_prompt_is_no_answer() -> None:
    for rule in ("official", "flexible"):
        assert parse_action(load_template().render(VALUES), rule).status == "unparseable"


def test_pictures_are_spoken_of_only_where_there_are_any() -> None:
    assert "bird's-eye view" in load_template().render(VALUES)
    assert "picture" not in load_template(pictures=False).render(VALUES)


def test_meta_asks_for_keys() -> None:
    text = load_template().render({**VALUES, "answer_format": ANSWER_FORMATS["meta"]})
    assert text.splitlines()[-1] == "speed: <one of KEEP, ACCELERATE, DECELERATE, STOP>"
    assert parse_keys("direction: TURN_LEFT\nspeed: KEEP").status == "ok"


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text('\ufeffv={speed_mps} d={distance_to_goal_m:.3f} {{"t": {time_s}}} {command}', encoding="utf-8")
    assert load_template(file).render(VALUES) == 'v=6.2 d=81.040 {"t": 2.5} turn left at the intersection'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the template is empty; placeholders are {speed_mps}"),
        ("a\nb {sped_mps}", r"line 2: unknown placeholder 'sped_mps'; did you mean 'speed_mps'"),
        ("{speed_mps.__class__}", r"line 1: {speed_mps.__class__} is not a placeholder"),
        ('answer as {"steer": 0}', r'line 1: {"steer"} is not a placeholder; .*write {{ and }} for braces'),
        ("{}", r"line 1: {} is not a placeholder"),
        ("{speed_mps", "expected '}' before end of string; write {{ and }}"),
        ("a } b", "Single '}' encountered in format string; write {{ and }}"),
        ("{command:.2f}", r"line 1: {command:.2f}: Unknown format code 'f'"),
        ("{speed_mps:abc}", r"line 1: {speed_mps:abc}: Invalid format specifier"),
        ("{speed_mps!r}", "without '!' or nesting"),
        ("{speed_mps:{time_s}}", "without '!' or nesting"),
    ],
)
def test_errors_say_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(text)
    with pytest.raises(PromptError) as caught:
        load_template(file)
    assert str(caught.value).startswith(str(file))
    assert re.search(message.replace("{", r"\{"), str(caught.value)), caught.value


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"none.txt: the prompt file cannot be read \(No such file"):
        load_template(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"v\xe9lo")
    with pytest.raises(PromptError, match="not UTF-8"):
        load_template(tmp_path / "latin.txt")


def test_every_placeholder_is_rendered() -> None:
    text = "|".join("{" + name + "}" for name in PLACEHOLDERS)
    assert PromptTemplate(text).render(VALUES).split("|")[1] == "turn left at the intersection"
