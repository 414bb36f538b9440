"""A hub on the loopback: files at ``REPOSITORY/resolve/REVISION/PATH``, with ranges, and with whatever goes wrong there."""

import contextlib
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class Asked:
    """One request: its path, range and token."""

    path: str
    range: str
    authorization: str


@dataclass
class Hub:
    """A hub that runs until its context ends.

    Attributes:
        files: What it has, by path inside the revision.
        ranges: Whether it knows ``Range``.
        redirect: Where every file really is: the base URL of another hub; ``""`` for here.
        failures: Statuses that are answered first, one a request.
        cut: Bytes after which each of the first answers breaks off; taken from the front, one a request.
        lies: Answer the range of another file.
        port: Where it listens.
        asked: What was asked.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    redirect: str = ""
    failures: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    lies: bool = False
    port: int = 0
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        headers = handler.headers
        self.asked.append(Asked(handler.path, headers.get("Range", ""), headers.get("Authorization", "")))
        content = self.files.get(unquote(handler.path).partition("/resolve/")[2].partition("/")[2])
        if self.failures:
            self._send(handler, self.failures.pop(0), b"", {"Retry-After": "7"})
        elif self.redirect:
            self._send(handler, 302, b"", {"Location": self.redirect + handler.path})
        elif content is None:
            self._send(handler, 404, b"")
        else:
            self._send_file(handler, content)

    def _send_file(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        start = int(asked[1]) if asked and self.ranges else 0
        total = len(content) + 1 if self.lies else len(content)
        if start >= len(content) and start:
            self._send(handler, 416, b"", {"Content-Range": f"bytes */{total}"})
        elif start:
            self._send(handler, 206, content[start:], {"Content-Range": f"bytes {start}-{len(content) - 1}/{total}"})
        else:
            self._send(handler, 200, content)

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(body[: self.cut.pop(0)] if self.cut and body else body)


@contextlib.contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    hub.port = listener.server_address[1]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
