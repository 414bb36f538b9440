"""Take a claim back: decide whether that can be done, and write the record."""

import difflib

from dayzero.core.errors import InputError
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Retraction
from dayzero.evidence.state import Missing, Retracted, Standing, Unsupported, Withdrawn, Withheld


def retract(ledger: Ledger, wanted: Retraction) -> Retraction:
    """Check that there is something to take back; a withdrawn claim can still be retracted, which says more.

    Raises:
        InputError: There is no such claim, or it was taken back like this already, or it was never citable.
    """
    match ledger.standing(wanted.slug):
        case Missing():
            raise no_such_claim(ledger, wanted.slug)
        case Retracted(retraction=earlier):
            raise _already(earlier)
        case Withdrawn(retraction=earlier) if wanted.kind == earlier.kind:
            raise _already(earlier)
        case Withheld():
            raise InputError(
                f"{wanted.slug} is withheld: nothing was said that could be taken back",
                hint="File a claim on a raw file once there is one.",
            )
        case Withdrawn() | Standing() | Unsupported():
            return wanted


def no_such_claim(ledger: Ledger, slug: str) -> InputError:
    """Say that no claim has this slug, and name the nearest ones."""
    slugs = list(ledger.standings())
    near = difflib.get_close_matches(slug, slugs, n=3) or slugs[:3]
    hint = f"Did you mean {' or '.join(near)}?" if near else "The ledger holds no claim yet."
    return InputError(f"no claim is called {slug!r}", hint=hint)


def _already(earlier: Retraction) -> InputError:
    return InputError(
        f"{earlier.slug} was {earlier.word} already on {earlier.at}: {earlier.reason}",
        hint="Nothing is left to do; 'dayzero evidence show' prints its history.",
    )
