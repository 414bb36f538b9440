"""Check a repository: its numbers, its policy, its kits, and what git leaves out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.adapters.kit_receipts import read_receipts
from dayzero.adapters.repository_files import files_under, ignored_by_git, is_literal, unmatched
from dayzero.core.verdict import Place
from dayzero.evidence.check import RAW_FOLDER, check
from dayzero.evidence.citation import Reading
from dayzero.evidence.in_place import report_in_place
from dayzero.evidence.pages import read_page
from dayzero.evidence.receipts import Receipt, Unreadable, receipt_findings
from dayzero.evidence.report import Finding, Kind, Report
from dayzero.evidence.rules import PUBLISHED, rule_findings
from dayzero.wiring.plugins import extractors
from dayzero.wiring.store import Repository, open_repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A repository was checked.

    Attributes:
        report: What was found.
        notes: What was not looked at, and why; to be said.
    """

    report: Report
    notes: tuple[str, ...]


def check_repository(root: Path, named: Sequence[Path] = ()) -> Checked:
    """Check everything that is published in a repository; without a ledger, its pages are not read.

    Args:
        root: Its root.
        named: Further pages.

    Raises:
        InputError: It is no folder, its ``evidence.toml`` is not valid, or a named page is not there.
        IntegrityError: The ledger is broken.
    """
    repository = open_repository(root)
    ledger, folder = repository.ledger, str(repository.folder)
    started = bool(ledger.entries or ledger.torn)
    pages = repository.pages(named) if started else ()
    report = check(ledger, repository.raw, extractors(), pages, folder=folder)
    if not started:
        return Checked(report=report, notes=(f"There is no evidence in {folder}, so its pages were not read.",))
    more = _further(repository, tuple(read_page(page) for page in pages))
    report = replace(report, findings=(*report.findings, *more))
    return Checked(report=report_in_place(report, repository.lying), notes=tuple(_notes(repository)))


def _further(repository: Repository, readings: Sequence[Reading]) -> Iterator[Finding]:
    yield from rule_findings(repository.policy, repository.ledger, readings)
    yield from receipt_findings(
        tuple(_receipts(repository)), repository.ledger, repository.content, file=str(repository.ledger_file)
    )
    yield from _ignored(repository)


def _receipts(repository: Repository) -> Iterator[Receipt | Unreadable]:
    for pattern in repository.policy.kits:
        found = files_under(repository.root, pattern)
        if not found and is_literal(pattern):
            yield Unreadable(kit=str(repository.root / pattern), reason="evidence.toml names it, and it is not there")
        for kit in found:
            yield from read_receipts(kit)


def _ignored(repository: Repository) -> Iterator[Finding]:
    """Find raw files that git leaves out of the repository, unless it leaves out the ledger too: that is a scratch folder."""
    recorded = {_place_of(repository, digest.hex): raw for digest, raw in repository.ledger.raw_files().items()}
    there = [path for path in recorded if path.exists()]
    ignored = ignored_by_git(repository.root, (repository.ledger_file, *there))
    if repository.ledger_file in ignored:
        return
    for path in sorted(ignored):
        reason = f"git ignores the raw file {recorded[path].name}, so that a clone will not have it"
        yield Finding(Kind.RAW_IGNORED, reason, (Place(artifact="", file=str(path)),))


def _place_of(repository: Repository, digest: str) -> Path:
    name = f"{repository.folder}/{RAW_FOLDER}/{digest}"
    return Path(repository.lying.get(name, name))


def _notes(repository: Repository) -> Iterator[str]:
    policy = repository.policy
    named = policy.pages if policy.pages != PUBLISHED else ()
    for pattern in unmatched(repository.root, (*named, *policy.kits)):
        if not is_literal(pattern):
            yield f"Nothing matches {pattern} here."
