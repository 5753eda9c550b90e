from __future__ import annotations

import threading
import time

import pytest

from drivehierarchy_gym.agents.guard import AgentGuard, AgentStartError, unreadable
from drivehierarchy_gym.errors import InfrastructureError


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
    assert answer.action == [0.5, 8]
    assert 0 <= answer.seconds < 5


def test_any_answer_is_handed_on():
    for value in (b"steer: 0", None, "steer: x", [float("nan"), 1.0], {"steer": 0}):
        answer = guard(lambda value=value: value).act({}, {})
        assert answer.action is value
        assert answer.fault is None


def test_words_for_what_cannot_be_read():
    assert unreadable("steer: x").kind == "unparseable"
    assert unreadable("steer: x").detail == "no action in the reply 'steer: x'"
    for value in (b"steer: 0", None, [float("nan"), 1.0]):
        assert unreadable(value).kind == "invalid"
        assert repr(value) in unreadable(value).detail
    assert len(unreadable("x" * 1000).detail) < 120


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
    assert answer.action == [0, 3]


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


def test_telemetry_that_fails_is_reported():
    subject = guard()
    subject.agent.telemetry = raises(KeyError("x"))
    assert "KeyError" in subject.telemetry()["telemetry_error"]
