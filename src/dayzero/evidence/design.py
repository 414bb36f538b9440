"""What trials can support: an outcome is attributed to a factor only where that factor changed alone, again and again.

Trials are compared inside one condition: all factors but one are equal. The test is exact and two-sided, at the level
:data:`~dayzero.evidence.exact.ALPHA`, which is shared out evenly when several comparisons are looked at. What a mechanism is
called plays no part: trials can show that an outcome goes with a factor, never why.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.evidence.exact import ALPHA, Rate, exact_p, rate
from dayzero.evidence.model import Explanation, Trial

WORKED = frozenset({"served", "serves", "healthy", "worked", "works", "passed", "passes", "success", "ok"})
"""Outcomes that are successes; where a trial ended in one of them, every other outcome is a failure."""

REPEATS = 2
"""Trials that a level needs at one condition: of a single one nobody can say whether it would come again."""

_MOST_LEVELS = 8
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

Conditions: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LevelRate:
    """How often the event happened at one level of a factor."""

    level: str
    rate: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The levels of a factor at one condition, each repeated, and the exact test over them.

    Attributes:
        held: What was equal in all of its trials, as (factor, level) pairs by factor.
        levels: The event's rate at each level that was repeated, by level.
        p_value: Of the test that the rate is the same at all levels.
    """

    held: Conditions
    levels: tuple[LevelRate, ...]
    p_value: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """The outcome goes with the factor, at the condition of ``comparison``; what its mechanism is was not tried."""

    factor: str
    comparison: Comparison
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAttributed:
    """The factor was tried as it has to be, and the test does not reach its level; or the trials contradict themselves."""

    factor: str
    comparisons: tuple[Comparison, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Confounded:
    """The factor never changed alone; ``together`` are the factors that changed with it."""

    factor: str
    together: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreplicated:
    """The factor changed alone, and no two of its levels were repeated at one condition.

    Attributes:
        factor: Which.
        held: The condition at which it was tried most.
        single: Its levels with one trial there.
        reason: In words.
    """

    factor: str
    held: Conditions
    single: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoContrast:
    """There is nothing to compare: one level, or one outcome."""

    factor: str
    reason: str


Support: TypeAlias = Supported | NotAttributed | Confounded | Unreplicated | NoContrast


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Which outcome is looked for among the trials.

    Attributes:
        event: Its name: an outcome, or ``failure`` for every outcome that is no success.
        happened: Says whether a trial ended in it.
    """

    event: str
    happened: Callable[[Trial], bool]

    def rate(self, trials: Sequence[Trial]) -> Rate:
        """Give the event's rate over some trials."""
        return rate(sum(map(self.happened, trials)), len(trials))


def support(trials: Sequence[Trial], factor: str, *, event: str = "") -> Support:
    """Say whether trials support that their outcome depends on a factor that was named before they were looked at.

    Args:
        trials: In any order; two that rest on the same place of one raw file are one.
        factor: Which factor.
        event: The outcome that is meant; ``""`` sets failures against successes, or one of two outcomes against the other.

    Raises:
        InputError: ``event`` is no trial's outcome.
    """
    return assess(trials, (factor,), event=event)[0]


def assess(trials: Sequence[Trial], factors: Sequence[str] = (), *, event: str = "") -> tuple[Support, ...]:
    """Say for each factor what the trials support; with none named, for each that changed, and the level is shared out.

    Raises:
        InputError: ``event`` is no trial's outcome.
    """
    ends, kept = ends_of(trials, event), distinct(trials)
    asked = tuple(factors) or varied(kept)
    if isinstance(ends, str):
        return tuple(NotAttributed(factor=factor, comparisons=(), reason=ends) for factor in asked)
    found = [(factor, _comparisons(kept, factor, ends)) for factor in asked]
    tests = sum(len(each) for _, each in found if isinstance(each, tuple))
    return tuple(_tested(factor, each, tests, ends) if isinstance(each, tuple) else each for factor, each in found)


def judge(explanation: Explanation, factor: str = "", *, event: str = "") -> Verdict:
    """Say in words whether an explanation's trials support an attribution at all; its facts are not touched by the answer.

    Proven: the outcome goes with the factor. Refuted: its trials attribute nothing. Undecided: they are too few to say.

    Raises:
        InputError: ``event`` is no trial's outcome.
    """
    if not explanation.trials:
        return Undecided("no trial stands under it")
    return verdict(assess(explanation.trials, (factor,) if factor else (), event=event))


def verdict(answers: Sequence[Support]) -> Verdict:
    """Draw the answers for several factors together: one that is supported is enough."""
    supported = [answer for answer in answers if isinstance(answer, Supported)]
    if supported:
        return Proven("; ".join(answer.reason for answer in supported))
    refuted = [answer for answer in answers if isinstance(answer, NotAttributed | Confounded)]
    if refuted:
        return Refuted("; ".join(answer.reason for answer in refuted))
    return Undecided("; ".join(answer.reason for answer in answers) or "every trial was made at the same condition")


def distinct(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Keep one of the trials that rest on the same place of one raw file and say the same, in the order of their names."""
    kept: dict[object, Trial] = {}
    for trial in sorted(trials, key=lambda trial: trial.name):
        kept.setdefault((trial.raw, trial.locator, frozenset(trial.conditions), trial.outcome), trial)
    return tuple(kept.values())


def varied(trials: Sequence[Trial]) -> tuple[str, ...]:
    """List the factors that are not the same in all trials, by name; to be unsaid in some is not to be the same."""
    every = {factor for trial in trials for factor, _ in trial.conditions}
    return tuple(sorted(name for name in every if len({level_of(trial, name) for trial in trials}) > 1))


def level_of(trial: Trial, factor: str) -> str | None:
    """Give a trial's level of a factor, ``None`` where it does not say."""
    return dict(trial.conditions).get(factor)


def ends_of(trials: Sequence[Trial], event: str = "") -> Ends | str:
    """Say which outcome is looked for; where that is not clear, why.

    Raises:
        InputError: ``event`` is no trial's outcome.
    """
    outcomes = sorted({trial.outcome for trial in trials})
    if event and event not in outcomes:
        raise InputError(f"no trial ended in {event!r}", hint=f"Name one of: {', '.join(outcomes) or 'none'}.")
    if not event and any(map(_worked, outcomes)) and not all(map(_worked, outcomes)):
        return Ends(event="failure", happened=lambda trial: not _worked(trial.outcome))
    if not event and len(outcomes) > 2:  # noqa: PLR2004  (two outcomes are each other's opposite)
        return f"the outcomes are {', '.join(outcomes)}: say which one is meant"
    chosen = event or (outcomes[0] if outcomes else "")
    return Ends(event=chosen, happened=lambda trial: trial.outcome == chosen)


def in_words(held: Conditions) -> str:
    """Write a condition as ``tp=8, window=1``."""
    return ", ".join(f"{factor}={level}" for factor, level in held)


def tally(trials: Sequence[Trial], ends: Ends) -> str:
    """Count the trials by how they ended: ``one failure and two successes across two differing conditions``."""
    seen = sum(map(ends.happened, trials))
    differing = len(varied(trials))
    if ends.event == "failure":
        ended = f"{_count(seen, 'failure')} and {_count(len(trials) - seen, 'success', 'successes')}"
    else:
        ended = f"{_count(seen, 'trial')} that ended in {ends.event!r} and {_count(len(trials) - seen, 'other')}"
    return f"{ended} across {_count(differing, 'differing condition')}"


def _comparisons(kept: tuple[Trial, ...], factor: str, ends: Ends) -> tuple[Comparison, ...] | Support:
    """Find the conditions at which two levels or more were repeated, or say why there is none."""
    places = Counter((trial.raw, trial.locator) for trial in kept)
    clash = sorted(trial.name for trial in kept if places[trial.raw, trial.locator] > 1)
    if clash:
        reason = f"{' and '.join(clash)} rest on the same place of one raw file and say different things about it"
        return NotAttributed(factor=factor, comparisons=(), reason=reason)
    said = tuple(trial for trial in kept if level_of(trial, factor) is not None)
    levels = sorted({str(level_of(trial, factor)) for trial in said})
    if len(levels) < 2:  # noqa: PLR2004  (a contrast has two sides)
        only = f"every trial that names it has {factor}={levels[0]}" if levels else "no trial says what it was"
        return NoContrast(factor=factor, reason=f"nothing can be said of {factor}: {only}")
    if len(set(map(ends.happened, said))) == 1:
        return NoContrast(factor=factor, reason=f"nothing can be said of {factor}: all trials ended alike")
    return _repeated(said, kept, factor, ends)


def _repeated(
    said: tuple[Trial, ...], kept: tuple[Trial, ...], factor: str, ends: Ends
) -> tuple[Comparison, ...] | Support:
    strata = _strata(said, factor)
    alone = {held: levels for held, levels in strata.items() if len(levels) > 1}
    if not alone:
        together = _changed_with(said, factor)
        reason = f"{tally(kept, ends)} attribute nothing: {factor} never changed alone, {' and '.join(together)} changed with it"
        return Confounded(factor=factor, together=together, reason=reason)
    full = {
        held: {level: group for level, group in levels.items() if len(group) >= REPEATS}
        for held, levels in alone.items()
    }
    repeated = {held: levels for held, levels in full.items() if len(levels) > 1}
    if not repeated:
        return _unreplicated(alone, kept, factor, ends)
    return tuple(_compared(held, levels, ends) for held, levels in sorted(repeated.items()))


_Levels: TypeAlias = dict[str, list[Trial]]


def _strata(trials: Iterable[Trial], factor: str) -> dict[Conditions, _Levels]:
    """Group trials by everything but the factor, and inside by its level."""
    strata: dict[Conditions, _Levels] = {}
    for trial in trials:
        held = tuple(sorted(pair for pair in trial.conditions if pair[0] != factor))
        strata.setdefault(held, {}).setdefault(str(level_of(trial, factor)), []).append(trial)
    return strata


def _changed_with(trials: Sequence[Trial], factor: str) -> tuple[str, ...]:
    """Name the factors that differ in the closest pairs of trials with different levels of the factor."""
    pairs = [
        tuple(name for name in varied((one, other)) if name != factor)
        for at, one in enumerate(trials)
        for other in trials[at + 1 :]
        if level_of(one, factor) != level_of(other, factor)
    ]
    fewest = min(map(len, pairs))
    return tuple(sorted({name for pair in pairs if len(pair) == fewest for name in pair}))


def _unreplicated(alone: dict[Conditions, _Levels], kept: tuple[Trial, ...], factor: str, ends: Ends) -> Unreplicated:
    held, levels = min(alone.items(), key=lambda item: (-sum(map(len, item[1].values())), item[0]))
    single = tuple(sorted(level for level, group in levels.items() if len(group) < REPEATS))
    once = " and ".join(f"{factor}={level}" for level in single)
    reason = f"{tally(kept, ends)} attribute nothing: {factor} changed alone{_at(held)}, with one trial of {once}"
    return Unreplicated(factor=factor, held=held, single=single, reason=reason)


def _compared(held: Conditions, levels: _Levels, ends: Ends) -> Comparison:
    rates = tuple(LevelRate(level, ends.rate(group)) for level, group in sorted(levels.items()))
    p_value = exact_p([(each.rate.events, each.rate.trials) for each in rates])
    return Comparison(held=held, levels=rates, p_value=p_value)


def _tested(factor: str, comparisons: tuple[Comparison, ...], tests: int, ends: Ends) -> Support:
    best = min(comparisons, key=lambda comparison: (comparison.p_value, comparison.held))
    level = ALPHA / tests
    shared = f" ({float(ALPHA):g} shared by {tests} comparisons)" if tests > 1 else ""
    rates = ", ".join(f"{factor}={each.level} {each.rate}" for each in best.levels)
    seen = f"{ends.event}{_at(best.held)}: {rates}; exact p = {float(best.p_value):.3g}"
    if best.p_value < level:
        reason = f"the outcome goes with {factor}: {seen}, below {float(level):.3g}{shared}"
        return Supported(factor=factor, comparison=best, reason=reason)
    reason = f"the trials do not tell the levels of {factor} apart: {seen}, not below {float(level):.3g}{shared}"
    return NotAttributed(factor=factor, comparisons=comparisons, reason=reason + _too_few(best, level))


def _too_few(comparison: Comparison, level: Fraction) -> str:
    """Say so where no outcome of as many trials could have reached the level."""
    sizes = [each.rate.trials for each in comparison.levels]
    if len(sizes) > _MOST_LEVELS:
        return ""
    ways = range(1 << len(sizes))
    least = min(exact_p([(size if way >> at & 1 else 0, size) for at, size in enumerate(sizes)]) for way in ways)
    return "" if least < level else "; no outcome of so few trials could reach it"


def _at(held: Conditions) -> str:
    return f" at {in_words(held)}" if held else ""


def _worked(outcome: str) -> bool:
    return outcome.casefold() in WORKED


def _count(number: int, noun: str, plural: str = "") -> str:
    word = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    return f"{word} {noun if number == 1 else plural or noun + 's'}"
