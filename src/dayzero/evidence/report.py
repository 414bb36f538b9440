"""What a check found."""

from dataclasses import dataclass
from enum import Enum

from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict


class Kind(Enum):
    """What is wrong, as one word for programs."""

    LEDGER_TORN = "ledger-torn"
    RETRACTION_OF_NOTHING = "retraction-of-nothing"
    RAW_MISSING = "raw-missing"
    RAW_CHANGED = "raw-changed"
    RAW_UNRECORDED = "raw-unrecorded"
    CLAIM_UNSUPPORTED = "claim-unsupported"
    CLAIM_DIFFERS = "claim-differs"
    CITATION_DIFFERS = "citation-differs"
    CITATION_WITHDRAWN = "citation-withdrawn"
    CITATION_UNSUPPORTED = "citation-unsupported"
    CITATION_WITHHELD = "citation-withheld"
    CITATION_MISSING = "citation-missing"
    CORRECTION_UNFULFILLED = "correction-unfulfilled"
    QUOTE_DIFFERS = "quote-differs"
    NUMBER_BARE = "number-bare"
    MARKUP_BROKEN = "markup-broken"
    TOPIC_UNSAID = "topic-unsaid"
    COMPARISON_INCOMPLETE = "comparison-incomplete"
    RECEIPT_DIFFERS = "receipt-differs"
    RAW_IGNORED = "raw-ignored"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        kind: Which rule was broken.
        reason: What is wrong, naming claim and values.
        places: Where it shows: first where it has to be mended, then every page that cites what is concerned.
    """

    kind: Kind
    reason: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was checked, and what was found.

    Attributes:
        findings: What is wrong: the ledger first, then raw files and claims, then pages.
        raw_files: Raw files read.
        claims: Claims in the ledger, derived ones too, of any state.
        standing: Claims that stand, each of which was extracted or derived again.
        pages: Pages read.
        citations: Citations compared.
        quotes: Quoted raw blocks compared.
        explanations: Explanations that stand.
    """

    findings: tuple[Finding, ...]
    raw_files: int
    claims: int
    standing: int
    pages: int
    citations: int
    quotes: int
    explanations: int = 0

    @property
    def verdict(self) -> Verdict:
        """Say whether every published number is backed; where no claim was ever made, that is undecided."""
        if self.findings:
            reason = "1 finding" if len(self.findings) == 1 else f"{len(self.findings)} findings"
            return Refuted(reason, tuple(place for finding in self.findings for place in finding.places))
        if not self.claims:
            return Undecided("nothing was checked: the ledger holds no claim")
        return Proven("every claim that stands was extracted or computed again, and every citation says what it says")
