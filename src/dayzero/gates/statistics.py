"""Bounds of means over prompts, their exact cross-check, and what a look at the data may spend.

The prompt is the unit everywhere: the places of one prompt share its text, its batch and, after a flip, its fate.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit

POWER = 0.8
_RESAMPLES = 3_999
_FLIPS = 20_000
_EXACT = 14
_NO_SPREAD = 1e-15
_TIE = 1e-12
_GRID = 1_001
_REACH = 8.0


def bounds(values: Sequence[float], levels: Sequence[float], *, seed: int) -> tuple[tuple[float, float], ...]:
    """Bound the mean of a prompt's value from below and above, each side by itself at each level.

    Each bound is the wider of two: Student's t, and the cluster bootstrap-t (Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, section 12.5), which follows the skew that a heavy tail gives to few prompts and the t interval does not.
    Values without any spread give themselves: no bound is divided by 0.

    Args:
        values: One a prompt, at least two.
        levels: One-sided confidences (0.95).
        seed: Of the resamples.
    """
    given = np.asarray(values, dtype=np.float64)
    value, error = float(given.mean()), _error(given)
    if error <= _NO_SPREAD:
        return tuple((value, value) for _ in levels)
    drawn = given[np.random.default_rng(seed).integers(len(given), size=(_RESAMPLES, len(given)))]
    errors = drawn.std(axis=1, ddof=1) / math.sqrt(len(given))
    whole = errors > _NO_SPREAD
    scores = (drawn.mean(axis=1)[whole] - value) / errors[whole]
    found = []
    for level in levels:
        t = float(stdtrit(len(given) - 1, level))
        small, large = (float(score) for score in np.quantile(scores, (1 - level, level)))
        found.append((value - max(t, large) * error, value + max(t, -small) * error))
    return tuple(found)


def student_bounds(values: Sequence[float], level: float) -> tuple[float, float]:
    """Bound the mean of a prompt's value by Student's t alone, each side by itself."""
    given = np.asarray(values, dtype=np.float64)
    half = float(stdtrit(len(given) - 1, level)) * _error(given)
    return float(given.mean()) - half, float(given.mean()) + half


def spread(values: Sequence[float]) -> float:
    """Give the standard deviation of a prompt's value."""
    return float(np.asarray(values, dtype=np.float64).std(ddof=1))


def percentile(values: Sequence[float], rank: float) -> float:
    """Give a percentile, 0 to 100, of the values."""
    return float(np.percentile(np.asarray(values, dtype=np.float64), rank))


def flip_p(values: Sequence[float], *, seed: int) -> float:
    """Give the one-sided p of a mean above 0 when each prompt's sign could as well have been the other.

    A prompt's excess changes its sign, and nothing else, where the labels of a control and a test capture are exchanged; so
    for servers that are the same this p is exact (Fisher's randomisation test). All signs up to 14 prompts, else 20,000 draws.

    Args:
        values: One a prompt.
        seed: Of the draws.
    """
    given = np.asarray(values, dtype=np.float64)
    least = float(given.sum()) - _TIE * float(np.abs(given).sum())
    if len(given) <= _EXACT:
        sums = np.zeros(1)
        for value in given:
            sums = np.concatenate((sums + value, sums - value))
        return float((sums >= least).mean())
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(_FLIPS, len(given)))
    return (int((signs @ given >= least).sum()) + 1) / (_FLIPS + 1)


def halves_p(values: Sequence[float]) -> float:
    """Give the two-sided p of Welch's t test between the first and the second half of the prompts."""
    given = np.asarray(values, dtype=np.float64)
    first, second = given[: len(given) // 2], given[len(given) // 2 :]
    parts = np.array([_error(first) ** 2, _error(second) ** 2])
    error, difference = math.sqrt(parts.sum()), abs(float(first.mean() - second.mean()))
    if error <= _NO_SPREAD:
        return 1.0 if difference <= _NO_SPREAD else 0.0
    df = float(parts.sum() ** 2 / (parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1)))
    return 2 * float(stdtr(df, -difference / error))


def minimum_excess(sd: float, prompts: int, *, alpha: float) -> float:
    """Say which excess so many prompts find above 0 4 times in 5: ``(t(1 - alpha) + t(0.8)) sd / sqrt(n)``."""
    df = prompts - 1
    return float(stdtrit(df, 1 - alpha) + stdtrit(df, POWER)) * sd / math.sqrt(prompts)


def prompts_for(sd: float, distance: float, *, alpha: float) -> int:
    """Say how many prompts put a bound beyond a distance from the mean 4 times in 5, by the normal approximation."""
    factor = float(ndtri(1 - alpha) + ndtri(POWER))
    return math.ceil((factor * sd / distance) ** 2)


def none_seen(places: int, *, alpha: float) -> float:
    """Bound a share of which no case was seen in so many places: ``1 - alpha ** (1 / n)``, about 3 / n at 0.05."""
    return -math.expm1(math.log(alpha) / places)


def share_bounds(share: float, places: int, *, level: float = 0.95) -> tuple[float, float]:
    """Bound a share of independent places, each side by itself (Clopper and Pearson); itself where their count is unknown."""
    if not places:
        return share, share
    cases = round(share * places)
    low = float(betaincinv(cases, places - cases + 1, 1 - level)) if cases else 0.0
    return low, float(betaincinv(cases + 1, places - cases, level)) if cases < places else 1.0


@cache
def spent(alpha: float, fractions: tuple[float, ...]) -> tuple[float, ...]:
    """Give the one-sided level that each look may use, so that all together err with ``alpha``.

    Lan and DeMets' spending function of the O'Brien-Fleming kind, ``2 - 2 Phi(z(alpha / 2) / sqrt(t))`` (Biometrika 70, 1983,
    659-663); the boundary of each look by the recursive integration of Armitage, McPherson and Rowe (J. R. Statist. Soc. A
    132, 1969, 235-244) over a Brownian motion; handed on as a level, which a t test then uses (Jennison and Turnbull, Group
    Sequential Methods, 2000, section 3.3).

    Args:
        alpha: Error over all looks.
        fractions: Part of the data that is in at each look, rising to 1.
    """
    total, levels = 0.0, []
    at, density, before = np.zeros(1), np.ones(1), 0.0
    for fraction in fractions:
        target = float(2 - 2 * ndtr(ndtri(1 - alpha / 2) / math.sqrt(fraction)))
        step = math.sqrt(fraction - before)
        bound = _bound(at, density, step, target - total)
        levels.append(float(ndtr(-bound / math.sqrt(fraction))))
        at, density = _carried(at, density, step, bound, -_REACH * math.sqrt(fraction))
        total, before = target, fraction
    return tuple(levels)


def _bound(at: NDArray[np.float64], density: NDArray[np.float64], step: float, spend: float) -> float:
    """Find the value that a motion crosses at this look, and at none before, as often as is to be spent."""
    low, high = -_REACH, _REACH
    for _ in range(60):
        middle = (low + high) / 2
        crossing = float((density * ndtr((at - middle) / step)).sum())
        low, high = (middle, high) if crossing > spend else (low, middle)
    return high


def _carried(
    at: NDArray[np.float64], density: NDArray[np.float64], step: float, bound: float, least: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Carry the motions that have not crossed on to this look: where they are, and how much weight is there."""
    cells = np.linspace(least, bound, _GRID)
    middles, width = (cells[1:] + cells[:-1]) / 2, cells[1] - cells[0]
    scores = (middles[:, None] - at[None, :]) / step
    weights = (np.exp(-(scores**2) / 2) / (step * math.sqrt(2 * math.pi))) @ density * width
    return middles, weights


def _error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
