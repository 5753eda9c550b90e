"""Client of an OpenAI-compatible chat endpoint: one blocking call, bounded retries, and errors told apart.

An endpoint that cannot answer raises `EndpointError`, which is infrastructure. An answer that is empty is an answer.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from drivehierarchy_gym.errors import InfrastructureError

if TYPE_CHECKING:
    import httpx

RETRY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that a later attempt may cure."""
FIRST_DELAY = 0.5
"""Seconds before the first retry; doubles with every further one."""
LONGEST_DELAY = 20.0
"""Seconds; bound of the exponential back-off."""
LONGEST_RETRY_AFTER = 120.0
"""Seconds; an endpoint that asks for a longer pause counts as down."""
CONNECT_TIMEOUT = 10.0


class EndpointError(InfrastructureError):
    """The chat endpoint gave no answer: unreachable, overloaded for too long, or it refuses the request."""


@dataclass(frozen=True)
class Completion:
    """One reply. `text` is empty when the model said nothing; token counts are None where the endpoint gives none."""

    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    latency: float
    """Seconds of the attempt that succeeded."""
    attempts: int


class ChatClient:
    """Chat completions of one model.

    Args:
        base_url: up to and with `/v1`, for example `http://localhost:8000/v1`.
        model: name of the model at the endpoint.
        api_key: sent as bearer token; None sends none.
        key_hint: where the key comes from, for error messages (never the key itself).
        timeout: seconds to wait for one attempt.
        retries: further attempts after a failed one.
        sleep: called with the seconds to wait between attempts.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        key_hint: str = "the api key",
        timeout: float = 60.0,
        retries: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import httpx

        self.base_url = base_url.rstrip("/").removesuffix("/chat/completions")
        self.model = model
        self.timeout = timeout
        self.retries = retries
        self._key_hint = key_hint
        self._sleep = sleep
        self._jitter = random.Random(0)
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        limits = httpx.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout))
        self._http = httpx.Client(headers=headers, timeout=limits)

    @property
    def longest_call(self) -> float:
        """Upper bound of the seconds one `complete` may take, waits included."""
        waits = sum(max(_backoff(k), LONGEST_RETRY_AFTER) for k in range(self.retries))
        return (self.retries + 1) * (self.timeout + CONNECT_TIMEOUT) + waits

    def seed(self, seed: int) -> None:
        """Seed the jitter of the back-off."""
        self._jitter = random.Random(seed)

    def complete(self, messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> Completion:
        """Ask for one reply to `messages`; `parameters` are further fields of the request body, None leaves one out.

        Raises:
            EndpointError: names the endpoint, what happened and what to do.
        """
        import httpx

        body = {"model": self.model, "messages": list(messages), **parameters}
        body = {key: value for key, value in body.items() if value is not None}
        url = f"{self.base_url}/chat/completions"
        failure = ""
        for attempt in range(self.retries + 1):
            wait: float | None = None
            begun = time.perf_counter()
            try:
                response = self._http.post(url, json=body)
                if response.status_code in RETRY_STATUS:
                    failure = f"HTTP {response.status_code}{_excerpt(response)}"
                    wait = retry_after_seconds(response.headers.get("retry-after"))
                elif response.is_error:
                    raise EndpointError(self._refusal(response))
                else:
                    return _completion(response, time.perf_counter() - begun, attempt + 1)
            except httpx.InvalidURL as error:
                raise EndpointError(f"{url!r} is not a URL ({error}); check --base-url") from error
            except httpx.UnsupportedProtocol as error:
                raise EndpointError(f"{url}: {error}; --base-url starts with http:// or https://") from error
            except httpx.TimeoutException as error:
                failure = f"no answer within {self.timeout:g} s ({type(error).__name__})"
            except httpx.TransportError as error:
                failure = f"{type(error).__name__}: {error}"
            except _MalformedReply as error:
                failure = str(error)
            if wait is not None and wait > LONGEST_RETRY_AFTER:
                raise EndpointError(f"{url}: {failure}; it asks for a pause of {wait:.0f} s: run again later")
            if attempt < self.retries:
                self._sleep(_backoff(attempt) * self._jitter.uniform(0.5, 1.0) if wait is None else wait)
        raise EndpointError(
            f"{url}: {failure}, after {self.retries + 1} attempts; check that the endpoint is up and reachable"
        )

    def check(self) -> None:
        """Ask for the endpoint's list of models, once.

        Raises:
            EndpointError: the endpoint is unreachable, refuses the key, or does not list the model.
        """
        import httpx

        url = f"{self.base_url}/models"
        try:
            response = self._http.get(url, timeout=CONNECT_TIMEOUT)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(
                f"{url}: {type(error).__name__}: {error}; start the endpoint or correct --base-url"
            ) from error
        if response.status_code in (401, 403):
            raise EndpointError(self._refusal(response))
        try:
            names = [entry["id"] for entry in response.json()["data"]]
        except (ValueError, KeyError, TypeError):
            return  # this endpoint lists no models: the first request will tell
        if names and self.model not in names:
            raise EndpointError(f"{url}: no model {self.model!r}; it has {', '.join(map(str, names[:5]))}")

    def close(self) -> None:
        self._http.close()

    def _refusal(self, response: httpx.Response) -> str:
        advice = {
            401: f"check {self._key_hint}",
            403: f"check {self._key_hint}",
            404: f"check --base-url and --model ({self.model!r})",
        }.get(response.status_code, "the endpoint does not accept this request; check its options")
        return f"{response.request.url}: HTTP {response.status_code}{_excerpt(response)}; {advice}"


class _MalformedReply(Exception):
    """HTTP success whose body is not a chat completion."""


def _completion(response: httpx.Response, latency: float, attempts: int) -> Completion:
    try:
        body = response.json()
        choice = body["choices"][0]
        content = choice["message"].get("content")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise _MalformedReply(f"the reply is not a chat completion{_excerpt(response)}") from error
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    usage = body.get("usage") or {}
    return Completion(
        text=content if isinstance(content, str) else "",
        finish_reason=choice.get("finish_reason"),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        latency=latency,
        attempts=attempts,
    )


def retry_after_seconds(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for: a number or an HTTP date; None when absent or unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value)
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        seconds = (date - (now or datetime.now(timezone.utc))).total_seconds()
    return max(seconds, 0.0) if seconds == seconds else None


def _backoff(attempt: int) -> float:
    return min(FIRST_DELAY * 2**attempt, LONGEST_DELAY)


def _excerpt(response: httpx.Response) -> str:
    text = " ".join(response.text.split())
    return f" ({text[:200]})" if text else ""
