"""What every answer carries, whatever made it: headers that keep a page to itself; and no body where only the head is asked for."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SOURCES: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final = (
    ("content-security-policy", _SOURCES),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
)
_RAW: Final = [(name.encode(), value.encode()) for name, value in HEADERS]


class EveryAnswer:
    """Puts the headers on every answer that does not say otherwise itself, and answers HEAD as GET without the body.

    Args:
        app: What makes the answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        only_head = scope["method"] == "HEAD"
        asked = {**scope, "method": "GET"} if only_head else scope

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                named = {name for name, _ in own}
                message = {**message, "headers": [*own, *(each for each in _RAW if each[0] not in named)]}
            elif only_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app(asked, receive, answer)
