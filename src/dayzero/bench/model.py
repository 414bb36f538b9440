"""Requests as they are planned, and rows as they were measured."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrompt:
    """A prompt as token ids: its length is exact by construction, and the server's count has to agree."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPrompt:
    """A prompt as text, for servers that take no token ids; its length is what the server reports."""

    text: str


Prompt: TypeAlias = TokenPrompt | TextPrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the server reports them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to send.

    Attributes:
        cell: Name of the grid's cell.
        phase: ``warmup`` or ``measured``.
        index: 0-based position in its phase.
        prompt: What is sent.
        input_tokens: Planned prompt length.
        output_tokens: Tokens asked for.
    """

    cell: str
    phase: str
    index: int
    prompt: Prompt
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What happened to one request. Stamps are nanoseconds of one monotonic clock; 0 means it never came to that.

    Attributes:
        cell, phase, index, input_tokens, output_tokens: As planned.
        sent_ns: Just before the request's first byte was handed to the transport.
        first_byte_ns: The response's first body byte arrived.
        content_ns: Arrival of each chunk with text in it, in order.
        end_ns: The response was complete.
        status: HTTP status, 0 when there was none.
        usage: The server's counts, ``None`` when it reported none.
        error: ``""``, or what went wrong.
    """

    cell: str
    phase: str
    index: int
    input_tokens: int
    output_tokens: int
    sent_ns: int
    first_byte_ns: int
    content_ns: tuple[int, ...]
    end_ns: int
    status: int
    usage: Usage | None
    error: str

    @property
    def ok(self) -> bool:
        """True when the response came whole and without an error."""
        return not self.error
