"""What records change: which slugs stand otherwise than before, and which pages print them."""

from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.evidence.citation import Citation, Reading
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.state import Missing, Retracted, Standing, State, Unsupported, Withdrawn, Withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One slug that stands otherwise.

    Attributes:
        slug: Which.
        before: What pages may print of it before, or what it is.
        after: The same, after.
        cited: Where pages print it.
    """

    slug: str
    before: str
    after: str
    cited: tuple[Citation, ...]


def changes(before: Ledger, after: Ledger, readings: Sequence[Reading]) -> tuple[Change, ...]:
    """Compare two states of a ledger, in the order in which the slugs were first used."""
    earlier, later = before.standings(), after.standings()
    return tuple(
        Change(
            slug=slug,
            before=said(earlier.get(slug, Missing(slug))),
            after=said(state),
            cited=tuple(cited for reading in readings for cited in reading.citations if cited.slug == slug),
        )
        for slug, state in later.items()
        if said(earlier.get(slug, Missing(slug))) != said(state)
    )


def said(state: State) -> str:
    """Say what a page may print of a slug: its text with its flags, or what became of it."""
    match state:
        case Standing(claim=claim, flags=flags):
            return f"{claim.text!r}" + "".join(f", {flag.word}" for flag in flags)
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            return retraction.word
        case Unsupported(missing=missing):
            return f"unsupported: it rests on {' and '.join(missing)}"
        case Withheld():
            return "withheld: no raw file stands under it"
        case Missing():
            return "never claimed"
