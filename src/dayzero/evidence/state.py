"""What has become of a slug: one state at a time, each with the ledger's lines that say so."""

from dataclasses import dataclass
from typing import TypeAlias

from dayzero.evidence.model import (
    Concern,
    Correction,
    Derived,
    Expiry,
    Explanation,
    Retraction,
    Statement,
    Uncitable,
)


@dataclass(frozen=True, slots=True)
class Flag:
    """A mark beside a claim that stands, its own or that of a claim which it rests on; ``event.slug`` says whose."""

    event: Concern | Expiry
    line: int

    @property
    def word(self) -> str:
        """What the mark says: ``under concern`` or ``not reproducible``."""
        return "under concern" if isinstance(self.event, Concern) else "not reproducible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """It is said: its text may be printed, with its flags.

    Attributes:
        claim: What is said.
        line: Its 1-based line in the ledger, here and below.
        flags: Marks, its own first.
    """

    claim: Statement
    line: int
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A later record with the same slug took its place; it was not called wrong. ``flags`` are those that it had then."""

    claim: Statement
    line: int
    by_line: int
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """It was extracted or written wrongly, and the claim on ``by_line`` is the right one."""

    claim: Statement
    line: int
    by_line: int
    correction: Correction
    correction_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """It is no longer asserted; what it rests on stays."""

    claim: Statement
    line: int
    retraction: Retraction
    retraction_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """It should not have been published."""

    claim: Statement
    line: int
    retraction: Retraction
    retraction_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """Nobody took it back, but a claim that it rests on does not stand.

    Attributes:
        claim: What was said.
        line: Its line.
        missing: Slugs of the claims right under it that do not stand.
    """

    claim: Derived | Explanation
    line: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """There is a value that nobody may cite: no raw file stands under it."""

    uncitable: Uncitable
    line: int


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing was ever said under this slug."""

    slug: str


ClaimState: TypeAlias = Standing | Superseded | Corrected | Withdrawn | Retracted | Unsupported | Withheld


State: TypeAlias = Standing | Withdrawn | Retracted | Unsupported | Withheld | Missing
