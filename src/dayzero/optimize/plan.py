"""What a search is told before its first start, what it works with, and where it stands."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from dayzero.optimize.facts import State, state
from dayzero.optimize.model import NeverAgain, Point, Space
from dayzero.optimize.objective import Goal
from dayzero.optimize.ports import Bench, Journal, Sampler
from dayzero.optimize.standing import Standing, standing
from dayzero.optimize.stop import Rule
from dayzero.optimize.walls import learned


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is fixed before the first start.

    Attributes:
        goal: Objectives and limits.
        space: What may be tried.
        seeds: Combinations to try first, after the package.
        requests, warmup: Of a trial.
        rule: When a trial ends early.
        baseline_every: Trials between two baselines; 0 for none.
        budget_s: Seconds for trials.
        trials: Most starts; ``None`` for no bound.
        worker: Name of this process.
        seed: Of draws.
    """

    goal: Goal
    space: Space
    seeds: tuple[Point, ...] = ()
    requests: int
    warmup: int
    rule: Rule
    baseline_every: int
    budget_s: float
    trials: int | None
    worker: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where a search stands.

    Attributes:
        state: Its facts.
        standing: How its trials stand.
        left_s: Seconds of the budget that are left.
        left: Starts that are left; ``None`` without a bound.
    """

    state: State
    standing: Standing
    left_s: float
    left: int | None

    @property
    def expected_s(self) -> float:
        """How long a whole trial takes: the median of those that were measured whole; 0 before there is one."""
        whole = [one.outcome.seconds for one in self.state.trials if one.outcome and one.kind == "measured"]
        return statistics.median(whole) if whole else 0.0

    def walls(self, stock: Point) -> tuple[NeverAgain, ...]:
        """Give what is never started again."""
        return learned(self.state.trials, stock)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a search works with.

    Attributes:
        bench: Starts and measures.
        sampler: Proposes.
        journal: Remembers.
        clock: Seconds of the system's clock.
        told: Hears what is done, with where the search stands.
    """

    bench: Bench
    sampler: Sampler
    journal: Journal
    clock: Callable[[], float]
    told: Callable[[str, View], None]


def view(plan: Plan, journal: Journal) -> View:
    """Read where a search stands."""
    now = state(journal.facts())
    starts = sum(one.kind not in {"interrupted", "failed"} for one in now.trials)
    return View(
        state=now,
        standing=standing(now.trials, plan.goal),
        left_s=plan.budget_s - now.spent_s,
        left=None if plan.trials is None else plan.trials - starts,
    )
