"""Find the knee: the load beyond which more of it no longer pays.

Without an objective, levels are concurrencies, and the knee is the *lowest* one whose output rate is within ``NEAR_BEST`` of
the best rate found. With objectives it is the *highest* level (concurrency or request rate) at which at least the share
``ATTAINED`` of all requests keeps every one of them.

The rule, all of it: double the level until the rate gains less than ``LEAST_GAIN`` on a doubling (without an objective), or
until the objective is missed; halve it while even the first level misses. Then halve the interval between the last level
on one side and the first one on the other until their ratio is at most ``RESOLUTION`` (or they are neighbours). Measure
both ends a second time; a level stands where the mean of its steps puts it. Levels that lie the wrong way round are
measured again, up to ``_MOST_REPEATS`` times each. A search that runs out of room, of steps or of repeats is undecided.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dayzero.bench.client_rules import DISPATCH
from dayzero.bench.report import Report
from dayzero.bench.row_rules import FAILURES
from dayzero.bench.steadiness import STEADY_RATE, STEADY_TTFT
from dayzero.core.errors import InputError
from dayzero.core.verdict import Refuted, Undecided

NEAR_BEST: Final = 0.9
LEAST_GAIN: Final = 0.05
ATTAINED: Final = 0.95
RESOLUTION: Final = 1.1
_HALVINGS: Final = 10
_MOST_STEPS: Final = 40
_REPEATS: Final = 2
_MOST_REPEATS: Final = 4

_OVERLOAD: Final = frozenset(rule.id for rule in (FAILURES, STEADY_TTFT, STEADY_RATE, DISPATCH))
"""Rules that a load beyond the knee breaks by itself: queues grow, the cap is met, requests fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One finished measurement of the sweep.

    Attributes:
        level: Concurrency, or requests per second.
        output_tok_s: Output rate of all streams together.
        attained: Share of the requests that kept every objective (a failed one kept none); ``None`` without objectives.
    """

    level: float
    output_tok_s: float
    attained: float | None

    def __post_init__(self) -> None:
        if not 0 <= self.output_tok_s < math.inf or not 0 <= (self.attained or 0.0) <= 1:
            raise InputError(
                f"{self.output_tok_s:g} tok/s, {self.attained} attained: no result of a step",
                hint="A step without a figure is Undecided.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is looked for.

    Attributes:
        start: The first level.
        limit: The highest level that may be tried.
        whole: Whether levels are whole numbers (concurrencies).
        objective: Whether there is an objective; without one, levels have to be concurrencies.
    """

    start: float
    limit: float
    whole: bool
    objective: bool

    def __post_init__(self) -> None:
        if not (self.whole or self.objective):
            raise InputError(
                "the knee of a request rate needs an objective", hint="Give one, for example --slo ttft_ms=200."
            )
        if not 0 < self.start <= self.limit < math.inf:
            raise InputError(
                f"the search starts at {self.start:g} and may go up to {self.limit:g}",
                hint="Start above 0 and not above the limit.",
            )


@dataclass(frozen=True, slots=True)
class Measure:
    """The next step is this level."""

    level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """The knee was found.

    Attributes:
        level: Where it is.
        other: The nearest level measured on its other side; the truth lies between them. ``None`` where there can be none.
        reason: What makes it the knee.
    """

    level: float
    other: float | None
    reason: str


Answer: TypeAlias = Measure | Knee | Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A finished search: its answer, and every step in the order in which it was measured."""

    answer: Knee | Undecided
    steps: tuple[Step, ...]


def find_knee(search: Search, measure: Callable[[float, int], Step | Undecided]) -> Found:
    """Measure until the knee is found or cannot be.

    Args:
        search: What is looked for.
        measure: Measures a level; told the 0-based number of the step, so that no two steps send the same prompts.
            ``Undecided`` ends the search; :func:`step_of` reads either out of a report.
    """
    steps: list[Step] = []
    while True:
        answer = next_step(search, steps)
        if not isinstance(answer, Measure):
            return Found(answer=answer, steps=tuple(steps))
        step = measure(answer.level, len(steps))
        if isinstance(step, Undecided):
            reason = f"the step at {answer.level:g} says nothing: {step.reason}"
            return Found(answer=Undecided(reason), steps=tuple(steps))
        steps.append(step)


def step_of(level: float, report: Report) -> Step | Undecided:
    """Take what a run of one cell says about its level.

    A run that is not valid for what too much load does by itself is a step all the same; for any other reason it is none.

    Args:
        level: Concurrency or rate of the cell.
        report: Of the run.
    """
    against = [each for each in report.judgements if isinstance(each.verdict, Refuted) and each.rule not in _OVERLOAD]
    if against:
        return Undecided(against[0].reason)
    (cell,) = report.cells
    if isinstance(cell.output_tok_s, Undecided):
        return cell.output_tok_s
    share = next((figure for rate, figure in cell.rates if rate.name == "attainment"), None)
    if isinstance(share, Undecided):
        return share
    return Step(level=level, output_tok_s=cell.output_tok_s, attained=share)


def next_step(search: Search, steps: Sequence[Step]) -> Answer:
    """Say what to measure next, where the knee is, or why that cannot be said.

    Args:
        search: What is looked for.
        steps: All finished steps.
    """
    if not steps:
        return Measure(search.start)
    if len(steps) >= _MOST_STEPS:
        return Undecided(f"no knee after {len(steps)} steps: steps of one level differ too much")
    if not search.objective and (growing := _still_growing(search, steps)) is not None:
        return growing
    return _narrowed(search, _sides(search, steps))


@dataclass(frozen=True, slots=True)
class _Sides:
    """Levels before and beyond the knee, each with the number of its steps."""

    before: dict[float, int]
    beyond: dict[float, int]


def _sides(search: Search, steps: Sequence[Step]) -> _Sides:
    counts = Counter(step.level for step in steps)
    rates = {level: _mean([step.output_tok_s for step in steps if step.level == level]) for level in counts}
    if search.objective:
        shares = {level: _mean([step.attained or 0.0 for step in steps if step.level == level]) for level in counts}
        before = {level for level, share in shares.items() if share >= ATTAINED}
    else:
        peak = max(rates, key=lambda level: rates[level])
        # A rate that falls again beyond its best says nothing about where the best was reached first.
        before = {level for level, rate in rates.items() if level < peak and rate < NEAR_BEST * rates[peak]}
    return _Sides(
        {level: count for level, count in counts.items() if level in before},
        {level: count for level, count in counts.items() if level not in before},
    )


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _still_growing(search: Search, steps: Sequence[Step]) -> Measure | Undecided | None:
    """Double the level as long as that pays; ``None`` when it no longer does."""
    ladder = [steps[0]]
    for step in steps[1:]:
        if step.level > ladder[-1].level:
            ladder.append(step)
    if len(ladder) > 1 and ladder[-1].output_tok_s < (1 + LEAST_GAIN) * ladder[-2].output_tok_s:
        return None
    level = ladder[-1].level
    if 2 * level > search.limit:
        return Undecided(f"the output rate still grows at {level:g}, and more than {search.limit:g} is not allowed")
    return Measure(2 * level)


def _narrowed(search: Search, sides: _Sides) -> Answer:
    """Find both ends of the interval that holds the knee, and close it."""
    if not sides.before:
        return _downward(search, sides)
    before = max(sides.before)
    if not sides.beyond:
        if before >= search.limit:
            return Undecided(f"the objective is still kept at {before:g}, and more is not allowed")
        return Measure(min(2 * before, search.limit))
    beyond = min(sides.beyond)
    if before > beyond:
        return _reconsidered(sides, before, beyond)
    if beyond / before > RESOLUTION and not (search.whole and beyond - before <= 1):
        middle = math.sqrt(before * beyond)
        return Measure(min(max(round(middle), before + 1), beyond - 1) if search.whole else middle)
    return _confirmed(search, sides, before, beyond)


def _downward(search: Search, sides: _Sides) -> Answer:
    """Look below the first level, which is beyond the knee already."""
    lowest = min(sides.beyond)
    smallest = 1.0 if search.whole else search.start / 2**_HALVINGS
    if lowest > smallest:
        return Measure(max(lowest // 2 if search.whole else lowest / 2, smallest))
    if search.objective:
        return Undecided(f"the objective is missed even at {lowest:g}")
    return _confirmed(search, sides, None, lowest)


def _reconsidered(sides: _Sides, before: float, beyond: float) -> Measure | Undecided:
    """Measure two levels again that lie the wrong way round."""
    count, level = min((sides.before[before], before), (sides.beyond[beyond], beyond))
    if count < _MOST_REPEATS:
        return Measure(level)
    return Undecided(
        f"{beyond:g} was found beyond the knee and {before:g} before it, after {count} steps at each: "
        "measure more requests a step"
    )


def _confirmed(search: Search, sides: _Sides, before: float | None, beyond: float) -> Measure | Knee:
    """Give the knee once both ends of the interval were measured twice."""
    counts = sides.before | sides.beyond
    for end in (before, beyond):
        if end is not None and counts[end] < _REPEATS:
            return Measure(end)
    if search.objective and before is not None:
        reason = f"the highest level found at which {ATTAINED:.0%} of the requests keep every objective"
        return Knee(level=before, other=beyond, reason=reason)
    reason = f"the lowest concurrency found within {1 - NEAR_BEST:.0%} of the best output rate"
    return Knee(level=beyond, other=before, reason=reason)
