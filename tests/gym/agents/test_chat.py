from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivehierarchy_gym.agents.chat import LONGEST_RETRY_AFTER, ChatClient, EndpointError, retry_after_seconds
from drivehierarchy_gym.errors import InfrastructureError

MESSAGES = [{"role": "user", "content": "drive"}]


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(chat_server, waits):
    client = ChatClient(chat_server.url, "tiny", timeout=5.0, retries=3, sleep=waits.append)
    yield client
    client.close()


def test_reply_with_tokens_and_latency(chat_server, client, waits):
    reply = client.complete(MESSAGES, {"temperature": 0.0, "max_tokens": None, "seed": 3})
    assert reply.text == "steer: 0.0\ntarget_speed_mps: 5.0"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.attempts, reply.finish_reason) == (700, 12, 1, "stop")
    assert 0 < reply.latency < 5
    assert chat_server.requests == [{"model": "tiny", "messages": MESSAGES, "temperature": 0.0, "seed": 3}]
    assert chat_server.authorizations == [None]
    assert waits == []


@pytest.mark.parametrize("url_end", ["", "/", "/chat/completions"])
def test_base_url_forms(chat_server, url_end):
    client = ChatClient(chat_server.url + url_end, "tiny", api_key="secret")
    client.complete(MESSAGES, {})
    client.check()
    client.close()
    assert chat_server.authorizations == ["Bearer secret"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([{"type": "text", "text": "steer: 0"}, {"type": "text", "text": "\nx"}], "steer: 0\nx"),
        (5, ""),
    ],
)
def test_empty_and_structured_content_are_answers(chat_server, client, content, text):
    chat_server.replies = [(200, {}, chat_server.completion(content))]
    assert client.complete(MESSAGES, {}).text == text


def test_overload_is_retried_with_growing_jittered_waits(chat_server, client, waits):
    chat_server.replies = [(503, {}, b"busy"), (500, {}, b""), (429, {}, b""), "done"]
    assert client.complete(MESSAGES, {}).attempts == 4
    for wait, longest in zip(waits, (0.5, 1.0, 2.0), strict=True):
        assert longest / 2 <= wait <= longest


def test_jitter_follows_the_seed(chat_server, waits):
    def run(seed: int) -> list[float]:
        chat_server.replies = [(503, {}, b""), (503, {}, b""), "done"]
        found: list[float] = []
        client = ChatClient(chat_server.url, "tiny", sleep=found.append)
        client.seed(seed)
        client.complete(MESSAGES, {})
        client.close()
        return found

    assert run(1) == run(1) != run(2)


def test_retry_after_is_respected(chat_server, client, waits):
    chat_server.replies = [(429, {"retry-after": "7"}, b""), "done"]
    assert client.complete(MESSAGES, {}).text == "done"
    assert waits == [7.0]


def test_too_long_a_pause_ends_at_once(chat_server, client, waits):
    chat_server.replies = [(429, {"retry-after": str(LONGEST_RETRY_AFTER + 1)}, b"quota")]
    with pytest.raises(EndpointError, match=r"quota.*pause of 121 s"):
        client.complete(MESSAGES, {})
    assert waits == []


def test_persistent_failure_names_cause_and_attempts(chat_server, client):
    chat_server.replies = [(503, {}, b"model is loading")]
    with pytest.raises(EndpointError, match=r"HTTP 503 \(model is loading\), after 4 attempts"):
        client.complete(MESSAGES, {})
    assert len(chat_server.requests) == 4


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "check the api key"), (403, "check the api key"), (404, "check --base-url and --model"), (400, "options")],
)
def test_refusals_are_not_retried(chat_server, client, status, advice):
    chat_server.replies = [(status, {}, b'{"error": "no"}')]
    with pytest.raises(EndpointError, match=advice):
        client.complete(MESSAGES, {})
    assert len(chat_server.requests) == 1


DEEP = b"[" * 200_000 + b"]" * 200_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff\xfe\x00",
        b"{}",
        b'{"choices": []}',
        b"[]",
        b"7",
        b'{"choices": [{"message": null}]}',
        b'{"choices": [7]}',
        b'{"choices": {"0": 1}}',
        b'{"choices": [{"message": "steer"}]}',
        DEEP,
    ],
)
def test_malformed_success_is_retried_then_infrastructure(chat_server, client, body):
    chat_server.replies = [(200, {}, body)]
    with pytest.raises(InfrastructureError, match="not a chat completion"):
        client.complete(MESSAGES, {})
    assert len(chat_server.requests) == 4


@pytest.mark.parametrize("status", [200, 400, 503])
def test_a_body_that_cannot_be_unpacked_is_the_endpoints_fault(chat_server, client, status):
    chat_server.replies = [(status, {"content-encoding": "gzip"}, b"not gzip at all")]
    with pytest.raises(EndpointError, match="DecodingError"):
        client.complete(MESSAGES, {})
    chat_server.replies = [(200, {"content-encoding": "gzip"}, b"not gzip at all"), "done"]
    assert client.complete(MESSAGES, {}).text == "done"


@pytest.mark.parametrize("location", ["http://localhost:1/", "/v1/chat/completions"])
def test_a_redirect_is_told_not_followed(chat_server, client, location):
    chat_server.replies = [(302, {"location": location}, b"")]
    with pytest.raises(EndpointError, match=f"it points to '{location}'; check --base-url"):
        client.complete(MESSAGES, {})


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [1, 2],
        "many",
        7,
        {},
        {"prompt_tokens": math.nan, "completion_tokens": -1},
        {"prompt_tokens": "700", "completion_tokens": True},
        {"prompt_tokens": 1.5, "completion_tokens": {}},
    ],
)
def test_usage_that_counts_nothing_is_ignored(chat_server, client, usage):
    chat_server.replies = [(200, {}, {**chat_server.completion("done"), "usage": usage})]
    reply = client.complete(MESSAGES, {})
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("done", None, None)


def test_lone_surrogates_do_not_leave_the_client(chat_server, client):
    body = rb'{"choices": [{"message": {"content": "a\ud83d b\ud83d\ude00"}, "finish_reason": "\udc80"}]}'
    chat_server.replies = [(200, {}, body)]
    reply = client.complete(MESSAGES, {})
    assert (reply.text, reply.finish_reason) == ("a\ufffd b\U0001f600", "\ufffd")


@pytest.mark.parametrize("part", ["headers", "body"])
def test_an_endpoint_that_trickles_meets_the_deadline_of_the_attempt(trickle, part):
    client = ChatClient(trickle(part), "tiny", timeout=0.5, retries=1, sleep=lambda _: None)
    begun = time.monotonic()
    with pytest.raises(EndpointError, match=r"no complete answer within 0.5 s, after 2 attempts"):
        client.complete(MESSAGES, {})
    assert time.monotonic() - begun < client.longest_call
    client.close()


@pytest.fixture
def trickle():
    """Maker of a server that sends a byte every 0.1 s, from the headers or from the body on; returns its URL."""
    server = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve(connection, start):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(start)
            while not stop.wait(0.1):
                connection.sendall(b"x")

    def accept(start):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0], start), daemon=True).start()

    def make(part):
        start = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\nx: " + (b"\r\n\r\n" if part == "body" else b"")
        threading.Thread(target=accept, args=(start,), daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"

    yield make
    stop.set()
    server.close()


@pytest.mark.parametrize("key", ["ab\ncd", "schl\u00fcssel", "a\x00b"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_told(key):
    with pytest.raises(EndpointError, match="the key in MY_KEY") as caught:
        ChatClient("http://localhost/v1", "tiny", api_key=key, key_hint="the key in MY_KEY")
    assert key not in str(caught.value)


def test_blanks_around_a_key_are_not_part_of_it(chat_server):
    client = ChatClient(chat_server.url, "tiny", api_key=" secret\n")
    client.complete(MESSAGES, {})
    client.close()
    assert chat_server.authorizations == ["Bearer secret"]


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": math.nan}, {"timeout": math.inf}, {"timeout": 1e10}, {"retries": -1}]
)
def test_impossible_limits(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        ChatClient("http://localhost/v1", "tiny", **options)


def test_slow_endpoint_times_out(chat_server):
    chat_server.delay = 1.0
    client = ChatClient(chat_server.url, "tiny", timeout=0.1, retries=1, sleep=lambda _: None)
    with pytest.raises(EndpointError, match=r"no complete answer within 0.1 s, after 2 attempts"):
        client.complete(MESSAGES, {})
    client.close()


def test_nobody_there():
    client = ChatClient("http://127.0.0.1:9/v1", "tiny", retries=1, sleep=lambda _: None)
    with pytest.raises(EndpointError, match="ConnectError"):
        client.complete(MESSAGES, {})
    with pytest.raises(EndpointError, match="start the endpoint or correct --base-url"):
        client.check()
    client.close()


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://localhost/v1"])
def test_wrong_scheme(url):
    client = ChatClient(url, "tiny", sleep=lambda _: None)
    with pytest.raises(EndpointError, match=r"http://"):
        client.complete(MESSAGES, {})
    client.close()


def test_check_names_the_models_there(chat_server, client):
    client.check()
    chat_server.models = ["large", "larger"]
    with pytest.raises(EndpointError, match="no model 'tiny'; it has large, larger"):
        client.check()
    chat_server.models = None
    client.check()


def test_retry_after_forms():
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=timezone.utc)
    assert retry_after_seconds("3", now) == 3.0
    assert retry_after_seconds("Thu, 01 Jan 2026 12:00:30 GMT", now) == 30.0
    assert retry_after_seconds("Thu, 01 Jan 2026 11:00:00 GMT", now) == 0.0
    assert retry_after_seconds(None, now) is None


@given(st.text())
def test_retry_after_never_fails(text):
    seconds = retry_after_seconds(text)
    assert seconds is None or (seconds >= 0 and not math.isnan(seconds))
