"""Test A against B in excess of the controls: below the margin, above nothing, or neither."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.gates.divergence import Comparison, Measure, clear_flip, far
from dayzero.gates.model import DistributionPlan, Estimate, Tested
from dayzero.gates.size import level_at
from dayzero.gates.statistics import bounds, flip_p, minimum_excess, none_seen, prompts_for, spread


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    name: str
    unit: str
    margin: float
    excess: tuple[float, ...]


def tests(plan: DistributionPlan, test: Comparison, controls: Sequence[Comparison], look: int) -> tuple[Tested, ...]:
    """Test every measure of one arm.

    The excess of a prompt is the mean over A1-B1 and A2-B2 less the mean over A1-A2 and B1-B2, at the same places. Exchanging
    the labels of A2 and B1 changes its sign and nothing else, so for servers that are the same it is symmetric about 0.

    Args:
        plan: What was fixed beforehand.
        test: A against B.
        controls: A against itself and B against itself.
        look: Which look, from 1.
    """
    measured: tuple[tuple[str, str, float, Measure], ...] = (
        ("divergence", "nat", plan.margin_nat, lambda place: place.divergence),
        ("clear flips", "", plan.margin_flip, clear_flip(plan.margin_nat)),
        ("far tail", "", plan.margin_flip, far),
    )
    return tuple(
        _tested(plan, _Measured(name=name, unit=unit, margin=margin, excess=_excess(test, controls, of)), test, look)
        for name, unit, margin, of in measured
    )


def _excess(test: Comparison, controls: Sequence[Comparison], measure: Measure) -> tuple[float, ...]:
    own = [control.means(measure) for control in controls]
    return tuple(between - sum(parts) / len(parts) for between, *parts in zip(test.means(measure), *own, strict=True))


def _tested(plan: DistributionPlan, measured: _Measured, test: Comparison, look: int) -> Tested:
    same, different = level_at(plan, plan.alpha, look), level_at(plan, plan.alpha_different, look)
    (low, high), (above, _) = bounds(measured.excess, (1 - same, 1 - different), seed=plan.seed)
    value, sd = sum(measured.excess) / len(measured.excess), spread(measured.excess)
    if not measured.unit:
        high = max(high, none_seen(len(test.places) // len(test.pairs), alpha=same))
    decided = _decided(measured.margin, high, above, last=look == len(plan.look_sizes))
    return Tested(
        name=measured.name,
        unit=measured.unit,
        margin=measured.margin,
        excess=Estimate(value=value, low=low, high=high, n=len(measured.excess), level=1 - same),
        above=above,
        minimum=minimum_excess(sd, len(measured.excess), alpha=different),
        p=flip_p(measured.excess, seed=plan.seed),
        decided=decided,
        prompts_needed=0 if decided else _prompts_needed(plan, measured, high),
    )


def _decided(margin: float, high: float, above: float, *, last: bool) -> str:
    """Decide by the bounds.

    Below the margin comes first, however surely a difference is there. Before the last look a difference must lie beyond the
    margin to end the attempt: one that is there, but may prove to lie below it, goes on.
    """
    if high < margin:
        return "same"
    return "different" if above > (0.0 if last else margin) else ""


def _prompts_needed(plan: DistributionPlan, measured: _Measured, high: float) -> int:
    """Say how many prompts settle it either way, were the excess just what was found."""
    value, sd = sum(measured.excess) / len(measured.excess), spread(measured.excess)
    found = []
    if value < measured.margin:
        of_places = 0 if measured.unit or sd else math.ceil(len(measured.excess) * high / measured.margin)
        found.append(max(of_places, prompts_for(sd, measured.margin - value, alpha=plan.alpha)))
    if value > 0:
        found.append(prompts_for(sd, value, alpha=plan.alpha_different))
    return min(found, default=0)
