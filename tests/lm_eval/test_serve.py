"""The baseline server: it knows an item by question, options and images, and says what is wrong with a request."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.images import decode
from drivehierarchy_gym.errors import DriveHierarchyError
from lm_eval_drivehierarchy.baselines import baseline
from lm_eval_drivehierarchy.serve import BaselineServer, ChatRequest, ItemFinder, RequestError, read_request

IMAGE_BODY = b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http:"}}]}]}'


def data_url(data: bytes, image_format: str = "JPEG") -> str:
    """A data URL with the image as it is (JPEG) or re-encoded without loss (PNG)."""
    if image_format == "PNG":
        buffer = io.BytesIO()
        decode(data, "test").save(buffer, "PNG")
        data = buffer.getvalue()
    return f"data:image/{image_format.lower()};base64,{base64.b64encode(data).decode()}"


def body(document: dict[str, Any], urls: Sequence[str] | None = None, text: str | None = None) -> bytes:
    """A request about a document, images first."""
    if urls is None:
        urls = [data_url(location.read()) for location in document["images"]]
    text = "\n".join([document["question"], *document["options"]]) if text is None else text
    content = [{"type": "image_url", "image_url": {"url": url}} for url in urls] + [{"type": "text", "text": text}]
    messages = [{"role": "system", "content": "You drive."}, {"role": "user", "content": content}]
    return json.dumps({"model": "m", "messages": messages}).encode()


def request(document: dict[str, Any], *args: Any, **kwargs: Any) -> ChatRequest:
    return read_request(body(document, *args, **kwargs))


@pytest.fixture(scope="module")
def finder(edition: Edition) -> ItemFinder:
    return ItemFinder(edition)


class TestFinder:
    """From request to item."""

    def test_finds_every_item_of_the_edition(self, edition: Edition, finder: ItemFinder) -> None:
        for task in edition.tasks():
            for document in edition.documents(task):
                assert finder.find(request(document))["id"] == document["id"]

    def test_knows_images_that_were_encoded_anew(self, edition: Edition, finder: ItemFinder) -> None:
        document = edition.documents("r2_1")[3]
        urls = [data_url(location.read(), "PNG") for location in document["images"]]
        assert finder.find(request(document, urls))["id"] == document["id"]

    def test_says_when_images_were_dropped(self, edition: Edition, finder: ItemFinder) -> None:
        document = edition.documents("r2_1")[0]
        with pytest.raises(RequestError, match=r"1 image came, but items with this question have 6; .*max_images"):
            finder.find(request(document, [data_url(document["images"][0].read())]))

    def test_says_when_images_came_in_another_order(self, edition: Edition, finder: ItemFinder) -> None:
        document = edition.documents("r2_1")[0]
        urls = [data_url(location.read()) for location in reversed(document["images"])]
        with pytest.raises(RequestError, match="the images of item r2_1-test-0000 came in another order"):
            finder.find(request(document, urls))

    def test_says_when_the_images_are_others(self, edition: Edition, finder: ItemFinder) -> None:
        first, other = edition.documents("r1_1_b")[0], edition.documents("r1_1_b")[1]
        with pytest.raises(RequestError, match="no item with this question has these images"):
            finder.find(request(first, [data_url(other["images"][0].read())]))

    def test_says_when_nothing_asks_this(self, edition: Edition, finder: ItemFinder) -> None:
        with pytest.raises(RequestError, match="no item asks this: 'What is the weather"):
            finder.find(ChatRequest("m", "", "What is the weather?", ()))


class TestRequests:
    """Bodies."""

    def test_reads_texts_and_images_of_all_messages(self) -> None:
        read = read_request(
            json.dumps(
                {
                    "model": "m",
                    "messages": [
                        {"role": "system", "content": "Persona."},
                        {"role": "user", "content": [{"type": "text", "text": "Image A"}, _image_part(b"1")]},
                        {"role": "user", "content": "Question?"},
                    ],
                }
            ).encode()
        )
        assert (read.system, read.text) == ("Persona.", "Image A\nQuestion?")
        assert [image.data for image in read.images] == [b"1"]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "not a chat completion request"),
            (b"{}", "not a chat completion request"),
            pytest.param(b"[" * 100_000, "not a chat completion request", id="deep"),
            (b'{"messages": [{"role": "user"}]}', "not a chat completion request"),
            (IMAGE_BODY, "images must be data URLs"),
            (IMAGE_BODY.replace(b"http:", b"data:image/png;base64,*"), "not valid base64"),
        ],
    )  # fmt: skip
    def test_names_what_is_wrong(self, content: bytes, message: str) -> None:
        with pytest.raises(RequestError, match=message):
            read_request(content)


def _image_part(data: bytes) -> dict[str, Any]:
    url = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.fixture
def server(edition: Edition, finder: ItemFinder, tmp_path: Path) -> Iterator[BaselineServer]:
    with (tmp_path / "requests.jsonl").open("a") as log:
        served = BaselineServer(finder, baseline("oracle", edition), "oracle", ("127.0.0.1", 0), log)
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield served
        served.shutdown()
        served.server_close()
        thread.join()


class TestServer:
    """Over HTTP."""

    def test_answers_and_logs(self, server: BaselineServer, edition: Edition, tmp_path: Path) -> None:
        document = edition.documents("r2_1")[2]
        with httpx.Client() as client:
            for _ in range(2):  # the connection is kept
                reply = client.post(f"{server.url}/chat/completions", content=body(document))
                assert reply.json()["choices"][0]["message"] == {"role": "assistant", "content": document["answer"]}
            assert client.get(f"{server.url}/models").json()["data"][0]["id"] == "oracle"
            assert client.get(server.url.removesuffix("v1") + "healthz").json() == {"status": "ok"}
        entries = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
        assert [entry["images"] for entry in entries] == [6, 6]
        assert entries[0]["id"] == document["id"]
        assert entries[0]["views"] == document["views"]

    def test_refuses_with_a_reason(self, server: BaselineServer, edition: Edition, tmp_path: Path) -> None:
        reply = httpx.post(f"{server.url}/chat/completions", content=body(edition.documents("r2_1")[0], urls=[]))
        assert reply.status_code == 400
        assert "0 images came" in reply.json()["error"]["message"]
        assert "0 images came" in (tmp_path / "requests.jsonl").read_text()
        assert httpx.post(f"{server.url}/completions", content=b"{}").status_code == 404
        assert httpx.get(f"{server.url}/nothing").status_code == 404
        assert httpx.post(f"{server.url}/chat/completions", content=b"").status_code == 413

    def test_a_port_in_use_is_named(self, server: BaselineServer, finder: ItemFinder) -> None:
        address = ("127.0.0.1", server.server_address[1])
        with pytest.raises(DriveHierarchyError, match=r"cannot listen on 127.0.0.1:\d+ \(Address already in use\)"):
            BaselineServer(finder, lambda document: "", "x", address)
