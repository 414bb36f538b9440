"""Two arms on the same items, each item right or wrong: is there a difference, how large, and what could have been seen?"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist

_STEPS = 60  # of a bisection: far below what a float can tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The four kinds of paired items.

    Attributes:
        both, neither: Right in both arms, in none.
        only_a, only_b: Right in one arm alone: the discordant ones, all that a test can go by.
    """

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        """How many items."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def difference(self) -> float:
        """Share right in B less that in A."""
        return (self.only_b - self.only_a) / self.n

    @property
    def discordance(self) -> float:
        """Share of items that are right in one arm alone."""
        return (self.only_a + self.only_b) / self.n


def exact_p(table: Table) -> float:
    """Test by the discordant items alone, which are heads and tails of a fair coin where the arms are equal.

    Two-sided; McNemar's test in its exact, conservative form.
    """
    less, flips = min(table.only_a, table.only_b), table.only_a + table.only_b
    return min(1.0, 2 * sum(comb(flips, k) for k in range(less + 1)) / (1 << flips))


def mid_p(table: Table) -> float:
    """Count the observed split by half: less conservative, and near its nominal level.

    Source: Fagerland, Lydersen, Laake 2013, The McNemar test for binary matched-pairs data, BMC Medical Research Methodology
    13:91.
    """
    less, flips = min(table.only_a, table.only_b), table.only_a + table.only_b
    here = comb(flips, less) / (1 << flips)
    if table.only_a == table.only_b:
        return 1 - here / 2
    return 2 * sum(comb(flips, k) for k in range(less + 1)) / (1 << flips) - here


def interval(table: Table, level: float) -> tuple[float, float]:
    """Bound the difference by inverting the score test, so that it and its bounds never contradict each other.

    Args:
        table: The items; at least one.
        level: Two-sided confidence (0.9 for two one-sided tests at 5 %).

    Source: Tango 1998, Equivalence test and confidence interval for the difference in proportions for the paired-sample design,
    Statistics in Medicine 17:891.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    return (
        _root(lambda delta: _score(table, delta) <= z, -1.0, table.difference),
        _root(lambda delta: _score(table, delta) <= -z, table.difference, 1.0),
    )


def _score(table: Table, delta: float) -> float:
    """Give the score statistic of a true difference; it falls as the difference rises."""
    n, b, c = table.n, table.only_b, table.only_a
    linear = -b - c + (2 * n - b + c) * delta
    constant = -c * delta * (1 - delta)
    root = (sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
    variance = n * (2 * root + delta * (1 - delta))
    excess = b - c - n * delta
    if variance <= 0:
        return 0.0 if excess == 0 else float("inf") * excess
    return excess / sqrt(variance)


def _root(beyond: Callable[[float], bool], low: float, high: float) -> float:
    """Find where a condition turns from false to true."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2


def smallest_seen(n: int, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Say which true difference so many items show, so often; it cannot be larger than the discordance.

    Args:
        n: Items.
        discordance: Share of items that are right in one arm alone; where it is 0, at least one item is taken to be.
        alpha: Two-sided error of the test.
        power: How often it is shown.
    """
    share = max(discordance, 1 / n)
    return _root(lambda delta: items_needed(delta, share, alpha=alpha, power=power) <= n, 1e-9, share)


def items_needed(difference: float, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Say how many items show a true difference.

    Source: Connor 1987, Sample size for testing differences in proportions for the paired-sample design, Biometrics 43:207.
    """
    normal = NormalDist()
    spread = normal.inv_cdf(1 - alpha / 2) * sqrt(discordance)
    spread += normal.inv_cdf(power) * sqrt(max(0.0, discordance - difference**2))
    return (spread / difference) ** 2


def lowest_share(right: int, n: int, level: float) -> float:
    """Bound a share of right items from below, one-sided (Wilson)."""
    z = NormalDist().inv_cdf(level)
    share = right / n
    centre = share + z * z / (2 * n)
    return (centre - z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n)
