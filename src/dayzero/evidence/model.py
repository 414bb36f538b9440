"""The records of the ledger. Measured values are strings, so that no serialiser rounds them."""

from dataclasses import dataclass
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.fields import (
    need_cited,
    need_decimals,
    need_distinct,
    need_printable,
    need_reason,
    need_rule,
    need_slug,
    need_stamp,
    need_text,
)
from dayzero.evidence.locator import Locator
from dayzero.evidence.row_model import RowReinstatement, RowRetraction

RETRACT, WITHDRAW = "retract", "withdraw"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile:
    """A file as it was captured, kept under its digest.

    Attributes:
        sha256: Digest of its bytes; also its name in the store.
        name: What it was called when it was captured (``requests.jsonl``).
        size: Its size.
        captured_at: UTC, RFC 3339, to the second.
        command: The command that produced it, paths neutralised.
    """

    sha256: Sha256
    name: str
    size: Bytes
    captured_at: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """How the value comes out of the raw file.

    Attributes:
        extractor: Name and version of a registered extractor (``bench-rows@1``).
        parameters: What it is asked, as ordered (name, value) pairs.
    """

    extractor: str
    parameters: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One published number, or one quoted fact, and what stands under it.

    Attributes:
        slug: Handle that pages cite (``demo-smollm2/c4-ttft-p50``); a later claim with the same slug supersedes.
        label: What the value is, in words.
        value: The value as it is printed (``12.3``).
        unit: Its unit, ``""`` for a bare count or a quote.
        raw: Digest of the raw file.
        locator: Where in it.
        extraction: How it comes out of there.
        subject: The configuration that was measured: digest of the recipe.
    """

    slug: str
    label: str
    value: str
    unit: str
    raw: Sha256
    locator: Locator
    extraction: Extraction
    subject: Sha256

    def __post_init__(self) -> None:
        need_slug(self.slug)
        need_printable(self.slug, label=self.label, value=self.value, unit=self.unit)

    @property
    def text(self) -> str:
        """The one way to print it: ``12.3 ms``."""
        return f"{self.value} {self.unit}" if self.unit else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A number that is computed from other claims, and from nothing else.

    Attributes:
        slug: Handle, as of a claim.
        label: What the value is, in words.
        value: The value as it is printed; :func:`~dayzero.evidence.derive.make_derived` computes it.
        unit: Its unit.
        rule: Name and version of the rule that computes it (``ratio@1``).
        inputs: Slugs of the claims that enter, in the order that the rule takes them.
        decimals: How many decimals are printed.
    """

    slug: str
    label: str
    value: str
    unit: str
    rule: str
    inputs: tuple[str, ...]
    decimals: int

    def __post_init__(self) -> None:
        need_slug(self.slug)
        need_printable(self.slug, label=self.label, value=self.value, unit=self.unit)
        need_rule(self.rule, self.inputs)
        need_cited(self.slug, self.inputs)
        need_decimals(self.value, self.decimals)

    @property
    def text(self) -> str:
        """The one way to print it."""
        return f"{self.value} {self.unit}" if self.unit else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One start under stated conditions, and how it ended.

    Attributes:
        name: What it is called, unique in its explanation.
        conditions: (factor, level) pairs, each factor once (``("autotune", "on")``).
        outcome: How it ended, in a word that equal ends share (``served``, ``died at capture``).
        raw: Digest of the raw file that shows the outcome.
        locator: Where in it.
    """

    name: str
    conditions: tuple[tuple[str, str], ...]
    outcome: str
    raw: Sha256
    locator: Locator

    def __post_init__(self) -> None:
        need_text("the name of a trial", self.name)
        need_text(f"the outcome of the trial {self.name}", self.outcome)
        for factor, level in self.conditions:
            need_text(f"a factor of the trial {self.name}", factor)
            need_text(f"the level of {factor} in the trial {self.name}", level)
        need_distinct(f"factors of the trial {self.name}", (factor for factor, _ in self.conditions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A cause that is asserted; never a number. When it is withdrawn, its facts stand as before.

    Attributes:
        slug: Handle, as of a claim.
        statement: The cause, as it is printed.
        facts: Slugs of the claims that it explains.
        trials: What was tried to settle it; what they can support is computed, never stored.
    """

    slug: str
    statement: str
    facts: tuple[str, ...]
    trials: tuple[Trial, ...] = ()

    def __post_init__(self) -> None:
        need_slug(self.slug)
        need_text(f"the statement of {self.slug}", self.statement)
        need_cited(self.slug, self.facts)
        need_distinct(f"trials of {self.slug}", (trial.name for trial in self.trials))
        if not self.facts and not self.trials:
            raise InputError(f"{self.slug} explains nothing", hint="Name the facts or the trials that it rests on.")

    @property
    def text(self) -> str:
        """The one way to print it."""
        return self.statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncitable:
    """A value exists and is withheld, because no raw file stands under it; the value itself is nowhere in the ledger."""

    slug: str
    topic: str
    why: str

    def __post_init__(self) -> None:
        need_slug(self.slug)
        need_text(f"the topic of {self.slug}", self.topic)
        need_reason("withholding", self.slug, self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMeasured:
    """A topic without a number, said out loud."""

    topic: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A sentence that will not be said, and why no evidence could carry it."""

    sentence: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that was said on a claim after it was made.

    Attributes:
        slug: The claim's handle.
        reason: Why; it is published.
        at: UTC, RFC 3339, to the second.
    """

    slug: str
    reason: str
    at: str

    def __post_init__(self) -> None:
        need_slug(self.slug)
        need_reason(type(self).__name__.lower(), self.slug, self.reason)
        need_stamp(self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction(Event):
    """A claim that is no longer made; the record of it stays.

    Attributes:
        kind: ``retract`` (it should not have been published) or ``withdraw`` (we no longer assert it).
    """

    kind: str

    def __post_init__(self) -> None:
        Event.__post_init__(self)  # a class with slots is made anew, so super() without arguments would miss it
        if self.kind not in {RETRACT, WITHDRAW}:
            raise InputError(f"not a kind of retraction: {self.kind!r}", hint=f"Use {RETRACT} or {WITHDRAW}.")

    @property
    def word(self) -> str:
        """What happened to the claim, as a participle: ``retracted`` or ``withdrawn``."""
        return "withdrawn" if self.kind == WITHDRAW else "retracted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction(Event):
    """The claim was extracted or written wrongly; the next claim with its slug is the right one, on the same raw file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern(Event):
    """The claim is being tested again; until it is reaffirmed or taken back, it is printed with a flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaffirmation(Event):
    """The claim held when it was tested again; that lifts the concerns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry(Event):
    """The claim was right and can no longer be reproduced: a pin is gone (an image deleted, a wheel yanked)."""


Statement: TypeAlias = Claim | Derived | Explanation
"""What is said under a slug; ``text`` is how it is printed."""

Record: TypeAlias = (
    RawFile
    | Claim
    | Derived
    | Explanation
    | Uncitable
    | NotMeasured
    | Refused
    | Retraction
    | Correction
    | Concern
    | Reaffirmation
    | Expiry
    | RowRetraction
    | RowReinstatement
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger.

    Attributes:
        seq: 0-based position.
        prev: Digest of the entry before it; 64 zeros for the first.
        record: What it says.
        digest: SHA-256 of the RFC 8785 form of ``{seq, prev, type, body}``.
    """

    seq: int
    prev: str
    record: Record
    digest: str
