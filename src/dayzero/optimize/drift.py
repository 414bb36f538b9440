"""Has the machine moved? The package as it is, measured again, against itself.

A baseline has moved when the interval of its speed over that of the last good baseline, which holds at every look
(:mod:`dayzero.optimize.stop`), lies wholly beyond the tolerance. What lies between the two is then put on one scale:
the level is drawn as a straight line of logarithms over time from the one to the other, and values are divided by it. Where it has
not moved the level stays, so that the noise of baselines enters no value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.optimize.facts import stock_trials
from dayzero.optimize.model import Interval, Trial
from dayzero.optimize.objective import Goal
from dayzero.optimize.stop import ratio

TOLERANCE: Final = 0.02
_ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """One measurement of the package as it is.

    Attributes:
        trial: Its number.
        at_s: When it began.
        values: Its objectives.
        against_first: Logarithm of its speed over the first one's, with its interval.
        drifted: Whether it has moved since the last good baseline.
        level: Logarithm of each objective's level from here on, over the first baseline's.
    """

    trial: int
    at_s: float
    values: tuple[float, ...]
    against_first: Interval
    drifted: bool
    level: tuple[float, ...]


def baselines(trials: Sequence[Trial], goal: Goal) -> tuple[Baseline, ...]:
    """Judge every measurement of the package as it is, in order."""
    found: list[Baseline] = []
    kept = [one for one in stock_trials(trials) if goal.values(one.outcome) is not None]
    good = first = kept[0] if kept else None
    for one in kept:
        values, zero = goal.values(one.outcome) or (), goal.values(first.outcome if first else None) or ()
        shift = _ratio(one, good)
        drifted = shift.low > math.log1p(TOLERANCE) or shift.high < math.log1p(-TOLERANCE)
        good = one if drifted else good
        level = tuple(math.log(value / base) for value, base in zip(values, zero, strict=True))
        steady = found[-1].level if found else tuple(0.0 for _ in values)
        found.append(
            Baseline(
                trial=one.number,
                at_s=one.at_s,
                values=values,
                against_first=_ratio(one, first),
                drifted=drifted,
                level=level if drifted else steady,
            )
        )
    return tuple(found)


def scale(trial: Trial, seen: Sequence[Baseline]) -> tuple[float, ...]:
    """Give the level of each objective when a trial ran, over the first baseline's; nothing without a baseline."""
    before = [one for one in seen if one.at_s <= trial.at_s]
    after = next((one for one in seen if one.at_s > trial.at_s), None)
    if not before:
        return tuple(1.0 for _ in seen[0].level) if seen else ()
    last = before[-1]
    if after is None or not after.drifted:
        return tuple(math.exp(level) for level in last.level)
    share = (trial.at_s - last.at_s) / (after.at_s - last.at_s)
    pairs = zip(last.level, after.level, strict=True)
    return tuple(math.exp(old + share * (new - old)) for old, new in pairs)


def _ratio(one: Trial, other: Trial | None) -> Interval:
    blocks = one.outcome.blocks if one.outcome else ()
    against = other.outcome.blocks if other and other.outcome else ()
    if one is other:
        return Interval(value=0.0, low=0.0, high=0.0)
    return ratio(blocks, against, _ALPHA)
