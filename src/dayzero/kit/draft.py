"""The statements about a kit before anybody signs them: written to a file, read back, completed by who signs."""

import json
from dataclasses import dataclass, replace

from dayzero.attestation.envelope import seal
from dayzero.attestation.model import SignerKind, Statement, Subject
from dayzero.attestation.ports import Signer
from dayzero.attestation.statement import document, payload_digest
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero_verify.keys import PublicKey
from dayzero_verify.kit import examine
from dayzero_verify.report import ExitCode, Status
from dayzero_verify.statement import KIT_TYPE, RECEIPT_TYPE, StatementError, parse_statement
from dayzero_verify.strict_json import StrictJsonError, loads

SCHEMA = "dayzero/kit-draft/v1"
# Our own statements say which kind of key signs them; those of other people's types have no place for it.
_OURS = (KIT_TYPE, RECEIPT_TYPE)


@dataclass(frozen=True, slots=True)
class Draft:
    """What will be signed about one archive.

    Attributes:
        kit: The kit statement, without its signer and without the list of the statements that belong to it.
        others: Those statements, in the order in which they will be listed.
    """

    kit: Statement
    others: tuple[Statement, ...]

    @property
    def subject(self) -> Subject:
        """The archive that it is about."""
        return self.kit.subjects[0]


def draft_text(draft: Draft) -> str:
    """Write a draft as JSON."""
    statements = [document(statement) for statement in (draft.kit, *draft.others)]
    return json.dumps({"schema": SCHEMA, "statements": statements}, indent=2, ensure_ascii=True) + "\n"


def parse_draft(content: bytes) -> Draft:
    """Read a draft.

    Raises:
        InputError: It is not one, or its first statement is not about a kit.
    """
    try:
        found = loads(content)
        statements = found.get("statements") if isinstance(found, dict) and found.get("schema") == SCHEMA else None
        if not isinstance(statements, list) or not statements:
            raise InputError(f"the draft is not one of schema {SCHEMA}", hint=_AGAIN)
        parsed = [parse_statement(json.dumps(entry).encode("ascii")) for entry in statements]
    except (StrictJsonError, StatementError) as error:
        raise InputError(f"the draft cannot be read: {error}", hint=_AGAIN) from error
    first, *others = (
        Statement(
            subjects=tuple(Subject(entry.name, Sha256(entry.sha256)) for entry in said.subjects),
            predicate_type=said.predicate_type,
            predicate=said.predicate,
        )
        for said in parsed
    )
    if first.predicate_type != KIT_TYPE or any(said.predicate_type == KIT_TYPE for said in others):
        raise InputError("the first statement of a draft, and no other, is about a kit", hint=_AGAIN)
    return Draft(first, tuple(others))


_AGAIN = "Build the kit again: dayzero kit build PACKAGE."


def completed(draft: Draft, kind: SignerKind) -> tuple[Statement, ...]:
    """Give the statements as they are signed, the kit's own first: it lists every other one by its digest."""
    others = tuple(_signed_by(said, kind) if said.predicate_type in _OURS else said for said in draft.others)
    required = [{"predicateType": said.predicate_type, "sha256": payload_digest(said).hex} for said in others]
    kit = replace(draft.kit, predicate={**draft.kit.predicate, "receipts": required})
    return (_signed_by(kit, kind), *others)


def _signed_by(statement: Statement, kind: SignerKind) -> Statement:
    return replace(statement, predicate={**statement.predicate, "signer": {"kind": kind}})


def sign_kit(archive: bytes, draft: Draft, signers: tuple[Signer, ...]) -> bytes:
    """Seal the statements about an archive, one a line, and let the verifier look at them.

    Args:
        archive: The kit.
        draft: What is said about it.
        signers: The keys; each signs every statement.

    Raises:
        InputError: No key is given, or keys of both kinds.
        IntegrityError: A statement is about another archive, or the verifier does not accept what was sealed.
    """
    kinds: set[SignerKind] = {signer.kind for signer in signers}
    if len(kinds) != 1:
        what = "demo keys and release keys cannot sign one kit together" if kinds else "a kit is signed with a key"
        raise InputError(what, hint="Give --key KEY.pem, several of them of one kind.")
    found = Sha256.of(archive)
    for said in (draft.kit, *draft.others):
        if said.subjects[0].sha256 != found:
            raise IntegrityError(
                f"the draft is about another archive, {said.subjects[0].sha256}; this one is {found}", hint=_AGAIN
            )
    attestation = b"".join(seal(said, *signers) for said in completed(draft, kinds.pop()))
    report = examine(archive, attestation, tuple(PublicKey(signer.public_key) for signer in signers)).report
    if report.exit_code is not ExitCode.VERIFIED:
        why = next((row.reason for row in report.rows if row.status is Status.FAIL), "it was not verified")
        raise IntegrityError(f"the verifier refuses what was signed: {why}", hint=_AGAIN)
    return attestation
