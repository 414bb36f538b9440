"""Write a catalog as the files of a site, its index last, so that every file can be held to its digest."""

from collections.abc import Iterable, Iterator

import msgspec

from dayzero.adapters.site.export import SiteFile, site_pages
from dayzero.adapters.site.place import site_of
from dayzero.attestation.envelope import seal
from dayzero.attestation.ports import Signer
from dayzero.catalog.contents import raw_files
from dayzero.catalog.document import (
    claim_document,
    edition_document,
    package_document,
    packages_document,
    release_document,
)
from dayzero.catalog.index import IndexedFile, index_document, index_statement
from dayzero.catalog.paths import (
    INDEX,
    INDEX_ENVELOPE,
    KEYS,
    PACKAGES_DOCUMENT,
    claim_document_path,
    edition_document_path,
    kit_path,
    package_document_path,
    release_document_path,
)
from dayzero.core.pins import Sha256
from dayzero.wiring.catalog_keys import keys_document
from dayzero.wiring.catalog_source import Offer


def site_files(offer: Offer, signer: Signer | None = None, more: Iterable[SiteFile] = ()) -> Iterator[SiteFile]:
    """Give every file of the site: pages, documents, raw files, kits, and the index of them all.

    Args:
        offer: The catalog and what lies under it.
        signer: Signs the index; ``None`` leaves it unsigned.
        more: Further files of the site.

    Raises:
        EvidenceError: A raw file that is linked is gone.
        IntegrityError: A raw file was changed.
    """
    indexed: list[IndexedFile] = []
    for path, content in _files(offer, signer, more):
        indexed.append(IndexedFile(path=path, sha256=Sha256.of(content), size=len(content)))
        yield path, content
    index = as_bytes(index_document(offer.catalog.as_of, indexed))
    yield INDEX, index
    if signer is not None:
        yield INDEX_ENVELOPE, seal(index_statement(index, signer.kind), signer)


def as_bytes(document: object) -> bytes:
    """Write a document as the bytes that are published, here and by a live server."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _files(offer: Offer, signer: Signer | None, more: Iterable[SiteFile]) -> Iterator[SiteFile]:
    yield from site_pages(offer.catalog, site_of(offer.catalog, kits=kit_paths(offer)))
    yield from documents(offer)
    yield KEYS, as_bytes(keys_document(offer, signer))
    yield from raw_files(offer.catalog, offer.contents, offer.raw)
    for (name, handle), files in offer.kits.items():
        for file in (files.archive, files.attestation, files.key):
            yield kit_path(name, handle, file.name), file.read_bytes()
    yield from more


def kit_paths(offer: Offer) -> dict[tuple[str, str], tuple[str, ...]]:
    """Say where the files of each kit stand in the site: the archive, its attestation and the key."""
    return {
        (name, handle): tuple(
            kit_path(name, handle, file.name) for file in (files.archive, files.attestation, files.key)
        )
        for (name, handle), files in offer.kits.items()
    }


def documents(offer: Offer) -> Iterator[SiteFile]:
    """Give every JSON document of the API that does not depend on a query."""
    catalog = offer.catalog
    pages = frozenset(page.slug for page in catalog.pages)
    yield PACKAGES_DOCUMENT, as_bytes(packages_document(catalog))
    for entry in catalog.entries:
        yield package_document_path(entry.name), as_bytes(package_document(entry))
        for edition in entry.editions:
            place = edition_document_path(edition.name, edition.handle)
            yield place, as_bytes(edition_document(edition, pages))
            if edition.release is not None:
                place = release_document_path(edition.name, edition.handle)
                yield place, as_bytes(release_document(edition))
    for page in catalog.pages:
        yield claim_document_path(page.slug), as_bytes(claim_document(page))
