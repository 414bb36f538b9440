"""Inter-token latency."""

from collections.abc import Sequence
from typing import ClassVar, Final

from dayzero.bench.metrics.arrival import gaps_ms, unsure_gaps, widest_gap_ms
from dayzero.bench.metrics.interface import Metric
from dayzero.bench.metrics.usage import no_usage
from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided

_ONE_TOKEN_A_CHUNK: Final = 0.99
_MOST_MERGED: Final = 0.05  # of the requests: they give no gaps, and a stall is where chunks merge


class Itl(Metric):
    """The gaps between tokens, only where each chunk is one."""

    name: ClassVar = "itl_ms"
    formula: ClassVar = (
        "gaps between chunks with content, where each chunk is one token; all gaps of all requests pooled"
    )
    stamps: ClassVar = ("content_ns", "censored", "usage")
    telescopes: ClassVar = True

    def values(self, row: Row) -> tuple[float, ...]:
        """Give the gaps of a request that has as many chunks as tokens."""
        return gaps_ms(row) if row.usage is not None and not self.leaves_out(row) else ()

    def leaves_out(self, row: Row) -> bool:
        """Leave out a request whose chunks are not one token each."""
        return row.usage is not None and row.usage.completion_tokens != len(row.content_ns)

    def unsure(self, row: Row) -> frozenset[int]:
        """Name the gaps beside an unsure arrival."""
        return unsure_gaps(row)

    def most(self, row: Row) -> float | None:
        """Give the widest that a gap can have been."""
        return widest_gap_ms(row) if self.values(row) else None

    def refusal(self, rows: Sequence[Row]) -> Undecided | None:
        """Refuse where chunks are less than 99 % of the tokens, or more than them, or not the tokens in over 5 % of requests."""
        chunks = sum(len(row.content_ns) for row in rows)
        tokens = sum(row.usage.completion_tokens for row in rows if row.usage)
        if tokens and not _ONE_TOKEN_A_CHUNK <= chunks / tokens <= 1:
            silent = no_usage(rows)
            several = f"{tokens} tokens came in {chunks} chunks: a gap between chunks is not a gap between tokens"
            return silent or Undecided(several)
        counted = [row for row in rows if row.usage]
        merged = sum(map(self.leaves_out, counted))
        if merged > _MOST_MERGED * len(counted):
            return Undecided(f"in {merged} of {len(counted)} requests a chunk holds several tokens, or none")
        return no_usage(rows)
