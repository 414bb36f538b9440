"""Exact statistics of few trials: every probability is a ratio of whole numbers, so nothing is approximated or rounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import comb

ALPHA = Fraction(1, 20)
"""Declared level of every test here, and what an interval leaves out on both sides together (95 % confidence)."""

_STEPS = 1 << 24
"""An interval's ends are found on a grid of this many steps, and are rounded outwards."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, and between which rates the true one lies with 95 % confidence.

    Attributes:
        events: How often it happened.
        trials: In how many trials.
        low: Lower end of the exact interval.
        high: Upper end.
    """

    events: int
    trials: int
    low: float
    high: float

    def __str__(self) -> str:
        """Print ``0 of 5 (0.0 % to 52.2 %)``."""
        return f"{self.events} of {self.trials} ({100 * self.low:.1f} % to {100 * self.high:.1f} %)"


def rate(events: int, trials: int) -> Rate:
    """Give a rate with its Clopper-Pearson interval: the rates that neither binomial tail rejects at half of ``ALPHA``.

    Without a trial nothing is known, and the interval is everything.

    Args:
        events: How often it happened; 0 to ``trials``.
        trials: In how many trials.

    Raises:
        ValueError: There are more events than trials, or fewer than none.
    Source: C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404-413: low solves P(X >= x; p) = alpha/2, high solves
    P(X <= x; p) = alpha/2; both are found by bisection on the exact tail.
    """
    if not 0 <= events <= trials:
        raise ValueError(f"{events} events in {trials} trials")
    low = _lower_end(events, trials) if events else Fraction(0)
    high = 1 - _lower_end(trials - events, trials) if events < trials else Fraction(1)
    return Rate(events=events, trials=trials, low=float(low), high=float(high))


def exact_p(table: Sequence[tuple[int, int]]) -> Fraction:
    """Test whether the rate of an event is the same at every level: two-sided, all margins held.

    Sums the probabilities of all tables with the same margins that are no likelier than the one that was seen. Each table has
    the weight of the product of C(trials, events) over its levels, out of C(all trials, all events). With two levels it is
    Fisher's exact test, with more the Freeman-Halton extension.

    Args:
        table: (events, trials) of each level.

    Source: R. A. Fisher, The Design of Experiments (1935); G. H. Freeman, J. H. Halton, Biometrika 38 (1951) 141-149.
    """
    sizes = [trials for _, trials in table]
    seen = reduce(lambda weight, level: weight * comb(level[1], level[0]), table, 1)
    total = sum(events for events, _ in table)
    tables: dict[tuple[int, int], int] = {(0, 1): 1}  # (events so far, weight so far) -> how many tables have both
    for size in sizes:
        longer: dict[tuple[int, int], int] = {}
        for (events, weight), count in tables.items():
            for here in range(min(size, total - events) + 1):
                key = (events + here, weight * comb(size, here))
                longer[key] = longer.get(key, 0) + count
        tables = longer
    extreme = sum(weight * count for (events, weight), count in tables.items() if events == total and weight <= seen)
    return Fraction(extreme, comb(sum(sizes), total))


def power(first: Fraction, second: Fraction, repeats: int) -> Fraction:
    """Say how likely the two-sided exact test is to reach ``ALPHA`` when each of two levels is tried equally often.

    Every outcome of the two series is enumerated with its binomial probability.

    Args:
        first: True rate of the event at one level.
        second: True rate at the other.
        repeats: Trials at each level.
    """
    ones, others = _binomial(first, repeats), _binomial(second, repeats)
    reached = sum(
        ones[one] * others[total - one] for total in range(2 * repeats + 1) for one in _rejected(total, repeats)
    )
    return Fraction(reached, (first.denominator * second.denominator) ** repeats)


def _rejected(total: int, repeats: int) -> Sequence[int]:
    """List the counts at the first level for which the test reaches ``ALPHA``, given the events at both levels together.

    Tables are added from the least likely on; equally likely ones enter together, as the two-sided test has it.
    """
    counts = range(max(0, total - repeats), min(repeats, total) + 1)
    weights = {one: comb(repeats, one) * comb(repeats, total - one) for one in counts}
    limit = ALPHA * comb(2 * repeats, total)
    tail, rejected = 0, []
    for weight in sorted(set(weights.values())):
        alike = [one for one in counts if weights[one] == weight]
        tail += weight * len(alike)
        if tail >= limit:
            break
        rejected += alike
    return rejected


def _binomial(true_rate: Fraction, trials: int) -> list[int]:
    """Give the binomial probabilities of 0 to ``trials`` events, each times ``denominator ** trials``."""
    hit, miss = true_rate.numerator, true_rate.denominator - true_rate.numerator
    return [comb(trials, events) * hit**events * miss ** (trials - events) for events in range(trials + 1)]


def _lower_end(events: int, trials: int) -> Fraction:
    """Find the largest rate on the grid at which ``events`` or more have a probability of at most half of ``ALPHA``."""
    whole = _STEPS**trials
    limit = ALPHA / 2 * whole
    few = events <= trials - events
    counted = range(events) if few else range(events, trials + 1)
    below, above = 0, _STEPS
    while above - below > 1:
        middle = (below + above) // 2
        side = sum(comb(trials, k) * middle**k * (_STEPS - middle) ** (trials - k) for k in counted)
        if (whole - side if few else side) <= limit:
            below = middle
        else:
            above = middle
    return Fraction(below, _STEPS)
