"""The four action modes: their spaces, and what a given action means. No action whatever breaks the reader."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from drivehierarchy_gym.action_text import DIRECTION_KEYS, SPEED_KEYS, ParseRule, ParseStatus, parse_action, parse_keys
from drivehierarchy_gym.bridge import MAX_TARGET_SPEED

ActionMode = Literal["target_speed", "control", "meta", "text"]
ACTION_MODES: tuple[ActionMode, ...] = ("target_speed", "control", "meta", "text")

REPLY_CHARACTERS = "".join(sorted(set(string.printable) - set("\x0b\x0c"))) + "°²–—‘’“”…→−≈"
"""Characters of the text space. `step` takes any string, whatever characters it has."""
LONGEST_REPLY = 8192
"""Characters; only what `sample` draws is bound by it."""

_BOUNDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "target_speed": ((-1.0, 0.0), (1.0, MAX_TARGET_SPEED)),
    "control": ((-1.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}


def action_space(mode: ActionMode) -> spaces.Space[Any]:
    """Space of a mode.

    `target_speed`: one row [steer, target speed in m/s], shape (1, 2); `control`: [steer, throttle, brake], shape (3,);
    `meta`: [index in DIRECTION_KEYS, index in SPEED_KEYS]; `text`: the reply of a model.
    """
    if mode == "text":
        return spaces.Text(LONGEST_REPLY, min_length=0, charset=REPLY_CHARACTERS)
    if mode == "meta":
        return spaces.MultiDiscrete([len(DIRECTION_KEYS), len(SPEED_KEYS)])
    low, high = (np.array(bound, dtype=np.float32) for bound in _BOUNDS[mode])
    # A row and not a vector: to vectors check_env recommends the range [-1, 1], and metres per second are clearer.
    return spaces.Box(low[None], high[None]) if mode == "target_speed" else spaces.Box(low, high)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What an action says: `numbers` of the modes with numbers (not yet clamped), `keys` of mode meta; both empty when
    it says nothing."""

    status: ParseStatus
    numbers: tuple[float, ...] = ()
    keys: tuple[str, ...] = ()


UNREADABLE = Decoded("unparseable")


def decode(mode: ActionMode, action: Any, rule: ParseRule) -> Decoded:
    """Read any object as an action of `mode`.

    Numbers may come as array, list or tuple, as a vector or as one row; keys as two indices or as a text with both
    names; `rule` says how a reply in mode `text` is read. Status `recovered`: numbers out of range, or a reply that is
    not in the requested format.
    """
    if mode == "text":
        if not isinstance(action, str):
            return UNREADABLE
        parsed = parse_action(action, rule)
        if parsed.steer is None or parsed.target_speed is None:
            return UNREADABLE
        return Decoded(parsed.status, (parsed.steer, parsed.target_speed))
    if mode == "meta":
        return _decode_keys(action)
    low, high = _BOUNDS[mode]
    numbers = _numbers(action, len(low))
    if numbers is None:
        return UNREADABLE
    inside = all(a <= value <= b for a, value, b in zip(low, numbers, high, strict=True))
    return Decoded("ok" if inside else "recovered", tuple(numbers))


def _decode_keys(action: Any) -> Decoded:
    if isinstance(action, str):
        parsed = parse_keys(action)
        if parsed.direction is None or parsed.speed is None:
            return UNREADABLE
        return Decoded(parsed.status, keys=(parsed.direction, parsed.speed))
    numbers = _numbers(action, 2)
    if numbers is None:
        return UNREADABLE
    direction, speed = numbers
    if direction not in range(len(DIRECTION_KEYS)) or speed not in range(len(SPEED_KEYS)):
        return UNREADABLE
    return Decoded("ok", keys=(DIRECTION_KEYS[int(direction)], SPEED_KEYS[int(speed)]))


def _numbers(action: Any, count: int) -> list[float] | None:
    """`count` finite numbers, or None when `action` is anything else."""
    if action is None or isinstance(action, str | bytes):
        return None
    try:
        array = np.asarray(action, dtype=np.float64)
    except Exception:  # foreign objects may raise what they like when asked for numbers
        return None
    if array.shape not in ((count,), (1, count)) or not np.isfinite(array).all():
        return None
    return [float(value) for value in array.ravel()]
