"""Runs of a batch on a Ray cluster (extra `ray`); the result folder must be on a file system that all nodes share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivehierarchy_gym.errors import DriveHierarchyError
from drivehierarchy_gym.runner.episode import EpisodeJob, Outcome, run_episode
from drivehierarchy_gym.runner.pool import Event, Finished, Lost


class RayMissingError(DriveHierarchyError, ImportError):
    """The engine was asked for, and ray is not installed."""


def require_ray() -> None:
    """Check that ray can be imported.

    Raises:
        RayMissingError: says what to install.
    """
    try:
        import ray  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise RayMissingError("engine 'ray' needs ray: pip install 'lm-eval-drivehierarchy[ray]'") from error


def run_with_ray(jobs: Sequence[EpisodeJob], workers: int, silence: float) -> Iterator[Event[EpisodeJob, Outcome]]:
    """As `pool.run_locally`, one Ray task of one CPU per run, at most `workers` at a time; tells no progress.

    Connects to the cluster of the environment (RAY_ADDRESS) or starts one on this machine. Without progress a hung run
    cannot be told from a slow one, so `silence` has no effect here.

    Raises:
        RayMissingError: says what to install.
    """
    require_ray()
    import ray

    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, include_dashboard=False)
    task = ray.remote(num_cpus=1, max_retries=0)(_run)
    waiting = list(reversed(jobs))
    running: dict[object, EpisodeJob] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.pop()
                running[task.remote(job)] = job
            (done,), _ = ray.wait(list(running), num_returns=1)
            job = running.pop(done)
            try:
                yield Finished(job, ray.get(done))
            except ray.exceptions.RayError as error:
                yield Lost(job, f"{type(error).__name__}: {error}")
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        if started:
            ray.shutdown()


def _run(job: EpisodeJob) -> Outcome:
    return run_episode(job, lambda progress: None)
