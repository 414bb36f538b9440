"""Gaps between chunks."""

from typing import ClassVar

from dayzero.bench.metrics.arrival import gaps_ms, unsure_gaps, widest_gap_ms
from dayzero.bench.metrics.interface import Metric
from dayzero.bench.model import Row


class ChunkGap(Metric):
    """The gaps between chunks, whatever number of tokens they hold."""

    name: ClassVar = "chunk_gap_ms"
    formula: ClassVar = "gaps between chunks with content, whatever number of tokens they hold; all gaps pooled"
    stamps: ClassVar = ("content_ns", "censored")
    telescopes: ClassVar = True

    def values(self, row: Row) -> tuple[float, ...]:
        """Give the gaps."""
        return gaps_ms(row)

    def unsure(self, row: Row) -> frozenset[int]:
        """Name the gaps beside an unsure arrival."""
        return unsure_gaps(row)

    def most(self, row: Row) -> float | None:
        """Give the widest that a gap can have been."""
        return widest_gap_ms(row)
