"""Requests as they are planned, rows as they were measured, and how a run ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dayzero.core.workload import Message

Phase: TypeAlias = Literal["warmup", "measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrompt:
    """A prompt as token ids: its length is exact by construction, and the server's count has to agree."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPrompt:
    """A prompt as text, for servers that take no token ids; its length is what the server reports."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A conversation so far, its last message from the user; its length is what the server reports."""

    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The same without roles, for routes that take one text."""
        return "\n".join(message.content for message in self.messages)


Prompt: TypeAlias = TokenPrompt | TextPrompt | ChatPrompt


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
        number: 0-based, unique in a run; its raw reads carry it.
        cell: Name of the grid's cell.
        phase: ``warmup`` or ``measured``.
        index: 0-based position in its phase.
        prompt: What is sent.
        input_tokens: Planned prompt length.
        output_tokens: Tokens asked for.
        exact: False where ``input_tokens`` is an estimate, or 0 for unknown: only the server can say how long it is.
        due_ns: When the schedule wants it sent, in nanoseconds after the start of its cell; ``None`` in a closed loop, where a
            request is due as soon as its stream is free.
        session: 0-based conversation that it belongs to; each request of a load without conversations has its own.
        turn: 0-based position in that conversation.
    """

    number: int
    cell: str
    phase: Phase
    index: int
    prompt: Prompt
    input_tokens: int
    output_tokens: int
    exact: bool = True
    due_ns: int | None = None
    session: int = 0
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What happened to one request. Stamps are nanoseconds of one monotonic clock; 0 means it never came to that.

    Attributes:
        number, cell, phase, index, input_tokens, output_tokens, exact, session, turn: As planned.
        due_ns: When the schedule wanted it sent; equal to ``sent_ns`` in a closed loop.
        sent_ns: Just before the request's first byte was handed to the kernel.
        sent_by_ns: The kernel had taken its last byte: it went out between the two.
        first_byte_ns: The response's first body byte arrived.
        first_event_ns: The first event arrived, whatever it holds.
        content_ns: Arrival of each chunk that carries generated content (answer, reasoning or tool call), in order.
        answer_ns: Arrival of the first of them that is not reasoning.
        censored: (position in ``content_ns``, earliest ns) where the arrival is only known to lie between that and the stamp,
            because one read held several events.
        end_ns: The response was complete, or its failure was seen.
        lag_ns: The most that a read of it came later to the client than the kernel had received it; -1 without kernel stamps.
        new_connection: Whether a connection was opened for it (before ``sent_ns``).
        status: HTTP status, 0 when there was none.
        usage: The server's counts, ``None`` when it reported none.
        reasoning_chunks: How many of the content chunks are reasoning.
        error: ``""``, or what went wrong.
        hole_ns: How long no client ran before it was sent, where it is the first one of a run that was taken up again; else 0.
    """

    number: int
    cell: str
    phase: Phase
    index: int
    input_tokens: int
    output_tokens: int
    exact: bool = True
    session: int = 0
    turn: int = 0
    due_ns: int
    sent_ns: int
    sent_by_ns: int
    first_byte_ns: int
    first_event_ns: int
    content_ns: Sequence[int]
    answer_ns: int
    censored: tuple[tuple[int, int], ...]
    end_ns: int
    lag_ns: int
    new_connection: bool
    status: int
    usage: Usage | None
    reasoning_chunks: int = 0
    error: str
    hole_ns: int = 0

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
        in_flight: Requests in flight now.
        received_bytes: Bytes of the cell's answers so far.
    """

    cell: str
    phase: Phase
    done: int
    planned: int
    failed: int
    in_flight: int = 0
    received_bytes: int = 0


class EnoughSeenError(Exception):
    """Raised by who is told of the progress: the cell ends here, with this as its reason; what has come is kept."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is due.

    Attributes:
        until_ns: When to ask again, in nanoseconds after the start of the cell; ``None``: when the next request has ended.
    """

    until_ns: int | None


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The plan has nothing left to send."""


@dataclass(frozen=True, slots=True)
class Completed:
    """Every planned request of the cell was sent and ended (a failed request has ended too)."""


@dataclass(frozen=True, slots=True)
class Aborted:
    """The cell, and the run with it, ended early.

    Attributes:
        reason: Why.
    """

    reason: str


Ending: TypeAlias = Completed | Aborted


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLoad:
    """What measuring cost the client, and how well it kept up; over the windows of all cells.

    Attributes:
        lag_ms: How much later than the kernel the client had each read, sorted sample (every read up to a hundred thousand, then
            every n-th, the largest among them); empty where the transport gives no kernel stamps.
        window_s: Wall seconds of the windows.
        cpu_s: Processor seconds that the client used in them, user and system.
        waited_s: Seconds in which it could have run and had no core (run delay of the scheduler).
        total_cpu_s: Processor seconds of the whole process until its figures stood, start and parsing included.
        memory_bytes: Largest resident set until then.
        connections: Connections opened.
        clock_moved_ns: The most that the real-time clock moved against the monotonic one between two looks.
    """

    lag_ms: Sequence[float]
    window_s: float
    cpu_s: float
    waited_s: float
    total_cpu_s: float
    memory_bytes: int
    connections: int
    clock_moved_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadsHeader:
    """What a file of raw reads was measured of; a run is taken up again only under an equal one.

    Attributes:
        server: Base URL.
        model: Model that was asked for.
        route: Where prompts were sent.
        engine: Engine that was recognised, ``""`` for none.
        seed, nonce: Of the workload.
        cells: Each cell of the workload, written out; a long one is cut and has its digest.
        pool_sha256: Digest of what prompts were drawn from.
        boot: Names the start of the machine: monotonic stamps of two starts cannot be compared.
        shard: 0-based number of the process that wrote the file.
        shards: How many processes there were, each with a file of its own.
        client: Program and version.
    """

    server: str
    model: str
    route: str
    engine: str
    seed: int
    nonce: str = ""
    cells: tuple[str, ...]
    pool_sha256: str
    boot: str
    shard: int = 0
    shards: int = 1
    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run brought.

    Attributes:
        rows: All rows, in the order in which their requests were sent.
        ending: How it ended.
        client: What measuring cost.
        holes: (from, until) ns in which no client ran, because the run was interrupted and resumed.
    """

    rows: tuple[Row, ...]
    ending: Ending
    client: ClientLoad
    holes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine that the client ran on, as the caller saw it.

    Attributes:
        client: Program and version that measured (``dayzero 0.1.0``).
        client_sha256: Digest of the client's own source files, so that a receipt names the code that measured.
        stamps: Where receive stamps are taken (``kernel, SO_TIMESTAMPNS``, or ``user space``).
        cores: Processor cores that the client may use.
        core: The one that it was kept on, apart from the engine, by this program; ``None``: it was not.
        load_before: One-minute load average just before the first request.
        load_after: The same just after the last one.
    """

    client: str
    client_sha256: str
    stamps: str
    cores: int
    core: int | None = None
    load_before: float
    load_after: float
