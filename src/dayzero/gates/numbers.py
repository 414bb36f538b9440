"""Judge published numbers, where nothing but the numbers is to be had: what their own control permits, and never "same"."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.gates.certificate import FLOOR_PART, LEAST_COVERAGE
from dayzero.gates.model import Different, GateVerdict, NoInstrument
from dayzero.gates.report import amount, percent
from dayzero.gates.statistics import share_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What somebody printed.

    Attributes:
        control: Top-1 agreement of the reference with itself; ``None`` where no control was printed.
        agreement: Top-1 agreement of the candidate with the reference; ``None`` for a control alone.
        mean_kl: Mean divergence over the places that were kept, nats; ``None`` where none was printed.
        skipped: Share of places left out for thin support.
        margin: Share of changed first tokens that does not matter.
        places: How many places stand behind each agreement; 0 where that was not printed.
    """

    control: float | None
    agreement: float | None = None
    mean_kl: float | None = None
    skipped: float = 0.0
    margin: float = 0.005
    places: int = 0

    def __post_init__(self) -> None:
        shares = {"control": self.control, "agreement": self.agreement, "skipped": self.skipped, "margin": self.margin}
        for name, share in shares.items():
            if share is not None and not 0 <= share <= 1:
                raise InputError(f"{share:g} is no share ({name})", hint="Give it between 0 and 1: 0.7812 for 78.12 %.")
        if self.mean_kl is not None and not (math.isfinite(self.mean_kl) and self.mean_kl >= 0):
            raise InputError(
                f"a mean divergence of {self.mean_kl:g} cannot be", hint="Give a number of nats, 0 or more."
            )
        if self.places < 0:
            raise InputError(f"{self.places} places cannot be", hint="Give how many there were, or 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedNumbers:
    """What the numbers permit.

    Attributes:
        published: What was given.
        verdict: Never the same: no number shows what its instrument could have missed.
        notes: What else must be known of them.
    """

    published: Published
    verdict: GateVerdict
    notes: tuple[str, ...]


def judge_numbers(published: Published) -> JudgedNumbers:
    """Say what the numbers permit.

    The control's disagreement is the floor. A difference is found where the candidate disagrees at least three times as often
    as the reference does with itself, and by more than the margin. Without that, a floor above a third of the margin certifies
    nothing, and a low one still lacks an interval, a positive control and the places that were skipped.
    """
    return JudgedNumbers(published=published, verdict=_verdict(published), notes=tuple(_notes(published)))


def _verdict(published: Published) -> GateVerdict:
    if published.control is None:
        return NoInstrument(("no control was published: nothing says how often the reference disagrees with itself",))
    floor, bound = 1 - published.control, published.margin / FLOOR_PART
    highest = share_bounds(floor, published.places)[1]
    itself = f"the reference names the first token that it named before at {percent(published.control)} of the places"
    too_high = f"a margin of {percent(published.margin)} needs at most {percent(bound)} of changes in the control"
    if published.agreement is None:
        if highest > bound:
            return NoInstrument((f"{itself}: it changes {percent(floor)} by itself, and {too_high}",))
        return Undecided(f"{itself}; it was compared with nothing else")
    changed = 1 - published.agreement
    least = share_bounds(changed, published.places)[0] * (1 - published.skipped)
    between = f"{itself}, the candidate at {percent(published.agreement)}: {percent(floor)} of changes against {percent(changed)}"
    if least >= FLOOR_PART * highest and least - highest > published.margin:
        return Different(
            (f"{between}, at least {FLOOR_PART} times as many and beyond the margin of {percent(published.margin)}",)
        )
    if highest > bound:
        own = f", which may be up to {percent(highest)} behind {published.places} places," if published.places else ""
        less = f"not surely {FLOOR_PART} times the reference's own{own or ','} so its noise may be all that is seen"
        return NoInstrument((f"{between}: {less}; {too_high}",))
    return Undecided(f"{between}: no difference is shown, and numbers alone never show that there is none")


def _notes(published: Published) -> Iterator[str]:
    if not published.places:
        yield "no count of places was published, so there is no interval: the shares are taken at their word"
    else:
        yield "the bounds take the places for independent; those of one prompt are not"
    if published.skipped:
        kept = 1 - published.skipped
        yield (
            f"{percent(published.skipped)} of the places were left out for thin support, where a coarser model shows first: "
            "what was averaged over the others bounds nothing; a difference is only called one were they all the same"
        )
        if kept < LEAST_COVERAGE:
            yield f"{percent(kept)} of the places were kept, and at least {percent(LEAST_COVERAGE)} is needed"
    if published.mean_kl is not None:
        yield f"a mean divergence of {amount(published.mean_kl, 'nat')} has no control beside it, so it decides nothing"
