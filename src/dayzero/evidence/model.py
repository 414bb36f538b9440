"""The records of the ledger. Measured values are strings, so that no serialiser rounds them."""

import re
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes

RETRACT, WITHDRAW = "retract", "withdraw"

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


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
class WholeFile:
    """The claim rests on the file as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLocator:
    """One line: 1-based, split on newline only, so that ``sed -n 448p`` shows it; ``sha256`` is of the line's bytes."""

    line: int
    sha256: Sha256

    def __post_init__(self) -> None:
        if self.line < 1:
            raise InputError(f"not a line number: {self.line}", hint="Lines are counted from 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerLocator:
    """One value of a JSON file, by its RFC 6901 pointer."""

    pointer: str

    def __post_init__(self) -> None:
        if not _POINTER.fullmatch(self.pointer):
            raise InputError(
                f"not a JSON pointer: {self.pointer!r}",
                hint="Begin with '/', and write '~0' for '~' and '~1' for '/' inside a name (RFC 6901).",
            )


Locator: TypeAlias = WholeFile | LineLocator | PointerLocator


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
        if not _SLUG.fullmatch(self.slug):
            raise InputError(
                f"not a slug: {self.slug!r}", hint="Use letters, digits, '.', '_' and '-', in parts joined by '/'."
            )
        for name, text in (("label", self.label), ("value", self.value), ("unit", self.unit)):
            if text != " ".join(text.split()) or not text.isprintable():
                raise InputError(
                    f"the {name} of claim {self.slug} cannot be cited on one line: {text!r}",
                    hint="Leave out line breaks, control characters and repeated or surrounding spaces.",
                )
        if not self.value:
            raise InputError(f"claim {self.slug} has no value", hint="A claim says something; give what it says.")

    @property
    def text(self) -> str:
        """The one way to print it: ``12.3 ms``."""
        return f"{self.value} {self.unit}" if self.unit else self.value


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
class Retraction:
    """A claim that is no longer made; the record of it stays.

    Attributes:
        slug: The claim's handle.
        kind: ``retract`` (it should not have been published) or ``withdraw`` (we no longer assert it).
        reason: Why.
        at: UTC, RFC 3339, to the second.
    """

    slug: str
    kind: str
    reason: str
    at: str

    def __post_init__(self) -> None:
        if self.kind not in {RETRACT, WITHDRAW}:
            raise InputError(f"not a kind of retraction: {self.kind!r}", hint=f"Use {RETRACT} or {WITHDRAW}.")
        if not self.reason.strip():
            raise InputError(
                f"the retraction of {self.slug} gives no reason", hint="Say why; the reason is what stays."
            )

    @property
    def word(self) -> str:
        """What happened to the claim, as a participle: ``retracted`` or ``withdrawn``."""
        return "withdrawn" if self.kind == WITHDRAW else "retracted"


Record: TypeAlias = RawFile | Claim | NotMeasured | Refused | Retraction


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
