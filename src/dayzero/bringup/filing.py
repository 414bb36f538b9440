"""Turn what a run captured into records of the ledger: raw files, the claims that the definition names, what has no number."""

from collections.abc import Iterator, Mapping

from dayzero.bringup.model import Captured
from dayzero.bringup.record import NAME as RECORD_NAME
from dayzero.bringup.record import REACHED
from dayzero.core.errors import InputError
from dayzero.core.package import ClaimRef, Package
from dayzero.core.pins import Sha256
from dayzero.evidence.claims import Capture, Draft, file_raw, make_claim
from dayzero.evidence.model import Extraction, Locator, NotMeasured, PointerLocator, Record, WholeFile
from dayzero.evidence.ports import Extractors, RawStore


def file_run(
    package: Package,
    captured: tuple[Captured, ...],
    store: RawStore,
    extractors: Extractors,
    *,
    captured_at: str,
    subject: Sha256,
) -> tuple[Record, ...]:
    """Keep every captured file and make every claim of the definition; the values are extracted here, never passed in.

    Args:
        package: Names the claims.
        captured: The files of one run.
        store: Keeps them.
        extractors: The installed extractors.
        captured_at: UTC, RFC 3339, to the second.
        subject: Digest of the recipe that was measured.

    Raises:
        EvidenceError: A claim's value is not in its raw file.
        InputError: A claim names a source that the run did not leave.
    """
    return tuple(_records(package, captured, store, extractors, captured_at, subject))


def _records(  # noqa: PLR0913, PLR0917  (the arguments of file_run, in order)
    package: Package,
    captured: tuple[Captured, ...],
    store: RawStore,
    extractors: Extractors,
    captured_at: str,
    subject: Sha256,
) -> Iterator[Record]:
    for file in captured:
        yield file_raw(store, file.content, Capture(name=file.name, captured_at=captured_at, command=file.command))
    sources = {file.name: file.content for file in captured}
    for claim in package.claims:
        yield make_claim(_source(claim, sources), _draft(package, claim, subject), extractors)
    record = sources.get(RECORD_NAME)
    if record is not None:
        for slug, label, pointer in _statuses():
            draft = Draft(
                slug=f"{package.name}/{slug}",
                label=label,
                unit="",
                locator=PointerLocator(pointer=pointer),
                extraction=Extraction(extractor="json-value@1", parameters=()),
                subject=subject,
            )
            yield make_claim(record, draft, extractors)
    for entry in package.unmeasured:
        yield NotMeasured(topic=entry.topic, why=entry.why)


def _statuses() -> Iterator[tuple[str, str, str]]:
    for step in REACHED:
        yield f"status-{step}", f"status ladder: {step}", f"/status/{step}"
    yield "fit", "It was started and measured on this machine.", "/fit"


def _source(claim: ClaimRef, sources: Mapping[str, bytes]) -> bytes:
    if claim.source not in sources:
        raise InputError(
            f"the claim {claim.id} rests on {claim.source}, which a run does not leave",
            hint=f"Name one of: {', '.join(sorted(sources))}.",
        )
    return sources[claim.source]


def _draft(package: Package, claim: ClaimRef, subject: Sha256) -> Draft:
    locator: Locator = PointerLocator(pointer=claim.pointer) if claim.pointer else WholeFile()
    return Draft(
        slug=package.slug(claim),
        label=claim.label,
        unit=claim.unit,
        locator=locator,
        extraction=Extraction(extractor=claim.extractor, parameters=claim.parameters),
        subject=subject,
    )
