"""Tokens a second."""

from collections.abc import Sequence
from typing import ClassVar

from dayzero.bench.metrics.full_load import Span, achieved_in_flight, full_load
from dayzero.bench.metrics.interface import Figure, Rate
from dayzero.bench.metrics.usage import no_usage
from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell, ClosedLoop


class OutputRate(Rate):
    """How fast the server generates under this load."""

    name: ClassVar = "output_tok_s"
    unit: ClassVar = "tok/s"
    formula: ClassVar = "completion tokens that came in the time of full load / that time"
    stamps: ClassVar = ("sent_ns", "content_ns", "end_ns", "usage")

    def figure(self, rows: Sequence[Row], cell: Cell) -> Figure:  # noqa: ARG002  (see Rate)
        """Compute it."""
        return output_tok_s(rows)


class OutputRatePerUser(Rate):
    """How fast one user gets tokens."""

    name: ClassVar = "output_tok_s_per_user"
    unit: ClassVar = "tok/s"
    formula: ClassVar = "output_tok_s / streams; in an open loop / requests in flight on average"
    stamps: ClassVar = ("sent_ns", "content_ns", "end_ns", "usage")

    def figure(self, rows: Sequence[Row], cell: Cell) -> Figure:
        """Compute it."""
        closed = isinstance(cell.load, ClosedLoop)
        users = cell.concurrency if closed else achieved_in_flight(rows, 1)
        return output_tok_s_per_user(rows, users)


class PromptRate(Rate):
    """How fast the server takes prompts in."""

    name: ClassVar = "prompt_tok_s"
    unit: ClassVar = "tok/s"
    formula: ClassVar = (
        "prompt tokens, by the part of the wait for the first content in the time of full load / that time"
    )
    stamps: ClassVar = ("sent_ns", "content_ns", "end_ns", "usage")

    def figure(self, rows: Sequence[Row], cell: Cell) -> Figure:  # noqa: ARG002  (see Rate)
        """Compute it."""
        span = _counted(rows)
        if isinstance(span, Undecided):
            return span
        counted = (
            row.usage.prompt_tokens * span.part(row.sent_ns, row.content_ns[0])
            for row in span.rows
            if row.usage and row.content_ns
        )
        return sum(counted) / span.seconds


def output_tok_s(rows: Sequence[Row]) -> Figure:
    """Compute the output rate of a cell in tokens a second; see :class:`OutputRate`.

    Args:
        rows: Rows of the cell, both phases.
    """
    span = _counted(rows)
    if isinstance(span, Undecided):
        return span
    return sum(row.usage.completion_tokens * span.share(row) for row in span.rows if row.usage) / span.seconds


def output_tok_s_per_user(rows: Sequence[Row], users: float) -> Figure:
    """Compute the output rate of one user: the cell's rate over their number."""
    rate = output_tok_s(rows)
    if isinstance(rate, Undecided):
        return rate
    return rate / users if users > 0 else Undecided("no request was in flight")


def _counted(rows: Sequence[Row]) -> Span | Undecided:
    span = full_load(rows)
    if isinstance(span, Undecided):
        return span
    return no_usage(span.rows) or span
