"""A vision-language model behind an OpenAI-compatible chat endpoint, asked the way the release asks (facts §3.8)."""

from __future__ import annotations

import base64
import json
import os
from collections import deque
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.agents.chat import ChatClient, Completion
from drivehierarchy_gym.agents.protocol import EpisodeContext

FRONT_DESCRIPTION = "Image 1: what the front camera of your car sees."
BEV_DESCRIPTION = (
    "Image 2: the scene from above, your car in the middle and its heading up; the line with dots is the route ahead."
)
MAX_TOKENS = 1024
"""Reply length of the release (facts §3.8)."""


class VlmAgent:
    """Sends both pictures and the prompt at every decision; the reply goes to the environment as it came.

    One user turn without a system message: front description, front image, BEV description, BEV image, prompt.
    A reply that cannot be parsed is the environment's to judge; an endpoint that gives none raises `EndpointError`.

    Args:
        model: name of the model at the endpoint.
        base_url: endpoint up to and with `/v1`.
        api_key_env: environment variable that holds the api key; where it is unset, none is sent.
        temperature, max_tokens: sampling parameters of the request.
        conversation_window: user turns the model sees, the present one included; 1 is the release's protocol.
        jpeg_quality: 1 to 100, of the pictures sent.
        request_timeout: seconds for one attempt.
        retries: further attempts after one that failed.
        extra_body: further fields of the request; None as a value leaves a field out.
    """

    action_mode = "text"
    observation = "full"
    privileged = False

    def __init__(
        self,
        model: str,
        base_url: str = "http://localhost:8000/v1",
        api_key_env: str = "OPENAI_API_KEY",
        temperature: float = 0.0,
        max_tokens: int = MAX_TOKENS,
        conversation_window: int = 1,
        jpeg_quality: int = 90,
        request_timeout: float = 60.0,
        retries: int = 4,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        if conversation_window < 1:
            raise ValueError(f"conversation_window is at least 1, found {conversation_window}")
        if not 1 <= jpeg_quality <= 100:
            raise ValueError(f"jpeg_quality lies between 1 and 100, found {jpeg_quality}")
        self._client = ChatClient(
            base_url,
            model,
            api_key=os.environ.get(api_key_env) or None,
            key_hint=f"the api key in the environment variable {api_key_env}",
            timeout=request_timeout,
            retries=retries,
        )
        self._parameters = {"temperature": temperature, "max_tokens": max_tokens, **(extra_body or {})}
        json.dumps(self._parameters, allow_nan=False)  # what no request can carry is refused before the first one
        self._jpeg_quality = jpeg_quality
        self._turns: deque[list[dict[str, Any]]] = deque(maxlen=conversation_window - 1)
        self._last: Completion | None = None
        self.act_deadline = self._client.longest_call

    def check(self) -> None:
        """Raise `EndpointError` when the endpoint is not there, before any episode begins."""
        self._client.check()

    def reset(self, context: EpisodeContext, info: Mapping[str, Any]) -> None:
        self._turns.clear()
        self._last = None
        self._client.seed(context.seed)

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        self._last = None
        question = {
            "role": "user",
            "content": [
                {"type": "text", "text": FRONT_DESCRIPTION},
                _image_part(observation["front"], self._jpeg_quality),
                {"type": "text", "text": BEV_DESCRIPTION},
                _image_part(observation["bev"], self._jpeg_quality),
                {"type": "text", "text": info["prompt"]},
            ],
        }
        past = [message for turn in self._turns for message in turn]
        self._last = self._client.complete([*past, question], self._parameters)
        if self._last.text:  # endpoints refuse an empty assistant turn in a conversation
            self._turns.append([question, {"role": "assistant", "content": self._last.text}])
        return self._last.text

    def telemetry(self) -> dict[str, Any]:
        """Latency, attempts and token counts of the last reply; empty when there was none."""
        if self._last is None:
            return {}
        return {
            "latency_s": round(self._last.latency, 4),
            "attempts": self._last.attempts,
            "prompt_tokens": self._last.prompt_tokens,
            "completion_tokens": self._last.completion_tokens,
            "finish_reason": self._last.finish_reason,
        }

    def close(self) -> None:
        self._client.close()


def _image_part(picture: NDArray[np.uint8], quality: int) -> dict[str, Any]:
    """A picture (height, width, 3) RGB as the image part of a message, a JPEG in a data URL."""
    _, jpeg = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    data = base64.b64encode(jpeg.tobytes()).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}}
