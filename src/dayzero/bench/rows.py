"""Write a row as one JSON line, and read a file of them back. The format: docs/reference/bench.md.

Schema v2 is written. Schema v1, of the client before, is read: it had no schedule, no kernel stamps and knew of no censoring.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Final, Literal

import msgspec

from dayzero.bench.model import Row, Usage
from dayzero.bench.stamps import Stamps
from dayzero.core.errors import EvidenceError

SCHEMA: Final = "dayzero/bench-row/v2"
SCHEMA_V1: Final = "dayzero/bench-row/v1"

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Lag = Annotated[int, msgspec.Meta(ge=-1)]


class _WireUsage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prompt_tokens: _Count
    completion_tokens: _Count
    cached_tokens: _Count | None


class _WireRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema: Literal["dayzero/bench-row/v2"]
    number: _Count
    cell: str
    phase: Literal["warmup", "measured"]
    index: _Count
    input_tokens: _Count
    output_tokens: _Count
    exact: bool
    session: _Count
    turn: _Count
    due_ns: _Count
    sent_ns: _Count
    sent_by_ns: _Count
    first_byte_ns: _Count
    first_event_ns: _Count
    content_ns: tuple[_Count, ...]
    answer_ns: _Count
    censored: tuple[tuple[_Count, _Count], ...]
    end_ns: _Count
    lag_ns: _Lag
    new_connection: bool
    status: _Count
    usage: _WireUsage | None
    reasoning_chunks: _Count
    error: str
    hole_ns: _Count = 0


class _WireRowV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class _Schema(msgspec.Struct, frozen=True):
    schema: str


_NAMES: Final = tuple(field.name for field in fields(Row))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRead:
    """What a file of rows holds.

    Attributes:
        rows: Its whole lines, in order.
        set_aside: The bytes after the last newline: a line that a crash cut off; empty in a whole file.
        schema: Of its lines, which all have the same; that of today where there is none.
    """

    rows: tuple[Row, ...]
    set_aside: bytes
    schema: str = SCHEMA


def encode(row: Row) -> bytes:
    """Write one row as a JSON line that ends in a newline."""
    fields_of = {name: getattr(row, name) for name in _NAMES if name != "hole_ns" or row.hole_ns}
    return msgspec.json.encode({"schema": SCHEMA, **fields_of, "content_ns": tuple(row.content_ns)}) + b"\n"


def decode(line: bytes, *, number: int) -> Row:
    """Read one row of either schema.

    Args:
        line: The line; a newline at its end is allowed.
        number: Its 1-based position in the file, for the error.

    Raises:
        EvidenceError: The line is not a row.
    """
    return _decode(line, number, SCHEMA_V1 if _is_v1(line) else SCHEMA)


def read(raw: bytes) -> RowsRead:
    """Read a file of rows; what stands after the last newline is set aside, never guessed at.

    Raises:
        EvidenceError: A whole line is not a row, or not of the same schema as the first one.
    """
    *lines, tail = raw.split(b"\n")
    schema = SCHEMA_V1 if lines and _is_v1(lines[0]) else SCHEMA
    rows = tuple(_decode(line, number, schema) for number, line in enumerate(lines, 1))
    return RowsRead(rows=rows, set_aside=tail, schema=schema)


def _is_v1(line: bytes) -> bool:
    try:
        return msgspec.json.decode(line, type=_Schema).schema == SCHEMA_V1
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _decode(line: bytes, number: int, schema: str) -> Row:
    try:
        if schema == SCHEMA_V1:
            return _of_v1(msgspec.json.decode(line, type=_WireRowV1), number - 1)
        wire = msgspec.json.decode(line, type=_WireRow)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EvidenceError(
            f"line {number} is not a {schema} row: {error}", hint="Measure again; a row is never mended by hand."
        ) from error
    packed = {"usage": _usage(wire.usage), "content_ns": Stamps(wire.content_ns)}
    return Row(**{name: getattr(wire, name) for name in _NAMES} | packed)


def _of_v1(wire: _WireRowV1, number: int) -> Row:
    return Row(
        number=number,
        cell=wire.cell,
        phase=wire.phase,
        index=wire.index,
        input_tokens=wire.input_tokens,
        output_tokens=wire.output_tokens,
        session=number,
        due_ns=wire.sent_ns,
        sent_ns=wire.sent_ns,
        sent_by_ns=wire.sent_ns,
        first_byte_ns=wire.first_byte_ns,
        first_event_ns=0,
        content_ns=Stamps(wire.content_ns),
        answer_ns=0,
        censored=(),
        end_ns=wire.end_ns,
        lag_ns=-1,
        new_connection=False,
        status=wire.status,
        usage=_usage(wire.usage),
        error=wire.error,
    )


def _usage(usage: _WireUsage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
    )
