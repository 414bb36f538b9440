"""Stripe's API as far as the market asks for it, as a server on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest


class Api(BaseHTTPRequestHandler):
    """As much of Stripe's API as the market asks for; it remembers what was asked."""

    asked: list[tuple[str, str, dict[str, list[str]]]]
    fails: list[int]
    page: dict[str, str]

    def do_GET(self) -> None:
        self.asked.append((self.path, "", {}))
        self._answer(200, {"id": "cs_1", "object": "checkout.session", "currency": "eur", **self.page})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append((self.path, self.headers["Idempotency-Key"], parse_qs(body)))
        status = self.fails.pop() if self.fails else 200
        answer = {"id": "cs_1", "object": "checkout.session", "url": "https://pay.invalid/cs_1"}
        if self.path.endswith("/expire"):
            self.page |= {"status": "expired"}
            answer |= {"currency": "eur", **self.page}
        if status != 200:
            answer = {"error": {"message": "No such customer", "type": "invalid_request_error"}}
        self._answer(status, answer)

    def _answer(self, status: int, answer: dict[str, object]) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(name="stripe_api")
def api() -> Iterator[tuple[str, type[Api]]]:
    handler = type(
        "Handler", (Api,), {"asked": [], "fails": [], "page": {"status": "open", "payment_status": "unpaid"}}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    thread.join()
    server.server_close()
