"""Open a folder of evidence."""

from collections.abc import Iterable
from pathlib import Path

from dayzero.adapters.evidence_folder import EvidenceFolder, published_pages
from dayzero.evidence.citation import Page
from dayzero.evidence.ledger import Ledger, parse
from dayzero.evidence.ports import RawStore


def evidence_folder(folder: Path) -> EvidenceFolder:
    """Open a folder of evidence; it does not have to exist yet."""
    return EvidenceFolder(folder)


def open_ledger(folder: Path) -> Ledger:
    """Read the ledger of a folder of evidence, its chain checked; an absent one is empty."""
    file = EvidenceFolder(folder).ledger
    return parse(file.read(), file=str(file.path))


def raw_store(folder: Path) -> RawStore:
    """Open the raw files of a folder of evidence."""
    return EvidenceFolder(folder).raw


def pages(root: Path, named: Iterable[Path] = ()) -> tuple[Page, ...]:
    """Read the pages that are published beside a folder of evidence, and further ones by their paths."""
    return published_pages(root, named)
