"""Calls that may never return: each in a daemon thread, so that its caller can stop waiting and the process can end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from drivehierarchy_gym.agents.wording import describe_error

Result = TypeVar("Result")

LONGEST_DEADLINE = 86_400.0
"""Seconds; a longer wait is a mistake, and from about 9e9 s on the operating system cannot wait."""


@dataclass
class Call(Generic[Result]):
    """A call under way, or what came of it."""

    function: Callable[[], Result]
    error: BaseException | None = None
    """What it raised."""
    error_text: str = ""
    """`error` in words."""
    _result: Result | None = None
    _done: threading.Event = field(default_factory=threading.Event)

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def result(self) -> Result:
        """What it returned; only of a call that is done and raised nothing."""
        return cast(Result, self._result)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False when it does not come within `seconds`."""
        return self._done.wait(min(seconds, threading.TIMEOUT_MAX))

    def _run(self) -> None:
        try:
            self._result = self.function()
        except BaseException as error:
            self.error = error
            self.error_text = describe_error(error)  # here, because the error's own text may hang as well
        finally:
            self._done.set()


def start(function: Callable[[], Result]) -> Call[Result]:
    """Begin to call `function` in a thread of its own."""
    call = Call(function)
    threading.Thread(target=call._run, name="drivehierarchy-call", daemon=True).start()
    return call
