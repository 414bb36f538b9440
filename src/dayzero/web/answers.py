"""Turn bytes into an answer that a reader's cache can ask about again."""

from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"


class Keep(Enum):
    """How long a reader may keep an answer."""

    ASK = "no-cache"
    """It may be kept, and has to be asked about each time: a retraction is seen at once."""

    FOREVER = "public, max-age=31536000, immutable"
    """Its bytes never change."""

    NEVER = "no-store"
    """It is about this moment only."""


_ENDINGS: Final = {
    ".html": HTML,
    ".json": JSON,
    ".jsonld": "application/ld+json",
    ".dsse": JSON,
    ".atom": "application/atom+xml; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".zip": "application/zip",
    ".pem": "application/x-pem-file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Something to answer with.

    Attributes:
        content: Its bytes.
        kind: Its media type.
        keep: How long it may be kept.
    """

    content: bytes
    kind: str
    keep: Keep = Keep.ASK

    def answer(self, request: Request, status: HTTPStatus = HTTPStatus.OK) -> Response:
        """Answer with it, or with 304 where the reader has just these bytes."""
        tag = f'"{sha256(self.content).hexdigest()}"'
        headers = {"ETag": tag, "Cache-Control": self.keep.value}
        if status is HTTPStatus.OK and _has(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=304, headers=headers)
        return Response(self.content, status, headers, self.kind)


def kind_of(path: str) -> str:
    """Say what a path's media type is; anything else is text that is shown and never run."""
    name = path.rpartition("/")[2]
    return _ENDINGS.get(f".{name.rpartition('.')[2]}", TEXT)


def _has(asked: str, tag: str) -> bool:
    """Say whether a reader's ``If-None-Match`` names a tag; the weak form compares alike (RFC 9110, 13.1.2)."""
    named = [part.strip().removeprefix("W/") for part in asked.split(",")]
    return tag in named or named == ["*"]
