"""An OpenAI-compatible server in front of a baseline, to try a whole evaluation without a model.

It recognises the item of a request by its question, its options and the pixels of all its images in order, so a
harness that drops, reorders or mixes up images is told so instead of getting an answer.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.errors import ImageError
from drivehierarchy_data.images import content_name, decode, pixel_digest
from drivehierarchy_data.shards import ImageLocation
from drivehierarchy_gym.errors import DriveHierarchyError

from .baselines import Answerer, Document
from .outputs import OutputError
from .wording import counted

MAX_REQUEST_BYTES = 256 * 2**20


class RequestError(DriveHierarchyError, ValueError):
    """A request that is no chat completion, or not about an item of the edition."""


@dataclass(frozen=True, slots=True)
class ReceivedImage:
    """One image of a request: the bytes of its file and its MIME type."""

    data: bytes
    media_type: str

    @property
    def name(self) -> str:
        """Content name, as an edition would call this file."""
        return content_name(self.data, self.media_type.partition("/")[2].replace("jpeg", "jpg"))

    def digest(self) -> str:
        """Digest of the pixels."""
        return pixel_digest(decode(self.data, "image of the request"))


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The parts of a request that matter: system text, user text without images, images in order."""

    model: str
    system: str
    text: str
    images: tuple[ReceivedImage, ...]


def read_request(body: bytes) -> ChatRequest:
    """Reads the body of a chat completion. Raises RequestError naming the field that is wrong."""
    try:
        content = json.loads(body)
        messages = content["messages"]
        system = " ".join(_texts(m["content"]) for m in messages if m["role"] == "system")
        users = [m for m in messages if m["role"] == "user"]
        text = "\n".join(_texts(m["content"]) for m in users)
        images = tuple(image for m in users for image in _images(m["content"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RequestError(f"not a chat completion request ({type(error).__name__}: {error})") from error
    return ChatRequest(str(content.get("model", "")), system, text, images)


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _images(content: Any) -> list[ReceivedImage]:
    if isinstance(content, str):
        return []
    return [_image(part["image_url"]["url"]) for part in content if part["type"] == "image_url"]


def _image(url: str) -> ReceivedImage:
    head, _, data = url.partition(",")
    if not head.startswith("data:") or not head.endswith(";base64"):
        raise RequestError("images must be data URLs with base64 content")
    try:
        return ReceivedImage(base64.b64decode(data, validate=True), head[len("data:") : -len(";base64")])
    except binascii.Error as error:
        raise RequestError(f"an image is not valid base64 ({error})") from error


class ItemFinder:
    """Finds the item of a request among those of an edition."""

    def __init__(self, edition: Edition) -> None:
        self._by_question: dict[str, list[Document]] = defaultdict(list)
        for task in edition.tasks():
            for document in edition.documents(task):
                self._by_question[document["question"]].append(document)

    def find(self, request: ChatRequest) -> Document:
        """The document with this question, these options and these very images. Raises RequestError."""
        asked = [
            document
            for question, documents in self._by_question.items()
            if question and question in request.text
            for document in documents
            if _shows_options(request.text, document)
        ] or [document for document in self._by_question.get("", ()) if _shows_options(request.text, document)]
        if not asked:
            raise RequestError(f"no item asks this: {request.text[:200]!r}")
        same_number = [document for document in asked if len(document["images"]) == len(request.images)]
        if not same_number:
            wanted = sorted({len(document["images"]) for document in asked})
            raise RequestError(
                f"{counted(len(request.images), 'image')} came, but items with this question have "
                f"{' or '.join(map(str, wanted))}; does the harness drop images (max_images)?"
            )
        # The longest question wins: a question may be contained in another one.
        for document in sorted(same_number, key=lambda document: -len(document["question"])):
            if _same_images(document["images"], request.images):
                return document
        digests = sorted(image.digest() for image in request.images)
        for document in same_number:
            if sorted(_digest(location) for location in document["images"]) == digests:
                raise RequestError(f"the images of item {document['id']} came in another order")
        raise RequestError("no item with this question has these images")


def _shows_options(text: str, document: Document) -> bool:
    return all(option in text for option in document["options"])


def _same_images(locations: Sequence[ImageLocation], images: Sequence[ReceivedImage]) -> bool:
    return all(
        location.name == image.name or _digest(location) == image.digest()
        for location, image in zip(locations, images, strict=True)
    )


@lru_cache(maxsize=65536)
def _digest(location: ImageLocation) -> str:
    return pixel_digest(location.decode())


class BaselineServer(ThreadingHTTPServer):
    """Serves `/v1/chat/completions`, `/v1/models` and `/healthz`. Port 0 takes a free one.

    With `log`, each request becomes one JSON line there: the item, the number and the names of its images, the texts
    and the answer, or the error.
    """

    daemon_threads = True

    def __init__(
        self, finder: ItemFinder, answer: Answerer, name: str, address: tuple[str, int], log: IO[str] | None = None
    ) -> None:
        try:
            super().__init__(address, _Handler)
        except OSError as error:
            raise DriveHierarchyError(f"cannot listen on {address[0]}:{address[1]} ({error.strerror})") from error
        self.name = name
        self._finder = finder
        self._answer = answer
        self._log = log
        self._log_lock = threading.Lock()

    @property
    def url(self) -> str:
        """Base URL for clients."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    def reply(self, body: bytes) -> str:
        """The answer to a request. Raises RequestError."""
        entry: dict[str, Any] = {}
        try:
            request = read_request(body)
            entry = {"system": request.system, "text": request.text, "images": len(request.images)}
            entry["media_types"] = sorted({image.media_type for image in request.images})
            document = self._finder.find(request)
            entry |= {"id": document["id"], "task": document["task"], "views": document["views"]}
            entry["answer"] = self._answer(document)
            return str(entry["answer"])
        except (RequestError, ImageError) as error:
            entry["error"] = str(error)
            raise RequestError(str(error)) from error
        finally:
            self._write(entry)

    def _write(self, entry: Mapping[str, Any]) -> None:
        if self._log is not None:
            with self._log_lock:
                self._log.write(json.dumps(entry, ensure_ascii=False) + "\n")
                self._log.flush()


class _Handler(BaseHTTPRequestHandler):
    server: BaselineServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": self.server.name, "object": "model"}]})
        elif self.path == "/healthz":
            self._send(200, {"status": "ok"})
        else:
            self._fail(404, f"no such path: {self.path}")

    def do_POST(self) -> None:
        if self.path != "/v1/chat/completions":
            self._fail(404, f"no such path: {self.path}; chat completions are at /v1/chat/completions")
            return
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 < length <= MAX_REQUEST_BYTES:
            self._fail(413, f"a request must have between 1 and {MAX_REQUEST_BYTES} bytes, this one has {length}")
            return
        try:
            text = self.server.reply(self.rfile.read(length))
        except RequestError as error:
            self._fail(400, str(error))
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 0, "completion_tokens": len(text.split()), "total_tokens": len(text.split())}
        self._send(
            200,
            {
                "id": "baseline",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": self.server.name,
                "choices": [choice],
                "usage": usage,
            },
        )

    def _fail(self, status: int, message: str) -> None:
        self.close_connection = True
        self._send(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def _send(self, status: int, content: Mapping[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The journal is the log; nothing goes to standard error."""


def open_log(path: Path | None) -> IO[str] | None:
    """The request log, appended to; None without a path. Raises OutputError where it cannot be written."""
    if path is None:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); give another --log") from error
