"""Numbers in words, once for everything that is printed."""

from __future__ import annotations

LEAST_P = 0.001
"""Smaller p-values are shown as below it: none of them is 0."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 run", "2 runs", "0 runs"; `plural` where an s does not make it."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def p_value(p: float) -> str:
    """A p-value with three decimals; "<0.001" where they would show 0."""
    return f"<{LEAST_P:g}" if p < LEAST_P else f"{p:.3f}"
