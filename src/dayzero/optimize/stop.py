"""When may a trial end early? An interval for its speed over the best one's that holds at every look, block by block.

The measured requests of a trial are cut into blocks of equal size. Every trial sends the same requests in the same order, so
block ``k`` of one trial is paired with block ``k`` of another: the value of a pair is the logarithm of the ratio of their
speeds, in answers a second. Over these values stands Student's t with a Gaussian mixture over the standardised effect (Lai
1976): for ``n`` values with mean ``m`` and sum of squares ``S`` around it,

    M(d) = sqrt(c / (n + c)) * (V / (V - (n d)^2 / (n + c)))^(n / 2),   V = S + n d^2

is a test martingale for a true mean that lies ``d`` away from ``m``, whatever the spread. By Ville's inequality it
ever reaches ``1 / alpha`` with a probability of at most ``alpha``, so the set of means where it has not is an interval that
holds at all looks together. A trial ends when the whole interval lies below ``ln(1 - margin)``: a trial that is not worse
than that is ended with a probability of at most ``alpha``, however often it is looked at.

That is a bound over the blocks of one pair of trials. What moves a whole trial (its start, the machine's state then) is in no
block; the margin is there for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dayzero.optimize.model import Interval

MOST_BLOCKS: Final = 12
FEWEST_BLOCKS: Final = 4
_FEWEST_IN_A_BLOCK: Final = 2
_MIXTURE: Final = 0.1  # c above: small, as a hopeless trial lies many spreads away; any fixed value keeps the bound


@dataclass(frozen=True, slots=True)
class Rule:
    """When a trial may end early.

    Attributes:
        margin: Share by which it has to be worse than the best one, at least; 1 for never.
        alpha: How often one that is not is ended, at most.
    """

    margin: float = 0.05
    alpha: float = 0.05


def boundaries(requests: int) -> tuple[int, ...]:
    """Say after how many measured answers each block ends; nothing where there are too few to compare."""
    blocks = min(MOST_BLOCKS, requests // _FEWEST_IN_A_BLOCK)
    if blocks < FEWEST_BLOCKS:
        return ()
    return tuple(round(requests * number / blocks) for number in range(1, blocks + 1))


def speeds(ends_s: Sequence[float], warmup: int, bounds: Sequence[int]) -> tuple[float, ...]:
    """Give the speed of each block, in answers a second; a block without length ends the list.

    Args:
        ends_s: When each answer of the cell came, warm-up included, in order.
        warmup: How many of them are warm-up.
        bounds: After how many measured answers each block ends.
    """
    found: list[float] = []
    last_count, last_s = 0, ends_s[warmup - 1] if 0 < warmup <= len(ends_s) else 0.0
    for count in bounds:
        if warmup + count > len(ends_s):
            break
        at_s = ends_s[warmup + count - 1]
        if at_s <= last_s:
            break
        found.append((count - last_count) / (at_s - last_s))
        last_count, last_s = count, at_s
    return tuple(found)


def interval(values: Sequence[float], alpha: float) -> Interval:
    """Give the mean of values with an interval that holds at every number of them at once.

    Args:
        values: Independent, of one mean and spread.
        alpha: How often the interval misses the mean at any look, at most.
    """
    count = len(values)
    if not count:
        return Interval(value=0.0, low=-math.inf, high=math.inf)
    mean = math.fsum(values) / count
    squares = math.fsum((value - mean) ** 2 for value in values)
    reach = (math.sqrt((count + _MIXTURE) / _MIXTURE) / alpha) ** (2 / count)
    left = count * count / (count + _MIXTURE) - count * (1 - 1 / reach)
    half = math.sqrt(squares * (1 - 1 / reach) / left) if left > 0 else math.inf
    return Interval(value=mean, low=mean - half, high=mean + half)


def ratio(blocks: Sequence[float], against: Sequence[float], alpha: float, *, shift: float = 0.0) -> Interval:
    """Give the logarithm of one trial's speed over another's, from the blocks that both have.

    Args:
        blocks: Speeds of the one.
        against: Speeds of the other.
        alpha: As of :func:`interval`.
        shift: Added to every value: the logarithm by which the machine has moved between the two.
    """
    pairs = zip(blocks, against, strict=False)
    return interval([math.log(one / other) + shift for one, other in pairs], alpha)


@dataclass(slots=True)
class Watch:
    """Looks at a trial while it runs. It is told how many answers have come, and says when that is enough.

    Attributes:
        rule: When it may end.
        best: Speeds of the best trial's blocks; empty where there is none yet.
        warmup: Answers before the first measured one.
        bounds: After how many measured answers each block ends.
        shift: As of :func:`ratio`.
    """

    rule: Rule
    best: tuple[float, ...]
    warmup: int
    bounds: tuple[int, ...]
    shift: float = 0.0
    _seen: list[tuple[int, float]] = field(default_factory=list)
    _ends: dict[int, float] = field(default_factory=dict)

    def see(self, done: int, now_s: float) -> Interval | None:
        """Learn how many answers have come; gives the interval that ends the trial, ``None`` while it goes on.

        Args:
            done: Answers of the cell so far, warm-up included.
            now_s: When that was seen, on any clock.
        """
        if not self.best or self.rule.margin >= 1:
            return None
        if self._seen and done < self._seen[-1][0]:  # the cell is measured a second time
            self._seen.clear()
            self._ends.clear()
        earlier = self._seen[-1] if self._seen else (0, now_s)
        self._seen.append((done, now_s))
        looked = False
        for count in (0, *self.bounds):
            if earlier[0] < self.warmup + count <= done or (count == 0 == self.warmup and not self._ends):
                share = (self.warmup + count - earlier[0]) / max(done - earlier[0], 1)
                self._ends[count] = earlier[1] + share * (now_s - earlier[1])
                looked = looked or count > 0
        if not looked:
            return None
        found = ratio(self.speeds, self.best, self.rule.alpha, shift=self.shift)
        return found if found.high < math.log1p(-self.rule.margin) else None

    def sentence(self, found: Interval) -> str:
        """Word why the trial ends."""
        return (
            f"after {len(self.speeds)} of {len(self.bounds)} blocks it is {math.expm1(found.value):+.1%} "
            f"[{math.expm1(found.low):+.1%}, {math.expm1(found.high):+.1%}] against the best one, "
            f"and {-self.rule.margin:+.1%} ends it"
        )

    @property
    def speeds(self) -> tuple[float, ...]:
        """Speeds of the blocks that are complete."""
        ends = [self._ends[count] for count in (0, *self.bounds) if count in self._ends]
        sizes = [later - earlier for earlier, later in zip((0, *self.bounds), self.bounds, strict=False)]
        return tuple(
            size / max(later - earlier, 1e-9) for size, earlier, later in zip(sizes, ends, ends[1:], strict=False)
        )
