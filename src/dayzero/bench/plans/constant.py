"""A constant rate: even distances."""

from collections.abc import Iterator
from itertools import count
from typing import Final

NS_PER_S: Final = 1_000_000_000


def even_counts() -> Iterator[int]:
    """Count requests: how many were expected before each, in billionths."""
    return count(0, NS_PER_S)


def constant_times(rate_per_s: float) -> Iterator[int]:
    """Give the times of requests at even distances, in nanoseconds; the first at once."""
    return (round(expected / rate_per_s) for expected in even_counts())
