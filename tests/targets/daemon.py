"""Docker's engine, as far as its command line needs one to say what it understood: it creates no container."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from typing import Any

_API = "1.41"


@contextmanager
def asked_to_create(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Answer on a Unix socket; give its address for ``DOCKER_HOST``, and the bodies of the requests to create a container."""
    bodies: list[dict[str, Any]] = []

    class Answer(BaseHTTPRequestHandler):
        def _say(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Api-Version", _API)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self._say(200, "")

        def do_GET(self) -> None:
            self._say(200, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "{}")
            bodies.append({"path": self.path, **body})
            self._say(400, {"message": "written down"})

        def log_message(self, *_words: object) -> None:
            pass

    path = folder / "docker.sock"
    with UnixStreamServer(str(path), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"unix://{path}", bodies
        server.shutdown()
        thread.join()
