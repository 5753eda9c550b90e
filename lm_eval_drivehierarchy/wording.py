"""Numbers in words, once for everything that is printed."""

from __future__ import annotations

from collections.abc import Sized

from drivehierarchy_gym.runner.wording import counted

__all__ = ["LEAST_P", "counted", "is_or_are", "p_value"]

LEAST_P = 0.001
"""Smaller p-values are shown as below it: none of them is 0."""


def is_or_are(things: Sized) -> str:
    """The verb for some things that were just named: "is" for one of them, else "are"."""
    return "is" if len(things) == 1 else "are"


def p_value(p: float) -> str:
    """A p-value with three decimals; "<0.001" where they would show 0."""
    return f"<{LEAST_P:g}" if p < LEAST_P else f"{p:.3f}"
