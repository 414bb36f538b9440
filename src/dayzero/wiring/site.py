"""Build the site of some packages from their definitions and one folder of evidence."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dayzero.adapters.evidence_config import CONFIG_NAME
from dayzero.adapters.site.render import SiteFile, render
from dayzero.catalog.card import build_card
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.listing import build_listing, raw_files, read_contents
from dayzero.catalog.model import Card, KitFacts, Listing
from dayzero.catalog.standing import read_fit, read_ladder
from dayzero.core.package import Package
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.ports import RawStore
from dayzero.wiring import store


def card_of(package: Package, ledger: Ledger, kit: KitFacts | None) -> Card:
    """Build a package's card from its definition and the ledger."""
    return build_card(package, ledger, kit=kit, statuses=read_ladder(package, ledger), fit=read_fit(package, ledger))


def list_packages(packages: Sequence[Package], ledger: Ledger, raw: RawStore, kits: Mapping[str, KitFacts]) -> Listing:
    """Build every card, and the page of every claim in the ledger.

    Args:
        packages: The definitions.
        ledger: The ledger.
        raw: Its raw files.
        kits: What is known of kits, by package.

    Raises:
        EvidenceError: The raw file under a claim that stands is gone.
        IntegrityError: A raw file was changed.
    """
    cards = tuple(card_of(package, ledger, kits.get(package.name)) for package in packages)
    return build_listing(cards, claim_pages(ledger, read_contents(ledger, raw)))


def site_files(listing: Listing, raw: RawStore) -> tuple[SiteFile, ...]:
    """Give every file of the site: the pages, and the raw files that they link."""
    return (*render(listing), *raw_files(listing, raw))


def raw_store(evidence: Path) -> RawStore:
    """Open the raw files of a folder of evidence, also those that its repository says lie elsewhere."""
    root = evidence.absolute().parent
    if (root / CONFIG_NAME).is_file():
        repository = store.open_repository(root)
        if repository.folder == evidence.absolute():
            return repository.raw
    return store.raw_store(evidence)
