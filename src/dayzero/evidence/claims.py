"""File raw bytes and make claims on them; a claim's value is always extracted, never given."""

from dataclasses import dataclass

from dayzero.core.errors import EvidenceError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.model import Claim, Extraction, Locator, RawFile
from dayzero.evidence.ports import Extractors, RawStore


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
