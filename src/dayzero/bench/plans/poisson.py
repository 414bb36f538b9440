"""A Poisson process: exponential gaps, the same on every machine for the same seed."""

import math
from collections.abc import Iterator
from itertools import accumulate, count

from dayzero.bench.plans.constant import NS_PER_S
from dayzero.bench.prompts import hashed_fraction


def random_counts(key: str) -> Iterator[int]:
    """Give how many requests were expected before each one of a Poisson process, in billionths.

    C libraries may differ in the last bit of a logarithm; whole billionths do not show it.
    """
    gaps = (round(-math.log1p(-hashed_fraction(f"{key}/{number}")) * NS_PER_S) for number in count())
    return accumulate(gaps)


def poisson_times(rate_per_s: float, key: str) -> Iterator[int]:
    """Give the times of requests that know nothing of each other, in nanoseconds.

    Args:
        rate_per_s: Requests per second on average.
        key: Decides every draw.
    """
    return (round(expected / rate_per_s) for expected in random_counts(key))
