"""Engines on the loopback, as far as they say what they are: each path has one answer."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Answer: TypeAlias = "dict[str, object] | list[object] | bytes | tuple[int, dict[str, str], bytes]"


@dataclass
class Server:
    """A server that runs until its context ends.

    Attributes:
        answers: What is answered to each path; anything else is 404.
        asked: Paths that were asked for, with the bearer token where one came.
    """

    answers: Mapping[str, Answer]
    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def serving(answers: Mapping[str, Answer]) -> Iterator[Server]:
    server = Server(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append((self.path, self.headers.get("Authorization", "")))
            answer = server.answers.get(self.path, (404, {}, b"{}"))
            status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(content))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):  # who asked may have had enough
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server.port = listener.server_address[1]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
