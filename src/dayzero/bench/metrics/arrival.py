"""What is known of when a chunk with content arrived."""

from itertools import pairwise
from typing import Final

from dayzero.bench.model import Row

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000
WIDE_NS: Final = 500_000
"""A first arrival that is known less well than this enters no time to the first token."""


def unsure_by_ns(row: Row, position: int) -> int:
    """Say within how many nanoseconds the arrival of a chunk is known; 0 where the stamp is its own."""
    return next((row.content_ns[position] - earliest for at, earliest in row.censored if at == position), 0)


def first_is_unsure(row: Row) -> frozenset[int]:
    """Name the only value of a row unsure when its first content is known too badly."""
    return frozenset({0}) if row.content_ns and unsure_by_ns(row, 0) > WIDE_NS else frozenset()


def gaps_ms(row: Row) -> tuple[float, ...]:
    """Give the gaps between chunks with content, in order."""
    return tuple((later - earlier) / NS_PER_MS for earlier, later in pairwise(row.content_ns))


def unsure_gaps(row: Row) -> frozenset[int]:
    """Name the gaps that have an unsure arrival on either side."""
    last = len(row.content_ns) - 1
    ends = (gap for position, _ in row.censored for gap in (position - 1, position))
    return frozenset(gap for gap in ends if 0 <= gap < last)


def widest_gap_ms(row: Row) -> float | None:
    """Give the most that a gap can have been."""
    earliest = dict(row.censored)
    pairs = enumerate(pairwise(row.content_ns))
    return max(((later - earliest.get(at, earlier)) / NS_PER_MS for at, (earlier, later) in pairs), default=None)
