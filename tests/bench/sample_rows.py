"""Rows for tests: one request that went well, and what to change about it."""

from dataclasses import replace
from typing import Any

from dayzero.bench.model import Row, Usage

MS = 1_000_000

GOOD = Row(
    cell="c1",
    phase="measured",
    index=0,
    input_tokens=8,
    output_tokens=3,
    sent_ns=100 * MS,
    first_byte_ns=140 * MS,
    content_ns=(150 * MS, 160 * MS, 180 * MS),
    end_ns=190 * MS,
    status=200,
    usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=0),
    error="",
)


def row(**changes: Any) -> Row:
    return replace(GOOD, **changes)


def rows(count: int, **changes: Any) -> tuple[Row, ...]:
    """Good rows, one after the other without a pause."""
    step = GOOD.end_ns - GOOD.sent_ns
    return tuple(
        replace(
            GOOD,
            index=index,
            sent_ns=GOOD.sent_ns + index * step,
            first_byte_ns=GOOD.first_byte_ns + index * step,
            content_ns=tuple(stamp + index * step for stamp in GOOD.content_ns),
            end_ns=GOOD.end_ns + index * step,
            **changes,
        )
        for index in range(count)
    )
