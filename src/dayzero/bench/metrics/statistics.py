"""Percentiles and means of a metric over rows.

Percentiles interpolate linearly between the two nearest order statistics: with the ``n`` values sorted and numbered from
0, the percentile ``p`` stands at position ``p / 100 * (n - 1)`` (definition 7 of Hyndman and Fan; numpy's default).

A percentile is given only where the sample can certify it. With ``n`` independent requests, the second largest value is
an upper bound of the true percentile ``p`` with confidence ``1 - P(Binomial(n, 1 - p / 100) <= 1)``; the smallest ``n``
for which that is at least 99 % is the minimum: 11 for p50, 64 for p90, 662 for p99 (the early-stopping rule of MLPerf
Inference's load generator for one overlatency query). Requests are counted, not gaps: gaps of one request are not independent.

A value whose arrivals are not known well is left out of percentiles and counted; with more than 5 % of them there are none.
"""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.bench.metrics.interface import Figure, Metric
from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided

STATISTICS: Final = ("p50", "p90", "p95", "p99", "p99.9", "mean")

_CONFIDENCE: Final = 0.99
_MOST_UNSURE: Final = 0.05
_HALF: Final = 0.5
_WHOLE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The values of one metric over some rows.

    Attributes:
        values: All that are known well, sorted.
        requests: How many requests gave at least one of them.
        mean: Their mean, or of all values where the metric telescopes; ``None`` without any.
        unsure: How many more are not known well.
    """

    values: Sequence[float]
    requests: int
    mean: float | None
    unsure: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One metric of one cell.

    Attributes:
        metric: Which one.
        requests: Requests that gave values.
        values: How many values they gave.
        unsure: How many values are left out because an arrival is not known well.
        left_out: How many requests that came whole give none because of how they came; see :meth:`Metric.leaves_out`.
        figures: (statistic, figure) for each of :data:`STATISTICS`, in that order.
    """

    metric: Metric
    requests: int
    values: int
    unsure: int
    left_out: int = 0
    figures: tuple[tuple[str, Figure], ...]


def percentile(ordered: Sequence[float], p: float) -> float:
    """Interpolate the percentile ``p`` (0 to 100) of sorted values; see the module for the definition."""
    position = p / _WHOLE * (len(ordered) - 1)
    low = math.floor(position)
    below, above = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    part, gap = position - low, above - below
    # From the nearer end, as numpy does, so that both give the same bits.
    return above - gap * (1 - part) if part >= _HALF else below + gap * part


def minimum_sample(p: float) -> int:
    """Say how many requests certify the percentile ``p`` (above 0, below 100); see the module for the rule."""
    over = 1 - p / _WHOLE
    few, enough = 1, 2
    while not _certifies(enough, over):
        few, enough = enough, enough * 2
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if _certifies(middle, over) else (middle, enough)
    return enough


def _certifies(size: int, over: float) -> bool:
    return (1 - over) ** size + size * over * (1 - over) ** (size - 1) <= 1 - _CONFIDENCE


def sample(metric: Metric, rows: Sequence[Row]) -> Sample:
    """Collect a metric's values; rows with an error give none."""
    known: list[float] = []
    doubtful: list[float] = []
    requests = 0
    for row in rows:
        if not row.ok:
            continue
        values, unsure = metric.values(row), metric.unsure(row) if row.censored else frozenset()
        if unsure:
            doubtful += (value for at, value in enumerate(values) if at in unsure)
            values = tuple(value for at, value in enumerate(values) if at not in unsure)
        known += values
        requests += bool(values)
    known.sort()
    counted = [*known, *doubtful] if metric.telescopes and doubtful else known
    return Sample(
        values=array("d", known),
        requests=requests,
        mean=math.fsum(counted) / len(counted) if counted else None,
        unsure=len(doubtful),
    )


def statistic(name: str, taken: Sample) -> Figure:
    """Compute one of :data:`STATISTICS`, or another percentile written ``pN``.

    Args:
        name: ``mean`` or ``p`` and a number above 0 and below 100.
        taken: The values.

    Returns:
        The figure, or why the sample carries none.
    """
    total = len(taken.values) + taken.unsure
    if name == "mean" and taken.mean is not None and taken.values:
        return taken.mean
    if taken.unsure > _MOST_UNSURE * total:
        return Undecided(f"{taken.unsure} of {total} values are not known well: one read held several arrivals")
    if not taken.values:
        return Undecided("no request gave a value")
    p = float(name.removeprefix("p"))
    needed = minimum_sample(p)
    if taken.requests < needed:
        return Undecided(f"n too small: {name} needs {needed} requests, there are {taken.requests}")
    return percentile(taken.values, p)


def summarise(metric: Metric, rows: Sequence[Row]) -> Summary:
    """Compute all statistics of one metric over the rows of one cell's measured phase."""
    refusal = metric.refusal(tuple(row for row in rows if row.ok))
    if refusal is not None:
        figures = tuple((name, refusal) for name in STATISTICS)
        return Summary(metric=metric, requests=0, values=0, unsure=0, figures=figures)
    taken = sample(metric, rows)
    return Summary(
        metric=metric,
        requests=taken.requests,
        values=len(taken.values),
        unsure=taken.unsure,
        left_out=sum(row.ok and metric.leaves_out(row) for row in rows),
        figures=tuple((name, statistic(name, taken)) for name in STATISTICS),
    )
