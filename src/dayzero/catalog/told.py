"""The ledger, read once for all cards and pages: where each slug stands, and where it stands for one recipe."""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Claim, RawFile
from dayzero.evidence.state import (
    ClaimState,
    Missing,
    Retracted,
    Standing,
    State,
    Superseded,
    Withdrawn,
    Withheld,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a ledger says, as it was when it was read.

    Attributes:
        ledger: The ledger.
        histories: What has become of what was said, by slug, oldest first.
        standings: Where each slug stands now.
        raws: The raw files by digest.
    """

    ledger: Ledger
    histories: Mapping[str, tuple[ClaimState, ...]]
    standings: Mapping[str, State]
    raws: Mapping[Sha256, RawFile]

    @classmethod
    def read(cls, ledger: Ledger) -> "Told":
        """Read a ledger."""
        return cls(ledger=ledger, histories=ledger.histories(), standings=ledger.standings(), raws=ledger.raw_files())

    def standing(self, slug: str) -> State:
        """Say where a slug stands now."""
        return self.standings.get(slug, Missing(slug))

    def about(self, recipe: Sha256) -> "About":
        """Look at it from one recipe."""
        return About(self, recipe)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What was said last under a slug is about another recipe; ``gone`` where it was taken back, too."""

    claim: Claim
    gone: bool


@dataclass(frozen=True, slots=True)
class About:
    """What a ledger says of one recipe.

    Attributes:
        told: The ledger.
        recipe: Digest of the recipe.
    """

    told: Told
    recipe: Sha256

    def state(self, slug: str) -> ClaimState | Missing | Elsewhere:
        """Say where the newest claim of a slug that is about this recipe stands.

        A claim whose place was taken by one about another recipe still stands for its own. Withholding a value names no recipe,
        so that every claim before it is withheld.
        """
        now = self.told.standing(slug)
        if isinstance(now, Missing):
            return now
        for state in reversed(self.told.histories[slug]):
            match state:
                case Superseded(claim=Claim(subject=self.recipe) as claim, line=line, flags=flags):
                    return Standing(claim=claim, line=line, flags=flags)
                case Withheld():
                    return state
                case other if isinstance(other.claim, Claim) and other.claim.subject == self.recipe:
                    return other
                case _:
                    continue
        if not isinstance(now, Withheld) and isinstance(now.claim, Claim):
            return Elsewhere(now.claim, gone=isinstance(now, Withdrawn | Retracted))
        return now
