"""Lone surrogates: halves of a character that Python's strings may hold and that UTF-8 cannot write."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """`text` with U+FFFD for every lone surrogate, so that any file, terminal or endpoint takes it."""
    return _SURROGATE.sub("\ufffd", text)
