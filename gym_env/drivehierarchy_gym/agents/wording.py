"""Foreign values and errors in words that are short, the same in every run, and safe to write anywhere."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from drivehierarchy_gym.surrogates import without_surrogates

LONGEST_VALUE = 80
LONGEST_MESSAGE = 300
"""Characters."""


class _Wording(reprlib.Repr):
    """`repr` of the built-in types, cut in depth and length; of anything else the type alone: its own `repr` may raise,
    or hold an address in memory, which differs from run to run."""

    def repr1(self, x: Any, level: int) -> str:
        kind = type(x)
        if kind is np.ndarray:
            return f"array of shape {x.shape}"
        if kind in (float, bool, complex, type(None)):
            return repr(x)
        if kind in (str, bytes):
            return repr(x[:LONGEST_VALUE])
        if kind in (int, list, tuple, dict, set, frozenset):
            return super().repr1(x, level)
        return f"<{kind.__name__}>"


_WORDING = _Wording()


def describe_value(value: Any) -> str:
    """Any object in at most `LONGEST_VALUE` characters."""
    try:
        return _short(_WORDING.repr(value), LONGEST_VALUE)
    except Exception:  # an integer of too many digits, for one
        return without_surrogates(f"<{type(value).__name__}>")


def describe_error(error: BaseException) -> str:
    """Type and message of an error, in one place for all that agents raise."""
    try:
        message = str.__str__(str(error))
    except BaseException as second:
        message = f"(its message cannot be read: {type(second).__name__})"
    return without_surrogates(f"{type(error).__name__}: {_short(message, LONGEST_MESSAGE)}")


def _short(text: str, limit: int) -> str:
    return without_surrogates(text if len(text) <= limit else text[: limit - 3] + "...")
