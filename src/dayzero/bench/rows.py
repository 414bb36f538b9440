"""Write a row as one JSON line, and read a file of them back. The format: docs/reference/bench.md."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from dayzero.bench.model import Row, Usage
from dayzero.core.errors import EvidenceError

SCHEMA: Final = "dayzero/bench-row/v1"

_Count = Annotated[int, msgspec.Meta(ge=0)]


class _WireUsage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prompt_tokens: _Count
    completion_tokens: _Count
    cached_tokens: _Count | None


class _WireRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["dayzero/bench-row/v1"]
    cell: str
    phase: Literal["warmup", "measured"]
    index: _Count
    input_tokens: _Count
    output_tokens: _Count
    sent_ns: _Count
    first_byte_ns: _Count
    content_ns: tuple[_Count, ...]
    end_ns: _Count
    status: _Count
    usage: _WireUsage | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRead:
    """What a file of rows holds.

    Attributes:
        rows: Its whole lines, in order.
        set_aside: The bytes after the last newline: a line that a crash cut off; empty in a whole file.
    """

    rows: tuple[Row, ...]
    set_aside: bytes


def encode(row: Row) -> bytes:
    """Write one row as a JSON line that ends in a newline."""
    usage = row.usage
    wire = _WireRow(
        schema=SCHEMA,
        cell=row.cell,
        phase=row.phase,
        index=row.index,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        sent_ns=row.sent_ns,
        first_byte_ns=row.first_byte_ns,
        content_ns=row.content_ns,
        end_ns=row.end_ns,
        status=row.status,
        usage=None if usage is None else _WireUsage(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens),
        error=row.error,
    )
    return msgspec.json.encode(wire) + b"\n"


def decode(line: bytes, *, number: int) -> Row:
    """Read one row.

    Args:
        line: The line; a newline at its end is allowed.
        number: Its 1-based position in the file, for the error.

    Raises:
        EvidenceError: The line is not a row of this schema.
    """
    try:
        wire = msgspec.json.decode(line, type=_WireRow)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EvidenceError(
            f"line {number} is not a {SCHEMA} row: {error}", hint="Measure again; a row is never mended by hand."
        ) from error
    usage = wire.usage
    return Row(
        cell=wire.cell,
        phase=wire.phase,
        index=wire.index,
        input_tokens=wire.input_tokens,
        output_tokens=wire.output_tokens,
        sent_ns=wire.sent_ns,
        first_byte_ns=wire.first_byte_ns,
        content_ns=wire.content_ns,
        end_ns=wire.end_ns,
        status=wire.status,
        usage=None
        if usage is None
        else Usage(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
        ),
        error=wire.error,
    )


def read(raw: bytes) -> RowsRead:
    """Read a file of rows; what stands after the last newline is set aside, never guessed at.

    Raises:
        EvidenceError: A whole line is not a row.
    """
    *lines, tail = raw.split(b"\n")
    return RowsRead(rows=tuple(decode(line, number=number) for number, line in enumerate(lines, 1)), set_aside=tail)
