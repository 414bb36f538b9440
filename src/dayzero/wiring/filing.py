"""File a result file and a claim on it in a repository."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.check import claim_place
from dayzero.evidence.claims import Capture, Draft, file_raw, make_claim, read_raw
from dayzero.evidence.events import correct
from dayzero.evidence.in_place import named_in_place
from dayzero.evidence.ledger import Filed, Ledger
from dayzero.evidence.locator import Locator
from dayzero.evidence.model import Claim, Correction, Extraction, NotMeasured, RawFile, Record
from dayzero.evidence.state import Standing
from dayzero.wiring import clock
from dayzero.wiring.plugins import extractors
from dayzero.wiring.store import Repository, open_repository

Aim: TypeAlias = Callable[[bytes], tuple[Locator, Extraction]]
"""Where in a file, and how, once its bytes are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A claim before its value is known.

    Attributes:
        slug: Its handle.
        label: What the value is, in words.
        unit: Its unit.
        file: The result file.
        aim: Where in it, and how.
        in_place: Leave the file where it lies, instead of keeping a copy in the folder of evidence.
        subject: File that says what was measured, or its digest; the result file itself where there is none.
        command: What produced the result file.
        corrects: Why the claim that stands under the slug was wrong on the same file; ``""`` where this is none of its corrections.
    """

    slug: str
    label: str
    unit: str
    file: Path
    aim: Aim
    in_place: bool
    subject: Path | Sha256 | None
    command: str
    corrects: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledClaim:
    """A claim is in the ledger.

    Attributes:
        claim: The claim, with the value that was found.
        place: Where its value stands.
        line: Its line in the ledger.
        new: Whether it was appended now; an equal one that stands is not appended again.
        moved_aside: Where half lines of killed writers were moved to.
    """

    claim: Claim
    place: str
    line: int
    new: bool
    moved_aside: tuple[str, ...]


def file_claim(root: Path, wanted: Wanted) -> FiledClaim:
    """Extract the value, keep the file and append both records; nothing is appended when the value is not there.

    Raises:
        InputError: A file cannot be read, or cannot be filed where it lies.
        EvidenceError: The value is not in the file.
        RemoteError: The disk refused.
    """
    repository = open_repository(root)
    content = _content(wanted.file)
    locator, extraction = wanted.aim(content)
    given = wanted.subject or wanted.file
    draft = Draft(
        slug=wanted.slug,
        label=wanted.label,
        unit=wanted.unit,
        locator=locator,
        extraction=extraction,
        subject=given if isinstance(given, Sha256) else Sha256.of(_content(given)),
    )
    claim = make_claim(content, draft, extractors())
    raw_file = _raw_file(repository, content, wanted)
    filed = repository.file(lambda ledger: _records(ledger, raw_file, claim, wanted.corrects.strip()))
    state = filed.ledger.standings()[claim.slug]
    line = state.line if isinstance(state, Standing) else 0
    now = open_repository(root)
    place = claim_place(claim, content, now.ledger.raw_files()[claim.raw], folder=str(now.folder))
    return FiledClaim(
        claim=claim,
        place=str(named_in_place(place, now.lying)),
        line=line,
        new=len(filed.ledger.entries) > len(repository.ledger.entries),
        moved_aside=filed.moved_aside,
    )


def file_not_measured(root: Path, said: NotMeasured) -> Filed:
    """Append that a topic has no number, unless just that was said already.

    Raises:
        InputError: Topic or reason is empty.
        RemoteError: The disk refused.
    """
    if not said.topic or not said.why:
        raise InputError("a topic and a reason are needed", hint="Name what was not measured, and say why with --why.")
    return open_repository(root).file(
        lambda ledger: () if any(entry.record == said for entry in ledger.entries) else (said,)
    )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="Name a file that is there.") from error


def _raw_file(repository: Repository, content: bytes, wanted: Wanted) -> RawFile:
    captured = clock.written_at(wanted.file)
    if wanted.in_place:
        return _lying(repository, content, wanted, captured)
    root, file = repository.root.resolve(), wanted.file.resolve()
    name = file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
    return file_raw(repository.raw, content, Capture(name=name, captured_at=captured, command=wanted.command))


def _lying(repository: Repository, content: bytes, wanted: Wanted, captured: str) -> RawFile:
    name, digest = repository.name_of(wanted.file), Sha256.of(content)
    for recorded in repository.ledger.raw_files().values():
        if recorded.name == name and recorded.sha256 != digest:
            raise InputError(
                f"{name} was filed before with other bytes, {recorded.sha256}; a raw file is never edited",
                hint="Give the new run a file of its own, or leave out --in-place.",
            )
        if recorded.sha256 == digest and recorded.name != name:
            _need_kept(repository, recorded)
    size = Bytes(len(content))
    return RawFile(sha256=digest, name=name, size=size, captured_at=captured, command=wanted.command)


def _need_kept(repository: Repository, recorded: RawFile) -> None:
    try:
        read_raw(repository.raw, recorded.sha256)
    except EvidenceError as error:
        raise InputError(
            f"these bytes were filed before as {recorded.name}, which is not there",
            hint="Leave out --in-place, so that a copy is kept.",
        ) from error


def _records(ledger: Ledger, raw_file: RawFile, claim: Claim, corrects: str) -> tuple[Record, ...]:
    if corrects:
        at = clock.now()
        return correct(ledger, Correction(slug=claim.slug, reason=corrects, at=at), claim)
    state = ledger.standing(claim.slug)
    if isinstance(state, Standing) and state.claim == claim:
        return ()
    recorded = ledger.raw_files()
    return (claim,) if raw_file.sha256 in recorded else (raw_file, claim)
