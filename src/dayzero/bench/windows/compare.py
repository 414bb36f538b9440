"""Put the windows of a stage together: pairs, the estimate of each measure, and what decides."""

import math
from collections.abc import Sequence

from dayzero.bench.windows.model import (
    Compared,
    Decided,
    Design,
    InstrumentBad,
    Interval,
    Measure,
    PairRatio,
    Secondary,
    Taken,
)
from dayzero.bench.windows.statistics import estimate, holm, minimum_effect_before, percentile_ratio
from dayzero.bench.windows.verdict import decide


def certify(design: Design, taken: Sequence[Taken]) -> Compared | InstrumentBad:
    """Compare A with itself by the primary measure: an instrument that finds a difference there is no instrument.

    Args:
        design: What was fixed beforehand.
        taken: Every window of the certificate.
    """
    missing = lacking(design.primary, taken)
    if missing:
        return InstrumentBad(reasons=(f"{design.primary} was to decide: {missing}",))
    found = _compared(design, design.primary, taken, alpha=design.certificate_alpha)
    if found.estimate.p > design.certificate_alpha:
        return found
    share = math.expm1(found.estimate.effect.value)
    reason = (
        f"A differs from itself by {share:+.2%} (p {found.estimate.p:.2g}): "
        "what was found between A and B could come from the same place"
    )
    return InstrumentBad(reasons=(reason,), certificate=found)


def minimum_before(design: Design, certificate: Compared) -> float:
    """Say which difference the comparison is going to find 4 times in 5, by the spread that the certificate shows."""
    found = certificate.estimate
    return minimum_effect_before(found.sd, len(certificate.pairs), design.pairs, alpha=design.alpha)


def conclude(design: Design, certificate: Compared, taken: Sequence[Taken]) -> Decided | InstrumentBad:
    """Compare A with B by every measure, and decide by the primary one.

    Args:
        design: What was fixed beforehand.
        certificate: A against itself.
        taken: Every window of the comparison.
    """
    missing = lacking(design.primary, taken)
    if missing:
        return InstrumentBad(reasons=(f"{design.primary} was to decide: {missing}",), certificate=certificate)
    primary = _compared(design, design.primary, taken, alpha=design.alpha)
    gaps = tuple((measure, lacking(measure, taken)) for measure in design.secondary)
    others = tuple(_compared(design, measure, taken, alpha=design.alpha) for measure, gap in gaps if not gap)
    corrected = holm([other.estimate.p for other in others])
    return Decided(
        certificate=certificate,
        minimum_before=minimum_before(design, certificate),
        primary=primary,
        bootstrap=_bootstrap(design, primary, taken),
        secondary=tuple(
            Secondary(compared=other, p_holm=p, bootstrap=_bootstrap(design, other, taken), holds=p <= design.alpha)
            for other, p in zip(others, corrected, strict=True)
        ),
        left_out=tuple((measure, gap) for measure, gap in gaps if gap),
        verdict=decide(primary.estimate.effect, design.primary, margin=design.margin),
    )


def lacking(measure: Measure, taken: Sequence[Taken]) -> str:
    """Say why a measure cannot be compared over these windows; ``""`` when all carry it."""
    without = [one for one in taken if measure not in one.figures]
    if not without:
        return ""
    why = without[0].missing.get(measure, "it is not measured")
    return f"{why} ({len(without)} of {len(taken)} windows)"


def _compared(design: Design, measure: Measure, taken: Sequence[Taken], *, alpha: float) -> Compared:
    pairs = tuple(_pair(measure, a, b) for a, b in _halves(taken))
    return Compared(measure=measure, pairs=pairs, estimate=estimate(pairs, alpha=alpha, seed=design.seed))


def _pair(measure: Measure, a: Taken, b: Taken) -> PairRatio:
    left, right = a.figures[measure], b.figures[measure]
    # Two logarithms, not one of a quotient: swapping the arms then changes the sign and nothing else.
    ratio = math.log(right) - math.log(left)
    return PairRatio(a=left, b=right, log_ratio=ratio, b_first=b.window.slot == 1)


def _halves(taken: Sequence[Taken]) -> tuple[tuple[Taken, Taken], ...]:
    by_place = {(one.window.pair, one.window.label): one for one in taken}
    pairs = sorted({one.window.pair for one in taken})
    return tuple((by_place[pair, "A"], by_place[pair, "B"]) for pair in pairs)


def _bootstrap(design: Design, compared: Compared, taken: Sequence[Taken]) -> Interval | None:
    """Give the bootstrap's interval, where the measure is a percentile of one value a request."""
    percentile, metric = compared.measure.percentile, compared.measure.metric
    if percentile is None or not all(one.values.get(metric) for one in taken):
        return None
    samples = [(a.values[metric], b.values[metric]) for a, b in _halves(taken)]
    return percentile_ratio(samples, compared.pairs, percentile, alpha=design.alpha, seed=design.seed)
