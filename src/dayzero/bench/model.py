"""Requests as they are planned, rows as they were measured, and how a run ended."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["warmup", "measured"]


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
class TokenPool:
    """Token ids that prompts are drawn from.

    Attributes:
        ids: Distinct ids of ordinary text: none is a control token, none is out of the vocabulary.
        overhead: Tokens that the server adds to every prompt (0, or 1 where it puts a start token before the ids).
    """

    ids: tuple[int, ...]
    overhead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPool:
    """Words that text prompts are drawn from, and what the server was seen to make of them.

    Attributes:
        words: Distinct plain words.
        overhead: Tokens that the server adds to every prompt (start token, chat template).
        tokens_per_word: Tokens of one word on average; lengths are exact only where this is 1.
    """

    words: tuple[str, ...]
    overhead: int = 0
    tokens_per_word: float = 1.0


PromptPool: TypeAlias = TokenPool | WordPool


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the server reports them.

    Attributes:
        prompt_tokens: Tokens of the prompt.
        completion_tokens: Tokens that were generated.
        cached_tokens: Prompt tokens that came out of a cache; ``None`` where the server does not say.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None


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
    phase: Phase
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
        end_ns: The response was complete, or its failure was seen.
        status: HTTP status, 0 when there was none.
        usage: The server's counts, ``None`` when it reported none.
        error: ``""``, or what went wrong.
    """

    cell: str
    phase: Phase
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a cell has come, after each row.

    Attributes:
        cell: Name of the cell.
        phase: Phase of the row that just came.
        done: Rows of the cell so far, both phases.
        planned: Rows of the cell when it is complete, both phases.
        failed: How many of them carry an error.
    """

    cell: str
    phase: Phase
    done: int
    planned: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Every planned request has its row (a failed request has one too).

    Attributes:
        rows: All rows in the order in which they came.
        lag_ms: How late the client's own loop woke up, sampled while it measured; one value a sample.
    """

    rows: tuple[Row, ...]
    lag_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """The run ended early.

    Attributes:
        reason: Why.
        rows: The rows that came before that; each is in the sink too.
        lag_ms: As in :class:`Finished`.
    """

    reason: str
    rows: tuple[Row, ...]
    lag_ms: tuple[float, ...]


Outcome: TypeAlias = Finished | Aborted


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine that the client ran on, as the caller saw it.

    Attributes:
        client: Program, version and transport that measured (``dayzero 0.1.0, httpx 0.28.1``).
        cores: Processor cores that the client may use.
        load_before: One-minute load average just before the first request.
        load_after: The same just after the last one.
    """

    client: str
    cores: int
    load_before: float
    load_after: float
