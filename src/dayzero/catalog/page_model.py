"""What the page of a claim shows: where it stands, what it rests on, and what was said under its slug."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from dayzero.core.pins import Sha256
from dayzero.evidence.model import Extraction, RawFile


class PageState(Enum):
    """What a reader is told about a claim, in a word."""

    STANDING = "standing"
    FLAGGED = "flagged"
    SUPERSEDED = "superseded"
    CORRECTED = "corrected"
    WITHDRAWN = "withdrawn"
    RETRACTED = "retracted"
    UNSUPPORTED = "unsupported"
    UNCITABLE = "uncitable"

    @property
    def citable(self) -> bool:
        """Say whether the value may be printed as one that is asserted now."""
        return self in {PageState.STANDING, PageState.FLAGGED}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedLine:
    """One line of a raw file, cut in the middle where it is long.

    Attributes:
        number: 1-based.
        head: Its text, or the beginning of it.
        cut: How many characters were left out.
        tail: The end of it, ``""`` where nothing was left out.
    """

    number: int
    head: str
    cut: int = 0
    tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What is quoted of a raw file.

    Attributes:
        lines: The lines, in their order.
        note: Which lines of how many these are, or why none is quoted.
        found: The value that the locator points at, as it is written there; ``""`` where the lines say it.
    """

    lines: tuple[QuotedLine, ...]
    note: str
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawBasis:
    """A claim rests on a raw file.

    Attributes:
        sha256: Digest of the file.
        raw: Its record, ``None`` where it was never filed.
        kept: True when the file lies beside the site, so that it can be linked.
        place: Where in it, in words.
        how: How the value comes out of there, in words.
        extraction: The same, as it is on record.
        subject: Digest of the recipe that was measured.
        quoting: Reads the lines, once; asked when a page shows them, so that a catalog holds no file of which no page is asked for.
    """

    sha256: Sha256
    raw: RawFile | None
    kept: bool
    place: str
    how: str
    extraction: Extraction
    subject: Sha256
    quoting: Callable[[], Quote] = field(compare=False)

    @property
    def quote(self) -> Quote:
        """The lines.

        Raises:
            EvidenceError: The file is gone since the catalog was read.
            IntegrityError: It was changed since.
        """
        return self.quoting()


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Another claim, as a page names it.

    Attributes:
        slug: Its handle.
        label: What it is, in words.
        state: Where it stands; ``None`` where no claim was ever made under the slug.
        value: Its value, ``""`` where it is none or may not be printed.
        text: The value with its unit.
    """

    slug: str
    label: str
    state: PageState | None
    value: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedBasis:
    """A number is computed from other claims.

    Attributes:
        rule: Name and version of the rule.
        formula: What it computes, in words; ``""`` where this version has no such rule.
        inputs: What enters, in order.
        decimals: How many decimals are printed.
    """

    rule: str
    formula: str
    inputs: tuple[Related, ...]
    decimals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One trial of an explanation; ``raw`` is linked where ``kept``."""

    name: str
    conditions: tuple[tuple[str, str], ...]
    outcome: str
    raw: Sha256
    kept: bool
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseBasis:
    """A cause that is asserted of ``facts``, and what was tried to settle it."""

    facts: tuple[Related, ...]
    trials: tuple[TrialRow, ...]


@dataclass(frozen=True, slots=True)
class NoBasis:
    """Nothing stands under it, and why."""

    why: str


Basis: TypeAlias = RawBasis | DerivedBasis | CauseBasis | NoBasis


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One entry of a claim's history.

    Attributes:
        what: In a few words: ``claimed``, ``withdrawn``.
        state: What has become of it, for a claim; ``None`` for an event.
        at: UTC, RFC 3339; ``""`` where the record has no time.
        value: What was claimed; ``""`` for an event, and where it may not be printed.
        text: The value with its unit.
        reason: Why, in the ledger's words.
    """

    what: str
    state: PageState | None
    at: str
    value: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPage:
    """Everything that is known of one slug, as its page shows it.

    Attributes:
        slug: The handle.
        label: What it is, in words.
        state: Where it stands.
        value: Its value as it is printed; ``""`` where it is none or may not be printed.
        unit: Its unit.
        reasons: Why it does not stand, or what its flags say, each with its time where there is one.
        basis: What it rests on.
        history: Everything that was said under the slug, newest first.
        derived: What is computed from it.
        causes: Explanations that cite it.
    """

    slug: str
    label: str
    state: PageState
    value: str
    unit: str
    reasons: tuple[Said, ...]
    basis: Basis
    history: tuple[Said, ...]
    derived: tuple[Related, ...]
    causes: tuple[Related, ...]

    @property
    def text(self) -> str:
        """The one way to print the value."""
        return f"{self.value} {self.unit}" if self.value and self.unit else self.value

    @property
    def linked(self) -> tuple[Sha256, ...]:
        """The raw files that the page links."""
        match self.basis:
            case RawBasis(sha256=digest, kept=True):
                return (digest,)
            case CauseBasis(trials=trials):
                return tuple(trial.raw for trial in trials if trial.kept)
            case _:
                return ()
