"""Rows for tests: one request that went well, and what to change about it."""

from dataclasses import replace
from typing import Any

from dayzero.bench.model import ClientLoad, Environment, Row, Usage
from dayzero.core.workload import Cell

MS = 1_000_000

GOOD = Row(
    number=0,
    cell="c1",
    phase="measured",
    index=0,
    input_tokens=8,
    output_tokens=3,
    due_ns=100 * MS,
    sent_ns=100 * MS,
    sent_by_ns=100 * MS,
    first_byte_ns=140 * MS,
    first_event_ns=150 * MS,
    content_ns=(150 * MS, 160 * MS, 180 * MS),
    answer_ns=150 * MS,
    censored=(),
    end_ns=190 * MS,
    lag_ns=100_000,
    new_connection=False,
    status=200,
    usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=0),
    error="",
)

CELL = Cell(name="c1", concurrency=1, requests=20, warmup_requests=1, input_tokens=8, output_tokens=3)

QUIET = Environment(
    client="dayzero test", client_sha256="0" * 64, stamps="kernel", cores=2, load_before=0.5, load_after=0.75
)

CHEAP = ClientLoad(
    lag_ms=(0.1,),
    window_s=10.0,
    cpu_s=0.5,
    waited_s=0.05,
    total_cpu_s=1.0,
    memory_bytes=50_000_000,
    connections=1,
    clock_moved_ns=0,
)


def row(**changes: Any) -> Row:
    return replace(GOOD, **changes)


def shifted(original: Row, by_ns: int, **changes: Any) -> Row:
    """The same request, later."""
    moved: dict[str, Any] = {
        name: getattr(original, name) + by_ns
        for name in ("due_ns", "sent_ns", "sent_by_ns", "first_byte_ns", "first_event_ns", "answer_ns", "end_ns")
    }
    moved["content_ns"] = tuple(stamp + by_ns for stamp in original.content_ns)
    moved["censored"] = tuple((position, earliest + by_ns) for position, earliest in original.censored)
    return replace(original, **(moved | changes))


def rows(count: int, **changes: Any) -> tuple[Row, ...]:
    """Good rows, one after the other without a pause."""
    step = GOOD.end_ns - GOOD.sent_ns
    return tuple(shifted(GOOD, index * step, **({"number": index, "index": index} | changes)) for index in range(count))
