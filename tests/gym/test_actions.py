"""Spaces of the four modes, and what any object means as an action."""

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.actions import ACTION_MODES, UNREADABLE, Decoded, action_space, decode


class Hostile:
    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise RuntimeError("no numbers here")

    def __len__(self) -> int:
        raise KeyError


@pytest.mark.parametrize("mode", ACTION_MODES)
def test_samples_are_read_without_complaint(mode: str) -> None:
    space = action_space(mode)
    space.seed(3)
    for _ in range(50):
        sample = space.sample()
        assert space.contains(sample)
        found = decode(mode, sample, "official")
        assert found.status == "ok" or mode == "text"


@pytest.mark.parametrize("mode", ACTION_MODES)
@pytest.mark.parametrize(
    "action",
    [None, b"steer: 0\ntarget_speed_mps: 5", "", "steer: x", float("nan"), np.nan, [], [np.nan] * 3, [[1, 2], [3, 4]],
     np.full((1, 2), np.nan, np.float32), [0.1, np.inf], [0, np.inf, 0], [1, 2, 3, 4], {"steer": 0}, object(),
     Hostile(), [object(), object()], ["a", "b"], [1j, 2], 5, True, range(9), lambda: 0, [[0.1], 2], [10**400, 0]],
)  # fmt: skip
def test_anything_else_is_unreadable(mode: str, action: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(mode, action, "official") == UNREADABLE


@pytest.mark.parametrize(
    "action",
    [[0.5, 8], (0.5, 8.0), np.array([0.5, 8]), np.array([0.5, 8], np.float32), np.array([[0.5, 8.0]], np.float16)],
)
def test_target_speed_as_vector_or_row(action: Any) -> None:
    assert decode("target_speed", action, "official") == Decoded("ok", (0.5, 8.0))


def test_numbers_out_of_range_are_recovered() -> None:
    assert decode("target_speed", [0.0, 30.1], "official") == Decoded("recovered", (0.0, 30.1))
    assert decode("control", [-1.1, 0, 0], "official").status == "recovered"
    assert decode("control", [-1, 1, 1], "official") == Decoded("ok", (-1.0, 1.0, 1.0))


def test_keys_as_indices_or_names() -> None:
    assert decode("meta", [4, 1], "official") == Decoded("ok", keys=("TURN_LEFT", "ACCELERATE"))
    assert decode("meta", np.array([0.0, 3.0]), "official") == Decoded("ok", keys=("FOLLOW_LANE", "STOP"))
    assert decode("meta", "direction: GO_STRAIGHT\nspeed: KEEP", "official") == Decoded(
        "ok", keys=("GO_STRAIGHT", "KEEP")
    )
    assert decode("meta", "STOP", "official") == Decoded("recovered", keys=("FOLLOW_LANE", "STOP"))
    for action in ([8, 0], [0, 4], [-1, 0], [0.5, 0]):
        assert decode("meta", action, "official") == UNREADABLE


def test_replies_are_read_by_the_rule_asked_for() -> None:
    reply = '{"steer": 0.1, "target_speed_mps": 5}'
    assert decode("text", reply, "official") == UNREADABLE
    assert decode("text", reply, "flexible") == Decoded("recovered", (0.1, 5.0))
    assert decode("text", "steer: 0.1\ntarget_speed_mps: 5", "official") == Decoded("ok", (0.1, 5.0))


def test_the_text_space_holds_what_models_write() -> None:
    space = action_space("text")
    assert space.contains('**steer**: −0.1\n{"target_speed_mps": 5.0} <think>+_;,</think>')
    assert space.contains("")


def test_the_numbers_are_in_physical_units() -> None:
    space = action_space("target_speed")
    assert isinstance(space, spaces.Box)
    assert space.low.tolist() == [[-1.0, 0.0]]
    assert space.high.tolist() == [[1.0, 30.0]]


@given(st.text(), st.sampled_from(ACTION_MODES), st.sampled_from(["official", "flexible"]))
def test_any_text_is_survived(text: str, mode: str, rule: str) -> None:
    assert decode(mode, text, rule).status in ("ok", "recovered", "unparseable")
