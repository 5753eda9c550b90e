"""What several parts of the tests need: a chat endpoint that answers from a script, and a suite of short drives."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


class ChatServer:
    """`replies` are taken one by one, the last one for ever: (status, headers, body) or a reply text."""

    def __init__(self) -> None:
        self.replies: list[Any] = ["steer: 0.0\ntarget_speed_mps: 5.0"]
        self.models: list[str] | None = ["tiny"]
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.delay = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                if outer.models is None:
                    self._send(404, {}, b"")
                else:
                    self._send(200, {}, json.dumps({"data": [{"id": name} for name in outer.models]}).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.requests.append(json.loads(body))
                outer.authorizations.append(self.headers.get("authorization"))
                time.sleep(outer.delay)
                reply = outer.replies.pop(0) if len(outer.replies) > 1 else outer.replies[0]
                if isinstance(reply, tuple):
                    status, headers, data = reply
                    self._send(status, headers, data if isinstance(data, bytes) else json.dumps(data).encode())
                else:
                    self._send(200, {}, json.dumps(completion(reply)).encode())

            def _send(self, status: int, headers: dict[str, str], data: bytes) -> None:
                try:
                    self.send_response(status)
                    for key, value in {"content-length": str(len(data)), **headers}.items():
                        self.send_header(key, value)
                    self.end_headers()
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client has given up waiting

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    completion = staticmethod(lambda content: completion(content))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def completion(content: Any) -> dict[str, Any]:
    """Body of a successful chat completion."""
    return {
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 700, "completion_tokens": 12},
    }


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def tiny_suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of two short empty roads."""
    folder = tmp_path_factory.mktemp("tiny")
    for name, family, goal in (("one", "03_turning", 75), ("two", "08_merging", 70)):
        (folder / f"{name}.yaml").write_text(
            f"id: {name}\n"
            f"family: {family}\n"
            "description: an empty road\n"
            'ego: {start_speed: 7, start: {edge: "360414561", lane: 0, pos: 40}, edges: ["360414561"], '
            f'goal: {{edge: "360414561", lane: 0, pos: {goal}}}, lanes: {{"360414561": 0}}}}\n'
        )
    return folder
