"""The definitions: each metric with its unit, its formula and the stamps that enter it. Nothing else computes a figure.

Percentiles interpolate linearly between the two nearest order statistics: with the ``n`` values sorted and numbered from
0, the percentile ``p`` stands at position ``p / 100 * (n - 1)`` (definition 7 of Hyndman and Fan; numpy's default).

A percentile is given only where the sample can certify it. With ``n`` independent requests, the second largest value is
an upper bound of the true percentile ``p`` with confidence ``1 - P(Binomial(n, 1 - p / 100) <= 1)``; the smallest ``n``
for which that is at least 99 % is the minimum: 11 for p50, 64 for p90, 662 for p99 (the early-stopping rule of MLPerf
Inference's load generator for one overlatency query). Requests are counted, not gaps: gaps of one request are not independent.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided

Figure: TypeAlias = float | Undecided

NO_USAGE = "the server reports no usage: token rates are undecided"
STATISTICS = ("p50", "p90", "p99", "mean")

_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000
_CONFIDENCE = 0.99
_ONE_TOKEN_A_CHUNK = 0.99
_HALF = 0.5
_WHOLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One latency metric.

    Attributes:
        name: Its name, unit at the end.
        unit: Its unit.
        formula: How one value comes out of one row, in words.
        stamps: The fields of a row that enter.
        values: The values of one row that came whole; empty where the row has none.
        refusal: Why these rows together carry no such figure; ``None`` when they do.
    """

    name: str
    unit: str
    formula: str
    stamps: tuple[str, ...]
    values: Callable[[Row], tuple[float, ...]]
    refusal: Callable[[Sequence[Row]], Undecided | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The values of one metric over some rows.

    Attributes:
        values: All values, sorted.
        requests: How many requests gave at least one.
    """

    values: tuple[float, ...]
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One metric of one cell.

    Attributes:
        metric: Which one.
        requests: Requests that gave values.
        values: How many values they gave.
        figures: (statistic, figure) for each of :data:`STATISTICS`, in that order.
    """

    metric: Metric
    requests: int
    values: int
    figures: tuple[tuple[str, Figure], ...]


def _never(_rows: Sequence[Row]) -> Undecided | None:
    return None


def _ttft(row: Row) -> tuple[float, ...]:
    return ((row.content_ns[0] - row.sent_ns) / _NS_PER_MS,) if row.content_ns else ()


def _chunk_gaps(row: Row) -> tuple[float, ...]:
    return tuple((later - earlier) / _NS_PER_MS for earlier, later in pairwise(row.content_ns))


def _itl(row: Row) -> tuple[float, ...]:
    exact = row.usage is not None and row.usage.completion_tokens == len(row.content_ns)
    return _chunk_gaps(row) if exact else ()


def _itl_refusal(rows: Sequence[Row]) -> Undecided | None:
    chunks = sum(len(row.content_ns) for row in rows)
    tokens = sum(row.usage.completion_tokens for row in rows if row.usage)
    if any(row.usage is None for row in rows):
        return Undecided(NO_USAGE)
    if tokens and not _ONE_TOKEN_A_CHUNK <= chunks / tokens <= 1:
        return Undecided(f"{tokens} tokens came in {chunks} chunks: a gap between chunks is not a gap between tokens")
    return None


def _tpot(row: Row) -> tuple[float, ...]:
    chunks = len(row.content_ns)
    if row.usage is None or row.usage.completion_tokens <= 1 or chunks <= 1:
        return ()
    # The first chunk's own tokens came with it; of one token a chunk this leaves all tokens but the first.
    later_tokens = row.usage.completion_tokens * (chunks - 1) / chunks
    return ((row.content_ns[-1] - row.content_ns[0]) / _NS_PER_MS / later_tokens,)


def _usage_refusal(rows: Sequence[Row]) -> Undecided | None:
    return Undecided(NO_USAGE) if any(row.usage is None for row in rows) else None


def _e2e(row: Row) -> tuple[float, ...]:
    return ((row.end_ns - row.sent_ns) / _NS_PER_MS,)


TTFT = Metric(
    name="ttft_ms",
    unit="ms",
    formula="first chunk with text - sent",
    stamps=("sent_ns", "content_ns"),
    values=_ttft,
    refusal=_never,
)
ITL = Metric(
    name="itl_ms",
    unit="ms",
    formula="gaps between chunks with text, where each chunk is one token; all gaps of all requests pooled",
    stamps=("content_ns", "usage"),
    values=_itl,
    refusal=_itl_refusal,
)
CHUNK_GAP = Metric(
    name="chunk_gap_ms",
    unit="ms",
    formula="gaps between chunks with text, whatever number of tokens they hold; all gaps of all requests pooled",
    stamps=("content_ns",),
    values=_chunk_gaps,
    refusal=_never,
)
TPOT = Metric(
    name="tpot_ms",
    unit="ms",
    formula="(last chunk with text - first chunk with text) / (completion tokens - mean tokens of a chunk)",
    stamps=("content_ns", "usage"),
    values=_tpot,
    refusal=_usage_refusal,
)
E2E = Metric(
    name="e2e_ms",
    unit="ms",
    formula="response complete - sent",
    stamps=("sent_ns", "end_ns"),
    values=_e2e,
    refusal=_never,
)
METRICS = (TTFT, ITL, CHUNK_GAP, TPOT, E2E)


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
    size = 2
    while (1 - over) ** size + size * over * (1 - over) ** (size - 1) > 1 - _CONFIDENCE:
        size += 1
    return size


def sample(metric: Metric, rows: Sequence[Row]) -> Sample:
    """Collect a metric's values; rows with an error give none."""
    by_row = tuple(metric.values(row) for row in rows if row.ok)
    return Sample(values=tuple(sorted(value for values in by_row for value in values)), requests=sum(map(bool, by_row)))


def statistic(name: str, taken: Sample) -> Figure:
    """Compute one of :data:`STATISTICS`, or another percentile written ``pN``.

    Args:
        name: ``mean`` or ``p`` and a number above 0 and below 100.
        taken: The values.

    Returns:
        The figure, or why the sample carries none.
    """
    if not taken.values:
        return Undecided("no request gave a value")
    if name == "mean":
        return math.fsum(taken.values) / len(taken.values)
    p = float(name.removeprefix("p"))
    needed = minimum_sample(p)
    if taken.requests < needed:
        return Undecided(f"n too small: {name} needs {needed} requests, there are {taken.requests}")
    return percentile(taken.values, p)


def summarise(metric: Metric, rows: Sequence[Row]) -> Summary:
    """Compute all statistics of one metric over the rows of one cell's measured phase."""
    refusal = metric.refusal(tuple(row for row in rows if row.ok))
    if refusal is not None:
        return Summary(metric=metric, requests=0, values=0, figures=tuple((name, refusal) for name in STATISTICS))
    taken = sample(metric, rows)
    return Summary(
        metric=metric,
        requests=taken.requests,
        values=len(taken.values),
        figures=tuple((name, statistic(name, taken)) for name in STATISTICS),
    )


def output_tok_s(rows: Sequence[Row]) -> Figure:
    """Compute the output rate of a cell in tokens a second.

    Completion tokens that the server reports for requests that came whole, over the time from the first request sent to
    the last response complete, failed requests included in that time.
    """
    whole = tuple(row for row in rows if row.ok)
    if not whole:
        return Undecided("no request came whole")
    if any(row.usage is None for row in whole):
        return Undecided(NO_USAGE)
    sent = min(row.sent_ns for row in rows if row.sent_ns)
    elapsed_s = (max(row.end_ns for row in rows) - sent) / _NS_PER_S
    tokens = sum(row.usage.completion_tokens for row in whole if row.usage)
    return (
        tokens / elapsed_s
        if elapsed_s > 0
        else Undecided("no time passed between the first request and the last answer")
    )


def output_tok_s_per_user(rows: Sequence[Row], concurrency: int) -> Figure:
    """Compute the output rate of one stream: the cell's rate over its number of streams."""
    rate = output_tok_s(rows)
    return rate if isinstance(rate, Undecided) else rate / concurrency
