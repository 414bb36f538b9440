"""How much may be sent: a body says its length first, and is no larger than a form or a delivery can be."""

import json
from http import HTTPStatus
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dayzero.web.answers import Keep
from dayzero.web.errors import PROBLEM

MOST: Final = 256 * 1024
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class SmallBodies:
    """Refuses a body that is too large, or does not say how large it is, before any of it is read.

    Args:
        app: What makes the answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        refusal = _refusal(scope) if scope["type"] == "http" and scope["method"] not in _READS else None
        await (refusal or self._app)(scope, receive, send)


def _refusal(scope: Scope) -> Response | None:
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"")
    if length.isdigit():
        return _problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE) if int(length) > MOST else None
    return _problem(HTTPStatus.LENGTH_REQUIRED) if b"transfer-encoding" in headers else None


def _problem(status: HTTPStatus) -> Response:
    said = {
        "type": "about:blank",
        "title": status.phrase,
        "status": int(status),
        "detail": f"a body has at most {MOST} bytes, and says so in Content-Length",
        "hint": "Send less.",
    }
    headers = {"Cache-Control": Keep.NEVER.value, "Connection": "close"}
    return Response(json.dumps(said) + "\n", status, headers, PROBLEM)
