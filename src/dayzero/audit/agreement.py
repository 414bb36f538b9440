"""Sum up what several definitions of one name say about a claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict

_MOST_NAMED = 6


class Says(Enum):
    """What one definition says about the claim."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Witness:
    """One definition's answer, in words, and where it stands."""

    says: Says
    words: str
    place: Place


def agreement(witnesses: Sequence[Witness], unread: Sequence[Place], *, nowhere: str) -> Verdict:
    """Decide a claim by all witnesses: proven or refuted only where they agree and no file was left unread.

    Args:
        witnesses: One a definition.
        unread: Files that may hold another one.
        nowhere: What to say where there is no witness.
    """
    places = tuple(witness.place for witness in witnesses)
    if unread:
        return Undecided(
            f"{unread[0]} may define it too and was not read ({unread[0].quote}); {_named(witnesses) or nowhere}",
            (*places, *unread),
        )
    match {witness.says for witness in witnesses}:
        case says if not says:
            return Undecided(nowhere)
        case says if says == {Says.HOLDS}:
            return Proven(_named(witnesses), places)
        case says if says == {Says.FAILS}:
            return Refuted(_named(witnesses), places)
        case _:
            return Undecided(_named(witnesses), places)


def _named(witnesses: Sequence[Witness]) -> str:
    """Name each definition once; equal words are said of all that share them."""
    shared: dict[str, list[Place]] = {}
    for witness in witnesses:
        shared.setdefault(witness.words, []).append(witness.place)
    if len(shared) == 1 and len(witnesses) == 1:
        return witnesses[0].words
    parts = [f"{_places(places)}: {words}" for words, places in shared.items()]
    more = len(parts) - _MOST_NAMED
    return "; ".join(parts[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _places(places: Sequence[Place]) -> str:
    more = len(places) - _MOST_NAMED
    return ", ".join(map(str, places[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
