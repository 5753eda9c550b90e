"""The model class for endpoints: all images in place, answers kept, refusals left out, a dead endpoint ends the run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.instance import Instance
from lm_eval.api.model import CacheHook

from drivehierarchy_data.editions import Edition
from drivehierarchy_data.errors import ImageError
from drivehierarchy_data.images import ImageSequence
from drivehierarchy_data.shards import ImageLocation
from drivehierarchy_gym.agents import chat
from drivehierarchy_gym.errors import DriveHierarchyError
from lm_eval_drivehierarchy import chat_model
from lm_eval_drivehierarchy.chat_model import DriveHierarchyChat, EndpointDown, image_part, interleave
from lm_eval_drivehierarchy.serve import read_request

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


class Endpoint(ThreadingHTTPServer):
    """Answers chat completions with whatever `answer` returns; keeps the bodies it received."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.bodies: list[bytes] = []
        self.keys: list[str | None] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": "m"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.keys.append(self.headers.get("Authorization"))
        self._send(*self.server.answer(json.loads(body)))

    def _send(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def reply(text: str | None) -> tuple[int, Any]:
    return 200, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


@pytest.fixture
def start() -> Iterator[Callable[[Answer], Endpoint]]:
    running: list[Endpoint] = []

    def begin(answer: Answer) -> Endpoint:
        endpoint = Endpoint(answer)
        threading.Thread(target=endpoint.serve_forever, args=(0.01,), daemon=True).start()
        running.append(endpoint)
        return endpoint

    yield begin
    for endpoint in running:
        endpoint.shutdown()
        endpoint.server_close()


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "FIRST_DELAY", 0.001)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def instances(edition: Edition, task: str, count: int = 6) -> list[Instance]:
    """Requests as lm-eval builds them."""
    made = []
    for index, document in enumerate(edition.documents(task)[:count]):
        images = ImageSequence(document["images"])
        prompt = "<image>\n" * len(images) + f"Question {index}?"
        context = json.dumps([{"role": "system", "content": "Drive."}, {"role": "user", "content": prompt}])
        arguments = (context, {"until": [], "max_gen_toks": 32, "temperature": 0.0, "do_sample": False})
        made.append(
            Instance(
                "generate_until",
                {"id": document["id"]},
                (*arguments, {"visual": images}),
                0,
                metadata=(f"drivehierarchy_{task}", index, 1),
            )
        )
    return made


def number(body: dict[str, Any]) -> int:
    """Which question a request asks."""
    return int(body["messages"][-1]["content"][-1]["text"].removeprefix("Question ").removesuffix("?"))


def test_answers_come_back_in_order_with_all_images_sent_as_they_are(
    start: Callable[[Answer], Endpoint], edition: Edition
) -> None:
    endpoint = start(lambda body: reply(f"answer {number(body)}"))
    model = DriveHierarchyChat(endpoint.url, "m", num_concurrent=4)
    requests = instances(edition, "r2_1")
    assert model.generate_until(requests, disable_tqdm=True) == [f"answer {index}" for index in range(6)]
    for body in endpoint.bodies:
        document = edition.documents("r2_1")[number(json.loads(body))]
        received = read_request(body)
        assert [image.data for image in received.images] == [location.read() for location in document["images"]]
        assert "<image>" not in received.text
        content = json.loads(body)
        assert {key: content[key] for key in ("model", "temperature", "max_tokens", "seed")} == {
            "model": "m",
            "temperature": 0.0,
            "max_tokens": 32,
            "seed": 1234,
        }
        assert "stop" not in content
        assert "do_sample" not in content
    assert endpoint.keys == [None] * 6


def test_the_key_comes_from_the_environment(
    start: Callable[[Answer], Endpoint], edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    endpoint = start(lambda body: reply("x"))
    model = DriveHierarchyChat(endpoint.url, "m", api_key_variable="MY_KEY")
    model.generate_until(instances(edition, "r1_1_a", 1), disable_tqdm=True)
    assert endpoint.keys == ["Bearer secret"]


def test_nothing_is_asked_twice(start: Callable[[Answer], Endpoint], edition: Edition, tmp_path: Path) -> None:
    endpoint = start(lambda body: reply(f"answer {number(body)}"))
    journal = str(tmp_path / "answers.jsonl")
    requests = instances(edition, "r1_1_b")
    first = DriveHierarchyChat(endpoint.url, "m", answers=journal).generate_until(requests[:4], disable_tqdm=True)
    with Path(journal).open("a") as file:
        file.write('{"key": "half')
    again = DriveHierarchyChat(endpoint.url, "m", answers=journal).generate_until(requests, disable_tqdm=True)
    assert again[:4] == first
    assert len(endpoint.bodies) == 6
    changed = instances(edition, "r1_1_b")
    changed[0].arguments = (changed[0].args[0].replace("Drive.", "Drive well."), *changed[0].args[1:])
    DriveHierarchyChat(endpoint.url, "m", answers=journal).generate_until(changed, disable_tqdm=True)
    assert len(endpoint.bodies) == 7
    entries = [json.loads(line) for line in Path(journal).read_text().splitlines()]
    assert entries[0]["task"] == "drivehierarchy_r1_1_b"
    assert {entry["id"] for entry in entries} == {document["id"] for document in edition.documents("r1_1_b")}


def test_an_empty_answer_is_an_answer(start: Callable[[Answer], Endpoint], edition: Edition, tmp_path: Path) -> None:
    endpoint = start(lambda body: reply(None))
    model = DriveHierarchyChat(endpoint.url, "m", answers=str(tmp_path / "a.jsonl"))
    assert model.generate_until(instances(edition, "r1_1_a", 2), disable_tqdm=True) == ["", ""]
    assert model.generate_until(instances(edition, "r1_1_a", 2), disable_tqdm=True) == ["", ""]
    assert len(endpoint.bodies) == 2


def test_a_refused_question_is_left_out_and_asked_next_time(
    start: Callable[[Answer], Endpoint], edition: Edition, tmp_path: Path
) -> None:
    refuse = {2}
    endpoint = start(lambda body: (400, {"error": "too long"}) if number(body) in refuse else reply("x"))
    model = DriveHierarchyChat(endpoint.url, "m", answers=str(tmp_path / "a.jsonl"))
    requests = instances(edition, "r1_1_a")
    assert model.generate_until(requests, disable_tqdm=True) == ["x", "x", None, "x", "x", "x"]
    refuse.clear()
    assert model.generate_until(requests, disable_tqdm=True) == ["x"] * 6
    assert len(endpoint.bodies) == 7


def test_passing_trouble_is_waited_out(start: Callable[[Answer], Endpoint], edition: Edition) -> None:
    calls: list[int] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        calls.append(1)
        return (503, {}) if len(calls) < 3 else reply("x")

    model = DriveHierarchyChat(start(answer).url, "m")
    assert model.generate_until(instances(edition, "r1_1_a", 1), disable_tqdm=True) == ["x"]


def test_an_endpoint_that_goes_down_ends_the_run_and_keeps_the_answers(
    start: Callable[[Answer], Endpoint], edition: Edition, tmp_path: Path
) -> None:
    endpoint: Endpoint

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        if number(body) == 3:
            threading.Thread(target=lambda: (endpoint.shutdown(), endpoint.socket.close())).start()
        return reply("x")

    endpoint = start(answer)
    journal = tmp_path / "a.jsonl"
    model = DriveHierarchyChat(endpoint.url, "m", answers=str(journal), num_concurrent=1, max_retries=1, timeout=2)
    with pytest.raises(EndpointDown, match="Answers so far are kept; run the same command again"):
        model.generate_until(instances(edition, "r1_1_a"), disable_tqdm=True)
    assert len(journal.read_text().splitlines()) >= 4


def test_refusing_everything_ends_the_run(
    start: Callable[[Answer], Endpoint], edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_model, "FAILURES_IN_A_ROW", 3)
    endpoint = start(lambda body: (400, {"error": "no images please"}))
    model = DriveHierarchyChat(endpoint.url, "m", num_concurrent=1)
    with pytest.raises(EndpointDown, match=r"3 requests in a row failed, the last with: .*no images please"):
        model.generate_until(instances(edition, "r1_1_a"), disable_tqdm=True)
    assert len(endpoint.bodies) == 3


def test_an_unreachable_endpoint_or_unknown_model_is_told_at_once(start: Callable[[Answer], Endpoint]) -> None:
    with pytest.raises(chat.EndpointError, match="start the endpoint or correct --base-url"):
        DriveHierarchyChat("http://127.0.0.1:9/v1", "m")
    with pytest.raises(chat.EndpointError, match="no model 'other'; it has m"):
        DriveHierarchyChat(start(lambda body: reply("x")).url, "other")


def test_a_damaged_image_leaves_its_item_out(start: Callable[[Answer], Endpoint], edition: Edition) -> None:
    endpoint = start(lambda body: reply("x"))
    requests = instances(edition, "r1_1_a", 2)
    location = requests[0].args[2]["visual"].locations[0]
    wrong = ImageSequence([ImageLocation(location.shard, location.row, 0, "0" * 32 + ".jpg")])
    requests[0].arguments = (*requests[0].args[:2], {"visual": wrong})
    assert DriveHierarchyChat(endpoint.url, "m").generate_until(requests, disable_tqdm=True) == [None, "x"]


def test_lm_evals_own_cache_is_refused(start: Callable[[Answer], Endpoint]) -> None:
    model = DriveHierarchyChat(start(lambda body: reply("x")).url, "m")
    hook = CacheHook(None)
    model.set_cache_hook(hook)
    hook.dbdict = {}  # type: ignore[assignment]
    with pytest.raises(DriveHierarchyError, match=r"keeps its own journal .* run without --use_cache"):
        model.set_cache_hook(hook)
    for unsupported in (model.loglikelihood, model.loglikelihood_rolling):
        with pytest.raises(NotImplementedError, match="only generates text"):
            unsupported([])


def test_without_a_chat_template_the_prompt_is_one_user_turn(
    start: Callable[[Answer], Endpoint], edition: Edition
) -> None:
    endpoint = start(lambda body: reply("x"))
    (request,) = instances(edition, "r1_1_a", 1)
    request.arguments = ("Look: <image>\nQuestion 0?", *request.args[1:])
    DriveHierarchyChat(endpoint.url, "m").generate_until([request], disable_tqdm=True)
    (message,) = json.loads(endpoint.bodies[0])["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "text"]


class TestInterleave:
    """Where images go in a message."""

    def test_in_place_of_their_placeholders(self) -> None:
        parts = interleave("Image A\n<image>\nImage B\n<image>\nWhich first?", [{"n": 1}, {"n": 2}])
        assert parts == [
            {"type": "text", "text": "Image A"},
            {"n": 1},
            {"type": "text", "text": "Image B"},
            {"n": 2},
            {"type": "text", "text": "Which first?"},
        ]

    def test_before_a_text_without_placeholders(self) -> None:
        assert interleave("Which?", [{"n": 1}]) == [{"n": 1}, {"type": "text", "text": "Which?"}]

    def test_numbers_must_agree(self) -> None:
        with pytest.raises(DriveHierarchyError, match="the prompt has 1 place for 2 images"):
            interleave("<image>Which?", [{}, {}])


def test_other_formats_become_jpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edition: Edition) -> None:
    import base64
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGBA", (8, 4), (200, 10, 10, 255)).save(buffer, "PNG")
    location = ImageLocation("shard", 0, 0, "x.png")
    monkeypatch.setattr(ImageLocation, "read", lambda self: buffer.getvalue())
    head, _, data = image_part(location)["image_url"]["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    picture = Image.open(io.BytesIO(base64.b64decode(data)))
    assert (picture.format, picture.size) == ("JPEG", (8, 4))
    monkeypatch.setattr(ImageLocation, "read", lambda self: b"no image")
    with pytest.raises(ImageError, match="not a readable image"):
        image_part(location)
