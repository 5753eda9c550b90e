"""A pool of worker processes that survives its workers: a crash or a hang costs one run, never the batch.

Each worker is a fresh interpreter (spawn) at the end of a pipe. When the pipe closes it ends, so a killed parent leaves
nobody behind. What a run gives does not depend on which worker made it, nor on how many there are.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
Report = Callable[[Any], None]

REPORT_SECONDS = 0.2
"""Progress is told at most this often."""
STOP_SECONDS = 5.0
"""Time for a worker to end by itself before it is killed."""


@dataclass(frozen=True)
class Progress(Generic[Job]):
    """How far a job is: whatever it reported."""

    job: Job
    value: Any


@dataclass(frozen=True)
class Finished(Generic[Job, Result]):
    """A job that returned."""

    job: Job
    result: Result


@dataclass(frozen=True)
class Lost(Generic[Job]):
    """A job whose worker died, hung or raised."""

    job: Job
    reason: str


Event = Progress[Job] | Finished[Job, Result] | Lost[Job]


def run_locally(
    work: Callable[[Job, Report], Result], jobs: Sequence[Job], workers: int, silence: float
) -> Iterator[Event[Job, Result]]:
    """Run `work(job, report)` for every job on `workers` processes and yield what happens, in the order it does.

    Closing the iterator ends the workers and with them the jobs that are under way.

    Args:
        work: a module-level function; `report(value)` tells progress.
        jobs: what to run, picklable.
        workers: number of processes, at least 1.
        silence: seconds without a report after which a worker counts as hung and is killed.
    """
    waiting = deque(jobs)
    team = [_Worker(work) for _ in range(min(workers, len(jobs)))]
    try:
        while waiting or any(worker.job is not None for worker in team):
            for worker in team:
                if worker.job is None and waiting:
                    worker.give(waiting.popleft())
            busy = [worker for worker in team if worker.job is not None]
            ready = wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                if worker.pipe in ready:
                    yield from worker.receive()
                elif worker.silent_for() > silence:
                    yield worker.abandon(f"no sign of life for {silence:.0f} s; the worker was killed")
    finally:
        for worker in team:
            worker.stop()


class _Worker:
    """The parent's end of one process."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        self.job: Any = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(
            target=_serve, args=(theirs, self._work), name="drivehierarchy-worker"
        )
        self._process.start()
        theirs.close()
        self._heard = time.monotonic()

    def give(self, job: Any) -> None:
        self.job = job
        self._heard = time.monotonic()
        with contextlib.suppress(OSError):  # it may have died: `receive` sees the end of the pipe
            self.pipe.send(job)

    def receive(self) -> Iterator[Event[Any, Any]]:
        try:
            kind, value = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(STOP_SECONDS)
            yield self.abandon(f"the worker process died ({_exit_words(self._process.exitcode)})")
            return
        self._heard = time.monotonic()
        if kind == "progress":
            yield Progress(self.job, value)
            return
        job, self.job = self.job, None
        yield Finished(job, value) if kind == "finished" else Lost(job, value)

    def silent_for(self) -> float:
        return time.monotonic() - self._heard

    def abandon(self, reason: str) -> Lost[Any]:
        """Give the job up and start a new process for the next one."""
        job, self.job = self.job, None
        self._end(at_once=True)
        self._start()
        return Lost(job, reason)

    def stop(self) -> None:
        self._end(at_once=self.job is not None)

    def _end(self, at_once: bool) -> None:
        self.pipe.close()
        if at_once:
            self._process.terminate()
        self._process.join(STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def _exit_words(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _serve(pipe: Connection, work: Callable[[Any, Report], Any]) -> None:
    """Life of a worker: job in, progress and result out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    last = 0.0

    def report(value: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= REPORT_SECONDS:
            last = now
            _tell(pipe, "progress", value)

    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            result = work(job, report)
        except Exception:
            _tell(pipe, "raised", traceback.format_exc(limit=20))
        else:
            _tell(pipe, "finished", result)


def _tell(pipe: Connection, kind: str, value: Any) -> None:
    try:
        pipe.send((kind, value))
    except OSError:
        os._exit(0)  # the parent is gone, and nobody is left to finish anything for
