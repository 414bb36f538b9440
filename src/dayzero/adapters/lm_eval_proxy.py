"""Stand between lm-eval and an endpoint: forward each request, and keep it with its answer and why that ended.

lm-eval keeps no ``finish_reason``, and would write an API key into its results; so it is told this address instead.
"""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from dayzero.adapters.measuring.ask import ask, explain
from dayzero.adapters.measuring.server import Server
from dayzero.adapters.openai_http import Wording
from dayzero.adapters.row_file import write_lines
from dayzero.bench.answer import printable
from dayzero.bench.http1 import MalformedResponseError

_OK, _BAD_GATEWAY = 200, 502


class Forwarded:
    """What went through.

    Attributes:
        truncated: Answers that ended at their limit of tokens.
        failed: Requests that brought no answer, one line each.
    """

    def __init__(self) -> None:
        self.truncated = 0
        self.failed: list[str] = []
        self._lines: list[bytes] = []
        self._lock = threading.Lock()

    def add(self, path: str, request: bytes, status: int, answer: bytes) -> None:
        """Take one exchange."""
        document = _document(answer)
        choices = document.get("choices")
        reasons = [one.get("finish_reason") for one in choices or [] if isinstance(one, dict)]
        with self._lock:
            self.truncated += reasons.count("length")
            if status != _OK:
                self.failed.append(f"{status}: {printable(answer.decode(errors='replace'))[:160]}")
            line = {
                "number": len(self._lines) + 1,
                "path": path,
                "request": _document(request),
                "status": status,
                "answer": answer.decode(errors="replace"),
                "finish_reasons": reasons,
            }
            self._lines.append(msgspec.json.encode(line) + b"\n")

    def write(self, file: Path) -> None:
        """Write all of it."""
        write_lines(file, self._lines)


@contextlib.contextmanager
def forwarding(server: Server, wording: Wording, forwarded: Forwarded, *, timeout_s: float) -> Iterator[str]:
    """Forward from a port of the loopback while the context lasts, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers.get("content-length", 0)))
            question = wording.plain("POST", self.path, msgspec.Raw(request))
            try:
                reply = ask(server, question, timeout_s=timeout_s)
                status, answer = reply.status, reply.body
            except (OSError, MalformedResponseError) as error:
                status, answer = _BAD_GATEWAY, msgspec.json.encode({"error": {"message": explain(error)}})
            forwarded.add(self.path, request, status, answer)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
            """Say nothing: it is all kept."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}"
        finally:
            proxy.shutdown()
            thread.join()


def _document(content: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
