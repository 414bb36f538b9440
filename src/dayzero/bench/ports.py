"""What bench needs from outside: an endpoint, the dialect it speaks, and a place for rows."""

from collections.abc import Mapping
from typing import Protocol

from dayzero.bench.model import Request, Row, Usage


class Dialect(Protocol):
    """How an OpenAI-compatible endpoint deviates where a measurement depends on it."""

    def length_fields(self, output_tokens: int) -> Mapping[str, object]:
        """Give the request fields that make it generate exactly this many tokens."""
        ...

    def usage(self, chunk: Mapping[str, object]) -> Usage | None:
        """Read the server's token counts from a streamed chunk, ``None`` when it carries none."""
        ...

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Say whether an answer of ``/v1/models`` comes from this engine."""
        ...


class Endpoint(Protocol):
    """An OpenAI-compatible endpoint that streams."""

    async def complete(self, request: Request) -> Row:
        """Send one request, read it to its end and stamp what arrives; failures are rows too, never exceptions."""
        ...


class RowSink(Protocol):
    """Keeps rows as they come, so that what was measured survives a crash."""

    def add(self, row: Row) -> None:
        """Append one row and hand it to the operating system before returning."""
        ...
