"""Put statements into signed envelopes, one a line, and take them out again only when a trusted key signed them."""

import base64
import json
from collections.abc import Iterable, Mapping

from dayzero.attestation.model import Statement, Subject
from dayzero.attestation.ports import Signer
from dayzero.attestation.statement import payload
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero_verify import ed25519
from dayzero_verify.dsse import PAYLOAD_TYPE, EnvelopeError, SignatureError, pae, parse_envelope, verify_envelope
from dayzero_verify.keys import PublicKey
from dayzero_verify.statement import StatementError, parse_statement

_OUR_TYPES = "urn:dayzero:"  # statements of other people's types have no place for who signs them


def seal(statement: Statement, *signers: Signer) -> bytes:
    """Sign a statement and give its DSSE envelope as one line, with one signature a signer.

    Raises:
        InputError: The statement says that another kind of key signs it than a signer is, or is ours and does not say it.
        IntegrityError: A signer gave a signature that does not hold under its public key.
    """
    stated = statement.predicate.get("signer")
    kind = stated.get("kind") if isinstance(stated, Mapping) else None
    says = "signer" in statement.predicate or statement.predicate_type.startswith(_OUR_TYPES)
    for signer in signers if says else ():
        if kind != signer.kind:
            raise InputError(
                f"the statement does not say that a {signer.kind} key signs it",
                hint="Write the statement with the kind of the key that will sign it.",
            )
    return seal_payload(payload(statement), *signers)


def seal_payload(content: bytes, *signers: Signer) -> bytes:
    """Sign a statement as it is written already, and give its DSSE envelope as one line, with one signature a signer.

    Raises:
        IntegrityError: A signer gave a signature that does not hold under its own public key.
    """
    envelope = {
        "payload": base64.b64encode(content).decode("ascii"),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [_signature(content, signer) for signer in signers],
    }
    return json.dumps(envelope, separators=(",", ":")).encode("ascii") + b"\n"


def _signature(content: bytes, signer: Signer) -> Mapping[str, str]:
    signature = signer.sign(pae(content))
    if not ed25519.verify(signer.public_key, pae(content), signature):
        raise IntegrityError(
            "the signer's signature does not hold under its own public key", hint="Do not use this key."
        )
    return {"keyid": PublicKey(signer.public_key).keyid, "sig": base64.b64encode(signature).decode("ascii")}


def sign_statements(statements: Iterable[Statement], signer: Signer) -> bytes:
    """Write an attestation: the sealed statements in the order given, one a line; a kit's own statement comes first."""
    return b"".join(seal(statement, signer) for statement in statements)


def unseal(line: bytes, trusted: tuple[PublicKey, ...]) -> Statement:
    """Read a statement back from its envelope, once ``dayzero_verify`` finds a trusted key's signature on it.

    Raises:
        IntegrityError: It is no such envelope, or no trusted key signed it.
    """
    try:
        signed = verify_envelope(parse_envelope(line.removesuffix(b"\n")), trusted)
        statement = parse_statement(signed.payload)
    except (EnvelopeError, SignatureError, StatementError) as error:
        raise IntegrityError(
            f"not a statement signed by a trusted key: {error}",
            hint="Get the statement and the key again, each from its own source.",
        ) from error
    return Statement(
        subjects=tuple(Subject(entry.name, Sha256(entry.sha256)) for entry in statement.subjects),
        predicate_type=statement.predicate_type,
        predicate=statement.predicate,
    )
