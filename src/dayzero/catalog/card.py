"""Build one card from a package definition and the ledger. No number is typed, computed or remembered here."""

from dayzero.catalog.model import (
    STEPS,
    Absent,
    Card,
    Figure,
    Fit,
    Gone,
    KitFacts,
    Mark,
    Measurement,
    NotYet,
    Shown,
    StatusStep,
)
from dayzero.catalog.standing import read_gates
from dayzero.catalog.told import About, Elsewhere
from dayzero.catalog.words import floor_words, load_words, place_words, statistic_words
from dayzero.core.errors import InputError
from dayzero.core.package import ClaimRef, Package
from dayzero.evidence.locator import Locator, PointerLocator, WholeFile
from dayzero.evidence.model import Claim
from dayzero.evidence.state import (
    ClaimState,
    Corrected,
    Flag,
    Missing,
    Retracted,
    Standing,
    Superseded,
    Unsupported,
    Withdrawn,
    Withheld,
)


def build_card(
    package: Package, about: About, *, kit: KitFacts | None, statuses: tuple[StatusStep, ...], fit: Fit
) -> Card:
    """Read what the card shows. Every number on it was measured on this recipe, also where another one was measured since.

    Args:
        package: The definition: it says which numbers are asked for.
        about: What the ledger says of the definition's recipe: the only place that a number may come from.
        kit: The kit, ``None`` where none was packed.
        statuses: What is known of the status ladder, in any order; a step left out is shown as not yet reached.
        fit: What is known of the hardware floor.

    Raises:
        InputError: A status names a step that the ladder does not have, or one step twice; or two numbers are headlines.
    """
    headlines = [ref.id for ref in package.claims if ref.headline]
    if len(headlines) > 1:
        raise InputError(
            f"{package.name} claims more than one headline number: {', '.join(headlines)}",
            hint="Leave headline = true on one of them.",
        )
    return Card(
        package=package,
        recipe=about.recipe,
        floor=floor_words(package.recipe.system),
        fit=fit,
        ladder=_ladder(statuses),
        gates=read_gates(package, about),
        measurements=tuple(_measurement(package, ref, about) for ref in package.claims),
        kit=kit,
    )


def _measurement(package: Package, ref: ClaimRef, about: About) -> Measurement:
    slug = package.slug(ref)
    return Measurement(
        slug=slug,
        ref=ref,
        statistic=statistic_words(ref.parameters),
        load=load_words(ref.parameters, package.workload),
        figure=_figure(ref, about.state(slug), about),
    )


def _figure(ref: ClaimRef, state: ClaimState | Missing | Elsewhere, about: About) -> Figure:
    match state:
        case Standing(claim=Claim() as claim, flags=flags):
            other = _difference(ref, claim)
            if other:
                return Absent(f"The ledger's claim {claim.slug} is another number: {other}.")
            if claim.raw not in about.told.raws:
                return Absent(f"The raw file {claim.raw} under the claim {claim.slug} was never filed.")
            return Shown(claim, about.told.raws[claim.raw], tuple(map(_mark, flags)))
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            return Gone(kind=retraction.kind, reason=retraction.reason, at=retraction.at)
        case other_state:
            return Absent(_why(other_state))


def _why(state: Standing | Superseded | Corrected | Unsupported | Withheld | Missing | Elsewhere) -> str:
    match state:
        case Elsewhere(claim=claim, gone=gone):
            since = ", and taken back since" if gone else ""
            return (
                f"The claim {claim.slug} was measured on another recipe ({claim.subject}){since}; "
                "this one is not measured yet."
            )
        case Corrected(claim=claim, correction=correction):
            return f"The claim {claim.slug} was corrected, and not for this recipe: {correction.reason}"
        case Unsupported(claim=claim, missing=missing):
            return f"The claim {claim.slug} rests on what does not stand: {', '.join(missing)}."
        case Withheld(uncitable=uncitable):
            return f"A value exists and is withheld: {uncitable.why}"
        case Missing(slug=slug):
            return f"The evidence ledger holds no claim {slug}."
        case told:
            return f"The ledger's claim {told.claim.slug} is not a measured number."


def _mark(flag: Flag) -> Mark:
    return Mark(word=flag.word, slug=flag.event.slug, reason=flag.event.reason, at=flag.event.at)


def _difference(ref: ClaimRef, claim: Claim) -> str:
    """Say how the claim differs from what the definition asks for, ``""`` where it does not.

    A label in the definition must not stand beside a number that was taken in another way.
    """
    if claim.unit != ref.unit:
        return f"its unit is {claim.unit or 'none'}, the definition says {ref.unit or 'none'}"
    if claim.extraction.extractor != ref.extractor:
        return f"it was extracted by {claim.extraction.extractor}, the definition says {ref.extractor}"
    place: Locator = PointerLocator(pointer=ref.pointer) if ref.pointer else WholeFile()
    if claim.locator != place:
        return f"it rests on the {place_words(claim.locator)}, the definition says the {place_words(place)}"
    taken = dict(claim.extraction.parameters)
    for name, asked in ref.parameters:
        if taken.get(name) != asked:
            return f"its {name} is {taken.get(name, 'not given')}, the definition says {asked}"
    return ""


def _ladder(statuses: tuple[StatusStep, ...]) -> tuple[StatusStep, ...]:
    known: dict[str, StatusStep] = {}
    for status in statuses:
        if status.step not in STEPS or status.step in known:
            trouble = "given twice" if status.step in known else "not on the ladder"
            raise InputError(
                f"status {status.step!r} is {trouble}", hint=f"Give each of {', '.join(STEPS)} at most once."
            )
        known[status.step] = status
    return tuple(known.get(step, NotYet(step=step, why="Nothing on record shows it.")) for step in STEPS)
