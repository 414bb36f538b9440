"""An OpenAI-compatible endpoint over HTTP/1.1, read chunk by chunk.

No retry, no proxy from the environment, no compression. Each stamp is taken when a received piece is handed over, before
anything in it is looked at; an event has the stamp of the piece that completed it. A request counts as sent when its
connection stands, so that opening one is in no latency figure.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import httpx
import msgspec

from dayzero.adapters.sse import SseSplitter
from dayzero.bench.model import Request, Row, TextPrompt, TokenPrompt, Usage
from dayzero.bench.openai import read_usage
from dayzero.bench.ports import Dialect
from dayzero.core.errors import InputError, RemoteError

Route: TypeAlias = Literal["/v1/completions", "/v1/chat/completions"]

_OK = 200
_LARGEST_PORT = 65535
_CONNECT_S = 10.0
_ERROR_BODY_BYTES = 4096
_ERROR_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How an endpoint is reached.

    Attributes:
        url: Its address; a trailing ``/v1`` is allowed.
        streams: Connections that are kept, one a stream.
        timeout_s: Seconds after which a request without an end becomes a row with an error.
        api_key: Bearer token, ``""`` for none.
    """

    url: str
    streams: int = 1
    timeout_s: float = 600.0
    api_key: str = field(default="", repr=False)


def open_client(connection: Connection) -> httpx.AsyncClient:
    """Open the connection pool; nothing is sent yet.

    Raises:
        InputError: The address is not one of http or https.
    """
    headers = {"accept-encoding": "identity", "user-agent": "dayzero-bench"}
    if connection.api_key:
        headers["authorization"] = f"Bearer {connection.api_key}"
    return httpx.AsyncClient(
        base_url=_base_url(connection.url),
        headers=headers,
        trust_env=False,
        timeout=httpx.Timeout(None, connect=_CONNECT_S),
        limits=httpx.Limits(max_connections=connection.streams, max_keepalive_connections=connection.streams),
    )


def _base_url(address: str) -> httpx.URL:
    wrong = InputError(f"not an address: {address!r}", hint="Give it as http://HOST:PORT.")
    try:
        url = httpx.URL(address.rstrip("/").removesuffix("/v1"))
    except httpx.InvalidURL as error:
        raise wrong from error
    if url.scheme not in {"http", "https"} or not url.host or not (url.port is None or 0 < url.port <= _LARGEST_PORT):
        raise wrong
    return url


class GenericDialect:
    """What every OpenAI-compatible endpoint understands; it cannot keep a model from stopping early.

    Implements ``bench.ports.Dialect``.
    """

    def length_fields(self, output_tokens: int) -> Mapping[str, object]:
        """Limit the output; the model may still end sooner."""
        return {"max_tokens": output_tokens}

    def usage(self, chunk: Mapping[str, object]) -> Usage | None:
        """Read ``usage`` as the OpenAI API defines it."""
        return read_usage(chunk)

    def recognises(self, models: Mapping[str, object]) -> bool:  # noqa: ARG002  (it is asked last, and takes what is left)
        """Take any endpoint."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """How an endpoint is spoken to.

    Attributes:
        model: The model to ask for.
        route: Where prompts are sent.
        dialect: What its engine deviates in.
        keeps_connection: Whether a connection is used again. llama.cpp (build 11549) closes it after a streamed answer
            although it announced to keep it, so that the next request on it can be lost.
    """

    model: str
    route: Route
    dialect: Dialect
    keeps_connection: bool = True


class OpenAiEndpoint:
    """Sends requests to one model of one endpoint. Implements ``bench.ports.Endpoint``."""

    def __init__(self, client: httpx.AsyncClient, how: Speech, *, timeout_s: float) -> None:
        self.connections = 0  # opened so far
        self._client = client
        self._how = how
        self._timeout_s = timeout_s

    async def complete(self, request: Request) -> Row:
        """Send one request and read its answer to the end."""
        seen = _Seen()
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._stream(request, seen)
        except TimeoutError:
            seen.error = f"timeout: no end of the answer after {self._timeout_s:g} s"
        except httpx.HTTPError as error:
            seen.error = f"{type(error).__name__}: {error}".removesuffix(": ")
        except (RemoteError, _BadStreamError) as error:
            seen.error = str(error)
        self.connections += seen.connections
        return Row(
            cell=request.cell,
            phase=request.phase,
            index=request.index,
            input_tokens=request.input_tokens,
            output_tokens=request.output_tokens,
            sent_ns=seen.sent_ns,
            first_byte_ns=seen.first_byte_ns,
            content_ns=tuple(seen.content_ns),
            end_ns=seen.end_ns or time.monotonic_ns(),
            status=seen.status,
            usage=seen.usage,
            error=seen.error,
        )

    async def _stream(self, request: Request, seen: "_Seen") -> None:
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if not self._how.keeps_connection:
            headers["connection"] = "close"
        async with self._client.stream(
            "POST",
            self._how.route,
            content=msgspec.json.encode(self._body(request)),
            headers=headers,
            extensions={"trace": seen.trace},
        ) as response:
            seen.status = response.status_code
            if response.status_code != _OK:
                raise _BadStreamError(await _refusal(response))
            if response.headers.get("content-encoding", "identity") != "identity":
                raise _BadStreamError("stream: the server compressed it against the request, so nothing can be stamped")
            await self._read(response, seen)

    async def _read(self, response: httpx.Response, seen: "_Seen") -> None:
        splitter = SseSplitter()
        async for piece in response.aiter_raw():
            now_ns = time.monotonic_ns()
            seen.first_byte_ns = seen.first_byte_ns or now_ns
            seen.last_piece_ns = now_ns
            for event in splitter.feed(piece):
                self._take(event, now_ns, seen)
        seen.end_ns = time.monotonic_ns()
        for event in splitter.close():
            self._take(event, seen.last_piece_ns, seen)
        if not seen.finished:
            kind = response.headers.get("content-type", "without a content type")
            raise _BadStreamError(f"stream: it ended without [DONE] and without a finish_reason ({kind})")
        if not seen.content_ns:
            raise _BadStreamError("stream: no chunk carried text")

    def _take(self, event: bytes, stamp_ns: int, seen: "_Seen") -> None:
        if event.strip() == b"[DONE]":
            seen.finished = True
            return
        chunk = _decoded(event)
        if chunk.get("error"):
            raise _BadStreamError(f"server: {_message(chunk)}")
        choices = [choice for choice in _as_list(chunk.get("choices")) if isinstance(choice, Mapping)]
        if any(_has_text(choice) for choice in choices):
            seen.content_ns.append(stamp_ns)
        seen.finished = seen.finished or any(choice.get("finish_reason") for choice in choices)
        seen.usage = self._how.dialect.usage(chunk) or seen.usage

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._how.model,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._how.dialect.length_fields(request.output_tokens),
        }
        match request.prompt:
            case TokenPrompt(ids=ids):
                body["prompt"] = ids
            case TextPrompt(text=text) if self._how.route == "/v1/completions":
                body["prompt"] = text
            case TextPrompt(text=text):
                body["messages"] = [{"role": "user", "content": text}]
        return body


class _BadStreamError(Exception):
    """The answer cannot be measured; its text goes into the row."""


@dataclass(slots=True)
class _Seen:
    """What has been seen of one request so far."""

    sent_ns: int = 0
    first_byte_ns: int = 0
    last_piece_ns: int = 0
    content_ns: list[int] = field(default_factory=list)
    end_ns: int = 0
    status: int = 0
    usage: Usage | None = None
    error: str = ""
    finished: bool = False
    connections: int = 0

    async def trace(self, event: str, _info: Mapping[str, object]) -> None:
        """Stamp the moment at which the connection stands and the request is about to be written."""
        if event == "http11.send_request_headers.started":
            self.sent_ns = time.monotonic_ns()
        elif event == "connection.connect_tcp.started":
            self.connections += 1


async def _refusal(response: httpx.Response) -> str:
    body = b""
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > _ERROR_BODY_BYTES:
            break
    try:
        text = _message(_decoded(body))
    except _BadStreamError:
        text = body.decode(errors="replace")
    text = " ".join(text.split())[:_ERROR_TEXT]
    return f"http {response.status_code}: {text}".removesuffix(": ")


def _decoded(event: bytes) -> Mapping[str, Any]:
    try:
        chunk = msgspec.json.decode(event)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        quote = event[:80].decode(errors="replace")
        raise _BadStreamError(f"malformed: not JSON ({error}): {quote}") from error
    if not isinstance(chunk, Mapping):
        raise _BadStreamError(f"malformed: not a JSON object: {event[:80].decode(errors='replace')}")
    return chunk


def _message(document: Mapping[str, Any]) -> str:
    error = document.get("error", document)
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or error
    return error if isinstance(error, str) else msgspec.json.encode(error).decode()


def _has_text(choice: Mapping[str, Any]) -> bool:
    delta = choice.get("delta")
    if not isinstance(delta, Mapping):
        return bool(choice.get("text"))
    return any(delta.get(key) for key in ("content", "reasoning_content", "reasoning", "tool_calls"))


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
