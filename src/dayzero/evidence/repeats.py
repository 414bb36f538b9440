"""Plan the trials that would settle an attribution: how many starts at each level, and what has to be held equal."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dayzero.evidence.design import (
    REPEATS,
    Conditions,
    Ends,
    LevelRate,
    distinct,
    ends_of,
    in_words,
    level_of,
    varied,
)
from dayzero.evidence.exact import ALPHA, power
from dayzero.evidence.model import Trial

POWER = Fraction(4, 5)
"""How likely a planned test has to be to reach its level, if the rates are what was seen."""

MOST = 100
"""Repeats a level beyond which no plan is made: the rates are too close for starts to be the instrument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """A plan. Trials that were looked at do not count towards it: they are why these rates are assumed.

    Attributes:
        factor: What is changed, alone.
        event: The outcome that is counted.
        levels: The two levels with the most distant rates, the higher rate first.
        each: Trials at each level: the fewest with a power of ``POWER`` or more.
        power: Probability that the exact test reaches its level with so many, if the assumed rates are true.
        sighting: Trials at the first level that show the event at least once with 95 % confidence.
        held: Factors that all trials had at one level, to be held there.
        chosen: Factors that differed: the level at which the event was seen; one level, for all planned trials.
    """

    factor: str
    event: str
    levels: tuple[LevelRate, LevelRate]
    each: int
    power: Fraction
    sighting: int
    held: Conditions
    chosen: Conditions

    @property
    def starts(self) -> int:
        """What it costs: starts at both levels together."""
        return 2 * self.each


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlan:
    """No number of repeats can be named, and why."""

    factor: str
    reason: str


Plan: TypeAlias = Repeats | NoPlan


def plan(trials: Sequence[Trial], factor: str, *, event: str = "") -> Plan:
    """Say how many repeats at each level would settle whether the outcome goes with a factor.

    The rates that were seen, over all trials, are taken for the true ones. Power does not grow evenly with the repeats; the
    fewest that reach ``POWER`` are given.

    Args:
        trials: What was tried so far.
        factor: What is to be changed.
        event: The outcome that is meant, as for :func:`~dayzero.evidence.design.support`.

    Raises:
        InputError: ``event`` is no trial's outcome.
    """
    ends, kept = ends_of(trials, event), distinct(trials)
    if isinstance(ends, str):
        return NoPlan(factor=factor, reason=ends)
    levels = _levels(kept, factor, ends)
    if len(levels) < 2:  # noqa: PLR2004  (a contrast has two sides)
        return NoPlan(factor=factor, reason=f"{factor} has fewer than two levels; try another level once, then plan")
    high, low = levels[0], levels[-1]
    first, second = _seen(high), _seen(low)
    if first == second:
        reason = (
            f"{ends.event} was equally frequent at every level of {factor}: the trials give no difference to look for"
        )
        return NoPlan(factor=factor, reason=reason)
    found = _fewest(first, second)
    if found is None:
        reason = (
            f"rates as close as {high.rate.events} of {high.rate.trials} and {low.rate.events} of {low.rate.trials}"
        )
        return NoPlan(factor=factor, reason=f"{reason} would take more than {MOST} repeats a level")
    each, reached = found
    held, chosen = _conditions(kept, factor, ends)
    return Repeats(
        factor=factor,
        event=ends.event,
        levels=(high, low),
        each=each,
        power=reached,
        sighting=_sighting(first),
        held=held,
        chosen=chosen,
    )


def steps(found: Repeats) -> tuple[str, ...]:
    """Write a plan as instructions, one a line."""
    high, low = found.levels
    one, other = f"{found.factor}={high.level}", f"{found.factor}={low.level}"
    held = in_words((*found.held, *found.chosen))
    told = [
        f"start {found.each} times with {one} and {found.each} times with {other}: {found.starts} starts",
        f"hold everything else equal{': ' if held else ''}{held}",
    ]
    if found.chosen:
        names = " and ".join(name for name, _ in found.chosen)
        told.append(f"{names} differed until now: take one level for all starts, best the one at which it was seen")
    rates = f"{one} {high.rate}, {other} {low.rate}"
    return (
        *told,
        f"alternate, {one}, {other}, {other}, {one}, ...: what drifts with time must not drift with the factor",
        f"count anew: the trials so far gave the rates that are assumed ({rates}) and cannot confirm them",
        f"if those are true, the exact test reaches {float(ALPHA):g} with probability {float(found.power):.2f}",
        f"cheaper first: {found.sighting} starts with {one} show the {found.event} once or more with probability 0.95",
    )


def _levels(trials: Sequence[Trial], factor: str, ends: Ends) -> list[LevelRate]:
    """Give the rate at each level over all trials, the highest first."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        level = level_of(trial, factor)
        if level is not None:
            groups.setdefault(level, []).append(trial)
    rates = [LevelRate(level, ends.rate(group)) for level, group in groups.items()]
    return sorted(rates, key=lambda each: (-_seen(each), each.level))


def _seen(each: LevelRate) -> Fraction:
    return Fraction(each.rate.events, each.rate.trials)


def _fewest(first: Fraction, second: Fraction) -> tuple[int, Fraction] | None:
    for each in range(REPEATS, MOST + 1):
        reached = power(first, second, each)
        if reached >= POWER:
            return each, reached
    return None


def _sighting(seen: Fraction) -> int:
    trials, missed = 1, 1 - seen
    while missed**trials > ALPHA:
        trials += 1
    return trials


def _conditions(trials: Sequence[Trial], factor: str, ends: Ends) -> tuple[Conditions, Conditions]:
    """Split the other factors into those that were held, and those that differed with the level that they had at the event."""
    shown = next(trial for trial in trials if ends.happened(trial))
    differed = [name for name in varied(trials) if name != factor]
    held = tuple(pair for pair in sorted(shown.conditions) if pair[0] not in {factor, *differed})
    return held, tuple((name, level_of(shown, name) or "one level") for name in differed)
