"""Say how far off a value may be: from repeats of the same shape, and from what interpolation got wrong where the answer is known.

All errors are absolute natural logarithms of a ratio, so that twice as slow and twice as fast are equally wrong.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

Points: TypeAlias = Sequence[tuple[int, float]]
"""Size and latency in microseconds, by rising size, each size once."""

COVERAGE = 0.9
FALLBACK_NOISE = (
    0.04  # the 90th percentile over all repeats in aiconfigurator-core 0.12.0, where a lane has too few of its own
)
_ENOUGH = 20
_GAPS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)  # octaves; upper ends of classes, the last one is open


@dataclass(frozen=True, slots=True)
class Residual:
    """What interpolation over a gap, in octaves, got wrong at a size that was measured."""

    gap: float
    error: float


def interpolate(low: tuple[int, float], high: tuple[int, float], size: int) -> float:
    """Give the latency at a size between two, on the straight line between the logarithms."""
    weight = math.log(size / low[0]) / math.log(high[0] / low[0])
    return math.exp(math.log(low[1]) * (1 - weight) + math.log(high[1]) * weight)


def neighbours(points: Points, size: int) -> tuple[tuple[int, float], tuple[int, float]] | None:
    """Give the two points around a size; ``None`` where it lies outside, or where a size is not positive."""
    at = bisect_left(points, (size, 0.0))
    if at == 0 or at == len(points) or points[at - 1][0] <= 0:
        return None
    return points[at - 1], points[at]


def residuals(points: Points) -> Iterable[Residual]:
    """Leave each inner point out once, and interpolate over it."""
    for low, left_out, high in zip(points, points[1:], points[2:], strict=False):
        if low[0] > 0:
            error = abs(math.log(interpolate(low, high, left_out[0]) / left_out[1]))
            yield Residual(math.log2(high[0] / low[0]), error)


def noise(repeats: Iterable[Sequence[float]]) -> float:
    """Give the 90th percentile of what repeats of a shape differ from their median; :data:`FALLBACK_NOISE` where too few are known.

    Args:
        repeats: Latencies of each shape.
    """
    errors = [
        abs(math.log(latency / median(latencies)))
        for latencies in repeats
        if len(latencies) > 1
        for latency in latencies
    ]
    return quantile(errors) if len(errors) >= _ENOUGH else FALLBACK_NOISE


def quantile(errors: Sequence[float]) -> float:
    """Give the error that the next one will not exceed in nine of ten cases, were it drawn like these: the conformal one.

    Args:
        errors: At least one.
    """
    rank = math.ceil((len(errors) + 1) * COVERAGE)
    return sorted(errors)[min(rank, len(errors)) - 1]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What interpolation gets wrong in a lane: by class of gap a 90 % bound, and over how many residuals."""

    classes: Mapping[int, tuple[float, int]]

    def bound(self, gap: float) -> tuple[float, int] | None:
        """Give the bound for a gap in octaves and its residuals: those of its class, else of the next wider one with 20.

        A wide gap bounds a narrow one, never the other way: where only narrower ones are known there is no bound.
        """
        return next((self.classes[c] for c in range(_class(gap), len(_GAPS) + 1) if c in self.classes), None)


def calibrate(found: Iterable[Residual]) -> Calibration:
    """Sort residuals by gap and bound each class that has at least 20."""
    errors: dict[int, list[float]] = {}
    for one in found:
        errors.setdefault(_class(one.gap), []).append(one.error)
    return Calibration({c: (quantile(listed), len(listed)) for c, listed in errors.items() if len(listed) >= _ENOUGH})


def _class(gap: float) -> int:
    return bisect_left(_GAPS, gap - 1e-9)
