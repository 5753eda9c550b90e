"""Numbers in words, once for everything that is printed."""

from __future__ import annotations

from drivehierarchy_gym.runner.wording import agreeing, counted

__all__ = ["LEAST_P", "agreeing", "counted", "p_value"]

LEAST_P = 0.001
"""Smaller p-values are shown as below it: none of them is 0."""


def p_value(p: float) -> str:
    """A p-value with three decimals; "<0.001" where they would show 0."""
    return f"<{LEAST_P:g}" if p < LEAST_P else f"{p:.3f}"
