"""What pairs of windows say: the analysis of a two-period crossover, its exact cross-check, and what it could have seen.

The unit is the pair, never the request: the requests of one window share its queue, its clocks and its temperature. Each
half of the pairs has its own order, so a difference between first and second windows (the slot) is estimated beside the
difference between the arms and taken out of the spread; that costs one degree of freedom, so ``P`` pairs have ``P - 2``.
No percentile bootstrap over pairs: with 4 to 8 of them it rejects 9 to 20 % of true nulls at a nominal 5 %
(``bench/windows_check.py`` shows it).
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtr, stdtr, stdtrit

from dayzero.bench.windows.model import Estimate, Interval, PairRatio

_POWER = 0.8
_EXACT_PAIRS = 20
_FLIPS = 100_000
_RESAMPLES = 1_999
_FEWEST_IN_AN_ORDER = 2
_MOST_PAIRS = 1_000
_TIE = 1e-12
_GRID = 400
_LARGEST_FACTOR = 100.0
_FACTOR_STEP = 1e-4


def estimate(pairs: Sequence[PairRatio], *, alpha: float, seed: int) -> Estimate:
    """Estimate the difference between the arms, and everything that is reported beside it.

    Args:
        pairs: As many of one order as of the other, at least four in all.
        alpha: Two-sided error.
        seed: Of the sign flips, where there are too many pairs to flip them all.
    """
    ratios = np.array([pair.log_ratio for pair in pairs])
    count = len(pairs)
    df = count - 2
    effect, slot, sd = (float(value) for value in _fitted(ratios, _signs(pairs)))
    error = sd / math.sqrt(count)
    return Estimate(
        effect=_around(effect, error, df, alpha),
        p=_two_sided(effect, error, df),
        p_sign_flips=sign_flip_p(ratios.tolist(), seed=seed),
        slot=_around(slot, error, df, alpha),
        sd=sd,
        minimum_effect=minimum_effect(sd, count, alpha=alpha),
    )


def minimum_effect(sd: float, pairs: int, *, alpha: float) -> float:
    """Say which difference so many pairs of this spread show 4 times in 5: ``(t(1 - alpha/2) + t(0.8)) sd / sqrt(P)``.

    Args:
        sd: Spread of a pair's log-ratio.
        pairs: How many there are to be.
        alpha: Two-sided error.
    """
    df = pairs - 2
    return float(stdtrit(df, 1 - alpha / 2) + stdtrit(df, _POWER)) * sd / math.sqrt(pairs)


def minimum_effect_before(sd: float, seen: int, pairs: int, *, alpha: float) -> float:
    """Say the same before the comparison, from a spread that a pilot of ``seen`` pairs showed.

    That spread is itself a guess on ``seen - 2`` degrees of freedom; taken at its word, it promises too much. Here the
    promise of 4 times in 5 is over both: ``k`` solves ``P(Z > t S - k S0) = 0.8`` for a standard normal ``Z`` and the two
    spreads ``S`` and ``S0`` over the true one, each chi over its root degrees of freedom.

    Args:
        sd: Spread of a pair's log-ratio in the pilot.
        seen: Pairs of the pilot.
        pairs: Pairs of the comparison.
        alpha: Two-sided error of the comparison.
    """
    return _factor_before(seen - 2, pairs - 2, alpha) * sd / math.sqrt(pairs)


@cache
def _factor_before(df_seen: int, df: int, alpha: float) -> float:
    critical = float(stdtrit(df, 1 - alpha / 2)) * _spreads(df)[:, None]
    pilot = _spreads(df_seen)[None, :]
    low, high = 0.0, _LARGEST_FACTOR
    while high - low > _FACTOR_STEP:
        middle = (low + high) / 2
        low, high = (middle, high) if float(ndtr(middle * pilot - critical).mean()) < _POWER else (low, middle)
    return high


def pairs_for(sd: float, effect: float, *, alpha: float) -> int | None:
    """Say how many pairs show a difference of ``effect`` 4 times in 5; ``None`` where a thousand do not."""
    enough = (pairs for pairs in range(4, _MOST_PAIRS + 1, 2) if minimum_effect(sd, pairs, alpha=alpha) <= effect)
    return next(enough, None)


def sign_flip_p(ratios: Sequence[float], *, seed: int) -> float:
    """Give the two-sided p of the mean when each pair's labels could as well have been the other way round.

    Exact, a multiple of ``2**-P``, up to 20 pairs; above that from 100,000 seeded draws. It knows no slot: where there is
    one it errs on the side of no difference.

    Args:
        ratios: One log-ratio a pair.
        seed: Of the draws.
    """
    given = np.asarray(ratios, dtype=np.float64)
    least = abs(float(given.sum())) - _TIE * float(np.abs(given).sum())
    if len(given) <= _EXACT_PAIRS:
        sums = np.zeros(1)
        for ratio in given:
            sums = np.concatenate((sums + ratio, sums - ratio))
        return float((np.abs(sums) >= least).sum()) / len(sums)
    draws = np.random.default_rng(seed)
    hits = sum(
        int((np.abs(draws.choice((-1.0, 1.0), size=(1_000, len(given))) @ given) >= least).sum())
        for _ in range(_FLIPS // 1_000)
    )
    return (hits + 1) / (_FLIPS + 1)


def holm(values: Sequence[float]) -> tuple[float, ...]:
    """Correct several p values for being several (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, largest = [0.0] * len(values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = largest
    return tuple(corrected)


def percentile_ratio(
    samples: Sequence[tuple[Sequence[float], Sequence[float]]],
    pairs: Sequence[PairRatio],
    percentile: float,
    *,
    alpha: float,
    seed: int,
) -> Interval:
    """Give the hierarchical studentised bootstrap's interval for the log-ratio of a percentile.

    Pairs are drawn anew, then the requests in each window of a drawn pair; each resample is divided by its own standard
    error, so that few pairs do not make the interval too narrow as a percentile bootstrap's is.

    Args:
        samples: For each pair, A's and B's values, one a request.
        pairs: The pairs, for their orders.
        percentile: 0 to 100.
        alpha: Two-sided error.
        seed: Of the draws.
    """
    draws = np.random.default_rng(seed)
    signs, count = _signs(pairs), len(pairs)

    def within(values: Sequence[float]) -> NDArray[np.float64]:
        given = np.asarray(values, dtype=np.float64)
        drawn = given[draws.integers(len(given), size=(_RESAMPLES, len(given)))]
        return np.log(np.percentile(drawn, percentile, axis=1))

    seen = np.array([math.log(np.percentile(b, percentile) / np.percentile(a, percentile)) for a, b in samples])
    resampled = np.array([within(b) - within(a) for a, b in samples])
    orders = (np.flatnonzero(signs > 0), np.flatnonzero(signs < 0))
    picked = np.concatenate(
        [order[draws.integers(len(order), size=(_RESAMPLES, len(order)))] for order in orders], axis=1
    )
    drawn = resampled[picked, draws.integers(_RESAMPLES, size=picked.shape)]
    effect, _, sd = _fitted(seen, signs)
    effects, _, spreads = _fitted(drawn, signs[picked])
    error, errors = float(sd) / math.sqrt(count), spreads / math.sqrt(count)
    whole = errors > 0
    if not whole.any():
        return Interval(value=float(effect), low=float(effect), high=float(effect))
    low, high = np.quantile((effects - effect)[whole] / errors[whole], (alpha / 2, 1 - alpha / 2))
    return Interval(value=float(effect), low=float(effect - high * error), high=float(effect - low * error))


def _fitted(ratios: NDArray[np.float64], signs: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Fit difference and slot to the log-ratios along the last axis; give both and the spread that is left."""
    effect, slot = ratios.mean(axis=-1, keepdims=True), (signs * ratios).mean(axis=-1, keepdims=True)
    left = ratios - effect - signs * slot
    spread = np.sqrt((left**2).sum(axis=-1) / (ratios.shape[-1] - 2))
    return effect[..., 0], slot[..., 0], spread


def _signs(pairs: Sequence[PairRatio]) -> NDArray[np.float64]:
    """Give +1 where B came second, so that a slower second slot shows as a slower B, and -1 where it came first."""
    signs = np.array([-1.0 if pair.b_first else 1.0 for pair in pairs])
    if len(pairs) < 2 * _FEWEST_IN_AN_ORDER or signs.sum():
        raise ValueError("pairs must come in both orders equally often, at least two of each")
    return signs


def _spreads(df: int) -> NDArray[np.float64]:
    """Give equally likely values of an estimated spread over the true one."""
    spreads: NDArray[np.float64] = np.sqrt(chdtri(df, (np.arange(_GRID) + 0.5) / _GRID) / df)
    return spreads


def _around(value: float, error: float, df: int, alpha: float) -> Interval:
    half = float(stdtrit(df, 1 - alpha / 2)) * error
    return Interval(value=value, low=value - half, high=value + half)


def _two_sided(value: float, error: float, df: int) -> float:
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return 2 * float(stdtr(df, -abs(value) / error))
