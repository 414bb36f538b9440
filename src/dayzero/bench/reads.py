"""The file of raw reads: what the client sent, and each piece that it received with its stamps, in the order in which it came.

A run appends to this file while it measures and looks into nothing; rows are parsed from it afterwards, so they can be
parsed again. It begins with one JSON line (:class:`dayzero.bench.model.ReadsHeader`, schema ``dayzero/bench-reads/v1``);
records follow until its end. A record is :data:`RECORD` and then ``length`` bytes of payload. A record that the end of the
file cuts off was being written when the client died; it is set aside. The format: docs/reference/bench.md.

===========  ====================================  ==========================  =======================================
kind         ``wire`` (16 bytes)                   ``user_ns``, ``floor_ns``   payload
===========  ====================================  ==========================  =======================================
``SENT``     zero                                  before, after the send      the planned request, as JSON
``READ``     the kernel's receive stamp, or zero   read returned, known empty  the bytes as they were received (TLS: decrypted)
``END``      zero                                  seen, 0                     empty, or the error in UTF-8
``CLOCK``    the real-time clock                   monotonic clock, bracket    empty
``OPENED``   zero                                  asked, connected            empty; the request's connection is new
``RESUMED``  zero                                  monotonic clock, 0          empty
===========  ====================================  ==========================  =======================================

``wire`` is a ``struct timespec`` of the real-time clock as the kernel writes it: seconds and nanoseconds, two little-endian
64-bit integers. ``user_ns`` and ``floor_ns`` are of the monotonic clock. ``floor_ns`` of a ``READ`` is the latest instant at
which nothing was waiting on that socket: the first byte of the piece arrived after it, the last byte at ``wire``.

``OPENED`` comes before the ``SENT`` of its request. A later ``SENT`` of the same number begins that request anew, and what came
before it counts no more: the server had closed an idle connection and the request was sent once again, or the run was taken
up again. A request without an ``END`` was in flight when the run ended. A request that got no connection has a ``SENT`` whose
stamps are 0, and an ``END`` with the error.
"""

import struct
from enum import IntEnum
from typing import Final, Literal

import msgspec

from dayzero.bench.model import Phase, ReadsHeader, Request
from dayzero.core.errors import EvidenceError

SCHEMA: Final = "dayzero/bench-reads/v1"
RECORD: Final = struct.Struct("<B3xI16sqqI")  # kind, request number, wire, user_ns, floor_ns, length
TIMESPEC: Final = struct.Struct("<qq")
NO_STAMP: Final = bytes(16)


class Kind(IntEnum):
    """What a record says."""

    SENT = 1
    READ = 2
    END = 3
    CLOCK = 4
    OPENED = 5
    RESUMED = 6


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A planned request as a ``SENT`` record holds it: all of it but the prompt, which the seed gives again.

    Attributes:
        number, cell, phase, index, input_tokens, output_tokens, exact, session, turn: As planned.
        due_ns: When it was due, on the monotonic clock; ``None`` in a closed loop.
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
    due_ns: int | None = None


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["dayzero/bench-reads/v1"]
    run: ReadsHeader


def encode_header(header: ReadsHeader) -> bytes:
    """Write the first line of a file, with its newline."""
    return msgspec.json.encode(_Header(SCHEMA, header)) + b"\n"


def decode_header(line: bytes) -> ReadsHeader:
    """Read the first line of a file.

    Raises:
        EvidenceError: It is none.
    """
    try:
        return msgspec.json.decode(line, type=_Header).run
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EvidenceError(
            f"not a file of raw reads ({SCHEMA}): {error}", hint="Give the reads.bin of a run."
        ) from error


def encode_sent(request: Request, *, origin_ns: int) -> bytes:
    """Write the payload of a ``SENT`` record.

    Args:
        request: The request.
        origin_ns: When its cell began, on the monotonic clock.
    """
    return msgspec.json.encode(
        Sent(
            number=request.number,
            cell=request.cell,
            phase=request.phase,
            index=request.index,
            input_tokens=request.input_tokens,
            output_tokens=request.output_tokens,
            exact=request.exact,
            session=request.session,
            turn=request.turn,
            due_ns=None if request.due_ns is None else origin_ns + request.due_ns,
        )
    )


def decode_sent(payload: bytes) -> Sent:
    """Read the payload of a ``SENT`` record.

    Raises:
        EvidenceError: It is none.
    """
    try:
        return msgspec.json.decode(payload, type=Sent)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EvidenceError(f"a request of the raw reads cannot be read: {error}", hint="Measure again.") from error
