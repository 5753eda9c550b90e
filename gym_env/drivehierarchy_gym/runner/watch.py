"""What a batch shows while it runs: a live display on a terminal, one line a run anywhere else."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from drivehierarchy_gym.runner.batch import BatchReport, Listener
from drivehierarchy_gym.runner.episode import EpisodeJob, Outcome, StepProgress


class BatchDisplay(Listener):
    """Bars for the batch and for every run under way; finished runs scroll by above. Use as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
        self._done = 0
        self._total = 0
        self._batch: TaskID | None = None
        self._runs: dict[str, TaskID] = {}
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not self._live,
        )

    def __enter__(self) -> BatchDisplay:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, report: BatchReport) -> None:
        self._total, self._done = report.total, report.skipped
        for note in report.notes:
            self._console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
        words = f"{report.model}: {report.total} runs"
        if report.skipped:
            words += f", {report.skipped} already there"
        self._console.print(words, markup=False, highlight=False, soft_wrap=True)
        self._batch = self._bars.add_task("all runs", total=report.total, completed=report.skipped, unit="runs")

    def step(self, job: EpisodeJob, progress: StepProgress) -> None:
        label = job.place.label
        if label not in self._runs:
            self._runs[label] = self._bars.add_task(f"  {label}", total=round(progress.limit), unit="s driven")
        self._bars.update(self._runs[label], completed=round(progress.time))

    def finish(self, outcome: Outcome) -> None:
        self._done += 1
        label = outcome.place.label
        if label in self._runs:
            self._bars.remove_task(self._runs.pop(label))
        if self._batch is not None:
            self._bars.update(self._batch, completed=self._done)
        if outcome.void is not None:
            words = f"void ({outcome.void}): {cause(outcome.detail)}"
        elif outcome.score is None:
            words = outcome.detail
        else:
            words = f"S {outcome.score:6.2f}  {outcome.reason}"
            if outcome.faults:
                words += "  agent faults: " + ", ".join(f"{n} {kind}" for kind, n in sorted(outcome.faults.items()))
        line = f"[{self._done}/{self._total}] {outcome.place.group}/{label}  {words}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def cause(detail: str) -> str:
    """The one line that says why: of a traceback the error that ended it, of any other text the first line."""
    lines = [line for line in detail.splitlines() if line.strip()] or [""]
    heads = [number for number, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    if not heads:
        return lines[0].strip()
    frames = lines[heads[-1] + 1 :]
    return next((line for line in frames if not line[0].isspace()), lines[-1]).strip()
