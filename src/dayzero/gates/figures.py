"""Put one comparison into figures that stand beside its test."""

from collections.abc import Sequence

from dayzero.gates.certificate import coverage, floor
from dayzero.gates.divergence import THICK, Comparison, Place, clear_flip, far
from dayzero.gates.model import DistributionPlan, Figures, Group
from dayzero.gates.statistics import percentile

_GROUPS = (("certain", 0.9, 1.01), ("leaning", 0.5, 0.9), ("open", 0.0, 0.5))


def figures(plan: DistributionPlan, comparison: Comparison) -> Figures:
    """Describe one comparison over all of its places, the thin ones too."""
    places, flipped = comparison.places, clear_flip(plan.margin_nat)
    divergences = [place.divergence for place in places]
    return Figures(
        name=comparison.name,
        pairs=comparison.pairs,
        positions=len(places),
        agreement=_agreement(places),
        clear_flips=sum(map(flipped, places)) / len(places),
        forward=sum(place.forward for place in places) / len(places),
        backward=sum(place.backward for place in places) / len(places),
        divergence=floor(plan, comparison),
        p99=percentile(divergences, 99),
        largest=max(divergences),
        far=int(sum(map(far, places))),
        coverage=coverage(comparison),
        groups=tuple(
            _group(name, members)
            for name, low, high in _GROUPS
            if (members := [place for place in places if low <= place.sure < high])
        ),
    )


def _group(name: str, places: Sequence[Place]) -> Group:
    return Group(
        name=name,
        positions=len(places),
        agreement=_agreement(places),
        divergence=sum(place.divergence for place in places) / len(places),
        thin=sum(place.mass < THICK for place in places) / len(places),
    )


def _agreement(places: Sequence[Place]) -> float:
    return sum(not place.moved for place in places) / len(places)
