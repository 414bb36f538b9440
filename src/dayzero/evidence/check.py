"""Check that every published number has its raw line under it: ledger, raw files, extractors and pages against each other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.core.verdict import Place
from dayzero.evidence.citation import Citation, Page, RawBlock, Reading
from dayzero.evidence.claims import extract
from dayzero.evidence.ledger import LEDGER_NAME, Ledger, Missing, Retracted, Standing, State, Withdrawn
from dayzero.evidence.locate import lines_between, locate_pointer
from dayzero.evidence.model import Claim, LineLocator, PointerLocator, RawFile, Retraction, WholeFile
from dayzero.evidence.pages import read_page
from dayzero.evidence.ports import Extractors, RawStore
from dayzero.evidence.report import Finding, Kind, Report

RAW_FOLDER = "raw"


def check(ledger: Ledger, store: RawStore, extractors: Extractors, pages: Sequence[Page], *, folder: str) -> Report:
    """Hold ledger, raw files and pages against each other.

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
    subject = _Subject(ledger=ledger, standings=ledger.standings(), readings=readings, folder=folder)
    standing = [state for state in subject.standings.values() if isinstance(state, Standing)]
    findings = [
        *_ledger_findings(subject),
        *_raw_findings(subject, store, extractors),
        *(finding for reading in readings for finding in _page_findings(subject, reading)),
    ]
    return Report(
        findings=tuple(findings),
        raw_files=len(ledger.raw_files()),
        claims=sum(isinstance(entry.record, Claim) for entry in ledger.entries),
        standing=len(standing),
        pages=len(pages),
        citations=sum(len(reading.citations) for reading in readings),
        quotes=sum(len(reading.blocks) for reading in readings),
    )


def cited_at(readings: Iterable[Reading], slug: str) -> tuple[Place, ...]:
    """List where pages cite a claim."""
    return tuple(citation.place for reading in readings for citation in reading.citations if citation.slug == slug)


def claim_place(claim: Claim, raw: bytes, raw_file: RawFile, *, folder: str) -> Place:
    """Name the place in the raw file that a claim rests on, and quote it where it is one line.

    Raises:
        EvidenceError: There is no such place in the file.
    """
    match claim.locator:
        case WholeFile():
            return _raw_place(claim.raw, raw_file, folder)
        case LineLocator(line=line):
            number = line
        case PointerLocator() as locator:
            number = locate_pointer(raw, locator).line
    quote = lines_between(raw, number, number)[0].decode("utf-8", "replace")
    return Place(
        artifact=raw_file.name, file=_raw_path(claim.raw, folder), position=f"line {number}", quote=quote.rstrip("\r")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    ledger: Ledger
    standings: Mapping[str, State]
    readings: tuple[Reading, ...]
    folder: str

    def line(self, number: int) -> Place:
        return Place(artifact="", file=f"{self.folder}/{LEDGER_NAME}", position=f"line {number}")

    def standing_on(self, digest: Sha256) -> tuple[Standing, ...]:
        states = (state for state in self.standings.values() if isinstance(state, Standing))
        return tuple(state for state in states if state.claim.raw == digest)

    def blocks_of(self, digest: Sha256) -> tuple[RawBlock, ...]:
        return tuple(block for reading in self.readings for block in reading.blocks if block.raw == digest)

    def users(self, digest: Sha256) -> tuple[Place, ...]:
        """List every place in pages that shows something from this raw file."""
        cited = (place for state in self.standing_on(digest) for place in cited_at(self.readings, state.claim.slug))
        places = {*cited, *(block.place for block in self.blocks_of(digest))}
        return tuple(sorted(places, key=lambda place: (place.file, len(place.position), place.position)))


def _ledger_findings(subject: _Subject) -> Iterator[Finding]:
    if subject.ledger.torn:
        yield Finding(
            Kind.LEDGER_TORN,
            f"the last line was not written to its end and is set aside ({len(subject.ledger.torn)} bytes without a newline); "
            "the next record that is filed moves them out of the ledger",
            (subject.line(len(subject.ledger.entries) + 1),),
        )
    made: set[str] = set()
    for entry in subject.ledger.entries:
        match entry.record:
            case Claim(slug=slug):
                made.add(slug)
            case Retraction(slug=slug) as retraction if slug not in made:
                reason = f"{slug} is {retraction.word} here, and was never claimed before"
                yield Finding(Kind.RETRACTION_OF_NOTHING, reason, (subject.line(entry.seq + 1),))
            case _:
                pass


def _raw_findings(subject: _Subject, store: RawStore, extractors: Extractors) -> Iterator[Finding]:
    recorded = subject.ledger.raw_files()
    for raw_file in recorded.values():
        yield from _one_raw_file(subject, store, extractors, raw_file=raw_file)
    for state in subject.standings.values():
        if isinstance(state, Standing) and state.claim.raw not in recorded:
            places = (subject.line(state.line), *cited_at(subject.readings, state.claim.slug))
            reason = f"the claim {state.claim.slug} rests on a raw file that is not in the ledger: {state.claim.raw}"
            yield Finding(Kind.RAW_UNRECORDED, reason, places)
    for block in (block for reading in subject.readings for block in reading.blocks if block.raw not in recorded):
        yield Finding(
            Kind.RAW_UNRECORDED, f"the page quotes a raw file that is not in the ledger: {block.raw}", (block.place,)
        )


def _one_raw_file(
    subject: _Subject, store: RawStore, extractors: Extractors, *, raw_file: RawFile
) -> Iterator[Finding]:
    digest = raw_file.sha256
    place = _raw_place(digest, raw_file, subject.folder)
    try:
        content = store.read(digest)
    except EvidenceError:
        yield Finding(Kind.RAW_MISSING, f"the raw file {raw_file.name} is gone", (place, *subject.users(digest)))
        return
    found = Sha256.of(content)
    if found != digest:
        reason = f"the raw file {raw_file.name} was changed: its SHA-256 is {found} now"
        yield Finding(Kind.RAW_CHANGED, reason, (place, *subject.users(digest)))
    elif len(content) != raw_file.size.count:
        reason = f"the raw file {raw_file.name} has {len(content)} bytes, the ledger says {raw_file.size.count}"
        yield Finding(Kind.RAW_CHANGED, reason, (place, *subject.users(digest)))
    for state in subject.standing_on(digest):
        yield from _claim_findings(subject, state, content, raw_file, extractors)
    for block in subject.blocks_of(digest):
        yield from _block_findings(block, content, raw_file)


def _claim_findings(
    subject: _Subject, state: Standing, content: bytes, raw_file: RawFile, extractors: Extractors
) -> Iterator[Finding]:
    claim = state.claim
    rest = (subject.line(state.line), *cited_at(subject.readings, claim.slug))
    whole = _raw_place(claim.raw, raw_file, subject.folder)
    try:
        value = extract(content, claim.locator, claim.extraction, extractors)
    except EvidenceError as error:
        reason = f"the claim {claim.slug} ({claim.text}) does not come out of {raw_file.name}: {error.message}"
        yield Finding(Kind.CLAIM_UNSUPPORTED, reason, (_pointed_at(claim, whole), *rest))
        return
    if value != claim.value:
        place = claim_place(claim, content, raw_file, folder=subject.folder)
        reason = f"the claim {claim.slug} says {claim.value!r}, its raw file {raw_file.name} gives {value!r}"
        yield Finding(Kind.CLAIM_DIFFERS, reason, (place, *rest))


def _pointed_at(claim: Claim, whole: Place) -> Place:
    match claim.locator:
        case LineLocator(line=line):
            return Place(artifact=whole.artifact, file=whole.file, position=f"line {line}")
        case PointerLocator(pointer=pointer):
            return Place(artifact=whole.artifact, file=whole.file, position=pointer)
        case WholeFile():
            return whole


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


def _page_findings(subject: _Subject, reading: Reading) -> Iterator[Finding]:
    for broken in reading.malformed:
        yield Finding(Kind.MARKUP_BROKEN, broken.reason, (broken.place,))
    for citation in reading.citations:
        yield from _citation_findings(subject, citation)
    for number in reading.bare:
        yield Finding(
            Kind.NUMBER_BARE, f"{number.text!r} cites no claim, and nothing says that it is none", (number.place,)
        )


def _citation_findings(subject: _Subject, citation: Citation) -> Iterator[Finding]:
    state = subject.standings.get(citation.slug, Missing(citation.slug))
    match state:
        case Standing(claim=claim, line=line):
            printed = (citation.text, citation.value or claim.value)
            if printed != (claim.text, claim.value):
                said = citation.text if citation.text != claim.text else citation.value
                reason = f"the page says {said!r}, the claim {claim.slug} says {claim.text!r}"
                yield Finding(Kind.CITATION_DIFFERS, reason, (citation.place, subject.line(line)))
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            reason = (
                f"the page cites {citation.slug}, which was {retraction.word} on {retraction.at}: {retraction.reason}"
            )
            yield Finding(Kind.CITATION_WITHDRAWN, reason, (citation.place, subject.line(state.retraction_line)))
        case Missing(slug=slug):
            yield Finding(Kind.CITATION_MISSING, f"the page cites {slug}, which no claim is called", (citation.place,))


def _raw_path(digest: Sha256, folder: str) -> str:
    return f"{folder}/{RAW_FOLDER}/{digest}"


def _raw_place(digest: Sha256, raw_file: RawFile, folder: str) -> Place:
    return Place(artifact=raw_file.name, file=_raw_path(digest, folder))
