"""Open a folder of evidence, and the repository around it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.evidence_config import CONFIG_NAME, read_policy
from dayzero.adapters.evidence_folder import EvidenceFolder, RepositoryRaw
from dayzero.adapters.repository_files import is_literal, lying_raw, name_in, published_pages, unmatched
from dayzero.core.errors import InputError
from dayzero.evidence.check import RAW_FOLDER
from dayzero.evidence.citation import Page
from dayzero.evidence.ledger import Filed, Ledger, file_records, parse
from dayzero.evidence.model import Record
from dayzero.evidence.ports import RawStore
from dayzero.evidence.rules import PUBLISHED, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository with evidence in it, as it was when it was opened.

    Attributes:
        root: Its root.
        policy: What its ``evidence.toml`` says; the standard policy where there is none.
        content: The ledger's bytes.
        ledger: The ledger, its chain checked; an absent one is empty.
        raw: Its raw files, also those that lie elsewhere in it.
    """

    root: Path
    policy: Policy
    content: bytes
    ledger: Ledger
    raw: RepositoryRaw

    @property
    def folder(self) -> Path:
        """The folder of evidence."""
        return self.root / self.policy.folder

    @property
    def ledger_file(self) -> Path:
        """The ledger's file."""
        return evidence_folder(self.folder).ledger.path

    @property
    def lying(self) -> Mapping[str, str]:
        """What raw files outside the folder would be called in it, and where they lie."""
        return {f"{self.folder}/{RAW_FOLDER}/{digest}": str(path) for digest, path in self.raw.lying.items()}

    def pages(self, named: Iterable[Path] = ()) -> tuple[Page, ...]:
        """Read its published pages, and further ones by their paths.

        Raises:
            InputError: A page that is named, here or in ``evidence.toml`` without a wildcard, is not there.
        """
        gone = next((page for page in unmatched(self.root, self.policy.pages) if self._must_be_there(page)), None)
        if gone is not None:
            raise InputError(
                f"{self.root / CONFIG_NAME} names the page {gone}, which is not there",
                hint="Mend its path, or take it out of 'pages'.",
            )
        return published_pages(self.root, named, self.policy)

    def file(self, decide: Callable[[Ledger], tuple[Record, ...]]) -> Filed:
        """Append what ``decide`` makes of the ledger as it stands, with nobody in between."""
        return file_records(evidence_folder(self.folder).ledger, decide)

    def name_of(self, file: Path) -> str:
        """Give the path by which a result file is filed where it lies."""
        return name_in(self.root, file, self.policy.raw)

    def _must_be_there(self, page: str) -> bool:
        return is_literal(page) and self.policy.pages != PUBLISHED


def open_repository(root: Path) -> Repository:
    """Open the repository at ``root``.

    Raises:
        InputError: ``root`` is no folder, or its ``evidence.toml`` is not valid.
        IntegrityError: The ledger is broken.
    """
    if not root.is_dir():
        raise InputError(
            f"{root} is not a folder", hint="Name the folder that holds evidence/ and the published pages."
        )
    policy = read_policy(root)
    folder = EvidenceFolder(root / policy.folder)
    content = folder.ledger.read()
    ledger = parse(content, file=str(folder.ledger.path))
    lying = lying_raw(root, policy.raw, ledger.raw_files().values())
    return Repository(root=root, policy=policy, content=content, ledger=ledger, raw=RepositoryRaw(folder.raw, lying))


def open_filled(root: Path) -> Repository:
    """Open the repository at ``root``, which has to hold evidence.

    Raises:
        InputError: It holds none, or see :func:`open_repository`.
        IntegrityError: The ledger is broken.
    """
    repository = open_repository(root)
    if not repository.ledger.entries:
        raise InputError(f"there is no evidence in {repository.folder}", hint="Name the folder that holds evidence/.")
    return repository


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
