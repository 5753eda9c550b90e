"""What a reply means under both rules, and that no reply whatever breaks the reader."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.action_text import (
    DIRECTION_KEYS,
    SPEED_KEYS,
    ParsedAction,
    format_action,
    parse_action,
    parse_keys,
)

NOTHING = ParsedAction(None, None, "unparseable")


def both(text: str) -> tuple[ParsedAction, ParsedAction]:
    return parse_action(text, "official"), parse_action(text, "flexible")


@pytest.mark.parametrize(
    ("text", "steer", "speed"),
    [
        ("steer: -0.12\ntarget_speed_mps: 8.0", -0.12, 8.0),
        ("steer:0\r\ntarget_speed_mps:30", 0.0, 30.0),
        ("\n steer: +.5 \ntarget_speed_mps: 5.\n", 0.5, 5.0),
    ],
)
def test_the_requested_format_is_ok_under_both_rules(text: str, steer: float, speed: float) -> None:
    assert both(text) == (ParsedAction(steer, speed, "ok"),) * 2


@pytest.mark.parametrize(
    ("text", "official", "flexible"),
    [
        # Plain deviations that both understand.
        ("steer: 0.1; target_speed_mps: 5.0", (0.1, 5.0), (0.1, 5.0)),
        ("STEER = 0.1\nTarget_Speed = 5", (0.1, 5.0), (0.1, 5.0)),
        ("target_speed_mps: 5\nsteer: 0.1", (0.1, 5.0), (0.1, 5.0)),
        ("steer: 7\ntarget_speed_mps: 99", (1.0, 30.0), (1.0, 30.0)),
        ("steer: -7\ntarget_speed_mps: -1", (-1.0, 0.0), (-1.0, 0.0)),
        # Anything between label and colon defeats the release's reader.
        ('{"steer": -0.2, "target_speed_mps": 6.5}', None, (-0.2, 6.5)),
        ('```json\n{\n  "steer": "-0.2",\n  "target_speed_mps":\n    6.5\n}\n```', None, (-0.2, 6.5)),
        ("**steer**: 0.3\n**target_speed_mps**: 4", None, (0.3, 4.0)),
        ("**steer:** 0.3\n**target_speed_mps:** 4", None, (0.3, 4.0)),
        ("- `steer: 0.3`\n- `target_speed_mps: 4`", (0.3, 4.0), (0.3, 4.0)),
        ("| steer | 0.3 |\n| target_speed_mps | 4 |", None, (0.3, 4.0)),
        ("<steer>0.3</steer><target_speed_mps>4</target_speed_mps>", None, (0.3, 4.0)),
        (r"\boxed{steer = 0.3, target\_speed\_mps = 4}", None, None),
        ("steer: <0.3>\ntarget_speed_mps: <4>", None, (0.3, 4.0)),
        ("Set steer to -0.1 and target speed to 5 m/s.", None, (-0.1, 5.0)),
        ("Steering: _0.3_\nTarget speed (m/s): 4", None, (0.3, 4.0)),
        ("steer (negative = left): -0.1\ntarget speed (in km/h): 18", None, (-0.1, 5.0)),
        ("target_speed_mps (m/s): 5, steer (in [-1.0, 1.0]) = 0.1 # right", None, (0.1, 5.0)),
        ("steer (deg, km): 0.1\ntarget_speed_mps: 5", None, None),
        # Numbers written in other ways.
        ("steer: \u22120.25\ntarget_speed_mps: 4", None, (-0.25, 4.0)),
        ("ｓｔｅｅｒ：－０．２５\ntarget_speed_mps：４", None, (-0.25, 4.0)),
        ("steer: 0,25\ntarget_speed_mps: 4,5", (0.0, 4.0), (0.25, 4.5)),
        ("steer: 2e-1\ntarget_speed_mps: 1e1", (1.0, 1.0), (0.2, 10.0)),
        ("steer: 0.1\ntarget_speed: 36 km/h", (0.1, 30.0), (0.1, 10.0)),
        ("steer: 0.1\ntarget_speed_kmh: 18", None, (0.1, 5.0)),
        ("steer: 0.1 (slightly right)\ntarget_speed_mps: 4 m/s", (0.1, 4.0), (0.1, 4.0)),
        ("steer: 0.1\ntarget_speed_mps: 1,500", (0.1, 1.0), None),
        # The first counts for the release, the last for a fair reader.
        ("steer: 0.1\ntarget_speed_mps: 5\nNo, better:\nsteer: 0.2\ntarget_speed_mps: 3", (0.1, 5.0), (0.2, 3.0)),
        ("target_speed: 2, target_speed_mps: 3, steer: 0", (0.0, 3.0), (0.0, 3.0)),
        ("oversteer: 0.9, steer: 0.1, max_target_speed: 30, target_speed: 5", (0.9, 30.0), (0.1, 5.0)),
        ("steer: 0.1\ntarget_speed_mps: 5\nWhy steer: the road bends.", (0.1, 5.0), (0.1, 5.0)),
        ("steer: <float in [-1.0, 1.0]>\ntarget_speed_mps: <float in [0.0, 30.0]>\nsteer: 0.1\ntarget_speed_mps: 5",
         (0.1, 5.0), (0.1, 5.0)),
        ("steer: 0.1\ntarget_speed_mps: 5\n\nFormat: steer: <float in [-1.0, 1.0]>", (0.1, 5.0), (0.1, 5.0)),
        ("steer: 0.1\ntarget_speed_mps: 5\nPrevious steer: 0.3, maximum **target_speed**: 30", (0.1, 5.0), (0.1, 5.0)),
        # Reasoning is not the answer.
        ("<think>steer: 0.9 target_speed_mps: 9</think>steer: 0.1\ntarget_speed_mps: 5", (0.9, 9.0), (0.1, 5.0)),
        ("maybe steer: 0.9, target_speed_mps: 9</think>\nsteer: 0.1\ntarget_speed_mps: 5", (0.9, 9.0), (0.1, 5.0)),
        ("<think>steer: 0.9\ntarget_speed_mps: 9", (0.9, 9.0), None),
        ("steer: 0.1\ntarget_speed_mps: 5<THINKING>hm", (0.1, 5.0), None),
        # No decision, or more than one.
        ("steer: <float in [-1.0, 1.0]>\ntarget_speed_mps: <float in [0.0, 30.0]>", None, None),
        ("steer: 0.1 or 0.2\ntarget_speed_mps: 5", (0.1, 5.0), None),
        ("steer: 0.1 to 0.2\ntarget_speed_mps: 5", (0.1, 5.0), None),
        ("steer: 0.1-0.2\ntarget_speed_mps: 5", (0.1, 5.0), None),
        ("steer: 0.1\ntarget_speed_mps: 4–6", (0.1, 4.0), None),
        ("steer: [-1.0, 1.0]\ntarget_speed_mps: 5", None, None),
        ("steer: about 0.1\ntarget_speed_mps: 5", None, None),
        ("steer: ~0.1\ntarget_speed_mps: 5", None, None),
        ("steer: 0.1?\ntarget_speed_mps: 5", (0.1, 5.0), None),
        ("steer: 0.1, maybe\ntarget_speed_mps: 5", (0.1, 5.0), None),
        ("steer: 15°\ntarget_speed_mps: 5", (1.0, 5.0), None),
        ("steer: 10%\ntarget_speed_mps: 5", (1.0, 5.0), None),
        ("steer: 0.2 left\ntarget_speed_mps: 5", (0.2, 5.0), None),
        ("steer: 1/2\ntarget_speed_mps: 5", (1.0, 5.0), None),
        ("steer: 0.1.2\ntarget_speed_mps: 5", (0.1, 5.0), None),
        ("steer: nan\ntarget_speed_mps: 5", None, None),
        ("steer: 0.1\ntarget_speed_mps: N/A", None, None),
        ("current steer: 0.1\ntarget_speed_mps: 5", (0.1, 5.0), None),
        ("steer: 0.1\ntarget_speed_mps: 5\nsteer: nan", (0.1, 5.0), None),
        ("steer: 0.1\ntarget_speed_mps: 5\nsteer: between 0.2 and 0.3", (0.1, 5.0), None),
        ("steer:\n1. keep left\ntarget_speed_mps: 5", (1.0, 5.0), None),
        ("steer: x\ntarget_speed_mps: 5", None, None),
        ("steer: 0.1", None, None),
        ("target_speed_mps: 5", None, None),
        ("I steer to the left by 2 m at a target speed of about 5", None, None),
        ("Error: connection refused", None, None),
        ("", None, None),
    ],
)  # fmt: skip
def test_rules(text: str, official: tuple[float, float] | None, flexible: tuple[float, float] | None) -> None:
    for found, wanted in zip(both(text), (official, flexible), strict=True):
        if wanted is None:
            assert found == NOTHING
        else:
            assert (found.steer, found.target_speed) == pytest.approx(wanted)
            assert found.status == "recovered"


def test_the_requested_format_out_of_range_is_recovered() -> None:
    assert both("steer: 1.5\ntarget_speed_mps: 8") == (ParsedAction(1.0, 8.0, "recovered"),) * 2


replies = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            ["steer", "target_speed_mps", "target speed", ":", "=", " ", "\n", "-", "0.1", "1e9", "5", ",", ".",
             "<", ">", "*", '"', "{", "}", "<think>", "</think>", "nan", "km/h", "\u2212", "or",
             "to", "٣", "９", "|", "is", "→"]
        ),
        max_size=30,
    ).map("".join),
)  # fmt: skip


@settings(max_examples=400)
@given(replies, st.sampled_from(["official", "flexible"]))
def test_any_text_is_read_and_reads_back(text: str, rule: str) -> None:
    found = parse_action(text, rule)
    if found.status == "unparseable":
        assert found == NOTHING
        return
    assert -1.0 <= found.steer <= 1.0
    assert 0.0 <= found.target_speed <= 30.0
    again = parse_action(format_action(found.steer, found.target_speed), rule)
    assert again == ParsedAction(found.steer, found.target_speed, "ok")


@settings(max_examples=400)
@given(replies)
def test_official_agrees_with_an_independent_statement(text: str) -> None:
    # Written without regular expressions, from the words of facts §3.5.
    def first(label: str) -> float | None:
        lowered = text.lower()
        at = lowered.find(label)
        while at >= 0:
            rest = lowered[at + len(label) :].lstrip()
            if rest[:1] in (":", "="):
                rest = rest[1:].lstrip()
                taken = ""
                if rest[:1] in ("+", "-"):
                    taken, rest = rest[0], rest[1:]
                whole = rest[: len(rest) - len(rest.lstrip("".join({c for c in rest if c.isdecimal()})))]
                rest = rest[len(whole) :]
                digits = "".join({c for c in rest if c.isdecimal()})
                fraction = ""
                if rest[:1] == ".":
                    fraction = rest[1:][: len(rest[1:]) - len(rest[1:].lstrip(digits))] if digits else ""
                if whole or fraction:
                    return float(f"{taken}{whole or '0'}.{fraction or '0'}")
            at = lowered.find(label, at + 1)
        return None

    steer = first("steer")
    speed = first("target_speed_mps")
    speed = first("target_speed") if speed is None else speed
    found = parse_action(text, "official")
    if steer is None or speed is None:
        assert found == NOTHING
    else:
        assert (found.steer, found.target_speed) == (min(max(steer, -1.0), 1.0), min(max(speed, 0.0), 30.0))


def test_long_replies_are_read_in_linear_time() -> None:
    for filler in ("steer: ", "steer:" + " " * 50, "<think>", "target_speed_mps = <", "*" * 50, "steer\n"):
        assert parse_action(filler * 4000, "flexible").status == "unparseable"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("direction: TURN_LEFT\nspeed: KEEP", ("TURN_LEFT", "KEEP", "ok")),
        ("FOLLOW_LANE, ACCELERATE", ("FOLLOW_LANE", "ACCELERATE", "recovered")),
        ("Direction Key = GO_STRAIGHT, Speed Key = STOP.", ("GO_STRAIGHT", "STOP", "recovered")),
        ("TURN_LEFT? No: TURN_RIGHT and DECELERATE", ("TURN_RIGHT", "DECELERATE", "recovered")),
        ("<think>TURN_LEFT, STOP</think>ACCELERATE", ("FOLLOW_LANE", "ACCELERATE", "recovered")),
        ("DEVIATE_LEFT", ("DEVIATE_LEFT", "KEEP", "recovered")),
        ("please stop and keep left", (None, None, "unparseable")),
        ("NON_STOP_KEEPER", (None, None, "unparseable")),
        ("<think>TURN_LEFT, STOP", (None, None, "unparseable")),
    ],
)
def test_parse_keys(text: str, keys: tuple[str | None, str | None, str]) -> None:
    found = parse_keys(text)
    assert (found.direction, found.speed, found.status) == keys


@given(st.sampled_from(DIRECTION_KEYS), st.sampled_from(SPEED_KEYS), st.text(), st.text())
def test_keys_are_found_among_anything_but_keys(direction: str, speed: str, before: str, after: str) -> None:
    text = f"{before} {direction} {speed} {after}"
    if re.search(r"[A-Z_<\[◁]", before + after):
        return
    found = parse_keys(text)
    assert (found.direction, found.speed) == (direction, speed)
