"""Was the server the same at the end as at the beginning?

The measured phase is cut into 15 blocks; the first five are held against the last five. A difference counts only where it is
both large (the means differ by more than a share) and certain: Student's t of the two times five blocks, with 8 degrees of
freedom, beyond its two-sided 0.1 % point. Blocks and not requests, because requests of one moment are not independent.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from dayzero.bench.metrics import TTFT, percentile
from dayzero.bench.metrics.full_load import full_load
from dayzero.bench.model import Row
from dayzero.bench.rule import CellCase, CellRule, Finding, broken, kept, untold
from dayzero.core.verdict import Undecided
from dayzero.core.workload import ClosedLoop, Constant, Poisson

_BLOCKS: Final = 15
_THIRD: Final = 5
_HALF: Final = 50
_FEWEST: Final = 3  # requests of a block
_T_999: Final = 5.041  # Student's t, 8 degrees of freedom, two-sided 0.1 %
_TTFT_SHARE: Final = 0.50  # streams of a closed loop fall in and out of step, and the first token with them
_RATE_SHARE: Final = 0.10


def moved(blocks: Sequence[float], share: float) -> float | None:
    """Say by which factor the last third differs from the first; ``None`` where that may be chance or is too small.

    Args:
        blocks: One value above 0 for each of the 15 blocks, in order of time.
        share: How large a difference has to be (0.1: a tenth, either way).
    """
    first, last = ([math.log(value) for value in part] for part in (blocks[:_THIRD], blocks[-_THIRD:]))
    apart = _mean(last) - _mean(first)
    spread = math.sqrt((_variance(first) + _variance(last)) / _THIRD)
    if abs(apart) <= math.log1p(share) or abs(apart) <= _T_999 * spread:
        return None
    return math.exp(apart)


def ttft_blocks(measured: Sequence[Row]) -> tuple[float, ...]:
    """Give the median time to the first token of each block of requests, in the order in which they were sent."""
    ordered = sorted((row for row in measured if row.ok and row.content_ns), key=lambda row: row.sent_ns)
    values = [value for row in ordered for value in TTFT.values(row)]
    cuts = [len(values) * block // _BLOCKS for block in range(_BLOCKS + 1)]
    return tuple(percentile(sorted(values[start:end]), _HALF) for start, end in pairwise(cuts))


def rate_blocks(rows: Sequence[Row]) -> tuple[float, ...]:
    """Give the chunks that came in each of 15 equal parts of the time under full load; empty where there is no such time."""
    span = full_load(rows)
    if isinstance(span, Undecided) or span.with_tail:
        return ()
    width = (span.end_ns - span.start_ns) / _BLOCKS
    edges = [span.start_ns + 1 + block * width for block in range(_BLOCKS)]
    counts = [0] * _BLOCKS
    for row in span.rows:
        stamps = tuple(row.content_ns)
        cuts = [*(bisect_left(stamps, edge) for edge in edges), bisect_right(stamps, span.end_ns)]
        counts = [count + end - begin for count, (begin, end) in zip(counts, pairwise(cuts), strict=True)]
    return tuple(map(float, counts)) if all(counts) else ()


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    middle = _mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _steady(
    what: str, share: float, blocks_of: Callable[[CellCase], tuple[float, ...]]
) -> Callable[[CellCase], Finding | None]:
    def check(case: CellCase) -> Finding | None:
        if not isinstance(case.cell.load, ClosedLoop | Constant | Poisson):
            return None
        if len(case.whole) < _BLOCKS * _FEWEST:
            return untold(
                f"{_BLOCKS * _FEWEST} requests tell whether the server was steady, there are {len(case.whole)}"
            )
        if case.hole:
            return untold(case.hole.reason)
        blocks = blocks_of(case)
        if not blocks or min(blocks) <= 0:
            return untold("the time under full load is too short to tell whether the server was steady")
        factor = moved(blocks, share)
        if factor is None:
            return kept(f"x {_mean(blocks[-_THIRD:]) / _mean(blocks[:_THIRD]):.2f}")
        return broken(
            f"x {factor:.2f}",
            f"the server was not steady: {what} of the last third is {factor:.2f} times that of the first",
        )

    return check


STEADY_TTFT: Final = CellRule(
    id="steady-ttft",
    sentence="The time to the first token is the same at the end as at the beginning.",
    bound="no certain difference of more than 50 % between the first and the last third",
    check=_steady("the time to the first token", _TTFT_SHARE, lambda case: ttft_blocks(case.measured)),
)
STEADY_RATE: Final = CellRule(
    id="steady-rate",
    sentence="The rate is the same at the end as at the beginning.",
    bound="no certain difference of more than 10 % between the first and the last third",
    check=_steady("the rate", _RATE_SHARE, lambda case: rate_blocks(case.rows)),
)
