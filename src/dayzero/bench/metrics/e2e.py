"""Time of a whole request."""

from typing import ClassVar

from dayzero.bench.metrics.arrival import NS_PER_MS
from dayzero.bench.metrics.interface import Metric
from dayzero.bench.model import Row


class E2e(Metric):
    """From the request to the end of its response."""

    name: ClassVar = "e2e_ms"
    formula: ClassVar = "response complete - sent"
    stamps: ClassVar = ("sent_ns", "end_ns")

    def values(self, row: Row) -> tuple[float, ...]:
        """Give it."""
        return ((row.end_ns - row.sent_ns) / NS_PER_MS,)
