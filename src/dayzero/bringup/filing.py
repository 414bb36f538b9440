"""Turn what a run captured into records of the ledger: raw files, the claims that the definition names, what has no number."""

import json
from collections.abc import Iterator, Mapping

from dayzero.bringup.model import Captured
from dayzero.bringup.record import NAME as RECORD_NAME
from dayzero.bringup.record import REACHED
from dayzero.core.errors import InputError
from dayzero.core.package import ClaimRef, Package
from dayzero.evidence.claims import Capture, Draft, file_raw, make_claim
from dayzero.evidence.locator import Locator, PointerLocator, WholeFile
from dayzero.evidence.model import Extraction, NotMeasured, Record
from dayzero.evidence.ports import Extractors, RawStore
from dayzero.evidence.subject import recipe_digest


def file_run(
    package: Package, captured: tuple[Captured, ...], store: RawStore, extractors: Extractors, *, captured_at: str
) -> tuple[Record, ...]:
    """Keep every captured file and make every claim of the definition; the values are extracted here, never passed in.

    Args:
        package: Names the claims; its recipe is what they are about.
        captured: The files of one run.
        store: Keeps them.
        extractors: The installed extractors.
        captured_at: UTC, RFC 3339, to the second.

    Raises:
        EvidenceError: A claim's value is not in its raw file.
        InputError: A claim names a source that the run did not leave.
    """
    raw = [
        file_raw(store, file.content, Capture(name=file.name, captured_at=captured_at, command=file.command))
        for file in captured
    ]
    sources = {file.name: file.content for file in captured}
    drafts = [(_source(claim, sources), _draft(package, claim)) for claim in package.claims]
    if RECORD_NAME in sources:
        drafts += [(sources[RECORD_NAME], draft) for draft in _statuses(package, sources[RECORD_NAME])]
    claims = [make_claim(content, draft, extractors) for content, draft in drafts]
    return (*raw, *claims, *(NotMeasured(topic=entry.topic, why=entry.why) for entry in package.unmeasured))


def _source(claim: ClaimRef, sources: Mapping[str, bytes]) -> bytes:
    if claim.source not in sources:
        raise InputError(
            f"the claim {claim.id} rests on {claim.source}, which a run does not leave",
            hint=f"Name one of: {', '.join(sorted(sources))}.",
        )
    return sources[claim.source]


def _draft(package: Package, claim: ClaimRef) -> Draft:
    locator: Locator = PointerLocator(pointer=claim.pointer) if claim.pointer else WholeFile()
    return Draft(
        slug=package.slug(claim),
        label=claim.label,
        unit=claim.unit,
        locator=locator,
        extraction=Extraction(extractor=claim.extractor, parameters=claim.parameters),
        subject=recipe_digest(package.recipe),
    )


def _statuses(package: Package, record: bytes) -> Iterator[Draft]:
    document = json.loads(record)
    said = [
        (f"status-{step}", f"status ladder: {step}", f"/status/{step}")
        for step in REACHED
        if step in document["status"]
    ]
    if "fit" in document:
        done = "measured" if "measured" in document["status"] else "served"
        said.append(("fit", f"It was started and {done} on this machine.", "/fit"))
    for slug, label, pointer in said:
        yield Draft(
            slug=f"{package.name}/{slug}",
            label=label,
            unit="",
            locator=PointerLocator(pointer=pointer),
            extraction=Extraction(extractor="json-value@1", parameters=()),
            subject=recipe_digest(package.recipe),
        )
