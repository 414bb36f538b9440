"""File raw bytes and make claims on them; a claim's value is always extracted, never given."""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.errors import EvidenceError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.citation import Page, Stretch, bare_numbers
from dayzero.evidence.locator import Locator
from dayzero.evidence.model import Claim, Derived, Explanation, Extraction, RawFile, Uncitable
from dayzero.evidence.ports import Extractors, RawStore
from dayzero.evidence.state import Missing, Standing, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """How a raw file came to be.

    Attributes:
        name: What it was called when it was captured.
        captured_at: UTC, RFC 3339, to the second.
        command: The command that produced it, paths neutralised.
    """

    name: str
    captured_at: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A claim before its value is known; the fields are those of :class:`~dayzero.evidence.model.Claim`."""

    slug: str
    label: str
    unit: str
    locator: Locator
    extraction: Extraction
    subject: Sha256


def file_raw(store: RawStore, content: bytes, capture: Capture) -> RawFile:
    """Keep a raw file and write its record, which still has to be appended to the ledger.

    Raises:
        EvidenceError: The file is empty: nothing can rest on it.
    """
    if not content:
        raise EvidenceError(f"the raw file {capture.name} is empty", hint="Capture the output before filing it.")
    return RawFile(
        sha256=store.put(content),
        name=capture.name,
        size=Bytes(len(content)),
        captured_at=capture.captured_at,
        command=capture.command,
    )


def read_raw(store: RawStore, digest: Sha256) -> bytes:
    """Read a raw file and hold it to its digest.

    Raises:
        EvidenceError: There is none.
        IntegrityError: It was changed.
    """
    content = store.read(digest)
    found = Sha256.of(content)
    if found != digest:
        raise IntegrityError(
            f"the raw file {digest} was changed: its SHA-256 is {found} now",
            hint="Put the file back as it was captured; raw files are never edited.",
        )
    return content


def extract(raw: bytes, locator: Locator, extraction: Extraction, extractors: Extractors) -> str:
    """Take the value out of the raw file.

    Raises:
        EvidenceError: The extractor is not installed in this version, or does not find the value.
    """
    extractor = extractors.get(extraction.extractor)
    if extractor is None:
        raise EvidenceError(
            f"the extractor {extraction.extractor} is not installed",
            hint=f"Install what provides it; installed here: {', '.join(sorted(extractors)) or 'none'}.",
        )
    return extractor.extract(raw, locator, extraction.parameters)


def make_claim(raw: bytes, draft: Draft, extractors: Extractors) -> Claim:
    """Make a claim on a raw file: the value is what the extractor finds there.

    Raises:
        EvidenceError: The value is not there.
        InputError: The slug, or the value, cannot be cited on one line.
    """
    return Claim(
        slug=draft.slug,
        label=draft.label,
        value=extract(raw, draft.locator, draft.extraction, extractors),
        unit=draft.unit,
        raw=Sha256.of(raw),
        locator=draft.locator,
        extraction=draft.extraction,
        subject=draft.subject,
    )


def make_explanation(standings: Mapping[str, State], explanation: Explanation) -> Explanation:
    """Check that what an explanation explains are facts that stand, and that it types no number of its own.

    Raises:
        EvidenceError: A fact does not stand or is an explanation itself, or a number with a unit is in the statement.
    """
    for fact in explanation.facts:
        state = standings.get(fact, Missing(fact))
        if not isinstance(state, Standing) or not isinstance(state.claim, Claim | Derived):
            raise EvidenceError(f"{fact} is no fact that stands", hint="Explain claims that stand.")
    typed = typed_numbers(explanation.statement)
    if typed:
        raise EvidenceError(
            f"the statement of {explanation.slug} types {typed[0]!r}", hint="Name the claim among its facts instead."
        )
    return explanation


def make_uncitable(uncitable: Uncitable) -> Uncitable:
    """Check that the record of a withheld value does not say it.

    Raises:
        EvidenceError: A number with a unit is in the topic or in the reason.
    """
    typed = typed_numbers(f"{uncitable.topic}\0{uncitable.why}")
    if typed:
        raise EvidenceError(f"{uncitable.slug} is withheld, and says {typed[0]!r}", hint="Leave the value out.")
    return uncitable


def typed_numbers(text: str) -> tuple[str, ...]:
    """List the numbers with a unit that stand in a text which no raw file is under."""
    return tuple(number.text for number in bare_numbers(Page(path="", content=b""), (Stretch(text=text, line=1),)))
