from __future__ import annotations

import sys

import numpy as np
import pytest

from drivehierarchy_gym.agents import AGENTS, AgentError, make_agent
from drivehierarchy_gym.agents.protocol import EpisodeContext
from drivehierarchy_gym.agents.registry import agent_factory, agent_options
from drivehierarchy_gym.errors import UnknownNameError


@pytest.mark.parametrize("name", AGENTS)
def test_every_name_loads_a_class(name):
    assert isinstance(agent_factory(name), type)


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown agent 'exprt'; did you mean 'expert'"):
        make_agent("exprt")
    with pytest.raises(UnknownNameError, match="option of agent 'constant' 'stear'; did you mean 'steer'"):
        make_agent("constant", stear=1)


def test_required_option_is_named():
    with pytest.raises(AgentError, match="agent 'vlm' needs the option 'model'"):
        make_agent("vlm")
    assert "base_url" in agent_options("vlm")


def test_user_agent_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "my_driver.py").write_text(
        "class Mine:\n"
        "    action_mode, observation, privileged = 'control', 'state', False\n"
        "    def __init__(self, gain=1.0): self.gain = gain\n"
        "    def reset(self, context, info): pass\n"
        "    def act(self, observation, info): return [0, self.gain, 0]\n"
        "    def close(self): pass\n"
        "class Half:\n"
        "    def reset(self, context, info): pass\n"
        "class Odd(Mine):\n"
        "    action_mode = 'fly'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert make_agent("my_driver:Mine", gain=2.0).act({}, {}) == [0, 2.0, 0]
    with pytest.raises(AgentError, match="no method 'act'"):
        make_agent("my_driver:Half")
    with pytest.raises(AgentError, match=r"action_mode is one of .*found 'fly'"):
        make_agent("my_driver:Odd")
    with pytest.raises(AgentError, match="did you mean 'Mine'"):
        make_agent("my_driver:Min")
    with pytest.raises(AgentError, match="importing 'no_such_module_here' failed: ModuleNotFoundError"):
        make_agent("no_such_module_here:A")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Mine = 3", "Mine is 3, which is no class"),
        ("Mine = int", "has no method 'reset'|options cannot be read"),
        ("class Mine(Good): action_mode = ['text']", r"action_mode is one of .*found \['text'\]"),
        ("class Mine(Good): observation = 5", "observation is one of .*found 5"),
        ("class Mine(Good): act_deadline = float('nan')", "act_deadline is a number of seconds, found nan"),
        ("class Mine(Good): act_deadline = 'long'", "act_deadline is a number of seconds, found 'long'"),
        ("class Mine(Good): act_deadline = -1", "act_deadline is a number of seconds, found -1"),
    ],
)
def test_what_is_no_agent_is_said_in_one_line(tmp_path, monkeypatch, line, words):
    (tmp_path / "odd_driver.py").write_text(
        "class Good:\n"
        "    action_mode, observation, privileged = 'control', 'state', False\n"
        "    def reset(self, context, info): pass\n"
        "    def act(self, observation, info): return [0, 0, 0]\n"
        f"    def close(self): pass\n{line}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_driver", raising=False)
    with pytest.raises(AgentError, match=words) as caught:
        make_agent("odd_driver:Mine")
    assert "\n" not in str(caught.value)
    sys.modules.pop("odd_driver", None)


def test_constant_and_random():
    constant = make_agent("constant", steer=-0.5, target_speed=3)
    np.testing.assert_array_equal(constant.act({}, {}), np.array([-0.5, 3], np.float32))

    def drawn(seed):
        agent = make_agent("random", max_speed=4.0)
        agent.reset(EpisodeContext(plan=None, seed=seed, snapshot=None), {})
        return np.array([agent.act({}, {}) for _ in range(200)])

    first = drawn(1)
    np.testing.assert_array_equal(first, drawn(1))
    assert not np.array_equal(first, drawn(2))
    assert np.all(np.abs(first[:, 0]) <= 1)
    assert np.all((first[:, 1] >= 0) & (first[:, 1] <= 4))
    assert first[:, 1].max() > 3
