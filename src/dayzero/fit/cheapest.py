"""Find the cheapest change that makes a plan fit: each one is sized again, none is guessed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.verdict import Proven
from dayzero.fit.model import FitPlan, Report

Sizing: TypeAlias = Callable[[FitPlan], Report]

_SHORTEST = 1024
_STEP = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that could be done.

    Attributes:
        words: What to do, as it is typed.
        costs: What is given up for it.
        apply: Makes the changed plan; raises :class:`InputError` where the engine does not take it.
    """

    words: str
    costs: str
    apply: Callable[[FitPlan], FitPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change under which the plan fits, and how well."""

    words: str
    costs: str
    plan: FitPlan
    report: Report


def remedies(plan: FitPlan, changes: Iterable[Change], size: Sizing) -> tuple[Remedy, ...]:
    """Give the changes that make the plan fit, in the order given; where no single one does, the shortest run of them that does.

    Args:
        plan: What does not fit.
        changes: What could be done, the cheapest first.
        size: The memory model and its judgement.
    """
    offered = tuple(changes)
    single: dict[str, Remedy] = {}  # of one setting, the mildest value
    for change in offered:
        setting = change.words.partition("=")[0]
        if setting not in single and (remedy := _tried(plan, (change,), size)) is not None:
            single[setting] = remedy
    if single:
        return tuple(single.values())
    runs = accumulate(((change,) for change in offered), lambda before, one: (*before, *one))
    return next(((remedy,) for run in runs if (remedy := _tried(plan, run, size)) is not None), ())


def longest_context(plan: FitPlan, size: Sizing) -> Remedy | None:
    """Find the longest context, in steps of 1,024 tokens, with which the plan fits.

    Fit is monotone in the context, so halving finds it in some twenty sizings.
    """
    longest = size(plan).context_tokens
    low, high = 0, longest // _STEP
    best: Remedy | None = None
    while low < high:
        middle = (low + high + 1) // 2
        shorter = replace(plan, context=max(middle * _STEP, _SHORTEST))
        report = size(shorter)
        if not isinstance(report.verdict, Proven):
            high = middle - 1
            continue
        low = middle
        words = f"context of {middle * _STEP:,} tokens instead of {longest:,}"
        best = Remedy(words=words, costs="longer requests", plan=shorter, report=report)
    return best


def smallest_system(plans: Iterable[FitPlan], size: Sizing) -> Remedy | None:
    """Give the first plan that fits.

    Args:
        plans: The same model on other systems, the smallest first.
        size: The memory model and its judgement.
    """
    for plan in plans:
        try:
            report = size(plan)
        except InputError:
            continue  # the model does not divide so
        if isinstance(report.verdict, Proven):
            return Remedy(words=described(plan), costs="other hardware", plan=plan, report=report)
    return None


def described(plan: FitPlan) -> str:
    """Name a plan's system and how the model is spread over it."""
    return f"{plan.system.name} with {spread(plan)}"


def spread(plan: FitPlan) -> str:
    """Name how a model is spread: ``TP 8, EP``."""
    degrees = plan.parallelism
    named = [("TP", degrees.tp), ("PP", degrees.pp), ("DP", degrees.dp)]
    parts = [f"{name} {degree}" for name, degree in named if degree > 1 or name == "TP"]
    return ", ".join([*parts, *(["EP"] if degrees.ep else [])])


def _tried(plan: FitPlan, run: tuple[Change, ...], size: Sizing) -> Remedy | None:
    changed = plan
    try:
        for change in run:
            changed = change.apply(changed)
        report = size(changed)
    except InputError:
        return None
    if changed == plan or not isinstance(report.verdict, Proven):
        return None
    return Remedy(
        words=" and ".join(change.words for change in run),
        costs=", ".join(dict.fromkeys(change.costs for change in run)),
        plan=changed,
        report=report,
    )
