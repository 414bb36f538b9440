"""How the trials stand: each with its values on one scale, the best one, and the front."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.optimize.drift import Baseline, baselines, scale
from dayzero.optimize.model import Point, Trial, changed
from dayzero.optimize.objective import Goal, Objective

_AGAIN: Final = ("interrupted", "failed", "invalid")
_TRIES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A trial with its values.

    Attributes:
        trial: The trial.
        values: Its objectives on the first baseline's scale; ``None`` where it has none.
        scale: What they were divided by.
        eligible: Whether it has values and keeps every limit.
    """

    trial: Trial
    values: tuple[float, ...] | None
    scale: tuple[float, ...]
    eligible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All trials.

    Attributes:
        placed: In order.
        baselines: The package as it is, each time.
        best: The best eligible trial by the first objective, the one with the fewest changes among equals.
        front: Eligible trials that no other one beats in every objective; without repetitions of the package.
    """

    placed: tuple[Placed, ...]
    baselines: tuple[Baseline, ...]
    best: Placed | None
    front: tuple[Placed, ...]

    @property
    def stock(self) -> Placed | None:
        """The first measurement of the package as it is."""
        return next((one for one in self.placed if one.trial.role == "stock" and one.values is not None), None)


def standing(trials: Sequence[Trial], goal: Goal) -> Standing:
    """Put every trial on one scale and compare."""
    seen = baselines(trials, goal)
    placed = tuple(_placed(one, goal, seen) for one in trials)
    running = [one for one in placed if one.eligible and one.trial.role != "baseline"]
    best = _best(running, goal.objectives[0])
    front = tuple(one for one in running if not any(_beats(other, one, goal.objectives) for other in running))
    return Standing(placed=placed, baselines=seen, best=best, front=front)


def known(placed: Sequence[Placed]) -> dict[Point, Placed]:
    """Give one trial for each combination that needs no further start: its latest with values, else its latest."""
    found: dict[Point, Placed] = {}
    spent = Counter(one.trial.point for one in placed if one.trial.kind in _AGAIN)
    for one in placed:
        again = one.trial.kind == "running" or (one.trial.kind in _AGAIN and spent[one.trial.point] < _TRIES)
        if not again and (one.trial.point not in found or one.values is not None) and one.trial.role != "baseline":
            found[one.trial.point] = one
    return found


def _placed(trial: Trial, goal: Goal, seen: Sequence[Baseline]) -> Placed:
    raw = goal.values(trial.outcome)
    levels = scale(trial, seen) or tuple(1.0 for _ in goal.objectives)
    values = None if raw is None else tuple(value / level for value, level in zip(raw, levels, strict=True))
    return Placed(trial=trial, values=values, scale=levels, eligible=goal.eligible(trial.outcome))


def _best(eligible: Sequence[Placed], objective: Objective) -> Placed | None:
    """Give the best trial; of those that cannot be told from it, the one that changes least of the package."""
    if not eligible:
        return None
    stock = next((one.trial.point for one in eligible if one.trial.role == "stock"), ())
    top = eligible[0]
    for one in eligible:
        top = one if objective.better(_first(one), _first(top)) else top
    equal = [one for one in eligible if not objective.clearly_better(_first(top), _first(one))]
    fewest = min(len(changed(one.trial.point, stock)) for one in equal)
    for one in equal:
        less, held = len(changed(one.trial.point, stock)), len(changed(top.trial.point, stock))
        if less == fewest and (held > fewest or objective.better(_first(one), _first(top))):
            top = one
    return top


def _first(placed: Placed) -> float:
    return placed.values[0] if placed.values else 0.0


def _beats(one: Placed, other: Placed, objectives: Sequence[Objective]) -> bool:
    pairs = [(a, b, o) for a, b, o in zip(one.values or (), other.values or (), objectives, strict=True) if a != b]
    return bool(pairs) and all(objective.better(a, b) for a, b, objective in pairs)
