"""Say what stands under one claim, and what became of it."""

from dataclasses import dataclass
from typing import TypeAlias

from dayzero.core.errors import EvidenceError, IntegrityError
from dayzero.core.verdict import Place
from dayzero.evidence.check import claim_place
from dayzero.evidence.claims import extract, read_raw
from dayzero.evidence.ledger import ClaimState, Ledger
from dayzero.evidence.model import Claim, RawFile
from dayzero.evidence.ports import Extractors, RawStore
from dayzero.evidence.retract import no_such_claim


@dataclass(frozen=True, slots=True)
class Backed:
    """The raw file is there, and the extractor finds the value at ``place``."""

    raw_file: RawFile
    place: Place


@dataclass(frozen=True, slots=True)
class Unbacked:
    """Nothing can be shown for the claim now, and why."""

    reason: str


Backing: TypeAlias = Backed | Unbacked


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One slug.

    Attributes:
        history: Its claims, oldest first; the last one is explained.
        backing: What stands under the last one.
    """

    history: tuple[ClaimState, ...]
    backing: Backing

    @property
    def last(self) -> ClaimState:
        """The claim that is explained."""
        return self.history[-1]


def explain(ledger: Ledger, store: RawStore, extractors: Extractors, slug: str, *, folder: str) -> Explanation:
    """Explain a claim, whatever has become of it.

    Raises:
        InputError: No claim was ever made under this slug.
    """
    history = ledger.history(slug)
    if not history:
        raise no_such_claim(ledger, slug)
    return Explanation(history=history, backing=_backing(ledger, store, extractors, history[-1].claim, folder=folder))


def _backing(ledger: Ledger, store: RawStore, extractors: Extractors, claim: Claim, *, folder: str) -> Backing:
    raw_file = ledger.raw_files().get(claim.raw)
    if raw_file is None:
        return Unbacked(f"its raw file is not in the ledger: {claim.raw}")
    try:
        content = read_raw(store, claim.raw)
        value = extract(content, claim.locator, claim.extraction, extractors)
        place = claim_place(claim, content, raw_file, folder=folder)
    except (EvidenceError, IntegrityError) as error:
        return Unbacked(error.message)
    return Backed(raw_file, place) if value == claim.value else Unbacked(f"its raw file gives {value!r}")
