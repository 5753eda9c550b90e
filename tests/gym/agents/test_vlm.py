from __future__ import annotations

import base64

import cv2
import numpy as np
import pytest

from drivehierarchy_gym.agents import AgentError, make_agent
from drivehierarchy_gym.agents.chat import EndpointError
from drivehierarchy_gym.agents.protocol import EpisodeContext

OBSERVATION = {
    "front": np.full((45, 80, 3), (250, 10, 10), np.uint8),
    "bev": np.full((80, 80, 3), (10, 10, 250), np.uint8),
}
CONTEXT = EpisodeContext(plan=None, seed=4, snapshot=None)


@pytest.fixture
def agent(chat_server):
    agent = make_agent("vlm", model="tiny", base_url=chat_server.url, retries=0)
    agent.reset(CONTEXT, {})
    yield agent
    agent.close()


def picture(part):
    header, data = part["image_url"]["url"].split(",")
    assert header == "data:image/jpeg;base64"
    return cv2.cvtColor(cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), 1), cv2.COLOR_BGR2RGB)


def test_one_user_turn_in_the_releases_order(chat_server, agent):
    assert agent.act(OBSERVATION, {"prompt": "Q(frame 1): drive"}) == "steer: 0.0\ntarget_speed_mps: 5.0"
    (request,) = chat_server.requests
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("tiny", 0.0, 1024)
    (turn,) = request["messages"]
    assert turn["role"] == "user"
    assert [part["type"] for part in turn["content"]] == ["text", "image_url", "text", "image_url", "text"]
    front, bev = picture(turn["content"][1]), picture(turn["content"][3])
    assert front.shape == (45, 80, 3)
    assert bev.shape == (80, 80, 3)
    np.testing.assert_allclose(front.mean(axis=(0, 1)), (250, 10, 10), atol=6)
    np.testing.assert_allclose(bev.mean(axis=(0, 1)), (10, 10, 250), atol=6)
    assert turn["content"][4]["text"] == "Q(frame 1): drive"
    log = agent.telemetry()
    assert (log["prompt_tokens"], log["completion_tokens"], log["attempts"]) == (700, 12, 1)


def test_window_of_two_keeps_one_earlier_turn(chat_server):
    agent = make_agent("vlm", model="tiny", base_url=chat_server.url, conversation_window=2)
    agent.reset(CONTEXT, {})
    chat_server.replies = ["a", "b", "", "d", "e"]
    for n in range(4):
        agent.act(OBSERVATION, {"prompt": f"p{n}"})
    texts = [
        [m["content"] if m["role"] == "assistant" else m["content"][4]["text"] for m in request["messages"]]
        for request in chat_server.requests
    ]
    assert texts == [["p0"], ["p0", "a", "p1"], ["p1", "b", "p2"], ["p1", "b", "p3"]]
    agent.reset(CONTEXT, {})
    agent.act(OBSERVATION, {"prompt": "new"})
    assert len(chat_server.requests[-1]["messages"]) == 1
    agent.close()


def test_a_broken_character_in_a_reply_does_not_poison_the_conversation(chat_server):
    agent = make_agent("vlm", model="tiny", base_url=chat_server.url, conversation_window=2, retries=0)
    agent.reset(CONTEXT, {})
    chat_server.replies = ["a \ud83d", "b"]
    assert [agent.act(OBSERVATION, {"prompt": "p"}) for _ in range(2)] == ["a \ufffd", "b"]
    assert chat_server.requests[1]["messages"][1] == {"role": "assistant", "content": "a \ufffd"}
    agent.close()


def test_extra_body_and_key(chat_server, monkeypatch):
    monkeypatch.setenv("TINY_KEY", "abc")
    agent = make_agent(
        "vlm",
        model="tiny",
        base_url=chat_server.url,
        api_key_env="TINY_KEY",
        extra_body={"max_tokens": None, "max_completion_tokens": 9, "top_k": 1},
    )
    agent.act(OBSERVATION, {"prompt": "p"})
    agent.close()
    request = chat_server.requests[0]
    assert "max_tokens" not in request
    assert (request["max_completion_tokens"], request["top_k"]) == (9, 1)
    assert chat_server.authorizations == ["Bearer abc"]


def test_endpoint_down_is_not_an_answer(chat_server, agent):
    chat_server.replies = [(500, {}, b"")]
    with pytest.raises(EndpointError):
        agent.act(OBSERVATION, {"prompt": "p"})
    assert agent.telemetry() == {}


def test_jpeg_quality_changes_the_size(chat_server):
    noise = np.random.default_rng(0).integers(0, 255, (60, 60, 3), np.uint8)
    sizes = []
    for quality in (10, 95):
        agent = make_agent("vlm", model="tiny", base_url=chat_server.url, jpeg_quality=quality)
        agent.act({"front": noise, "bev": noise}, {"prompt": "p"})
        agent.close()
        sizes.append(len(chat_server.requests[-1]["messages"][0]["content"][1]["image_url"]["url"]))
    assert sizes[0] < sizes[1]


def test_parameters_that_no_request_can_carry():
    for options in ({"temperature": float("nan")}, {"extra_body": {"seed": {1}}}):
        with pytest.raises(AgentError, match="cannot be made"):
            make_agent("vlm", model="tiny", **options)


@pytest.mark.parametrize("options", [{"conversation_window": 0}, {"jpeg_quality": 0}, {"jpeg_quality": 101}])
def test_impossible_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        make_agent("vlm", model="tiny", **options)
