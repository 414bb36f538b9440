"""Time to the first token of the answer."""

from collections.abc import Sequence
from typing import ClassVar

from dayzero.bench.metrics.arrival import NS_PER_MS, WIDE_NS, unsure_by_ns
from dayzero.bench.metrics.interface import Metric
from dayzero.bench.model import Row
from dayzero.core.workload import Cell


class Ttfo(Metric):
    """From the request to its first content that is not reasoning: what a reader of the answer waits for."""

    name: ClassVar = "ttfo_ms"
    formula: ClassVar = "first chunk with content that is not reasoning - sent"
    stamps: ClassVar = ("sent_ns", "answer_ns", "censored")

    def values(self, row: Row) -> tuple[float, ...]:
        """Give it, where there is an answer."""
        return ((row.answer_ns - row.sent_ns) / NS_PER_MS,) if row.answer_ns else ()

    def unsure(self, row: Row) -> frozenset[int]:
        """Name it unsure when the answer's first arrival is known less well than 0.5 ms."""
        if row.answer_ns not in row.content_ns:
            return frozenset()
        # Reasoning comes first, so the answer begins after that many chunks; else it is the first one with its stamp.
        after_reasoning = row.content_ns[row.reasoning_chunks :][:1] == (row.answer_ns,)
        position = row.reasoning_chunks if after_reasoning else row.content_ns.index(row.answer_ns)
        return frozenset({0}) if unsure_by_ns(row, position) > WIDE_NS else frozenset()

    def applies(self, rows: Sequence[Row], cell: Cell) -> bool:  # noqa: ARG002  (see Metric)
        """Say whether there was any reasoning; without it this is the time to the first token."""
        return any(row.reasoning_chunks for row in rows)
