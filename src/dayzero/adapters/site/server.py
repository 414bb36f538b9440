"""Serve a site's folder on the loopback interface: files only, no listing of folders, nothing run."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket

from dayzero.core.errors import InputError, RemoteError

_HEADERS = (
    ("Cache-Control", "no-cache"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; base-uri 'none'; form-action 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
)
_TEXT = "text/plain; charset=utf-8"
_KINDS = {
    ".atom": "application/atom+xml; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".dsse": "application/json",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".jsonld": "application/ld+json",
    ".zip": "application/zip",
}


@contextmanager
def serve(folder: Path, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve a folder for as long as the context is open, and give the address of its first page.

    A site that is built again into the same folder is served from then on.

    Args:
        folder: A folder with an ``index.html``.
        host: Address to listen on.
        port: TCP port; 0 takes a free one.

    Raises:
        InputError: There is no site in the folder.
        RemoteError: The port is taken, or may not be used.
    """
    if not (folder / "index.html").is_file():
        raise InputError(
            f"no site in {folder}: index.html is missing", hint="Build one with 'dayzero catalog build -o SITE'."
        )
    handler = partial(_Handler, directory=str(folder.absolute()))
    try:
        server = _Server((host, port), handler)
    except (OSError, OverflowError) as error:
        raise RemoteError(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}",
            hint="Choose another port with --port, or --port 0 for a free one.",
        ) from error
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Say nothing of a reader who went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(SimpleHTTPRequestHandler):
    server_version = "dayzero"
    sys_version = ""

    def guess_type(self, path: str) -> str:  # type: ignore[override]
        """Serve pages as what they are; what runs and packages brought along is shown as text, never run."""
        own, ending = Path(path).relative_to(self.directory).parts, Path(path).suffix
        brought = own[:2] == ("evidence", "raw") or (own[0] == "packages" and own[3:4] in {("deploy",), ("kit",)})
        return _TEXT if brought and ending != ".zip" else _KINDS.get(ending, _TEXT)

    def list_directory(self, path: str) -> None:  # type: ignore[override]  # noqa: ARG002
        """Refuse: only what the site links to is offered."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Add the headers that every answer carries."""
        for name, value in _HEADERS:
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet: who reads what is nobody's business."""
