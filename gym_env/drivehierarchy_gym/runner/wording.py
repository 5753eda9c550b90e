"""Numbers in words, for everything that is printed."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 run", "2 runs", "0 runs"; `plural` where an s does not make it."""
    return f"{number} {agreeing(number, noun, plural or noun + 's')}"


def agreeing(number: int, one: str, more: str) -> str:
    """The word that goes with a number of things: `one` ("is", "has") with 1, else `more` ("are", "have")."""
    return one if number == 1 else more
