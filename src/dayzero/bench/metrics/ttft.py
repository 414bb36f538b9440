"""Time to the first token."""

from typing import ClassVar

from dayzero.bench.metrics.arrival import NS_PER_MS, first_is_unsure
from dayzero.bench.metrics.interface import Metric
from dayzero.bench.model import Row


class Ttft(Metric):
    """From the request to its first content, reasoning included."""

    name: ClassVar = "ttft_ms"
    formula: ClassVar = "first chunk with content - sent"
    stamps: ClassVar = ("sent_ns", "content_ns", "censored")

    def values(self, row: Row) -> tuple[float, ...]:
        """Give it, where there is content."""
        return ((row.content_ns[0] - row.sent_ns) / NS_PER_MS,) if row.content_ns else ()

    def unsure(self, row: Row) -> frozenset[int]:
        """Name it unsure when the first arrival is known less well than 0.5 ms."""
        return first_is_unsure(row)
