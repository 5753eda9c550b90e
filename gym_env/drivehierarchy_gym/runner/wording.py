"""Numbers in words, for everything that is printed."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 run", "2 runs", "0 runs"; `plural` where an s does not make it."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
