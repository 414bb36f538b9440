"""What bench needs from outside: an endpoint, the dialect it speaks, and a place for rows."""

from collections.abc import Callable, Mapping
from typing import Protocol

from dayzero.bench.model import Ending, Exhausted, Progress, Request, Usage, Wait
from dayzero.core.workload import Cell


class Dialect(Protocol):
    """How an OpenAI-compatible endpoint deviates where a measurement depends on it."""

    def length_fields(self, output_tokens: int) -> Mapping[str, object]:
        """Give the request fields that make it generate exactly this many tokens."""
        ...

    def usage(self, chunk: Mapping[str, object]) -> Usage | None:
        """Read the server's token counts from a streamed chunk, ``None`` when it carries none."""
        ...

    @property
    def tokens_without_text(self) -> bool:
        """Whether a completions chunk with empty text stands for a token all the same: one that decodes to no text (yet)."""
        ...

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Say whether an answer of ``/v1/models`` comes from this engine."""
        ...


class Plan(Protocol):
    """Says which request goes out next. One plan a cell; it knows no clock of its own."""

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        """Give the request that is due, how long nothing is, or that there is nothing left.

        Called again after each request that was sent, after each that ended, and when a wait is over.

        Args:
            elapsed_ns: Nanoseconds since the cell began.
        """
        ...

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:
        """Learn that a request has its answer or has failed; its stream is free.

        Args:
            request: The request.
            elapsed_ns: Nanoseconds since the cell began.
            reply: Reads the text of the answer out of what was received (``""`` when it failed); costs a parse, so only a
                conversation asks.
        """
        ...


class Client(Protocol):
    """Sends what plans say to an OpenAI-compatible endpoint, and keeps what comes as raw reads."""

    def run(self, plan: Plan, *, cell: Cell, on_progress: Callable[[Progress], None]) -> Ending:
        """Drive one cell to its end; failures are records, never exceptions.

        Args:
            plan: What is sent.
            cell: The cell, for its number of streams.
            on_progress: Called now and then from within the window (at most ten times a second); must return at once, or raise
                :class:`dayzero.bench.model.EnoughSeenError` to end the cell.
        """
        ...
