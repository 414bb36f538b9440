"""Say something on a claim that was made: decide whether it can be said, and give the record."""

from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Claim, Concern, Correction, Expiry, Reaffirmation
from dayzero.evidence.retract import no_such_claim
from dayzero.evidence.state import Missing, Standing

ClaimEvent: TypeAlias = Concern | Reaffirmation | Expiry


def admit(ledger: Ledger, event: ClaimEvent) -> ClaimEvent:
    """Check that there is a claim which the event changes.

    Raises:
        InputError: There is no such claim, it does not stand, it has that flag already, or there is no concern to lift.
    """
    own = [flag.event for flag in _standing(ledger, event.slug).flags if flag.event.slug == event.slug]
    match event:
        case Reaffirmation():
            if not any(isinstance(flag, Concern) for flag in own):
                raise InputError(f"{event.slug} is under no concern", hint="Nothing is left to reaffirm.")
        case Concern() | Expiry():
            earlier = next((flag for flag in own if isinstance(flag, type(event))), None)
            if earlier is not None:
                raise InputError(
                    f"that was said of {event.slug} already on {earlier.at}: {earlier.reason}",
                    hint="Nothing is left to do; 'dayzero evidence show' prints its history.",
                )
    return event


def correct(ledger: Ledger, correction: Correction, right: Claim) -> tuple[Correction, Claim]:
    """Check that a claim corrects another: the same slug, the same raw file, another value or way to it.

    Returns:
        The two records to append, in this order and in one go.

    Raises:
        InputError: The claim that is to be corrected does not stand, or the new one is not its correction.
    """
    wrong = _standing(ledger, correction.slug).claim
    if right.slug != correction.slug or not isinstance(wrong, Claim) or right.raw != wrong.raw:
        raise InputError(
            f"that does not correct {correction.slug}: a correction reads the same raw file rightly",
            hint="File a newer measurement as a claim; it supersedes.",
        )
    if right == wrong:
        raise InputError(f"that is what {correction.slug} says already", hint="Correct what is wrong with it.")
    return correction, right


def _standing(ledger: Ledger, slug: str) -> Standing:
    match ledger.standing(slug):
        case Standing() as state:
            return state
        case Missing():
            raise no_such_claim(ledger, slug)
        case _:
            raise InputError(f"{slug} does not stand", hint="'dayzero evidence show' prints what became of it.")
