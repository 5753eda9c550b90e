"""The parent's side of a worker process: start it, ask it, and be rid of it without a trace.

A plain subprocess on one end of a socket pair: no port, no file, and, unlike `multiprocessing`, also from within
daemonic processes (which Gymnasium's AsyncVectorEnv uses) and without importing the user's main module again.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from typing import IO, Any

from drivehierarchy_gym.backends.sumo.messages import Channel, Failed, Hello
from drivehierarchy_gym.errors import InfrastructureError

SUMO_VERSION = "1.28.0"
"""The version whose behaviour the scenarios, their scores and the tests rest on."""
ERROR_TAIL = 2000
"""Characters of the worker's error output that an error message quotes."""
GOODBYE_SECONDS = 3.0
"""Time a worker gets to end by itself once its connection is closed."""

_BOOTSTRAP = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from drivehierarchy_gym.backends.sumo.worker import main; main(int(sys.argv[1]))"
)


class WorkerProcess:
    """A running worker.

    Args:
        timeout_s: seconds to wait for any answer before the worker counts as hung.
    """

    def __init__(self, timeout_s: float) -> None:
        self.owner = os.getpid()
        self._timeout_s = timeout_s
        # Unlinked from the start, so that it is gone whatever happens.
        self._output: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        ours, theirs = socket.socketpair()
        ours.settimeout(timeout_s)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOTSTRAP, str(theirs.fileno()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=(theirs.fileno(),),
            )
        self._channel = Channel(ours)
        self._end = weakref.finalize(self, _end, self.owner, self._process, self._channel, self._output)
        self._greeted = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._end.alive

    def ask(self, request: Any) -> Any:
        """Send a request and wait for its answer.

        Raises:
            InfrastructureError: no answer in time, the worker died, or it runs another version of SUMO; it is ended.
        """
        try:
            if not self._greeted:
                self._greet()
            self._channel.send(request)
            reply = self._channel.receive()
        except TimeoutError:
            raise self._broken(request, f"did not answer within {self._timeout_s:g} s") from None
        except (EOFError, OSError):
            raise self._broken(request, f"ended unexpectedly ({self._exit_status()})") from None
        if isinstance(reply, Failed):
            raise self._broken(request, f"failed:\n{reply.traceback.rstrip()}")
        return reply

    def output_tail(self) -> str:
        """Last lines of what the worker and SUMO printed."""
        # Positioned reads: the worker writes through the same file offset.
        descriptor = self._output.fileno()
        start = max(os.fstat(descriptor).st_size - ERROR_TAIL, 0)
        lines = os.pread(descriptor, ERROR_TAIL, start).decode(errors="replace").strip().splitlines()
        return "\n".join(line for line in lines if "pyarrow" not in line)

    def forget_output(self) -> None:
        """Drop what has been printed so far, so that it does not grow from episode to episode."""
        self._output.seek(0)
        self._output.truncate()

    def close(self) -> None:
        """End the worker; safe to call again."""
        self._end()

    def _greet(self) -> None:
        hello = self._channel.receive()
        found = hello.sumo_version.removeprefix("SUMO ") if isinstance(hello, Hello) else repr(hello)
        if found != SUMO_VERSION:
            self.close()
            raise InfrastructureError(
                f"libsumo is version {found}, and results are only comparable on SUMO {SUMO_VERSION}; run: "
                f"pip install libsumo=={SUMO_VERSION} eclipse-sumo=={SUMO_VERSION} sumolib=={SUMO_VERSION}"
            )
        self._greeted = True

    def _broken(self, request: Any, what: str) -> InfrastructureError:
        tail = self.output_tail()
        self.close()
        said = f"\nIts last output:\n{tail}" if tail else ""
        return InfrastructureError(
            f"the SUMO worker (process {self.pid}) {what}, on the request {type(request).__name__!r}{said}"
        )

    def _exit_status(self) -> str:
        try:
            code = self._process.wait(GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            return "connection closed"
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _end(owner: int, process: subprocess.Popen[bytes], channel: Channel, output: IO[bytes]) -> None:
    """Close the connection, on which the worker ends, or kill it. A forked copy of the parent leaves it alone."""
    if os.getpid() != owner:
        return
    channel.close()
    try:
        process.wait(GOODBYE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    output.close()
