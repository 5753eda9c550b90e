from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

from drivehierarchy_gym.agents.guard import AgentGuard, AgentStartError, start_agent
from drivehierarchy_gym.errors import DriveHierarchyError, InfrastructureError


class Scripted:
    """Does what the functions given say, one after the other."""

    action_mode, observation, privileged = "target_speed", "state", False

    def __init__(self, *acts, reset=lambda: None, close=lambda: None):
        self.acts, self._reset, self._close = list(acts), reset, close

    def reset(self, context, info):
        self._reset()

    def act(self, observation, info):
        return self.acts.pop(0)()

    def close(self):
        self._close()


def raises(error):
    def act():
        raise error

    return act


def guard(*acts, timeout=5.0, **kwargs):
    return AgentGuard(Scripted(*acts, **kwargs), timeout)


def test_good_answer():
    answer = guard(lambda: [0.5, 8]).act({}, {})
    assert answer.fault is None
    np.testing.assert_array_equal(answer.action, [0.5, 8])
    assert 0 <= answer.seconds < 5


@pytest.mark.parametrize(
    ("returned", "kind", "detail"),
    [
        ("steer: x", "unparseable", "no action in the reply 'steer: x'"),
        ("a \udc80", "unparseable", "no action in the reply 'a \ufffd'"),
        (b"steer: 0", "invalid", "not an action: b'steer: 0'"),
        (None, "invalid", "not an action: None"),
        ([float("nan"), 1.0], "invalid", "not an action: [nan, 1.0]"),
        ({"steer": 0}, "invalid", "not an action: {'steer': 0}"),
        (np.zeros((300, 300)), "invalid", "not an action: array of shape (300, 300)"),
        (10**5000, "invalid", "not an action: <int>"),
    ],
    ids=["text", "surrogate", "bytes", "none", "nan", "mapping", "large", "digits"],
)
def test_words_for_what_cannot_be_read(returned, kind, detail):
    fault = guard(lambda: returned).act({}, {}).unreadable
    assert (fault.kind, fault.detail) == (kind, detail)


def test_words_are_short():
    for returned in ("x" * 10_000, ["x" * 10_000] * 1000, b"x" * 10_000, nested(100_000)):
        assert len(guard(lambda value=returned: value).act({}, {}).unreadable.detail) < 120


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


class Foreign:
    """An object whose every special method does what it is told."""

    def __init__(self, do):
        self._do = do

    def __repr__(self):
        return self._do()

    def __array__(self, *args, **kwargs):
        return self._do()

    __str__ = __len__ = __iter__ = __float__ = __getitem__ = __repr__


def exits():
    raise SystemExit(3)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x, 1.0], lambda x: {"steer": x}])
def test_foreign_objects_are_faults_of_the_agent(wrap):
    answer = guard(lambda: wrap(Foreign(raises(ValueError("no"))))).act({}, {})
    assert (answer.action, answer.fault) == (None, None)
    assert "Foreign" in answer.unreadable.detail
    assert "0x" not in answer.unreadable.detail  # an address would differ from run to run


def test_conversion_of_the_answer_counts_as_the_agents_time():
    hangs = Foreign(lambda: time.sleep(10))
    assert guard(lambda: hangs, timeout=0.1).act({}, {}).fault.kind == "timeout"
    assert guard(lambda: Foreign(exits)).act({}, {}).fault.kind == "exception"


def test_an_answer_is_out_of_the_agents_hands():
    given = np.array([0.5, 8.0], np.float32)
    answer = guard(lambda: given).act({}, {})
    given[:] = 0
    np.testing.assert_array_equal(answer.action, [0.5, 8.0])

    class Text(str):
        pass

    assert type(guard(lambda: Text("steer: 0")).act({}, {}).action) is str


def error_whose_text(do):
    return type("Odd", (Exception,), {"__str__": lambda self: do()})()


def test_errors_without_a_readable_text_are_faults_of_the_agent():
    for do in (raises(ValueError("no")), exits, lambda: 5):
        fault = guard(raises(error_whose_text(do))).act({}, {}).fault
        assert (fault.kind, fault.detail[:4]) == ("exception", "Odd:")
    assert guard(raises(error_whose_text(lambda: time.sleep(10))), timeout=0.1).act({}, {}).fault.kind == "timeout"
    assert guard(raises(ValueError("a \udc80"))).act({}, {}).fault.detail == "ValueError: a \ufffd"


@pytest.mark.parametrize("error", [RuntimeError("boom"), SystemExit(3), MemoryError(), KeyboardInterrupt()])
def test_exceptions_stay_inside(error):
    answer = guard(raises(error)).act({}, {})
    assert answer.action is None
    assert answer.fault.kind == "exception"
    assert type(error).__name__ in answer.fault.detail


def test_infrastructure_errors_pass():
    with pytest.raises(InfrastructureError, match="endpoint"):
        guard(raises(InfrastructureError("endpoint"))).act({}, {})


def test_stuck_agent_is_left_alone_until_it_returns():
    release = threading.Event()
    subject = guard(lambda: release.wait(10), lambda: [0, 3], timeout=0.1)
    begun = time.perf_counter()
    assert subject.act({}, {}).fault.kind == "timeout"
    for _ in range(50):
        assert subject.act({}, {}).fault.kind == "busy"
    assert time.perf_counter() - begun < 2
    assert subject.telemetry() == {}
    release.set()
    for _ in range(100):
        answer = subject.act({}, {})
        if answer.fault is None:
            break
        time.sleep(0.01)
    np.testing.assert_array_equal(answer.action, [0, 3])


def test_late_infrastructure_error_is_not_lost():
    release = threading.Event()

    def act():
        release.wait(10)
        raise InfrastructureError("endpoint went down")

    subject = guard(act, lambda: [0, 3], timeout=0.05)
    assert subject.act({}, {}).fault.kind == "timeout"
    release.set()
    time.sleep(0.1)
    with pytest.raises(InfrastructureError, match="went down"):
        subject.act({}, {})


def test_own_deadline_takes_the_place_of_the_runners():
    agent = Scripted(lambda: time.sleep(0.3))
    agent.act_deadline = 0.05
    assert AgentGuard(agent, 60.0).act({}, {}).fault.detail == "no answer within 0.05 s"


def test_own_deadline_does_not_prolong_close():
    agent = Scripted(close=lambda: time.sleep(5))
    agent.act_deadline = 1e9
    assert AgentGuard(agent, 0.05).close() == "the agent's close did not return within 0.05 s"


def test_reset_that_fails_or_hangs():
    with pytest.raises(AgentStartError, match="ValueError: no weights"):
        guard(reset=raises(ValueError("no weights"))).reset(None, {})
    with pytest.raises(AgentStartError, match=r"within 0\.05 s"):
        guard(reset=lambda: time.sleep(1), timeout=0.05).reset(None, {})
    with pytest.raises(InfrastructureError):
        guard(reset=raises(InfrastructureError("gone"))).reset(None, {})


def test_close_never_raises():
    assert guard().close() is None
    assert "ValueError" in guard(close=raises(ValueError("x"))).close()
    assert "within" in guard(close=lambda: time.sleep(1), timeout=0.05).close()


def telemetry_of(report, timeout=5.0):
    subject = guard(lambda: [0, 3], timeout=timeout)
    subject.agent.telemetry = report
    return subject, subject.telemetry()


@pytest.mark.parametrize(
    ("notes", "kept"),
    [
        (None, {}),
        ({"loss": np.float32(0.5), "n": np.int64(3), "seen": np.ones(2)}, {"loss": 0.5, "n": 3, "seen": [1.0, 1.0]}),
        ({"text": "a"}, {"text": "a"}),
    ],
)
def test_telemetry_as_json(notes, kept):
    assert telemetry_of(lambda: notes)[1] == kept


@pytest.mark.parametrize(
    "report",
    [
        raises(KeyError("x")),
        exits,
        lambda: 5,
        lambda: {"a": float("nan")},
        lambda: {"a": np.float32("inf")},
        lambda: {"a": object()},
        lambda: {"a": nested(100_000)},
        lambda: {(1, 2): 3},
    ],
)
def test_telemetry_that_fails_is_reported(report):
    assert list(telemetry_of(report)[1]) == ["telemetry_error"]


def test_telemetry_that_hangs_costs_its_wait_once_and_the_drive_goes_on():
    subject, notes = telemetry_of(lambda: time.sleep(10), timeout=0.1)
    assert "not asked again" in notes["telemetry_error"]
    assert subject.telemetry() == {}
    assert subject.act({}, {}).fault is None


MODULE = """
import time
class Base:
    action_mode, observation, privileged = "target_speed", "state", False
    def reset(self, context, info): pass
    def act(self, observation, info): return [0, 3]
    def close(self): pass
class Hangs(Base):
    def __init__(self): time.sleep(10)
class Raises(Base):
    def __init__(self): raise RuntimeError("no \\udc80 weights")
class Exits(Base):
    def __init__(self): raise SystemExit(3)
class CheckRaises(Base):
    def check(self): raise RuntimeError("no server")
class CheckHangs(Base):
    def check(self): time.sleep(10)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "slow_starters.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "slow_starters"
    sys.modules.pop("slow_starters", None)


@pytest.mark.parametrize(
    ("name", "timeout", "words"),
    [
        ("Hangs", 0.2, r"constructor did not return within 0.2 s; .* raise --agent-timeout"),
        ("Raises", 5.0, "RuntimeError: no \ufffd weights"),
        ("Exits", 5.0, "SystemExit: 3"),
    ],
)
def test_agents_that_cannot_be_made(module, name, timeout, words):
    with pytest.raises(DriveHierarchyError, match=words):
        start_agent(f"{module}:{name}", {}, timeout)


def test_check_is_bounded_too(module):
    start_agent(f"{module}:Base", {}, 5.0).check()
    with pytest.raises(AgentStartError, match="check failed with RuntimeError: no server"):
        start_agent(f"{module}:CheckRaises", {}, 5.0).check()
    with pytest.raises(AgentStartError, match=r"check did not return within 0\.2 s"):
        start_agent(f"{module}:CheckHangs", {}, 0.2).check()
