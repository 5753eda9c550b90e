"""An lm-eval model class for OpenAI-compatible endpoints that is made for long multi-image runs.

Unlike lm-eval's own API classes it sends every image, as JPEG, at its place in the text; reads images only when their
request is sent; asks several questions at once; writes each answer down as it arrives and never asks it twice; leaves
a question unanswered, instead of ending the run, when the endpoint refuses it; and ends the run when the endpoint is
down. `drivehierarchy eval` registers it under `MODEL_NAME`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from tqdm import tqdm  # type: ignore[import-untyped]

from drivehierarchy_data.errors import ImageError
from drivehierarchy_data.images import ImageSequence, decode
from drivehierarchy_data.shards import ImageLocation
from drivehierarchy_gym.agents.chat import ChatClient, EndpointError
from drivehierarchy_gym.errors import DriveHierarchyError, InfrastructureError

from .journal import AnswerJournal
from .prompts import IMAGE_PLACEHOLDER
from .wording import counted

MODEL_NAME = "drivehierarchy-chat"
JPEG_QUALITY = 95
"""For images that are not JPEG files already; those are sent as they are."""

FAILURES_IN_A_ROW = 20
"""So many refusals without one answer between them end the run: something is wrong with all requests."""

_log = logging.getLogger(__name__)


class EndpointDown(InfrastructureError):
    """The endpoint stopped answering; what it had answered is on disk."""


class DriveHierarchyChat(LM):
    """Chat completions with images.

    Args:
        base_url: up to and with `/v1`.
        model: name of the model at the endpoint.
        answers: journal file; answers found there are not asked again. Without it nothing is kept.
        num_concurrent: requests under way at the same time.
        timeout: seconds to wait for one attempt.
        max_retries: further attempts after a failed one.
        api_key_variable: environment variable with the key; none is sent when it is unset or empty.
        seed: sent along with each request.
    """

    MULTIMODAL = True

    def __init__(
        self,
        base_url: str,
        model: str,
        answers: str | None = None,
        num_concurrent: int = 8,
        timeout: float = 300.0,
        max_retries: int = 4,
        api_key_variable: str = "OPENAI_API_KEY",
        seed: int = 1234,
        **_ignored: Any,
    ) -> None:
        super().__init__()
        self.model = str(model)
        self._concurrent = max(1, int(num_concurrent))
        self._seed = int(seed)
        self._journal = AnswerJournal(Path(answers)) if answers else None
        for problem in self._journal.problems if self._journal is not None else ():
            _log.warning("%s", problem)
        key = os.environ.get(api_key_variable) or None
        self._client = ChatClient(
            base_url,
            self.model,
            api_key=key,
            key_hint=f"the key in {api_key_variable}",
            timeout=float(timeout),
            retries=int(max_retries),
        )
        self._client.check()
        self._refused_in_a_row = 0
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    # --- what lm-eval asks of a model class ---------------------------------------------------------------------------

    @property
    def tokenizer_name(self) -> str:
        """Tells prompts apart in lm-eval's request cache; the endpoint has its own tokenizer."""
        return MODEL_NAME

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """The messages as JSON, to be completed with images when they are sent."""
        return json.dumps(chat_history, ensure_ascii=False)

    def set_cache_hook(self, cache_hook: Any) -> None:
        if getattr(cache_hook, "dbdict", None) is not None:
            raise DriveHierarchyError(
                f"{MODEL_NAME} keeps its own journal (model argument answers=FILE); run without --use_cache"
            )
        super().set_cache_hook(cache_hook)

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        raise NotImplementedError(f"{MODEL_NAME} only generates text")

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        raise NotImplementedError(f"{MODEL_NAME} only generates text")

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str | None]:
        """One answer per request, in their order; None where the endpoint or an image failed.

        Raises EndpointDown when the endpoint stops answering.
        """
        self._stopped.clear()
        answers: list[str | None] = [None] * len(requests)
        pending: list[int] = []
        keys = [self._key(request) for request in requests]
        for index, key in enumerate(keys):
            answers[index] = self._journal.get(key) if self._journal is not None else None
            if answers[index] is None:
                pending.append(index)
        if known := len(requests) - len(pending):
            _log.info("%d of %d answers are in the journal", known, len(requests))
        bar = tqdm(total=len(requests), initial=known, disable=disable_tqdm, desc="Asking")
        with bar, ThreadPoolExecutor(self._concurrent) as pool:
            self._ask_all(pool, requests, keys, pending, answers, bar)
        if failed := answers.count(None):
            _log.warning("%d of %d questions have no answer; the same command asks them again", failed, len(answers))
        return answers

    # --- asking -------------------------------------------------------------------------------------------------------

    def _ask_all(
        self,
        pool: ThreadPoolExecutor,
        requests: Sequence[Instance],
        keys: Sequence[str],
        pending: Sequence[int],
        answers: list[str | None],
        bar: Any,
    ) -> None:
        waiting = iter(pending)
        running: dict[Future[str | None], int] = {}
        try:
            while True:
                while len(running) < 2 * self._concurrent and (index := next(waiting, None)) is not None:
                    running[pool.submit(self._ask, requests[index], keys[index])] = index
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    answers[running.pop(future)] = future.result()
                    bar.update()
        except BaseException:
            self._stopped.set()
            raise

    def _ask(self, request: Instance, key: str) -> str | None:
        if self._stopped.is_set():
            return None
        item = request.doc.get("id", "?") if isinstance(request.doc, Mapping) else "?"
        try:
            messages = self._messages(request)
        except ImageError as error:
            _log.error("item %s: %s; left out", item, error)
            return None
        try:
            completion = self._client.complete(messages, self._parameters(request.args[1]))
        except EndpointError as error:
            self._refused(item, error)
            return None
        with self._lock:
            self._refused_in_a_row = 0
        if self._journal is not None:
            self._journal.add(
                key,
                completion.text,
                {
                    "id": item,
                    "task": request.task_name,
                    "finish_reason": completion.finish_reason,
                    "prompt_tokens": completion.prompt_tokens,
                    "completion_tokens": completion.completion_tokens,
                    "seconds": round(completion.latency, 3),
                },
            )
        return completion.text

    def _refused(self, item: str, error: EndpointError) -> None:
        """Tells an endpoint that refuses one request from one that is down. Raises EndpointDown for the latter."""
        try:
            self._client.check()
        except EndpointError as down:
            self._stopped.set()
            raise EndpointDown(f"{down}. Answers so far are kept; run the same command again to go on") from error
        with self._lock:
            self._refused_in_a_row += 1
            stop = self._refused_in_a_row >= FAILURES_IN_A_ROW
        if stop:
            self._stopped.set()
            raise EndpointDown(
                f"{FAILURES_IN_A_ROW} requests in a row failed, the last with: {error}. Answers so far are kept"
            ) from error
        _log.error("item %s: %s; left out", item, error)

    def _messages(self, request: Instance) -> list[dict[str, Any]]:
        """The chat messages with the images of the request where the text says `<image>`, or before the text."""
        context = request.args[0]
        images: ImageSequence | None = request.args[2]["visual"] if len(request.args) > 2 else None
        try:
            messages = json.loads(context)
        except json.JSONDecodeError:
            messages = [{"role": "user", "content": context}]
        parts = [image_part(location) for location in images.locations] if images else []
        messages[-1]["content"] = interleave(messages[-1]["content"], parts)
        return list(messages)

    def _parameters(self, generation: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of the request body for lm-eval's generation arguments."""
        parameters = dict(generation)
        parameters.pop("do_sample", None)
        limit = parameters.pop("max_gen_toks", None)
        stop = parameters.pop("until", None)
        return {
            "temperature": 0.0,
            "max_tokens": limit,
            "stop": [stop] if isinstance(stop, str) else (list(stop)[:4] if stop else None),
            "seed": self._seed,
            **parameters,
        }

    def _key(self, request: Instance) -> str:
        """Everything that decides an answer: model, prompt, images, generation arguments, item."""
        images: ImageSequence | None = request.args[2]["visual"] if len(request.args) > 2 else None
        item = request.doc.get("id") if isinstance(request.doc, Mapping) else None
        parts = [self.model, self._seed, request.task_name, item, request.args[0], request.args[1], images]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def image_part(location: ImageLocation) -> dict[str, Any]:
    """One image as a part of a chat message: a JPEG data URL. Raises ImageError for a damaged image."""
    return {
        "type": "image_url",
        "image_url": {
            "url": f"data:image/jpeg;base64,{base64.b64encode(jpeg(location)).decode()}",
            "detail": "auto",
        },
    }


def jpeg(location: ImageLocation) -> bytes:
    """The JPEG file that a model is shown: the image as it is, or encoded when it is of another format.

    Raises ImageError for a damaged image.
    """
    data = location.read()
    if location.media_type != "image/jpeg":
        buffer = io.BytesIO()
        decode(data, str(location)).convert("RGB").save(buffer, "JPEG", quality=JPEG_QUALITY)
        data = buffer.getvalue()
    return data


def interleave(text: str, images: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Message parts: each image in place of its `<image>`, or all images first where the text has no placeholder.

    Raises DriveHierarchyError when the numbers differ.
    """
    pieces = text.split(IMAGE_PLACEHOLDER)
    if len(pieces) == 1:
        return [*images, {"type": "text", "text": text}]
    if len(pieces) - 1 != len(images):
        places = counted(len(pieces) - 1, "place")
        raise DriveHierarchyError(f"the prompt has {places} for {counted(len(images), 'image')}")
    parts: list[dict[str, Any]] = []
    for index, piece in enumerate(pieces):
        if stripped := piece.strip("\n"):
            parts.append({"type": "text", "text": stripped})
        if index < len(images):
            parts.append(images[index])
    return parts
