"""The life of backend and worker: determinism, isolation, failures, and no traces."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivehierarchy_gym.backends import make_backend
from drivehierarchy_gym.backends.sumo import process
from drivehierarchy_gym.backends.sumo.backend import SumoBackend
from drivehierarchy_gym.errors import InfrastructureError, ScenarioError, UnknownNameError
from drivehierarchy_gym.geometry import Polyline
from drivehierarchy_gym.plan import EpisodePlan, PathDrive
from drivehierarchy_gym.road.default_map import default_network_path
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.scenarios.background import background_traffic
from drivehierarchy_gym.scenarios.schema import AtTime, BackgroundTraffic, CutIn, EgoPasses, Reaction
from drivehierarchy_gym.state import VehicleControl
from tests.gym.backends.actors import actor, car_on_wc
from tests.gym.backends.conftest import MakePlan

GO = VehicleControl(throttle=0.4)


@pytest.fixture
def busy(make_plan: MakePlan) -> EpisodePlan:
    """Background traffic of all kinds, a scripted car and a walker around the ego on the default map."""
    path = default_network_path()
    network = load_network(path)
    edges = ("222448597#0", "151495015")
    route = network.route_polyline(edges).cut(12.0, 1e9)
    start = route.at(0.0)
    walk = Polyline.through([route.at(60.0).to_world(0.0, side) for side in (-6.0, 6.0)])
    scripted = actor("walker", walk.at(0.0), PathDrive(walk, (1.3,), EgoPasses(route_m=5.0)), "pedestrian")
    traffic = background_traffic(network, start, route, BackgroundTraffic(vehicles=40, pedestrians=15), 3, (scripted,))
    return make_plan(
        scripted, *traffic, net=path, start=start, route=[tuple(p) for p in route.points], route_edges=edges
    )


def _trace(backend: SumoBackend, plan: EpisodePlan, decisions: int = 12, chunk: int = 5) -> list[str]:
    """Every tick and every fifth snapshot of an episode, in full precision."""
    trace = [repr(backend.reset(plan))]
    for decision in range(decisions):
        control = VehicleControl(steer=0.05 * (-1) ** decision, throttle=0.4)
        for _ in range(5 // chunk):
            trace += map(repr, backend.advance(control, chunk))
        trace.append(repr(backend.snapshot()))
    return trace


# --- determinism and isolation ---------------------------------------------------------------------------------------


def test_the_same_episode_twice_after_another_one_and_in_another_worker(
    backend: SumoBackend, busy: EpisodePlan, make_plan: MakePlan
) -> None:
    first = _trace(backend, busy)
    assert _trace(backend, busy) == first
    other = make_plan(car_on_wc("a", -150.0, 12.0), seed=99)  # another net, another seed, the same process
    _trace(backend, other)
    assert _trace(backend, busy) == first
    fresh = SumoBackend()
    try:
        assert _trace(fresh, busy) == first
    finally:
        fresh.close()


def test_the_seed_reaches_traffic(backend: SumoBackend, make_plan: MakePlan) -> None:
    one, other = (_trace(backend, make_plan(car_on_wc("a", -250.0, 10.0), seed=seed)) for seed in (1, 2))
    assert one[0] == other[0]
    assert one[-1] != other[-1]


def test_ticks_do_not_depend_on_how_they_are_asked_for(backend: SumoBackend, busy: EpisodePlan) -> None:
    assert _trace(backend, busy, chunk=1) == _trace(backend, busy, chunk=5)


def test_two_backends_in_one_process_take_turns_without_noticing(busy: EpisodePlan, make_plan: MakePlan) -> None:
    cut_in = Reaction(when=AtTime(seconds=0.5), do=CutIn(side="left"))
    plans = [busy, make_plan(car_on_wc("a", -150.0, 12.0, reactions=(cut_in,)))]
    backends = [SumoBackend(), SumoBackend()]
    try:
        alone = [_trace(b, plan)[-1] for b, plan in zip(backends, plans, strict=True)]
        for b, plan in zip(backends, plans, strict=True):
            b.reset(plan)
        for decision in range(12):
            for b in backends:
                b.advance(VehicleControl(steer=0.05 * (-1) ** decision, throttle=0.4), 5)
        assert [repr(b.snapshot()) for b in backends] == alone
    finally:
        for b in backends:
            b.close()


def _last_of_trace(pickled: bytes) -> str:
    backend, plan = pickle.loads(pickled)
    try:
        return _trace(backend, plan)[-1]
    finally:
        backend.close()


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_parallel_processes_give_the_same_trace(backend: SumoBackend, busy: EpisodePlan, method: str) -> None:
    expected = _trace(backend, busy)[-1]
    payload = pickle.dumps((backend, busy))  # daemonic workers, as Gymnasium's vector environments use
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_last_of_trace, [payload] * 2) == [expected] * 2
    assert _trace(backend, busy)[-1] == expected


def _reset_in_a_fork(backend: SumoBackend, plan: EpisodePlan, answers: object) -> None:
    backend.reset(plan)
    answers.put(backend._worker.pid)  # type: ignore[attr-defined]
    backend.close()


def test_a_forked_copy_gets_its_own_worker_and_leaves_the_first_alone(
    backend: SumoBackend, make_plan: MakePlan
) -> None:
    plan = make_plan()
    backend.reset(plan)
    assert backend._worker is not None
    own = backend._worker.pid
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_reset_in_a_fork, args=(backend, plan, answers))
    child.start()
    assert answers.get(timeout=30) != own
    child.join(30)
    assert len(backend.advance(GO, 5)) == 5
    assert backend._worker.pid == own


def test_a_pickled_backend_is_its_options() -> None:
    backend = SumoBackend(samples=1, timeout_s=7.0)
    copy = pickle.loads(pickle.dumps(backend))
    assert copy.__reduce__()[1] == backend.__reduce__()[1] == ({"samples": 1, "timeout_s": 7.0},)


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_an_infrastructure_error_and_the_next_reset_heals(
    backend: SumoBackend, make_plan: MakePlan
) -> None:
    backend.reset(make_plan())
    assert backend._worker is not None
    os.kill(backend._worker.pid, signal.SIGKILL)
    with pytest.raises(
        InfrastructureError, match=r"SUMO worker \(process \d+\) ended unexpectedly \(killed by SIGKILL\)"
    ):
        backend.advance(GO, 5)
    with pytest.raises(InfrastructureError, match="no episode is running"):
        backend.advance(GO, 5)
    backend.reset(make_plan())
    assert len(backend.advance(GO, 5)) == 5


def test_a_worker_that_died_between_episodes_is_replaced(backend: SumoBackend, make_plan: MakePlan) -> None:
    backend.reset(make_plan())
    assert backend._worker is not None
    os.kill(backend._worker.pid, signal.SIGKILL)
    backend.reset(make_plan())
    assert len(backend.advance(GO, 5)) == 5


def test_an_unknown_option_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown option of backend 'sumo' 'sampels'; did you mean 'samples'"):
        make_backend("sumo", sampels=1)


def test_a_hung_worker_is_given_up_after_the_timeout(make_plan: MakePlan) -> None:
    backend = SumoBackend(timeout_s=10.0)
    backend.reset(make_plan())
    worker = backend._worker
    assert worker is not None
    worker._channel._connection.settimeout(0.5)  # after the start, which may take longer on a busy machine
    os.kill(worker.pid, signal.SIGSTOP)
    with pytest.raises(InfrastructureError, match="did not answer within"):
        backend.advance(GO, 5)
    assert not _alive(worker.pid)
    backend.close()


def test_a_broken_net_names_sumos_own_words(backend: SumoBackend, make_plan: MakePlan, tmp_path: Path) -> None:
    plan = make_plan()
    net = tmp_path / "broken.net.xml"
    net.write_text(plan.network_file.read_text().replace('shape="', 'shape="x,', 1))
    with pytest.raises((InfrastructureError, ScenarioError), match=r"broken\.net\.xml|shape"):
        backend.reset(make_plan(net=net))
    backend.reset(plan)


def test_another_version_of_sumo_is_refused(make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "SUMO_VERSION", "1.20.0")
    backend = SumoBackend()
    with pytest.raises(InfrastructureError, match=r"libsumo is version 1\.28\.0.*pip install libsumo==1\.20\.0"):
        backend.reset(make_plan())
    backend.close()


def test_calls_out_of_order_say_so(make_plan: MakePlan) -> None:
    backend = SumoBackend()
    for call in (lambda: backend.advance(GO, 1), backend.snapshot):
        with pytest.raises(InfrastructureError, match=r"call reset\(plan\) first"):
            call()
    backend.reset(make_plan())
    with pytest.raises(ValueError, match="at least 1, found 0"):
        backend.advance(GO, 0)
    backend.close()
    with pytest.raises(InfrastructureError, match=r"call reset\(plan\) first"):
        backend.advance(GO, 1)


@pytest.mark.parametrize("options", [{"samples": 2}, {"timeout_s": 0.0}])
def test_options_out_of_range(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be .* found"):
        SumoBackend(**options)  # type: ignore[arg-type]


def test_names_of_backends() -> None:
    assert make_backend("sumo", samples=1).name == "sumo"
    with pytest.raises(InfrastructureError, match="not part of this version; use backend='sumo'"):
        make_backend("carla")
    with pytest.raises(UnknownNameError, match="unknown backend 'sumoo'; did you mean 'sumo'"):
        make_backend("sumoo")


# --- no traces -------------------------------------------------------------------------------------------------------


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def empty_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everything temporary goes to."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_creating_and_closing_leaves_nothing(make_plan: MakePlan, empty_temp: Path) -> None:
    plan, pids, before = make_plan(), [], _descriptors()
    for _ in range(3):
        backend = SumoBackend()
        backend.reset(plan)
        assert backend._worker is not None
        pids.append(backend._worker.pid)
        assert not list(empty_temp.iterdir())
        backend.close()
        backend.close()
    assert not any(map(_alive, pids))
    assert _descriptors() == before


def test_a_forgotten_backend_ends_its_worker(make_plan: MakePlan) -> None:
    backend = SumoBackend()
    backend.reset(make_plan())
    assert backend._worker is not None
    pid = backend._worker.pid
    del backend
    gc.collect()
    assert not _alive(pid)


PARENT = """
import os, pickle, sys, time
from drivehierarchy_gym.backends.sumo.backend import SumoBackend

backend = SumoBackend()
backend.reset(pickle.load(open(sys.argv[1], "rb")))
print(backend._worker.pid, flush=True)
if sys.argv[2] == "wait":
    time.sleep(60)
"""


@pytest.mark.parametrize("end", ["kill", "exit"])
def test_a_worker_ends_with_its_parent(make_plan: MakePlan, tmp_path: Path, end: str) -> None:
    """Also where the parent is killed at once, and from a folder whose files shadow the standard library."""
    (tmp_path / "plan").write_bytes(pickle.dumps(make_plan()))
    (tmp_path / "random.py").write_text("raise RuntimeError('imported from the working directory')")
    (tmp_path / "parent.py").write_text(textwrap.dedent(PARENT))
    script = "import sys; sys.path.remove('') if '' in sys.path else None; exec(open('parent.py').read())"
    parent = subprocess.Popen(
        [sys.executable, "-c", script, "plan", "wait" if end == "kill" else "exit"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    if end == "kill":
        assert _alive(worker)
        parent.kill()
    assert parent.wait(30) == (-signal.SIGKILL if end == "kill" else 0)
    deadline = time.monotonic() + 10.0
    while _alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(worker)
    parent.stdout.close()


def test_the_worker_stays_light(make_plan: MakePlan) -> None:
    """No pyarrow beside libsumo, and no compiler in a process that draws nothing."""
    code = (
        "import sys, drivehierarchy_gym.backends.sumo.worker; "
        "print([m for m in ('pyarrow', 'datasets', 'numba', 'scipy', 'cv2', 'shapely') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_pictures_come_from_the_present_state(backend: SumoBackend, busy: EpisodePlan) -> None:
    from drivehierarchy_gym.render.camera import FRONT

    backend.reset(busy)
    first = backend.render(FRONT)
    assert first.shape == (450, 800, 3)
    assert (backend.render(FRONT) == first).all()
    backend.advance(VehicleControl(throttle=1.0), 40)
    assert (backend.render(FRONT) != first).any()
