"""Ask web servers that may be slow, wrong or hostile: bounded answers, some patience, and never from ``https`` to ``http``.

``httpx`` because it keeps an ``Authorization`` header from following a redirect to another host, which ``urllib`` does not, and
notices an answer that ends early.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import httpx

from dayzero import __version__
from dayzero.core.errors import InputError, RemoteError

_TIMEOUT_S = 30.0
_ATTEMPTS = 4
_LONGEST_WAIT_S = 30.0
_MAX_REDIRECTS = 5
MAX_MESSAGE_BYTES = 64 * 1024
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_AGAIN = (429, 502, 503, 504)  # the distribution specification names the last three as passing


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and the whole body of an answer."""

    status: int
    headers: httpx.Headers
    body: bytes


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, by name."""
    return host.strip("[]") in _LOOPBACK


@dataclass(slots=True)
class WebClient:
    """One conversation with a server.

    Args:
        plain_http: Whether ``http`` may be used beyond this machine.
        wait: Sleeps for a number of seconds.
    """

    plain_http: bool = False
    wait: Callable[[float], object] = time.sleep
    _clients: dict[bool, httpx.Client] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """Begin the conversation."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()

    def ask(
        self,
        method: str,
        url: str,
        *,
        limit: int = MAX_MESSAGE_BYTES,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        """Send a request and take the answer whole; asks again when the server is busy or a connection breaks.

        Args:
            method: An HTTP method; all but POST may be sent again.
            url: Where.
            limit: The longest body in bytes that a success may have; of a refusal, 64 KiB are read.
            headers: Further headers; none follows a redirect to another host that is meant for this one only.
            content: The body to send.

        Raises:
            InputError: The URL cannot be used, or is ``http`` and not of this machine.
            RemoteError: No answer came, it ended early or is too long, or it leads to ``http``.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            try:
                answer = self._once(method, url, limit, headers or {}, content)
            except httpx.InvalidURL as error:
                raise InputError(f"not a URL: {url!a}", hint="Give a whole URL.") from error
            except httpx.TransportError as error:
                if last or method == "POST":
                    raise _silent(method, url, error) from error
                self.wait(2.0 ** (attempt - 1))
                continue
            except httpx.RequestError as error:
                raise _silent(method, url, error) from error
            if last or answer.status not in _AGAIN:
                return answer
            self.wait(_pause(answer, attempt))
        raise AssertionError  # the last attempt returns or raises

    def _once(self, method: str, url: str, limit: int, headers: Mapping[str, str], content: bytes | None) -> Answer:
        client = self._client(is_loopback(httpx.URL(url).host))
        sent = {"Accept-Encoding": "identity", **headers}
        with client.stream(method, url, headers=sent, content=content) as response:
            allowed = limit if response.is_success else MAX_MESSAGE_BYTES
            body = bytearray()
            for part in response.iter_raw():
                body += part
                if len(body) > allowed:
                    break
            if len(body) > allowed and response.is_success:
                raise RemoteError(
                    f"{method} {url}: the answer is longer than {limit} bytes",
                    hint="Check that this is the right place.",
                )
            return Answer(response.status_code, response.headers, bytes(body[:allowed]))

    def _client(self, here: bool) -> httpx.Client:  # noqa: FBT001  (what they are kept by)
        """Give the client for this machine, which no proxy stands before, or the one for all others."""
        if here not in self._clients:
            self._clients[here] = httpx.Client(
                timeout=_TIMEOUT_S,
                follow_redirects=True,
                max_redirects=_MAX_REDIRECTS,
                trust_env=not here,
                headers={"User-Agent": f"dayzero/{__version__}"},
                event_hooks={"request": [self._need_safe_here if here else self._need_safe]},
            )
        return self._clients[here]

    def _need_safe_here(self, request: httpx.Request) -> None:
        if request.url.scheme != "http" or not is_loopback(request.url.host):
            self._need_safe(request)

    def _need_safe(self, request: httpx.Request) -> None:
        """Look at every request before it leaves, those that follow a redirect too."""
        if request.url.scheme == "https" or (request.url.scheme == "http" and self.plain_http):
            return
        raise InputError(
            f"{request.url} is not https, so anyone between could read and change it",
            hint="Use https, or give --plain-http if the network between is your own.",
        )


def _silent(method: str, url: str, error: httpx.RequestError) -> RemoteError:
    return RemoteError(f"{method} {url}: {error or type(error).__name__}", hint="Check the address and the network.")


def _pause(answer: Answer, attempt: int) -> float:
    told = answer.headers.get("retry-after", "")
    seconds = float(told) if told.isascii() and told.isdigit() else 2.0 ** (attempt - 1)
    return min(seconds, _LONGEST_WAIT_S)
