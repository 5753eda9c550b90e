from __future__ import annotations

import io
import traceback

import pytest
from rich.console import Console

from drivehierarchy_gym.runner.episode import Outcome
from drivehierarchy_gym.runner.records import RunPlace
from drivehierarchy_gym.runner.watch import BatchDisplay, cause


def raised(*errors):
    """Text of the traceback of a chain of errors."""
    try:
        try:
            raise errors[0]
        except Exception as error:
            if len(errors) > 1:
                raise errors[1] from error
            raise
    except Exception:
        return traceback.format_exc()


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        (raised(ValueError("no scene")), "ValueError: no scene"),
        (raised(ValueError("first\nsecond\n  third")), "ValueError: first"),
        (raised(KeyError("a"), OSError("disk full")), "OSError: disk full"),
        (raised(ValueError()), "ValueError"),
        ("no sign of life for 300 s; the worker was killed", "no sign of life for 300 s; the worker was killed"),
        ("one\ntwo", "one"),
        ("Traceback (most recent call last):\n  File cut off", "File cut off"),
        ("", ""),
    ],
)
def test_one_line_says_why(detail, words):
    assert cause(detail) == words


@pytest.mark.parametrize("kind", ["infrastructure", "system_error"])
def test_a_lost_run_is_told_with_its_cause(tmp_path, kind):
    text = io.StringIO()
    detail = raised(RuntimeError("the lane is gone"))
    with BatchDisplay(Console(file=text, width=200)) as display:
        display.finish(Outcome(RunPlace("g", "s", 0, 1), tmp_path, void=kind, detail=detail))
    assert f"g/s  void ({kind}): RuntimeError: the lane is gone" in text.getvalue()
    assert "Traceback" not in text.getvalue()
