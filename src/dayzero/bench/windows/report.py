"""Say in words what a result means; the command line and the document use the same ones."""

import math

from dayzero.bench.windows.model import (
    Compared,
    Decided,
    Design,
    DoesNotServe,
    Estimate,
    InstrumentBad,
    Interval,
    Result,
)
from dayzero.bench.windows.statistics import pairs_for

INSTRUMENT_BAD = "INSTRUMENT-BAD"
DOES_NOT_SERVE = "DOES-NOT-SERVE"


def word(result: Result) -> str:
    """Give the one word of a result."""
    match result:
        case Decided(verdict=verdict):
            return verdict
        case InstrumentBad():
            return INSTRUMENT_BAD
        case DoesNotServe():
            return DOES_NOT_SERVE


def sentences(design: Design, result: Result) -> tuple[str, ...]:
    """Say what was found: one sentence, or one a reason."""
    match result:
        case Decided():
            return (_decided(design, result),)
        case InstrumentBad(reasons=reasons):
            return reasons
        case DoesNotServe(silent=silent):
            return (f"measured: arm {silent.arm} does not serve: {silent.reason}; no ratio is given against it",)


def notes(design: Design, result: Result) -> tuple[str, ...]:
    """Say where the cross-checks of the primary measure disagree with its interval."""
    if not isinstance(result, Decided):
        return ()
    found, told = result.primary.estimate, []
    differs = excludes_zero(found.effect)
    if differs != (found.p_sign_flips <= design.alpha):
        told.append(_sign_flip_note(design, result.primary, differs=differs))
    if result.bootstrap is not None and excludes_zero(result.bootstrap) != differs:
        told.append(f"the bootstrap's interval, {span(result.bootstrap)}, says otherwise about 0 than the t interval")
    if excludes_zero(found.slot):
        told.append(
            "first and second windows of a pair differ; the order cancels that, and it is in neither interval nor spread"
        )
    return tuple(told)


def excludes_zero(interval: Interval) -> bool:
    """Say whether an interval leaves out no difference."""
    return interval.low > 0 or interval.high < 0


def share(log_ratio: float) -> str:
    """Write a log-ratio as a signed percentage."""
    return f"{math.expm1(log_ratio):+.2%}".replace("%", " %")


def size(log_ratio: float) -> str:
    """Write the size of a difference as a percentage."""
    return f"{math.expm1(abs(log_ratio)):.2%}".replace("%", " %")


def span(interval: Interval) -> str:
    """Write an interval as two signed percentages."""
    return f"[{share(interval.low)}, {share(interval.high)}]"


def _decided(design: Design, result: Decided) -> str:
    found, measure = result.primary.estimate, design.primary
    match result.verdict:
        case "BETTER" | "WORSE":
            way = "more" if found.effect.value > 0 else "less"
            amount = f"{abs(math.expm1(found.effect.value)):.2%}".replace("%", " %")
            return f"B has {amount} {way} {measure} than A"
        case "EQUIVALENT":
            there = "; it is there, and below what was said to matter" if excludes_zero(found.effect) else ""
            return f"{measure} of B and A differ by less than the margin of {_percent(design.margin)}{there}"
        case "INCONCLUSIVE":
            return f"{measure} of B and A cannot be told apart, nor shown to be equal; {_resolution(design, found)}"


def _resolution(design: Design, found: Estimate) -> str:
    needed = pairs_for(found.sd, math.log1p(design.margin), alpha=design.alpha)
    many = f"{needed} pairs" if needed else "more than a thousand pairs"
    return (
        f"{design.pairs} pairs find a difference of {size(found.minimum_effect)} 4 times in 5, "
        f"the margin of {_percent(design.margin)} would take {many} of this spread"
    )


def _sign_flip_note(design: Design, compared: Compared, *, differs: bool) -> str:
    p, least = compared.estimate.p_sign_flips, 2 / 2 ** len(compared.pairs)
    if least > design.alpha:
        return (
            f"{len(compared.pairs)} pairs cannot reach p <= {design.alpha:g} by sign flips (their least is {least:.3f})"
        )
    said = "does not confirm" if differs else "finds"
    return f"the sign-flip test {said} a difference (p {p:.3f}); the verdict is by the t interval, as fixed beforehand"


def _percent(part: float) -> str:
    return f"{100 * part:g} %"
