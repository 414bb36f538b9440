"""Files of raw reads, written as a client would have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dayzero.bench.model import Phase, ReadsHeader, Request, Row, TextPrompt
from dayzero.bench.openai import read_usage
from dayzero.bench.parse import Parsed, parse
from dayzero.bench.reads import NO_STAMP, RECORD, TIMESPEC, Kind, encode_header, encode_sent

MS = 1_000_000
S = 1_000 * MS
REAL = 1_800_000_000 * S  # the real-time clock where the monotonic one stands at 0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"
HEADER = ReadsHeader(
    server="http://127.0.0.1:8000",
    model="m",
    route="/v1/completions",
    engine="",
    seed=1,
    cells=("c1",),
    pool_sha256="",
    boot="",
    client="dayzero test",
)


def planned(number: int = 0, **changes: Any) -> Request:
    plan: dict[str, Any] = {
        "cell": "c1",
        "phase": Phase.__args__[1],
        "index": number,
        "input_tokens": 8,
        "output_tokens": 3,
    }  # type: ignore[attr-defined]
    return Request(number=number, prompt=TextPrompt(text="x"), **(plan | changes))


def event(document: object) -> bytes:
    return b"data: " + msgspec.json.encode(document) + b"\n\n"


def text(content: str = "x", **more: object) -> bytes:
    """An event of ``/v1/completions``."""
    return event(
        {"id": "cmpl-1", "model": "m", "choices": [{"index": 0, "text": content, "finish_reason": None} | more]}
    )


def delta(**fields: object) -> bytes:
    """An event of ``/v1/chat/completions``."""
    return event({"id": "chatcmpl-1", "model": "m", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]})


def usage(prompt: int = 8, completion: int = 3, cached: int | None = 0) -> bytes:
    details = None if cached is None else {"cached_tokens": cached}
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}
    return event({"choices": [], "usage": counts})


def chunk(*events: bytes) -> bytes:
    """One HTTP chunk."""
    body = b"".join(events)
    return b"%x\r\n%b\r\n" % (len(body), body)


@dataclass(slots=True)
class Reads:
    """A file that grows. Stamps are monotonic; ``skew_ns`` is where the real-time clock stands against them."""

    skew_ns: int = REAL
    stamped: bool = True
    records: list[bytes] = field(default_factory=list)

    def record(  # noqa: PLR0913  (the fields of a record)
        self,
        kind: Kind,
        number: int = 0,
        *,
        wire: bytes = NO_STAMP,
        user_ns: int = 0,
        floor_ns: int = 0,
        payload: bytes = b"",
    ) -> None:
        self.records.append(RECORD.pack(kind, number, wire, user_ns, floor_ns, len(payload)) + payload)

    def clock(self, at_ns: int, bracket_ns: int = 0) -> None:
        self.record(Kind.CLOCK, wire=self.wire(at_ns), user_ns=at_ns, floor_ns=bracket_ns)

    def sent(self, request: Request, at_ns: int, by_ns: int = 0, origin_ns: int = 0) -> None:
        self.record(
            Kind.SENT,
            request.number,
            user_ns=at_ns,
            floor_ns=by_ns or at_ns,
            payload=encode_sent(request, origin_ns=origin_ns),
        )

    def read(self, number: int, at_ns: int, data: bytes, *, lag_ns: int = 0, floor_ns: int = 0) -> None:
        wire = self.wire(at_ns) if self.stamped else NO_STAMP
        self.record(Kind.READ, number, wire=wire, user_ns=at_ns + lag_ns, floor_ns=floor_ns or at_ns, payload=data)

    def end(self, number: int, at_ns: int, error: str = "") -> None:
        self.record(Kind.END, number, user_ns=at_ns, payload=error.encode())

    def wire(self, at_ns: int) -> bytes:
        return TIMESPEC.pack(*divmod(at_ns + self.skew_ns, S))

    def raw(self) -> bytes:
        return encode_header(HEADER) + b"".join(self.records)

    def parsed(self, cut: Callable[[bytes], Sequence[bytes]] = lambda raw: (raw,)) -> Parsed:
        return parse(cut(self.raw()), read_usage)


T0 = 1_000 * MS
FIRST = T0 + 50 * MS
STEP = 10 * MS


def begun() -> Reads:
    """A file whose clocks were looked at once."""
    reads = Reads()
    reads.clock(T0 - MS)
    return reads


def stream(reads: Reads, number: int, parts: list[bytes], *, start_ns: int = T0, **plan: object) -> None:
    """Send a request, answer it with one part every 10 ms from 50 ms on, and end it with the last one."""
    reads.sent(planned(number, **plan), start_ns, start_ns + MS)
    for at, part in enumerate(parts):
        stamp = start_ns + 50 * MS + at * STEP
        reads.read(number, stamp, part, floor_ns=stamp - STEP // 2, lag_ns=2 * MS)
    reads.end(number, start_ns + 50 * MS + len(parts) * STEP)


def row_of(*parts: bytes, stamped: bool = True) -> Row:
    """The row of one request whose answer came in these reads."""
    reads = Reads(stamped=stamped)
    reads.clock(T0 - MS)
    stream(reads, 0, list(parts))
    reads.clock(T0 + 900 * MS)
    parsed = reads.parsed()
    (row,) = parsed.rows
    return row


def ticks(*positions: int) -> tuple[int, ...]:
    return tuple(FIRST + position * STEP for position in positions)


TAIL = (chunk(usage()), chunk(DONE) + LAST)
