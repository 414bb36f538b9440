"""Check a kit: its attestation, then its archive, in an order in which nothing is read before it is known to be signed."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from dayzero_verify.anchor import TrustAnchor
from dayzero_verify.archive_checks import check_archive, check_files, described, explain_difference
from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES, ArchivedFile
from dayzero_verify.case import Case, Circumstances, RefusedError, count, some
from dayzero_verify.dsse import Envelope, EnvelopeError, SignatureError, Signed, parse_envelope, verify_envelope
from dayzero_verify.ed25519 import WeakKeyError, check_key
from dayzero_verify.keys import PublicKey
from dayzero_verify.memory import Memory
from dayzero_verify.report import ExitCode, Report, Row, Status
from dayzero_verify.standing import (
    KeyStanding,
    Standing,
    check_downgrade,
    check_retraction,
    check_trust_age,
    remembered,
)
from dayzero_verify.statement import (
    LEDGER_PATH,
    RECEIPT_TYPE,
    KitStatement,
    ModelFile,
    SignedFile,
    Statement,
    StatementError,
    parse_kit_statement,
    parse_statement,
)
from dayzero_verify.strict_json import Json, StrictJsonError, loads

MAX_ATTESTATION_BYTES = 16 * 1024 * 1024
MAX_LINES = 64
RAW_FOLDER = "evidence/raw/"
LAUNCH_PATH = "launch.json"
DEMO_WARNING = "signed with a demo key: proves integrity, not identity"

# What a caller trusts: keys, each for everything, or a root and the document that follows from it.
Authority: TypeAlias = "tuple[PublicKey, ...] | TrustAnchor"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the attestation, its signature verified."""

    signed: Signed
    statement: Statement

    @property
    def sha256(self) -> str:
        """Digest of its payload, by which a kit statement names it."""
        return sha256(self.signed.payload).hexdigest()


@dataclass(frozen=True, slots=True)
class Content:
    """A verified kit, taken apart.

    Attributes:
        statement: What was signed about the archive.
        files: The archive's files.
        lines: The attestation's lines; the first holds the kit statement.
        launch: ``launch.json`` of the kit, ``{}`` where it has none.
    """

    statement: KitStatement
    files: tuple[ArchivedFile, ...]
    lines: tuple[Line, ...]
    launch: dict[str, Json]

    @property
    def model_files(self) -> tuple[ModelFile, ...]:
        """The model's files as the kit statement pins them; they are not in the kit."""
        return self.statement.model_files


@dataclass(frozen=True, slots=True)
class Examination:
    """The report, and where the kit is verified its content and what to remember from it."""

    report: Report
    content: Content | None
    memory: Memory | None


def examine(
    kit: bytes,
    attestation: bytes,
    authority: Authority,
    given: Circumstances = Circumstances(),  # noqa: B008  (frozen, and without a clock)
) -> Examination:
    """Check a kit against its attestation and what the caller trusts; touches neither disk nor clock.

    Args:
        kit: The archive, whole.
        attestation: The ``.intoto.jsonl`` file, whole.
        authority: Public keys that came from somewhere else than the kit, of which the signature of one is enough, or a
            trust document with the root that it has to follow from.
        given: The time, and what was seen before.
    """
    case = Case(given)
    try:
        content, memory = _examine(case, kit, attestation, authority)
    except RefusedError as refusal:
        case.rows.append(Row(refusal.check, Status.FAIL, refusal.reason))
        return Examination(case.report(refusal.code, stopped=refusal.check), None, None)
    return Examination(case.report(ExitCode.VERIFIED), content, memory)


def _examine(case: Case, kit: bytes, attestation: bytes, authority: Authority) -> tuple[Content, Memory]:
    _check_size(case, kit, attestation)
    envelopes = _check_envelopes(case, attestation)
    standing = _check_keys(case, authority)
    signed, said = _check_signatures(case, envelopes, standing)
    standing.check_key_status(case, signed)
    statement, statements = _check_statements(case, signed, said)
    case.kit, case.demo = statement.name, statement.demo or signed[0].signatures[0].key.demo
    _check_subject(case, kit, statement)
    files = check_archive(case, kit)
    there = described(files)
    check_files(case, files, there, statement.files)
    lines = tuple(Line(*parts) for parts in zip(signed, statements, strict=True))
    _check_receipts(case, statement, lines, there)
    _check_identity(case, standing)
    contents = {file.path: file.content for file in files}
    check_downgrade(case, standing, statement)
    check_retraction(case, standing, statement, statements, contents[LEDGER_PATH])
    check_trust_age(case, standing)
    standing.check_listed(case, statement, len(kit), attestation)
    head = standing.check_log(case, statement, signed[0].payload)
    content = Content(statement, files, lines, _launch(contents))
    return content, remembered(case, standing, statement, head)


def _check_size(case: Case, kit: bytes, attestation: bytes) -> None:
    if len(kit) > MAX_ARCHIVE_BYTES:
        raise RefusedError("size", ExitCode.ARCHIVE, f"the kit is larger than {MAX_ARCHIVE_BYTES} bytes")
    if len(attestation) > MAX_ATTESTATION_BYTES:
        raise RefusedError("size", ExitCode.STATEMENT, f"the attestation is larger than {MAX_ATTESTATION_BYTES} bytes")
    case.sha256 = sha256(kit).hexdigest()
    case.passed("size", f"the kit has {len(kit)} bytes, the attestation {len(attestation)}")


def _check_envelopes(case: Case, attestation: bytes) -> tuple[Envelope, ...]:
    lines = attestation.split(b"\n")
    if lines.pop() != b"":
        raise RefusedError("envelope", ExitCode.STATEMENT, "the attestation does not end with a newline")
    if not 1 <= len(lines) <= MAX_LINES:
        raise RefusedError("envelope", ExitCode.STATEMENT, f"the attestation has not 1 to {MAX_LINES} lines")
    envelopes = []
    for number, line in enumerate(lines, start=1):
        try:
            envelopes.append(parse_envelope(line))
        except EnvelopeError as error:
            raise RefusedError("envelope", ExitCode.STATEMENT, f"line {number}: {error}") from error
    case.passed("envelope", f"{count(len(envelopes), 'strict DSSE envelope')}")
    return tuple(envelopes)


def _check_keys(case: Case, authority: Authority) -> Standing:
    if isinstance(authority, TrustAnchor):
        return _check_trust(case, authority)
    if not authority:
        raise RefusedError("key", ExitCode.SIGNATURE, "no key is trusted")
    for key in authority:
        try:
            check_key(key.raw)
        except WeakKeyError as error:
            raise RefusedError("key", ExitCode.SIGNATURE, f"key {key.keyid}: {error}") from error
    case.passed("key", f"{count(len(authority), 'sound Ed25519 key')} given")
    return KeyStanding(authority)


def _check_trust(case: Case, anchor: TrustAnchor) -> Standing:
    # Whoever trusts a key alone does not wait for what reads roots and logs: it is half of what starting takes.
    from dayzero_verify.trust import TrustError  # noqa: PLC0415
    from dayzero_verify.trust_checks import of_trust  # noqa: PLC0415

    try:
        standing = of_trust(anchor, case.given.now, case.given.proof)
    except TrustError as error:
        raise RefusedError("key", error.code, error.reason) from error
    versions = ", ".join(f"{role} {version}" for role, version in standing.versions.items())
    case.passed("key", f"the trust document follows from your root; {versions}; newest root {standing.trust.root}")
    return standing


def _check_signatures(
    case: Case, envelopes: tuple[Envelope, ...], standing: Standing
) -> tuple[tuple[Signed, ...], tuple[Statement | StatementError, ...]]:
    """Give what each line says, too: its type decides who may sign it. One that says nothing is refused after its signer."""
    signed: list[Signed] = []
    said: list[Statement | StatementError] = []
    for number, envelope in enumerate(envelopes, start=1):
        try:
            held = verify_envelope(envelope, standing.keys)
            said.append(_said(held.payload))
            signed.append(_by_its_role(held, said[-1], standing))
        except SignatureError as error:
            raise RefusedError("signature", ExitCode.SIGNATURE, f"line {number}: {error}") from error
    case.keyid = signed[0].signatures[0].key.keyid
    case.passed("signature", f"every line is signed by a trusted key; the first by {case.keyid}")
    return tuple(signed), tuple(said)


def _said(payload: bytes) -> Statement | StatementError:
    try:
        return parse_statement(payload)
    except StatementError as error:
        return error


def _by_its_role(signed: Signed, said: Statement | StatementError, standing: Standing) -> Signed:
    """Count only signatures by keys whose role it is to sign statements of this type; current keys come first."""
    kind = said.predicate_type if isinstance(said, Statement) else ""
    role = standing.role(kind)
    mine = [entry for entry in signed.signatures if entry.key in role.keys]
    if len(mine) < role.threshold:
        raise SignatureError(
            f"{len(mine)} of the {role.threshold} keys that may sign a statement of type {kind!a} signed it"
        )
    mine.sort(key=lambda entry: entry.key in standing.former)
    others = len(signed.signatures) - len(mine)
    return Signed(signed.payload, tuple(mine), signed.unverified + others)


def _check_statements(
    case: Case, signed: tuple[Signed, ...], said: tuple[Statement | StatementError, ...]
) -> tuple[KitStatement, tuple[Statement, ...]]:
    if len({entry.payload for entry in signed}) != len(signed):
        raise RefusedError("statement", ExitCode.STATEMENT, "a statement stands there twice")
    statements: list[Statement] = []
    for number, entry in enumerate(said, start=1):
        try:
            if isinstance(entry, StatementError):
                raise entry
            if number == 1:
                kit = parse_kit_statement(entry)
            elif entry.predicate_type == statements[0].predicate_type:
                raise StatementError("a second kit statement")  # noqa: TRY301  (same)
        except StatementError as error:
            raise RefusedError("statement", ExitCode.STATEMENT, f"line {number}: {error}") from error
        statements.append(entry)
    case.passed("statement", f"the first line is a kit statement, about {kit.name!a}")
    return kit, tuple(statements)


def _check_subject(case: Case, kit: bytes, statement: KitStatement) -> None:
    if case.sha256 == statement.subject:
        case.passed("subject", f"the signed digest is that of this archive, {case.sha256}")
        return
    code, difference = explain_difference(kit, statement)
    digests = f"the archive has sha256 {case.sha256}, signed is {statement.subject}"
    raise RefusedError("subject", code, f"{difference} ({digests})")


def _check_receipts(
    case: Case, statement: KitStatement, lines: tuple[Line, ...], there: Mapping[str, SignedFile]
) -> None:
    found = {line.sha256: line for line in lines[1:]}
    for line in lines[1:]:
        if line.statement.predicate_type == RECEIPT_TYPE:
            _check_receipt(case, line.statement, there)
    for one in statement.required:
        if one.sha256 not in found:
            raise RefusedError("receipts", ExitCode.FILE_SET, f"receipt {one.sha256}, which the kit names, is missing")
        said = found[one.sha256].statement
        if said.predicate_type != one.predicate_type:
            reason = f"statement {one.sha256}, which the kit names, is not of type {one.predicate_type}"
            raise RefusedError("receipts", ExitCode.STATEMENT, reason)
        if said.subjects[0].sha256 != case.sha256:
            reason = f"a statement of type {one.predicate_type} is about another kit, {said.subjects[0].sha256}"
            raise RefusedError("receipts", ExitCode.STATEMENT, reason)
    receipts = sum(one.predicate_type == RECEIPT_TYPE for one in statement.required)
    others = len(statement.required) - receipts
    also = f"; {count(others, 'other statement')} about this kit" if others else ""
    if receipts:
        case.passed("receipts", f"{count(receipts, 'receipt')}, about this kit and its raw files{also}")
    else:
        case.not_checked("receipts", f"the kit names no receipt{also}")
    _note_uncounted(case, statement, lines)


def _check_receipt(case: Case, receipt: Statement, there: Mapping[str, SignedFile]) -> None:
    kit, *raw = receipt.subjects
    if kit.sha256 != case.sha256:
        raise RefusedError("receipts", ExitCode.STATEMENT, f"a receipt is about another kit, {kit.sha256}")
    for subject in raw:
        file = there.get(subject.name) if subject.name.startswith(RAW_FOLDER) else None
        if file is None or file.sha256 != subject.sha256:
            raise RefusedError(
                "receipts", ExitCode.STATEMENT, f"a receipt is about {subject.name!a}, which is not in the kit"
            )


def _note_uncounted(case: Case, statement: KitStatement, lines: tuple[Line, ...]) -> None:
    signatures = sum(line.signed.unverified for line in lines)
    beside = [line for line in lines[1:] if line.sha256 not in statement.named]
    notes = [f"{count(signatures, 'signature')} by no trusted key"] if signatures else []
    notes += [f"a statement of type {line.statement.predicate_type!a} that the kit does not name" for line in beside]
    if notes:
        case.not_checked("uncounted", f"counts for nothing: {some(notes)}")
    else:
        case.passed("uncounted", "nothing stands beside what the kit statement names")


def _check_identity(case: Case, standing: Standing) -> None:
    if case.demo:
        case.not_checked("identity", DEMO_WARNING)
    else:
        case.passed("identity", standing.identity(case.keyid))


def _launch(contents: dict[str, bytes]) -> dict[str, Json]:
    if LAUNCH_PATH not in contents:
        return {}
    try:
        launch = loads(contents[LAUNCH_PATH])
    except StrictJsonError as error:
        raise RefusedError("manifest", ExitCode.STATEMENT, f"{LAUNCH_PATH}: {error}") from error
    if not isinstance(launch, dict):
        raise RefusedError("manifest", ExitCode.STATEMENT, f"{LAUNCH_PATH} is not an object")
    return launch
