"""Check a kit: its attestation, then its archive, in an order in which nothing is read before it is known to be signed."""

from dataclasses import dataclass, field
from hashlib import sha256

from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES, ArchivedFile, ArchiveError, ChecksumError, read
from dayzero_verify.dsse import Envelope, EnvelopeError, SignatureError, Signed, parse_envelope, verify_envelope
from dayzero_verify.ed25519 import WeakKeyError, check_key
from dayzero_verify.keys import PublicKey
from dayzero_verify.paths import PathError
from dayzero_verify.report import ExitCode, Report, Row, Status, complete
from dayzero_verify.statement import (
    RECEIPT_TYPE,
    KitStatement,
    SignedFile,
    Statement,
    StatementError,
    parse_files,
    parse_kit_statement,
    parse_statement,
)
from dayzero_verify.strict_json import StrictJsonError, loads

MAX_ATTESTATION_BYTES = 16 * 1024 * 1024
MAX_LINES = 64
MANIFEST_PATH = "manifest.json"
RAW_FOLDER = "evidence/raw/"
DEMO_WARNING = "signed with a demo key: proves integrity, not identity"
_NAMED_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the attestation, its signature verified."""

    signed: Signed
    statement: Statement


@dataclass(frozen=True, slots=True)
class Content:
    """A verified kit, taken apart.

    Attributes:
        statement: What was signed about the archive.
        files: The archive's files.
        lines: The attestation's lines; the first holds the kit statement.
    """

    statement: KitStatement
    files: tuple[ArchivedFile, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Examination:
    """The report, and the kit's content where it is verified."""

    report: Report
    content: Content | None


class _RefusedError(Exception):
    """One check failed; nothing after it is looked at."""

    def __init__(self, check: str, code: ExitCode, reason: str) -> None:
        super().__init__(reason)
        self.check, self.code, self.reason = check, code, reason


@dataclass(slots=True)
class _Case:
    """What is known so far."""

    rows: list[Row] = field(default_factory=list)
    sha256: str = ""
    keyid: str = ""
    kit: str = ""
    demo: bool = False

    def passed(self, check: str, reason: str) -> None:
        self.rows.append(Row(check, Status.PASS, reason))

    def not_checked(self, check: str, reason: str) -> None:
        self.rows.append(Row(check, Status.NOT_CHECKED, reason))

    def report(self, code: ExitCode, *, stopped: str = "") -> Report:
        rows = complete(tuple(self.rows), stopped=stopped)
        return Report(rows=rows, exit_code=code, kit=self.kit, sha256=self.sha256, keyid=self.keyid, demo=self.demo)


def examine(kit: bytes, attestation: bytes, trusted: tuple[PublicKey, ...]) -> Examination:
    """Check a kit against its attestation and the keys that the caller trusts.

    Args:
        kit: The archive, whole.
        attestation: The ``.intoto.jsonl`` file, whole.
        trusted: Public keys that came from somewhere else than the kit; the signature of one is enough.
    """
    case = _Case()
    try:
        content = _examine(case, kit, attestation, trusted)
    except _RefusedError as refusal:
        case.rows.append(Row(refusal.check, Status.FAIL, refusal.reason))
        return Examination(case.report(refusal.code, stopped=refusal.check), None)
    return Examination(case.report(ExitCode.VERIFIED), content)


def _examine(case: _Case, kit: bytes, attestation: bytes, trusted: tuple[PublicKey, ...]) -> Content:
    _check_size(case, kit, attestation)
    envelopes = _check_envelopes(case, attestation)
    _check_keys(case, trusted)
    signed = _check_signatures(case, envelopes, trusted)
    statement, statements = _check_statements(case, signed)
    case.kit, case.demo = statement.name, statement.demo or signed[0].signatures[0].key.demo
    _check_subject(case, kit, statement)
    files = _check_archive(case, kit)
    _check_files(case, files, statement.files)
    lines = tuple(Line(*parts) for parts in zip(signed, statements, strict=True))
    _check_receipts(case, statement, lines, files)
    if case.demo:
        case.not_checked("identity", DEMO_WARNING)
    else:
        case.passed("identity", f"signed by the key you trust, {case.keyid}")
    return Content(statement, files, lines)


def _check_size(case: _Case, kit: bytes, attestation: bytes) -> None:
    if len(kit) > MAX_ARCHIVE_BYTES:
        raise _RefusedError("size", ExitCode.ARCHIVE, f"the kit is larger than {MAX_ARCHIVE_BYTES} bytes")
    if len(attestation) > MAX_ATTESTATION_BYTES:
        raise _RefusedError("size", ExitCode.STATEMENT, f"the attestation is larger than {MAX_ATTESTATION_BYTES} bytes")
    case.sha256 = sha256(kit).hexdigest()
    case.passed("size", f"the kit has {len(kit)} bytes, the attestation {len(attestation)}")


def _check_envelopes(case: _Case, attestation: bytes) -> tuple[Envelope, ...]:
    lines = attestation.split(b"\n")
    if lines.pop() != b"":
        raise _RefusedError("envelope", ExitCode.STATEMENT, "the attestation does not end with a newline")
    if not 1 <= len(lines) <= MAX_LINES:
        raise _RefusedError("envelope", ExitCode.STATEMENT, f"the attestation has not 1 to {MAX_LINES} lines")
    envelopes = []
    for number, line in enumerate(lines, start=1):
        try:
            envelopes.append(parse_envelope(line))
        except EnvelopeError as error:
            raise _RefusedError("envelope", ExitCode.STATEMENT, f"line {number}: {error}") from error
    case.passed("envelope", f"{_count(len(envelopes), 'strict DSSE envelope')}")
    return tuple(envelopes)


def _check_keys(case: _Case, trusted: tuple[PublicKey, ...]) -> None:
    if not trusted:
        raise _RefusedError("key", ExitCode.SIGNATURE, "no key is trusted")
    for key in trusted:
        try:
            check_key(key.raw)
        except WeakKeyError as error:
            raise _RefusedError("key", ExitCode.SIGNATURE, f"key {key.keyid}: {error}") from error
    case.passed("key", f"{_count(len(trusted), 'sound Ed25519 key')} given")


def _check_signatures(
    case: _Case, envelopes: tuple[Envelope, ...], trusted: tuple[PublicKey, ...]
) -> tuple[Signed, ...]:
    signed: list[Signed] = []
    for number, envelope in enumerate(envelopes, start=1):
        try:
            signed.append(verify_envelope(envelope, trusted))
        except SignatureError as error:
            raise _RefusedError("signature", ExitCode.SIGNATURE, f"line {number}: {error}") from error
    case.keyid = signed[0].signatures[0].key.keyid
    case.passed("signature", f"every line is signed by a trusted key; the first by {case.keyid}")
    return tuple(signed)


def _check_statements(case: _Case, signed: tuple[Signed, ...]) -> tuple[KitStatement, tuple[Statement, ...]]:
    if len({entry.payload for entry in signed}) != len(signed):
        raise _RefusedError("statement", ExitCode.STATEMENT, "a statement stands there twice")
    statements: list[Statement] = []
    for number, entry in enumerate(signed, start=1):
        try:
            statements.append(parse_statement(entry.payload))
            if number == 1:
                kit = parse_kit_statement(statements[0])
            elif statements[-1].predicate_type == statements[0].predicate_type:
                raise StatementError("a second kit statement")  # noqa: TRY301  (the same way out as the others)
        except StatementError as error:
            raise _RefusedError("statement", ExitCode.STATEMENT, f"line {number}: {error}") from error
    case.passed("statement", f"the first line is a kit statement, about {kit.name!a}")
    return kit, tuple(statements)


def _check_subject(case: _Case, kit: bytes, statement: KitStatement) -> None:
    if case.sha256 == statement.subject:
        case.passed("subject", f"the signed digest is that of this archive, {case.sha256}")
        return
    code, difference = _explain_difference(kit, statement)
    digests = f"the archive has sha256 {case.sha256}, signed is {statement.subject}"
    raise _RefusedError("subject", code, f"{difference} ({digests})")


def _explain_difference(kit: bytes, statement: KitStatement) -> tuple[ExitCode, str]:
    """Say how an archive that is refused already differs from the signed one; this picks the exit code, never a pass."""
    try:
        files = read(kit)
    except ChecksumError as error:
        return ExitCode.DIGEST, str(error)
    except (ArchiveError, PathError) as error:
        return ExitCode.ARCHIVE, str(error)
    changed, strays = _changed(files, statement.files), _strays(files, statement.files)
    if _manifest_problem(files) is None:
        return ExitCode.STATEMENT, f"this is another kit, whole in itself ({_some(changed + strays)})"
    if strays:
        return ExitCode.FILE_SET, _some(strays)
    if changed:
        return ExitCode.DIGEST, _some(changed)
    return ExitCode.STATEMENT, "the statement lists the files of this archive, but signs another"


def _check_archive(case: _Case, kit: bytes) -> tuple[ArchivedFile, ...]:
    try:
        files = read(kit)
    except PathError as error:
        case.passed("archive", "in its one canonical form")
        raise _RefusedError("paths", ExitCode.ARCHIVE, str(error)) from error
    except ChecksumError as error:
        raise _RefusedError("archive", ExitCode.DIGEST, str(error)) from error
    except ArchiveError as error:
        raise _RefusedError("archive", ExitCode.ARCHIVE, str(error)) from error
    case.passed("archive", "in its one canonical form")
    case.passed("paths", f"{_count(len(files), 'plain relative path')}")
    return files


def _check_files(case: _Case, files: tuple[ArchivedFile, ...], listed: tuple[SignedFile, ...]) -> None:
    changed, strays = _changed(files, listed), _strays(files, listed)
    if changed:
        raise _RefusedError("digests", ExitCode.DIGEST, _some(changed))
    case.passed("digests", "size, mode and sha256 of every file are the signed ones")
    if strays:
        raise _RefusedError("closed_world", ExitCode.FILE_SET, _some(strays))
    case.passed("closed_world", f"the {_count(len(files), 'signed file')} and nothing else")
    problem = _manifest_problem(files)
    if problem is not None:
        raise _RefusedError("manifest", *problem)
    case.passed("manifest", f"{MANIFEST_PATH} in the kit lists the same")


def _check_receipts(
    case: _Case, statement: KitStatement, lines: tuple[Line, ...], files: tuple[ArchivedFile, ...]
) -> None:
    found = {sha256(line.signed.payload).hexdigest(): line for line in lines[1:]}
    for line in lines[1:]:
        if line.statement.predicate_type == RECEIPT_TYPE:
            _check_receipt(case, line.statement, files)
    missing = [digest for digest in statement.receipts if digest not in found]
    if missing:
        raise _RefusedError("receipts", ExitCode.FILE_SET, f"receipt {missing[0]}, which the kit names, is missing")
    foreign = [digest for digest in statement.receipts if found[digest].statement.predicate_type != RECEIPT_TYPE]
    if foreign:
        raise _RefusedError(
            "receipts", ExitCode.STATEMENT, f"statement {foreign[0]}, which the kit names, is no receipt"
        )
    if statement.receipts:
        case.passed("receipts", f"{_count(len(statement.receipts), 'receipt')}, about this kit and its raw files")
    else:
        case.not_checked("receipts", "the kit names no receipt")
    _note_uncounted(case, statement, lines)


def _check_receipt(case: _Case, receipt: Statement, files: tuple[ArchivedFile, ...]) -> None:
    kit, *raw = receipt.subjects
    if kit.sha256 != case.sha256:
        raise _RefusedError("receipts", ExitCode.STATEMENT, f"a receipt is about another kit, {kit.sha256}")
    digests = {file.path: sha256(file.content).hexdigest() for file in files if file.path.startswith(RAW_FOLDER)}
    for subject in raw:
        if digests.get(subject.name) != subject.sha256:
            raise _RefusedError(
                "receipts", ExitCode.STATEMENT, f"a receipt is about {subject.name!a}, which is not in the kit"
            )


def _note_uncounted(case: _Case, statement: KitStatement, lines: tuple[Line, ...]) -> None:
    signatures = sum(line.signed.unverified for line in lines)
    named = set(statement.receipts)
    beside = [line for line in lines[1:] if sha256(line.signed.payload).hexdigest() not in named]
    notes = [f"{_count(signatures, 'signature')} by no trusted key"] if signatures else []
    notes += [f"a statement of type {line.statement.predicate_type!a} that the kit does not name" for line in beside]
    if notes:
        case.not_checked("uncounted", f"counts for nothing: {_some(notes)}")
    else:
        case.passed("uncounted", "nothing stands beside what the kit statement names")


def _changed(files: tuple[ArchivedFile, ...], listed: tuple[SignedFile, ...]) -> list[str]:
    signed = {entry.path: entry for entry in listed}
    changed = []
    for file in files:
        entry = signed.get(file.path)
        if entry is None:
            continue
        if entry.sha256 != sha256(file.content).hexdigest() or entry.size != len(file.content):
            changed.append(f"{file.path} is changed")
        elif entry.mode != file.mode:
            changed.append(f"{file.path} has mode {file.mode}, not {entry.mode}")
    return changed


def _strays(files: tuple[ArchivedFile, ...], listed: tuple[SignedFile, ...]) -> list[str]:
    there, signed = {file.path for file in files}, {entry.path for entry in listed}
    extra = [f"{path} is not in the signed list" for path in sorted(there - signed)]
    return extra + [f"{path!a} is missing" for path in sorted(signed - there)]


def _manifest_problem(files: tuple[ArchivedFile, ...]) -> tuple[ExitCode, str] | None:
    """Say where the archive's own manifest and its other files differ, ``None`` when they agree."""
    manifest = next((file for file in files if file.path == MANIFEST_PATH), None)
    if manifest is None:
        return ExitCode.FILE_SET, f"{MANIFEST_PATH} is missing"
    try:
        document = loads(manifest.content)
        listed = parse_files(document.get("files") if isinstance(document, dict) else None)
    except (StrictJsonError, StatementError) as error:
        return ExitCode.DIGEST, f"{MANIFEST_PATH}: {error}"
    others = tuple(file for file in files if file is not manifest)
    changed, strays = _changed(others, listed), _strays(others, listed)
    if changed:
        return ExitCode.DIGEST, f"{MANIFEST_PATH}: {_some(changed)}"
    return (ExitCode.FILE_SET, f"{MANIFEST_PATH}: {_some(strays)}") if strays else None


def _some(findings: list[str]) -> str:
    shown = "; ".join(findings[:_NAMED_AT_MOST])
    return shown if len(findings) <= _NAMED_AT_MOST else f"{shown}; and {len(findings) - _NAMED_AT_MOST} more"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
