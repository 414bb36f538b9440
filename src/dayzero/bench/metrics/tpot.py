"""Time per output token."""

from collections.abc import Sequence
from typing import ClassVar

from dayzero.bench.metrics.arrival import NS_PER_MS, first_is_unsure, unsure_by_ns
from dayzero.bench.metrics.interface import Metric
from dayzero.bench.metrics.usage import no_usage
from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided


class Tpot(Metric):
    """The time of one token after the first chunk, on average over one request."""

    name: ClassVar = "tpot_ms"
    formula: ClassVar = (
        "(last chunk with content - first chunk with content) / (completion tokens - mean tokens of a chunk)"
    )
    stamps: ClassVar = ("content_ns", "censored", "usage")

    def values(self, row: Row) -> tuple[float, ...]:
        """Give it, where there are two chunks and two tokens."""
        later = _later_tokens(row)
        return ((row.content_ns[-1] - row.content_ns[0]) / NS_PER_MS / later,) if later else ()

    def unsure(self, row: Row) -> frozenset[int]:
        """Name it unsure when the first arrival is known less well than 0.5 ms."""
        return first_is_unsure(row)

    def most(self, row: Row) -> float | None:
        """Give what it is if the first chunk came as early as it can have."""
        later = _later_tokens(row)
        if not later:
            return None
        return (row.content_ns[-1] - row.content_ns[0] + unsure_by_ns(row, 0)) / NS_PER_MS / later

    def refusal(self, rows: Sequence[Row]) -> Undecided | None:
        """Refuse rows without counts."""
        return no_usage(rows)


def _later_tokens(row: Row) -> float:
    """Say how many tokens came after the first chunk: of one token a chunk, all but the first."""
    chunks = len(row.content_ns)
    if row.usage is None or row.usage.completion_tokens <= 1 or chunks <= 1:
        return 0.0
    return row.usage.completion_tokens * (chunks - 1) / chunks
