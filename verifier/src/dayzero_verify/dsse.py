"""Signed envelopes: DSSE v1 with one payload type, strict base64 and pure Ed25519."""

from dataclasses import dataclass

from dayzero_verify import ed25519
from dayzero_verify.canonical_base64 import Base64Error, decode
from dayzero_verify.keys import PublicKey
from dayzero_verify.strict_json import Json, StrictJsonError, loads

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_SIGNATURES = 4


class EnvelopeError(ValueError):
    """The bytes are not an envelope of the one form that is read here."""


class SignatureError(ValueError):
    """No trusted key signed the payload, or a signature names a key that did not make it."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature and the key id it names; the id is not signed and never decides what is trusted."""

    keyid: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload and its signatures, not verified yet."""

    payload: bytes
    signatures: tuple[Signature, ...]


@dataclass(frozen=True, slots=True)
class TrustedSignature:
    """A signature that holds, and the trusted key that made it."""

    key: PublicKey
    value: bytes


@dataclass(frozen=True, slots=True)
class Signed:
    """A payload that trusted keys signed.

    Attributes:
        payload: The signed bytes.
        signatures: The signatures that hold, one a key; at least one.
        unverified: How many further signatures are by no trusted key; they count for nothing.
    """

    payload: bytes
    signatures: tuple[TrustedSignature, ...]
    unverified: int


def pae(payload: bytes) -> bytes:
    """Give the bytes that are signed: DSSE's pre-authentication encoding of the payload and its type."""
    kind = PAYLOAD_TYPE.encode("ascii")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def parse_envelope(line: bytes) -> Envelope:
    """Read an envelope.

    Raises:
        EnvelopeError: It is not strict JSON, has other members than DSSE's, another payload type, or base64 that does not
            encode back to itself.
    """
    try:
        document = loads(line)
    except StrictJsonError as error:
        raise EnvelopeError(str(error)) from error
    if not isinstance(document, dict) or set(document) != {"payload", "payloadType", "signatures"}:
        raise EnvelopeError("an envelope has exactly the members payload, payloadType and signatures")
    if document["payloadType"] != PAYLOAD_TYPE:
        raise EnvelopeError(f"the payload type is not {PAYLOAD_TYPE}")
    signatures = document["signatures"]
    if not isinstance(signatures, list) or not 1 <= len(signatures) <= MAX_SIGNATURES:
        raise EnvelopeError(f"an envelope has 1 to {MAX_SIGNATURES} signatures")
    return Envelope(_base64(document["payload"], "payload"), tuple(_signature(entry) for entry in signatures))


def verify_envelope(envelope: Envelope, trusted: tuple[PublicKey, ...]) -> Signed:
    """Find the trusted keys that signed; one is enough.

    Every trusted key is tried on every signature, whatever key id it names. A signature that holds but names another key,
    and one that names a trusted key but does not hold, are refused: the id grants nothing, but it may not lie.

    Raises:
        SignatureError: No trusted key signed, or a key id is false.
    """
    message = pae(envelope.payload)
    holding: dict[bytes, TrustedSignature] = {}
    unverified = 0
    for signature in envelope.signatures:
        signer = next((key for key in trusted if ed25519.verify(key.raw, message, signature.value)), None)
        if signer is None and signature.keyid in {key.keyid for key in trusted}:
            raise SignatureError("a signature names the trusted key, but does not hold under it")
        if signer is not None and signature.keyid not in {"", signer.keyid}:
            raise SignatureError("a signature by a trusted key names another key")
        if signer is None:
            unverified += 1
        else:
            holding.setdefault(signer.raw, TrustedSignature(signer, signature.value))
    if not holding:
        raise SignatureError("no trusted key made any of its signatures")
    return Signed(envelope.payload, tuple(holding.values()), unverified)


def _signature(entry: Json) -> Signature:
    if not isinstance(entry, dict) or not {"sig"} <= set(entry) <= {"sig", "keyid"}:
        raise EnvelopeError("a signature has the members sig and keyid")
    keyid = entry.get("keyid", "")
    if not isinstance(keyid, str):
        raise EnvelopeError("a key id is text")
    return Signature(keyid, _base64(entry["sig"], "sig"))


def _base64(text: Json, member: str) -> bytes:
    if not isinstance(text, str):
        raise EnvelopeError(f"the member {member} is not text")
    try:
        return decode(text)
    except Base64Error as error:
        raise EnvelopeError(f"the member {member} is {error}") from error
