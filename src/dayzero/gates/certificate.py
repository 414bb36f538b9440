"""Certify the instrument before anything is read off it: each server against itself, and a defect that must be seen."""

from dataclasses import dataclass

from dayzero.gates.divergence import THICK, Comparison, Place
from dayzero.gates.model import Check, DistributionPlan, Estimate, Instrument, NoInstrument, Sound
from dayzero.gates.report import amount, percent
from dayzero.gates.statistics import bounds, flip_p, halves_p, student_bounds

FEWEST_CANDIDATES = 5
FEWEST_PLACES = 500
LEAST_COVERAGE = 0.6
FLOOR_PART = 3
_SEEN = 1e-3
_UNSTEADY = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What the certificate rests on.

    Attributes:
        a, b: Each server against itself.
        positive: A against A with a planted defect; ``None`` where it was not captured, or cannot be compared.
        positive_control: A against itself at the very places of ``positive``.
        why_not: Why there is no positive control.
    """

    a: Comparison
    b: Comparison
    positive: Comparison | None
    positive_control: Comparison | None
    why_not: str = ""


def certify(plan: DistributionPlan, controls: Controls) -> Instrument:
    """Say whether the instrument can tell a difference as large as the margin; each condition is a named check."""
    floors = {name: floor(plan, of) for name, of in (("A", controls.a), ("B", controls.b))}
    checks = (
        _candidates(plan),
        _places(controls.a),
        *(_covered(name, of) for name, of in (("A", controls.a), ("B", controls.b))),
        *(_low(plan, name, found, controls) for name, found in floors.items()),
        *(_steady(plan, name, of) for name, of in (("A", controls.a), ("B", controls.b))),
        _seen(plan, controls),
    )
    failed = tuple(f"{check.name}: {check.found}; needed: {check.needed}" for check in checks if not check.holds)
    if failed:
        return NoInstrument(failed, checks)
    return Sound(floor=max(floors.values(), key=lambda found: found.value), checks=checks)


def floor(plan: DistributionPlan, control: Comparison) -> Estimate:
    """Estimate how far a server is from itself.

    By Student's t alone: what one capture's rare flip adds to the floor it adds to the test as well, so the excess does not hang
    on this bound, and the bootstrap would refuse an instrument for a single flip.
    """
    means, level = control.means(_divergence), 1 - plan.alpha
    low, high = student_bounds(means, level)
    return Estimate(value=sum(means) / len(means), low=max(low, 0.0), high=high, n=len(means), level=level)


def coverage(comparison: Comparison) -> float:
    """Give the share of places where the shared candidates hold enough on both sides."""
    places = comparison.places
    return sum(place.mass >= THICK for place in places) / len(places)


def _candidates(plan: DistributionPlan) -> Check:
    return Check(
        name="candidates",
        found=f"{plan.k} a place",
        needed=f"at least {FEWEST_CANDIDATES}",
        holds=plan.k >= FEWEST_CANDIDATES,
    )


def _places(control: Comparison) -> Check:
    count = len(control.places)
    return Check(
        name="places in one context",
        found=f"{count} of all captures",
        needed=f"at least {FEWEST_PLACES}",
        holds=count >= FEWEST_PLACES,
        mends=True,
    )


def _covered(name: str, control: Comparison) -> Check:
    share = coverage(control)
    return Check(
        name=f"coverage of {name}",
        found=f"at {percent(share)} of the places the shared candidates hold {THICK:g} or more",
        needed=f"at least {percent(LEAST_COVERAGE)}; more candidates a place raise it",
        holds=share >= LEAST_COVERAGE,
    )


def _low(plan: DistributionPlan, name: str, found: Estimate, controls: Controls) -> Check:
    bound = plan.margin_nat / FLOOR_PART
    places = (controls.a if name == "A" else controls.b).places
    agreement = sum(not place.moved for place in places) / len(places)
    permits = (
        "" if found.high <= bound else f"; this floor permits a margin of {amount(FLOOR_PART * found.high, 'nat')}"
    )
    return Check(
        name=f"floor of {name}",
        found=f"{name} is {amount(found.value, 'nat')} from itself, {amount(found.high, 'nat')} at most, and names the same "
        f"first token at {percent(agreement)} of the places",
        needed=f"at most {amount(bound, 'nat')}, a third of the margin{permits}",
        holds=found.high <= bound,
        mends=found.low <= bound,
    )


def _steady(plan: DistributionPlan, name: str, control: Comparison) -> Check:
    means = control.means(_divergence)
    half = len(means) // 2
    first, second = sum(means[:half]) / half, sum(means[half:]) / (len(means) - half)
    p, bound = halves_p(means), plan.margin_nat / (2 * FLOOR_PART)
    return Check(
        name=f"steadiness of {name}",
        found=f"{amount(first, 'nat')} in the first half of the prompts, {amount(second, 'nat')} in the second (p {p:.2g})",
        needed=f"no change beyond {amount(bound, 'nat')}",
        holds=p >= _UNSTEADY or abs(first - second) <= bound,
    )


def _seen(plan: DistributionPlan, controls: Controls) -> Check:
    name, needed = "positive control", f"seen beyond the margin of {amount(plan.margin_nat, 'nat')}, p below {_SEEN:g}"
    if controls.positive is None or controls.positive_control is None:
        return Check(name=name, found=controls.why_not, needed=needed, holds=False)
    excess = tuple(
        planted - own
        for planted, own in zip(
            controls.positive.means(_divergence), controls.positive_control.means(_divergence), strict=True
        )
    )
    ((low, _),) = bounds(excess, (1 - plan.alpha,), seed=plan.seed)
    p = flip_p(excess, seed=plan.seed)
    return Check(
        name=name,
        found=f"the planted defect shows {amount(sum(excess) / len(excess), 'nat')} more than the control, at least "
        f"{amount(low, 'nat')} (p {p:.2g})",
        needed=needed,
        holds=low > plan.margin_nat and p < _SEEN,
        mends=True,
    )


def _divergence(place: Place) -> float:
    return place.divergence
