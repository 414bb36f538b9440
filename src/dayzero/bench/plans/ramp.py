"""A ramp: the rate moves in a straight line from one value to another, and stays there."""

import math
from collections.abc import Iterator

from dayzero.bench.plans.constant import NS_PER_S, even_counts
from dayzero.bench.plans.poisson import random_counts
from dayzero.core.workload import Ramp


def ramp_times(ramp: Ramp, key: str) -> Iterator[int]:
    """Give the times of requests under a rising or falling rate, in nanoseconds.

    Args:
        ramp: The rate.
        key: Decides every draw.
    """
    counts = even_counts() if ramp.arrivals == "constant" else random_counts(key)
    return (round(_time_s(ramp, expected / NS_PER_S) * NS_PER_S) for expected in counts)


def _time_s(ramp: Ramp, expected: float) -> float:
    """Say when so many requests were expected: where the area under the rate is that number.

    The area up to t on the ramp is a t + (b - a) t^2 / (2 T); the root is written so that it stands for a = 0 and a = b too.
    """
    start, end, over = ramp.start_per_s, ramp.end_per_s, ramp.over_s
    on_ramp = (start + end) / 2 * over
    if expected > on_ramp:
        return over + (expected - on_ramp) / end
    if expected == 0:
        return 0.0
    slope = (end - start) / over
    return 2 * expected / (start + math.sqrt(max(start * start + 2 * slope * expected, 0.0)))
