"""Client of an OpenAI-compatible chat endpoint: one blocking call, bounded retries, and errors told apart.

An endpoint that cannot answer raises `EndpointError`, which is infrastructure. An answer that is empty is an answer.
"""

from __future__ import annotations

import email.utils
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from drivehierarchy_gym.agents.deadline import LONGEST_DEADLINE, start
from drivehierarchy_gym.agents.wording import describe_error
from drivehierarchy_gym.errors import InfrastructureError
from drivehierarchy_gym.surrogates import without_surrogates

RETRY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that a later attempt may cure."""
FIRST_DELAY = 0.5
"""Seconds before the first retry; doubles with every further one."""
LONGEST_DELAY = 20.0
"""Seconds; bound of the exponential back-off."""
LONGEST_RETRY_AFTER = 120.0
"""Seconds; an endpoint that asks for a longer pause counts as down."""
CONNECT_TIMEOUT = 10.0
SLACK = 10.0
"""Seconds by which giving an attempt up may be late on a loaded machine."""
LARGEST_REPLY = 64 << 20
"""Bytes, unpacked."""


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
        timeout: seconds for one attempt, from the connection to the last byte of the reply.
        retries: further attempts after a failed one.
        sleep: called with the seconds to wait between attempts.

    Raises:
        ValueError: `timeout` or `retries` out of range.
        EndpointError: no header can carry the key.
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

        if not 0 < timeout <= LONGEST_DEADLINE:
            raise ValueError(f"the timeout of a request lies between 0 and {LONGEST_DEADLINE:g} s, found {timeout:g}")
        if retries < 0:
            raise ValueError(f"retries are at least 0, found {retries}")
        api_key = None if api_key is None else api_key.strip()
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise EndpointError(f"{key_hint}: it has characters that no HTTP header can carry")
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
        """Seconds after which `complete` has surely returned or raised, waits included."""
        waits = sum(max(_backoff(k), LONGEST_RETRY_AFTER) for k in range(self.retries))
        return (self.retries + 1) * (self.timeout + SLACK) + waits

    def seed(self, seed: int) -> None:
        """Seed the jitter of the back-off."""
        self._jitter = random.Random(seed)

    def complete(self, messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> Completion:
        """Ask for one reply to `messages`; `parameters` are further fields of the request body, None leaves one out.

        Raises:
            EndpointError: names the endpoint, what happened and what to do.
            ValueError, TypeError: the request cannot be written as JSON.
        """
        import httpx

        body = {"model": self.model, "messages": list(messages), **parameters}
        body = {key: value for key, value in body.items() if value is not None}
        content = json.dumps(body, allow_nan=False).encode()
        url = f"{self.base_url}/chat/completions"
        failure = ""
        for attempt in range(self.retries + 1):
            wait: float | None = None
            try:
                reply = self._fetch("POST", url, self.timeout, content)
                if reply.status in RETRY_STATUS:
                    failure = f"HTTP {reply.status}{reply.excerpt}"
                    wait = retry_after_seconds(reply.headers.get("retry-after"))
                elif not 200 <= reply.status < 300:
                    raise EndpointError(self._refusal(url, reply))
                else:
                    return _completion(reply, attempt + 1)
            except EndpointError:
                raise
            except httpx.InvalidURL as error:
                raise EndpointError(f"{url!r} is not a URL ({error}); check --base-url") from error
            except httpx.UnsupportedProtocol as error:
                raise EndpointError(f"{url}: {error}; --base-url starts with http:// or https://") from error
            except (httpx.ReadTimeout, httpx.WriteTimeout, _Overdue):
                failure = f"no complete answer within {self.timeout:g} s"
            except _MalformedReply as error:
                failure = str(error)
            except Exception as error:
                # Whatever else fails between here and the reply (transport, compression, host names) fails there.
                failure = describe_error(error)
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
        url = f"{self.base_url}/models"
        try:
            reply = self._fetch("GET", url, CONNECT_TIMEOUT)
        except Exception as error:
            words = f"no answer within {CONNECT_TIMEOUT:g} s" if isinstance(error, _Overdue) else describe_error(error)
            raise EndpointError(f"{url}: {words}; start the endpoint or correct --base-url") from error
        if reply.status in (401, 403):
            raise EndpointError(self._refusal(url, reply))
        try:
            names = [str(entry["id"]) for entry in json.loads(reply.body)["data"]]
        except Exception:
            return  # this endpoint lists no models: the first request will tell
        if names and self.model not in names:
            known = ", ".join(names[:5])
            words = f"{url}: no model {self.model!r}; it has {known}; give its name as the model (--model)"
            raise EndpointError(without_surrogates(words))

    def close(self) -> None:
        self._http.close()

    def _fetch(self, method: str, url: str, seconds: float, content: bytes | None = None) -> _Reply:
        """One request and its whole reply within `seconds`, names, connection and transfer included.

        The limits of the HTTP client count from one byte to the next, so an endpoint that trickles meets none of them.
        """
        begun = time.perf_counter()

        def transfer() -> _Reply:
            chunks = []
            size = 0
            headers = {} if content is None else {"content-type": "application/json"}
            with self._http.stream(method, url, content=content, headers=headers) as response:
                for chunk in response.iter_bytes():
                    size += len(chunk)
                    if size > LARGEST_REPLY:
                        raise _MalformedReply(f"the reply has more than {LARGEST_REPLY >> 20} MiB")
                    if time.perf_counter() - begun > seconds:
                        raise _Overdue  # nobody waits any more: free the connection
                    chunks.append(chunk)
            elapsed = time.perf_counter() - begun
            return _Reply(response.status_code, response.headers, b"".join(chunks), elapsed)

        call = start(transfer)
        if not call.wait(seconds):
            raise _Overdue
        if call.error is not None:
            raise call.error
        return call.result

    def _refusal(self, url: str, reply: _Reply) -> str:
        advice = {
            401: f"check {self._key_hint}",
            403: f"check {self._key_hint}",
            404: f"check --base-url and --model ({self.model!r})",
        }.get(reply.status, "the endpoint does not accept this request; check its options")
        if 300 <= reply.status < 400:
            advice = f"it points to {reply.headers.get('location', 'nowhere')!r}; check --base-url"
        return without_surrogates(f"{url}: HTTP {reply.status}{reply.excerpt}; {advice}")


class _MalformedReply(Exception):
    """HTTP success whose body is not a chat completion."""


class _Overdue(Exception):
    """The attempt's time is over."""


@dataclass(frozen=True)
class _Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    @property
    def excerpt(self) -> str:
        text = " ".join(self.body[:1000].decode("utf-8", "replace").split())
        return f" ({text[:200]})" if text else ""


def _completion(reply: _Reply, attempts: int) -> Completion:
    try:
        body = json.loads(reply.body)
        choice = body["choices"][0]
        content = choice["message"].get("content")
        finish_reason = choice.get("finish_reason")
    except Exception as error:  # nesting beyond the interpreter's limit included
        raise _MalformedReply(f"the reply is not a chat completion{reply.excerpt}") from error
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    usage = body.get("usage")
    return Completion(
        text=without_surrogates(content) if isinstance(content, str) else "",
        finish_reason=without_surrogates(finish_reason) if isinstance(finish_reason, str) else None,
        prompt_tokens=_token_count(usage, "prompt_tokens"),
        completion_tokens=_token_count(usage, "completion_tokens"),
        latency=reply.seconds,
        attempts=attempts,
    )


def _token_count(usage: Any, key: str) -> int | None:
    """A count out of the reply's `usage`, which is an endpoint's courtesy: anything but a count is none."""
    count = usage.get(key) if isinstance(usage, dict) else None
    return count if type(count) is int and count >= 0 else None


def retry_after_seconds(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for: a number or an HTTP date; None when absent or unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value)
        except (ValueError, TypeError, OverflowError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        seconds = (date - (now or datetime.now(timezone.utc))).total_seconds()
    return max(seconds, 0.0) if seconds == seconds else None


def _backoff(attempt: int) -> float:
    return min(FIRST_DELAY * 2**attempt, LONGEST_DELAY)
