"""Check that every published number has its raw line under it: ledger, raw files, extractors and pages against each other."""

from collections.abc import Iterator, Sequence

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.core.verdict import Place
from dayzero.evidence.citation import Citation, Page, RawBlock, Reading
from dayzero.evidence.claims import extract
from dayzero.evidence.examination import Examination, examine
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.ledger_findings import ledger_findings
from dayzero.evidence.locate import Located, lines_between, lines_position, locate
from dayzero.evidence.locator import (
    CsvLocator,
    JsonlLocator,
    LineLocator,
    Locator,
    MemberLocator,
    PointerLocator,
    RangeLocator,
    SpanLocator,
    WholeFile,
)
from dayzero.evidence.model import Claim, Derived, Explanation, RawFile
from dayzero.evidence.pages import read_page
from dayzero.evidence.ports import Extractors, RawStore
from dayzero.evidence.raw_bytes import RawBytes
from dayzero.evidence.report import Finding, Kind, Report
from dayzero.evidence.state import Missing, Retracted, Standing, Unsupported, Withdrawn, Withheld

RAW_FOLDER = "raw"

_LONGEST_QUOTE = 300


def check(ledger: Ledger, store: RawStore, extractors: Extractors, pages: Sequence[Page], *, folder: str) -> Report:
    """Hold ledger, raw files and pages against each other.

    A derived claim is computed again from its inputs; a claim under concern or no longer reproducible stands, and may be cited.
    Claims that were superseded, withdrawn or retracted are not extracted again: an extraction may have been what was wrong
    with them. Their raw files are still held to their digests. Each raw file is read once.

    Args:
        ledger: The ledger, its chain already checked.
        store: Where its raw files are.
        extractors: The installed extractors.
        pages: The published pages.
        folder: What the folder of ledger and raw files is called, for the places in the report.

    Raises:
        InputError: A page is neither Markdown nor HTML.
    """
    readings = tuple(read_page(page) for page in pages)
    seen = examine(ledger, readings, folder=folder)
    states = [state.claim for state in seen.standings.values() if isinstance(state, Standing)]
    findings = [
        *ledger_findings(seen),
        *_raw_findings(seen, store, extractors),
        *(finding for reading in readings for finding in _page_findings(seen, reading)),
    ]
    return Report(
        findings=tuple(findings),
        raw_files=len(ledger.raw_files()),
        claims=sum(isinstance(entry.record, Claim | Derived) for entry in ledger.entries),
        standing=sum(isinstance(claim, Claim | Derived) for claim in states),
        explanations=sum(isinstance(claim, Explanation) for claim in states),
        pages=len(pages),
        citations=sum(len(reading.citations) for reading in readings),
        quotes=sum(len(reading.blocks) for reading in readings),
    )


def claim_place(claim: Claim, raw: bytes, raw_file: RawFile, *, folder: str) -> Place:
    """Name the place in the raw file that a claim rests on, and quote it where it is one line.

    Raises:
        EvidenceError: There is no such place in the file.
    """
    return located_place(claim.locator, raw, raw_file, folder=folder)


def located_place(locator: Locator, raw: bytes, raw_file: RawFile, *, folder: str) -> Place:
    """Name the place that a locator points at, and quote the line that it begins on.

    Raises:
        EvidenceError: There is no such place in the file.
    """
    found = locate(raw, locator)
    file = _raw_path(raw_file.sha256, folder)
    return Place(artifact=raw_file.name, file=file, position=found.position, quote=_quote(found, raw))


def _quote(found: Located, raw: bytes) -> str:
    line = lines_between(raw, found.line, found.line)[0] if found.line else b""
    text = line.decode("utf-8", "replace").rstrip("\r")
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."


def _raw_findings(seen: Examination, store: RawStore, extractors: Extractors) -> Iterator[Finding]:
    recorded = seen.ledger.raw_files()
    for raw_file in recorded.values():
        yield from _one_raw_file(seen, store, extractors, raw_file=raw_file)
    for digest, claims in seen.claims.items():
        for claim, line in claims if digest not in recorded else ():
            reason = f"the claim {claim.slug} rests on a raw file that is not in the ledger: {digest}"
            yield Finding(Kind.RAW_UNRECORDED, reason, (seen.line(line), *seen.cited_at(claim.slug)))
    for digest, trials in seen.trials.items():
        for slug, trial, line in trials if digest not in recorded else ():
            reason = f"the trial {trial.name} of {slug} rests on a raw file that is not in the ledger: {digest}"
            yield Finding(Kind.RAW_UNRECORDED, reason, (seen.line(line), *seen.cited_at(slug)))
    for digest, blocks in seen.blocks.items():
        for block in blocks if digest not in recorded else ():
            reason = f"the page quotes a raw file that is not in the ledger: {digest}"
            yield Finding(Kind.RAW_UNRECORDED, reason, (block.place,))


def _one_raw_file(
    seen: Examination, store: RawStore, extractors: Extractors, *, raw_file: RawFile
) -> Iterator[Finding]:
    digest = raw_file.sha256
    place = _raw_place(raw_file, seen.folder)
    try:
        content = RawBytes(store.read(digest))
    except EvidenceError:
        yield Finding(Kind.RAW_MISSING, f"the raw file {raw_file.name} is gone", (place, *seen.users(digest)))
        return
    found = Sha256.of(content)
    if found != digest:
        reason = f"the raw file {raw_file.name} was changed: its SHA-256 is {found} now"
        yield Finding(Kind.RAW_CHANGED, reason, (place, *seen.users(digest)))
    elif len(content) != raw_file.size.count:
        reason = f"the raw file {raw_file.name} has {len(content)} bytes, the ledger says {raw_file.size.count}"
        yield Finding(Kind.RAW_CHANGED, reason, (place, *seen.users(digest)))
    for claim, line in seen.claims.get(digest, ()):
        rest = (seen.line(line), *seen.cited_at(claim.slug))
        for kind, reason, at in _claim_faults(claim, content, raw_file, extractors, folder=seen.folder):
            yield Finding(kind, reason, (at, *rest))
    for slug, trial, line in seen.trials.get(digest, ()):
        try:
            locate(content, trial.locator)
        except EvidenceError as error:
            reason = f"the trial {trial.name} of {slug} does not point into {raw_file.name}: {error.message}"
            at = _pointed_at(trial.locator, place)
            yield Finding(Kind.CLAIM_UNSUPPORTED, reason, (at, seen.line(line), *seen.cited_at(slug)))
    for block in seen.blocks.get(digest, ()):
        yield from _block_findings(block, content, raw_file)


def _claim_faults(
    claim: Claim, content: bytes, raw_file: RawFile, extractors: Extractors, *, folder: str
) -> Iterator[tuple[Kind, str, Place]]:
    try:
        value = extract(content, claim.locator, claim.extraction, extractors)
    except EvidenceError as error:
        reason = f"the claim {claim.slug} ({claim.text}) does not come out of {raw_file.name}: {error.message}"
        yield Kind.CLAIM_UNSUPPORTED, reason, _pointed_at(claim.locator, _raw_place(raw_file, folder))
        return
    if value != claim.value:
        reason = f"the claim {claim.slug} says {claim.value!r}, its raw file {raw_file.name} gives {value!r}"
        yield Kind.CLAIM_DIFFERS, reason, claim_place(claim, content, raw_file, folder=folder)


def _pointed_at(locator: Locator, whole: Place) -> Place:
    """Name where a locator points without following it, for it may miss."""
    match locator:
        case LineLocator(line=line) | JsonlLocator(line=line):
            position = f"line {line}"
        case RangeLocator(first=first, last=last):
            position = lines_position(first, last)
        case PointerLocator(pointer=pointer):
            position = pointer
        case CsvLocator(key_column=key_column, key=key):
            position = f"row {key_column}={key}"
        case MemberLocator(member=member):
            position = f"member {member}"
        case SpanLocator(offset=offset):
            position = f"byte 0x{offset:x}"
        case WholeFile():
            position = ""
    return Place(artifact=whole.artifact, file=whole.file, position=position)


def _block_findings(block: RawBlock, content: bytes, raw_file: RawFile) -> Iterator[Finding]:
    try:
        lines = lines_between(content, block.first, block.last)
    except EvidenceError as error:
        yield Finding(Kind.QUOTE_DIFFERS, f"the quote of {raw_file.name} misses: {error.message}", (block.place,))
        return
    if block.lines != lines:
        pairs = zip(block.lines, lines, strict=False)
        same = next(
            (at for at, (ours, theirs) in enumerate(pairs) if ours != theirs), min(len(block.lines), len(lines))
        )
        reason = f"the quote differs from {raw_file.name} lines {block.first}-{block.last}, first at line {block.first + same}"
        yield Finding(Kind.QUOTE_DIFFERS, reason, (block.place,))


def _page_findings(seen: Examination, reading: Reading) -> Iterator[Finding]:
    for broken in reading.malformed:
        yield Finding(Kind.MARKUP_BROKEN, broken.reason, (broken.place,))
    for citation in reading.citations:
        yield from _citation_findings(seen, citation)
    for number in reading.bare:
        yield Finding(
            Kind.NUMBER_BARE, f"{number.text!r} cites no claim, and nothing says that it is none", (number.place,)
        )


def _citation_findings(seen: Examination, citation: Citation) -> Iterator[Finding]:
    slug = citation.slug
    match seen.standings.get(slug, Missing(slug)):
        case Standing(claim=claim, line=line):
            value = claim.statement if isinstance(claim, Explanation) else claim.value
            if (citation.text, citation.value or value) != (claim.text, value):
                said = citation.text if citation.text != claim.text else citation.value
                reason = f"the page says {said!r}, the claim {slug} says {claim.text!r}"
                yield Finding(Kind.CITATION_DIFFERS, reason, (citation.place, seen.line(line)))
        case Withdrawn(retraction=gone, retraction_line=line) | Retracted(retraction=gone, retraction_line=line):
            reason = f"the page cites {slug}, which was {gone.word} on {gone.at}: {gone.reason}"
            yield Finding(Kind.CITATION_WITHDRAWN, reason, (citation.place, seen.line(line)))
        case Unsupported(missing=missing, line=line):
            reason = f"the page cites {slug}, which nothing supports now: {', '.join(missing)} fell"
            yield Finding(Kind.CITATION_UNSUPPORTED, reason, (citation.place, seen.line(line)))
        case Withheld(uncitable=uncitable, line=line):
            reason = f"the page cites {slug}, which nobody may cite ({uncitable.topic}): {uncitable.why}"
            yield Finding(Kind.CITATION_WITHHELD, reason, (citation.place, seen.line(line)))
        case Missing():
            yield Finding(Kind.CITATION_MISSING, f"the page cites {slug}, which no claim is called", (citation.place,))


def _raw_path(digest: Sha256, folder: str) -> str:
    return f"{folder}/{RAW_FOLDER}/{digest}"


def _raw_place(raw_file: RawFile, folder: str) -> Place:
    return Place(artifact=raw_file.name, file=_raw_path(raw_file.sha256, folder))
