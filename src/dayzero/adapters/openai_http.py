"""How an OpenAI-compatible endpoint is addressed and asked: its address, its dialect, and the bytes of a request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from dayzero.bench.model import ChatPrompt, Request, TextPrompt, TokenPrompt, Usage
from dayzero.bench.openai import read_usage
from dayzero.bench.ports import Dialect
from dayzero.core.errors import InputError

Route: TypeAlias = Literal["/v1/completions", "/v1/chat/completions"]

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How an endpoint is reached.

    Attributes:
        url: Its address; a trailing ``/v1`` is allowed.
        timeout_s: Seconds after which a request without an end becomes a row with an error.
        api_key: Bearer token, ``""`` for none.
        ca_file: Certificates to trust instead of the system's.
    """

    url: str
    timeout_s: float = 600.0
    api_key: str = field(default="", repr=False)
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A parsed address.

    Attributes:
        scheme: ``http`` or ``https``.
        host: Name or address, without brackets.
        port: Port.
        prefix: Path in front of every route, ``""`` for none.
    """

    scheme: str
    host: str
    port: int
    prefix: str

    @property
    def authority(self) -> str:
        """Host and port as the ``Host`` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


def parse_address(text: str) -> Address:
    """Read the address of an endpoint.

    Raises:
        InputError: It is not one of http or https.
    """
    wrong = InputError(f"not an address: {text!r}", hint="Give it as http://HOST:PORT.")
    try:
        parts = urlsplit(text.rstrip("/").removesuffix("/v1"))
        port = parts.port
    except ValueError as error:
        raise wrong from error
    strange = parts.query or parts.fragment or parts.username or not text.isascii() or any(map(str.isspace, text))
    if parts.scheme not in _PORTS or not parts.hostname or port == 0 or strange:
        raise wrong
    return Address(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        prefix=parts.path.rstrip("/"),
    )


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

    @property
    def tokens_without_text(self) -> bool:
        """Nothing is known that would let an empty chunk count."""
        return False

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


class Wording:
    """Writes requests as bytes: no compression is asked for, and nothing is taken from the environment.

    Args:
        address: Where they go.
        api_key: Bearer token, ``""`` for none.

    Raises:
        InputError: The key holds characters that no header can carry.
    """

    def __init__(self, address: Address, api_key: str) -> None:
        if not api_key.isprintable() or not api_key.isascii():
            raise InputError("the API key holds characters that no header can carry", hint="Check the variable.")
        self._prefix = address.prefix
        self._headers = f"host: {address.authority}\r\nuser-agent: dayzero-bench\r\naccept-encoding: identity\r\n"
        if api_key:
            self._headers += f"authorization: Bearer {api_key}\r\n"

    def plain(self, method: str, path: str, document: object | None = None) -> bytes:
        """Write a request that is answered by one document."""
        body = b"" if document is None else msgspec.json.encode(document)
        kind = "content-type: application/json\r\n" if body else ""
        return self._whole(f"{method} {self._prefix}{path}", f"connection: close\r\n{kind}", body)

    def streamed(self, how: Speech, request: Request) -> bytes:
        """Write a request whose answer is streamed."""
        body: dict[str, Any] = {
            "model": how.model,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **how.dialect.length_fields(request.output_tokens),
        }
        match request.prompt:
            case TokenPrompt(ids=ids):
                body["prompt"] = ids
            case TextPrompt(text=text) | ChatPrompt(text=text) if how.route == "/v1/completions":
                body["prompt"] = text
            case TextPrompt(text=text):
                body["messages"] = [{"role": "user", "content": text}]
            case ChatPrompt(messages=messages):
                body["messages"] = messages
        headers = "content-type: application/json\r\naccept: text/event-stream\r\n"
        if not how.keeps_connection:
            headers += "connection: close\r\n"
        return self._whole(f"POST {self._prefix}{how.route}", headers, msgspec.json.encode(body))

    def _whole(self, line: str, headers: str, body: bytes) -> bytes:
        head = f"{line} HTTP/1.1\r\n{self._headers}{headers}content-length: {len(body)}\r\n\r\n"
        return head.encode("ascii") + body
