from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from drivehierarchy_gym.runner.pool import Finished, Lost, Progress, run_locally

WORK = """
import os, signal, time

def work(job, report):
    kind, value = job
    report(("started", value))
    if kind == "raise":
        raise ValueError(f"no {value}")
    if kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "exit":
        os._exit(7)
    if kind == "hang":
        time.sleep(600)
    if kind == "slow":
        while True:
            time.sleep(0.05)
            report(value)
    return value * value
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "pool_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("pool_work").work


def outcomes(work, jobs, workers, silence=60.0):
    return [e for e in run_locally(work, jobs, workers, silence) if not isinstance(e, Progress)]


def test_results_do_not_depend_on_the_number_of_workers(work):
    jobs = [("square", n) for n in range(6)]
    for workers in (1, 3):
        found = outcomes(work, jobs, workers)
        assert sorted((e.job[1], e.result) for e in found) == [(n, n * n) for n in range(6)]


def test_a_lost_worker_costs_one_job(work):
    jobs = [("die", 1), ("square", 2), ("exit", 3), ("raise", 4), ("hang", 5), ("square", 6)]
    found = {event.job[1]: event for event in outcomes(work, jobs, 2, silence=1.5)}
    assert "SIGKILL" in found[1].reason
    assert "exit code 7" in found[3].reason
    assert "ValueError: no 4" in found[4].reason
    assert "no sign of life for 2 s" in found[5].reason
    assert all(isinstance(found[n], Lost) for n in (1, 3, 4, 5))
    assert [found[n].result for n in (2, 6) if isinstance(found[n], Finished)] == [4, 36]


def test_progress_arrives_and_closing_leaves_nobody(work):
    before = set(psutil.Process().children(recursive=True))
    events = run_locally(work, [("slow", 1), ("slow", 2)], 2, 60.0)
    assert isinstance(next(events), Progress)
    begun = time.monotonic()
    events.close()
    assert time.monotonic() - begun < 8
    assert [
        c
        for c in psutil.Process().children(recursive=True)
        if c not in before and "tracker" not in "".join(c.cmdline())
    ] == []


def test_no_jobs_no_workers(work):
    assert outcomes(work, [], 4) == []


def test_killing_the_parent_leaves_nobody(work, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from pool_work import work\n"
        "from drivehierarchy_gym.runner.pool import run_locally\n"
        "if __name__ == '__main__':\n"
        "    for event in run_locally(work, [('slow', 1), ('slow', 2)], 2, 60.0):\n"
        "        print(event, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    for _ in range(4):
        parent.stdout.readline()
    children = psutil.Process(parent.pid).children(recursive=True)
    assert len(children) >= 2
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
