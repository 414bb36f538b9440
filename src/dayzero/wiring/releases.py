"""Release a signed kit, or take something back: change the published folder, and write the log's proof beside the kit."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dayzero.adapters.trust_files import LOG, write_durable
from dayzero.attestation.log_writer import RELEASE, LogEvent, proof_bytes
from dayzero.attestation.ports import Signer
from dayzero.attestation.retraction import RetractedKit, TakenBack, retraction_statement
from dayzero.attestation.statement import payload
from dayzero.attestation.trust_document import trust_bytes, with_kit, with_retraction
from dayzero.attestation.trust_model import KitListing, ListedKit, TrustDocument
from dayzero.attestation.trust_roles import instant, kits_of
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.wiring.trust import Published, change
from dayzero_verify.anchor import TrustAnchor
from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES
from dayzero_verify.case import Circumstances
from dayzero_verify.inputs import UnreadableError, attestation_path, proof_path, read_file
from dayzero_verify.kit import MAX_ATTESTATION_BYTES, Authority, Content, examine
from dayzero_verify.report import ExitCode, Status
from dayzero_verify.retraction import Retraction, parse_retraction
from dayzero_verify.statement import parse_statement
from dayzero_verify.trust import Trust
from dayzero_verify.versions import is_older

_SUFFIX = ".kit.zip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A kit that is released.

    Attributes:
        published: The folder then.
        kit: Its entry.
        record: Number of its record in the log.
        proof: Where the proof of that record was written.
    """

    published: Published
    kit: ListedKit
    record: int
    proof: Path


@dataclass(frozen=True, slots=True)
class _Files:
    """A kit as it was read, once."""

    path: Path
    archive: bytes
    attestation: bytes

    def examined(self, authority: Authority, given: Circumstances) -> Content:
        """Give the content that the verifier accepts.

        Raises:
            IntegrityError: It does not accept the kit.
        """
        examination = examine(self.archive, self.attestation, authority, given)
        if examination.content is None or examination.report.exit_code is not ExitCode.VERIFIED:
            failed = next(row for row in examination.report.rows if row.status is Status.FAIL)
            raise IntegrityError(
                f"{self.path} would not verify ({failed.check}, exit {int(examination.report.exit_code)}): {failed.reason}",
                hint="Nothing was released; a buyer would have been told the same.",
            )
        return examination.content


def release(folder: Path, kit: Path, minimum: str = "", *, sign: Sequence[Path], now: str) -> Released:
    """List a signed kit, record it in the log and write the proof beside it; everything is verified before it is written.

    A kit that is released already only gets its proof again, for which no key is needed.

    Args:
        folder: The published folder.
        kit: The archive, its attestation beside it.
        minimum: The oldest version of this kit that may still be served, ``""`` to leave that open.
        sign: Private keys: of the release role, and the online one.
        now: The time.

    Raises:
        InputError: A file cannot be read, a key is missing, the kit is a demo's or misnamed, or this version has other bytes.
        IntegrityError: The verifier does not accept the kit, or the folder is damaged.
        RemoteError: The disk refused.
    """
    files = _read(kit)
    event: list[LogEvent] = []

    def make(before: Published, signers: Sequence[Signer]) -> tuple[TrustDocument, tuple[LogEvent, ...]]:
        listing = _listing(files, before.trust, minimum, now)
        event.append(LogEvent(RELEASE, listing.statement, listing.kit, listing.version))
        return with_kit(before.document, listing, signers, now), (event[0],)

    def accept(after: Published) -> None:
        given = Circumstances(now=instant(now), proof=_proof(after, event[0])[1])
        anchor = TrustAnchor(document=trust_bytes(after.document), root=after.document.root.fingerprint)
        files.examined(anchor, given)

    published = change(folder, make, accept, sign=sign, now=now)
    record, proof = _proof(published, event[0])
    write_durable(proof_path(kit), proof)
    listed = next(entry for entry in kits_of(published.document) if entry.archive == kit.name)
    return Released(published=published, kit=listed, record=record, proof=proof_path(kit))


def listed_kit(folder: Path, document: TrustDocument, name: str) -> RetractedKit:
    """Find a kit that was released.

    Args:
        folder: The published folder, for the error.
        document: Its trust document.
        name: NAME-VERSION, or the archive's name.

    Raises:
        InputError: There is none.
    """
    archive = name if name.endswith(_SUFFIX) else name + _SUFFIX
    for entry in kits_of(document):
        if entry.archive == archive:
            return RetractedKit(archive, Sha256(entry.sha256))
    known = ", ".join(entry.archive.removesuffix(_SUFFIX) for entry in kits_of(document)) or "nothing yet"
    raise InputError(f"no kit {name} was released in {folder}", hint=f"Released are: {known}.")


def take_back(folder: Path, taken: TakenBack, *, effective: str, sign: Sequence[Path], now: str) -> Published:
    """Publish that something is taken back, and record it in the log.

    Args:
        folder: The published folder.
        taken: What, and why.
        effective: Since when.
        sign: Private keys: of the retraction role, and the online one.
        now: The time.

    Raises:
        InputError: A key is missing, there is no reason, or just this is taken back already.
        IntegrityError: The folder is damaged.
        RemoteError: The disk refused.
    """
    instant(effective)
    content = payload(retraction_statement(taken, effective, "release"))

    def make(before: Published, signers: Sequence[Signer]) -> tuple[TrustDocument, tuple[LogEvent, ...]]:
        _check_new(before.trust, parse_retraction(parse_statement(content)))
        return with_retraction(before.document, content, signers, now), ()  # the log records every retraction anyway

    return change(folder, make, sign=sign, now=now)


def _check_new(trust: Trust, wanted: Retraction) -> None:
    for known in trust.retractions:
        if all(getattr(known, part) == getattr(wanted, part) for part in ("what", "word", "slug", "digests")):
            raise InputError(
                f"this is {known.word} already: {known.reason}", hint="See 'dayzero keys show'; nothing was changed."
            )


def _read(kit: Path) -> _Files:
    try:
        archive = read_file(kit, MAX_ARCHIVE_BYTES, "kit")
        return _Files(kit, archive, read_file(attestation_path(kit), MAX_ATTESTATION_BYTES, "attestation"))
    except UnreadableError as error:
        raise InputError(error.message, hint=f"{error.hint[:1].upper()}{error.hint[1:]}.") from error


def _listing(files: _Files, trust: Trust, minimum: str, now: str) -> KitListing:
    content = files.examined(trust.release.keys, Circumstances(now=instant(now)))
    said = content.statement
    if said.demo:
        raise InputError(f"{files.path} says that a demo key signed it", hint="Sign it with a release key.")
    if files.path.name != f"{said.kit}-{said.version}{_SUFFIX}":
        raise InputError(
            f"{files.path} is {said.name}, and a buyer looks for it by that name",
            hint=f"Name it {said.kit}-{said.version}{_SUFFIX}, and the files beside it alike.",
        )
    if minimum and is_older(said.version, minimum):
        raise InputError(f"{said.name} is itself older than {minimum}", hint="Give the version or an older one.")
    return KitListing(
        archive=files.path.name,
        size=len(files.archive),
        sha256=said.subject,
        kit=said.kit,
        version=said.version,
        minimum=minimum,
        attestation_size=len(files.attestation),
        attestation_sha256=sha256(files.attestation).hexdigest(),
        statement=sha256(content.lines[0].signed.payload).hexdigest(),
    )


def _proof(published: Published, event: LogEvent) -> tuple[int, bytes]:
    record = published.log.find(event)
    if record is None:
        raise InputError(
            f"{LOG} does not record this release yet, and the log's key was not given",
            hint="Give the online key with --sign.",
        )
    return record, proof_bytes(published.log, record)
