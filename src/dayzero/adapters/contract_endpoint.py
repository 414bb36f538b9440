"""Send what the contract asks over HTTP, and keep every request with its answer as a line of a file."""

import base64
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.measuring.ask import Reply, ask, explain
from dayzero.adapters.measuring.server import Server
from dayzero.adapters.openai_http import Wording
from dayzero.adapters.row_file import create, write_all
from dayzero.bench.http1 import MalformedResponseError
from dayzero.bench.sse import SseSplitter
from dayzero.core.errors import RemoteError
from dayzero.gates.contract.model import Answer, Call


class RecordedEndpoint:
    """An endpoint whose exchanges are kept. Implements ``gates.contract.ports.Endpoint``.

    Args:
        server: Where it is.
        wording: Writes the requests.
        file: Takes the exchanges; it must not exist yet. The API key is not in it.
        timeout_s: Seconds after which a request has no answer.
        now: Gives the time of day, UTC, RFC 3339.
    """

    def __init__(
        self, server: Server, wording: Wording, file: Path, *, timeout_s: float, now: Callable[[], str]
    ) -> None:
        self._server = server
        self._wording = wording
        self._file = file
        self._timeout_s = timeout_s
        self._now = now
        self._check = ""
        self._sent = 0
        self._lock = threading.Lock()
        self._descriptor = create(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with disk_errors(self._file):
            os.close(self._descriptor)

    def begin(self, check: str) -> None:
        """Name what the next requests are for."""
        self._check = check

    def send(self, *calls: Call) -> tuple[Answer, ...]:
        """Send requests at the same time."""
        if len(calls) == 1:
            return (self._exchange(calls[0]),)
        with ThreadPoolExecutor(max_workers=len(calls)) as pool:
            return tuple(pool.map(self._exchange, calls))

    def _exchange(self, call: Call) -> Answer:
        body = msgspec.Raw(call.body) if isinstance(call.body, bytes) else call.body
        question = self._wording.plain("GET" if body is None else "POST", call.path, body)
        at, began = self._now(), time.monotonic()
        try:
            reply, error = ask(self._server, question, timeout_s=self._timeout_s), ""
        except (OSError, MalformedResponseError) as failure:
            reply, error = Reply(0, b""), explain(failure)
        events, wrong = _events(reply.body)
        seconds = time.monotonic() - began
        with self._lock:
            self._sent += 1
            number = self._sent
            line = {
                "number": number,
                "check": self._check,
                "at": at,
                "seconds": f"{seconds:.3f}",
                "method": "GET" if body is None else "POST",
                "path": call.path,
                "request": call.body.decode(errors="replace") if isinstance(call.body, bytes) else call.body,
                "status": reply.status,
                "error": error or wrong,
                **_kept(reply.body),
            }
            write_all(self._descriptor, msgspec.json.encode(line) + b"\n", self._file)
        return Answer(number=number, status=reply.status, body=reply.body, events=events, error=error or wrong)


def _events(body: bytes) -> tuple[tuple[bytes, ...], str]:
    """Take a streamed body apart; one that is a document has no events."""
    if body[:1] in {b"{", b"["}:
        return (), ""
    try:
        return tuple(SseSplitter().feed(body)), ""
    except RemoteError as error:
        return (), error.message


def _kept(body: bytes) -> dict[str, str]:
    try:
        return {"answer": body.decode()}
    except UnicodeDecodeError:
        return {"answer_base64": base64.b64encode(body).decode()}
