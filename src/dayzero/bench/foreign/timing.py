"""Turn what another tool kept of a request into a row of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from dayzero.bench.model import Row, Usage

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One request as a tool kept it. Stamps are nanoseconds; 0 means it never came to that.

    Attributes:
        sent_ns: When the tool counts it as sent.
        content_ns: Arrival of each chunk with text.
        end_ns: When the tool counts it as ended.
        prompt_tokens: Tokens of the prompt, as in :class:`dayzero.bench.foreign.model.Reading`.
        output_tokens: Tokens of the answer, the same way; ``None`` where nothing is known of them.
        new_connection: Whether a connection was opened for it, where the tool says.
        error: ``""``, or what went wrong.
    """

    sent_ns: int
    content_ns: tuple[int, ...]
    end_ns: int
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    new_connection: bool = False
    error: str = ""


def rows(timings: Sequence[Timing]) -> tuple[Row, ...]:
    """Write timings as rows of one cell, in the order in which they were sent."""
    ordered = sorted(timings, key=lambda timing: timing.sent_ns)
    return tuple(_row(number, timing) for number, timing in enumerate(ordered))


def after(start_ns: int, gaps_ms: Sequence[float]) -> tuple[int, ...]:
    """Add up gaps, the first of them from ``start_ns``."""
    return tuple(start_ns + round(elapsed * _NS_PER_MS) for elapsed in accumulate(gaps_ms))


def between(first_ns: int, last_ns: int, chunks: int) -> tuple[int, ...]:
    """Space chunks evenly, where a tool kept the ends and the number only."""
    if chunks < 2:  # noqa: PLR2004  (two ends)
        return (first_ns,) if first_ns else ()
    step = (last_ns - first_ns) / (chunks - 1)
    return (*(first_ns + round(step * place) for place in range(chunks - 1)), last_ns)


def _row(number: int, timing: Timing) -> Row:
    content = timing.content_ns
    usage = (
        None
        if timing.output_tokens is None
        else Usage(prompt_tokens=timing.prompt_tokens or 0, completion_tokens=timing.output_tokens, cached_tokens=None)
    )
    return Row(
        number=number,
        cell="all",
        phase="measured",
        index=number,
        input_tokens=timing.prompt_tokens or 0,
        output_tokens=timing.output_tokens or 0,
        due_ns=timing.sent_ns,
        sent_ns=timing.sent_ns,
        sent_by_ns=timing.sent_ns,
        first_byte_ns=content[0] if content else 0,
        first_event_ns=content[0] if content else 0,
        content_ns=content,
        answer_ns=content[0] if content else 0,
        censored=(),
        end_ns=timing.end_ns,
        lag_ns=-1,
        new_connection=timing.new_connection,
        status=0,
        usage=usage,
        error=timing.error,
    )
