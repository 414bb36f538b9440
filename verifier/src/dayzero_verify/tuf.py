"""TUF 1.0 metadata: read it strictly, and count the distinct keys of a role that signed it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from dayzero_verify import ed25519
from dayzero_verify.canonical_json import CanonicalJsonError, canonical_json
from dayzero_verify.keys import PublicKey, Role
from dayzero_verify.strict_json import Json
from dayzero_verify.times import TimeError, parse_time

MAX_SIGNATURES = 32
MAX_KEYS = 32

_SPEC_VERSION = re.compile(r"1\.\d+(\.\d+)?", re.ASCII)
_HEX = re.compile(r"[0-9a-f]+")


class MetadataError(ValueError):
    """Metadata is not what TUF says that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """One role's metadata, its signatures not verified yet.

    Attributes:
        signed: What is signed.
        canonical: The bytes that are signed.
        version: At least 1; a newer one has a larger number.
        expires: When it stops being current.
        signatures: Key ids, each once, and what they sign.
    """

    signed: dict[str, Json]
    canonical: bytes
    version: int
    expires: datetime
    signatures: tuple[tuple[str, bytes], ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the bytes that are signed."""
        return sha256(self.canonical).hexdigest()


def parse_metadata(value: Json, kind: str) -> Metadata:
    """Read one role's metadata.

    Args:
        value: The whole of it, signatures included.
        kind: What its ``_type`` has to be.

    Raises:
        MetadataError: It is something else, or a key id signs it twice.
    """
    document = members(value, "metadata")
    if set(document) != {"signatures", "signed"}:
        raise MetadataError("metadata has exactly the members signatures and signed")
    signed = members(document["signed"], "signed")
    if signed.get("_type") != kind:
        raise MetadataError(f"metadata of type {kind} was expected, this is {signed.get('_type')!a}"[:100])
    spec = signed.get("spec_version")
    if not isinstance(spec, str) or not _SPEC_VERSION.fullmatch(spec):
        raise MetadataError("metadata is not of version 1 of the TUF specification")
    try:
        canonical, expires = canonical_json(signed), parse_time(signed.get("expires"))
    except (CanonicalJsonError, TimeError) as error:
        raise MetadataError(f"{kind}: {error}") from error
    signatures = tuple(_signature(entry) for entry in _at_most(document["signatures"], MAX_SIGNATURES, "signatures"))
    if len({keyid for keyid, _ in signatures}) != len(signatures):
        raise MetadataError(f"{kind}: a key id signs it twice")
    version = whole(signed.get("version"), "version")
    if version < 1:
        raise MetadataError(f"{kind}: the version is not at least 1")
    return Metadata(signed=signed, canonical=canonical, version=version, expires=expires, signatures=signatures)


def parse_keys(value: Json) -> dict[str, PublicKey]:
    """Read keys by their id.

    Raises:
        MetadataError: Another algorithm than Ed25519, or an id that is not that of its key.
    """
    document = members(value, "keys")
    if len(document) > MAX_KEYS:
        raise MetadataError(f"more than {MAX_KEYS} keys")
    return {keyid: _key(keyid, entry) for keyid, entry in document.items()}


def parse_role(value: Json, keys: dict[str, PublicKey], name: str) -> Role:
    """Read who may sign for a role.

    Raises:
        MetadataError: A key that is not there, the same key twice, or a threshold that these keys cannot reach.
    """
    role = members(value, f"the role {name}")
    keyids = [text(entry, "keyid") for entry in _at_most(role.get("keyids"), MAX_KEYS, "keyids")]
    threshold = whole(role.get("threshold"), "threshold")
    if not 1 <= threshold <= len(set(keyids)) or len(set(keyids)) != len(keyids):
        raise MetadataError(f"the role {name} has no threshold that its keys, each counted once, can reach")
    if not keys.keys() >= set(keyids):
        raise MetadataError(f"a key of the role {name} is missing")
    return Role(tuple(keys[keyid] for keyid in keyids), threshold)


def signers(metadata: Metadata, role: Role) -> frozenset[str]:
    """Give the ids of the role's keys whose signatures hold; each key counts once."""
    known = {key.keyid: key for key in role.keys}
    return frozenset(
        keyid
        for keyid, signature in metadata.signatures
        if keyid in known and ed25519.verify(known[keyid].raw, metadata.canonical, signature)
    )


def check_keys(keys: Iterable[PublicKey]) -> None:
    """Refuse keys under which a signature proves nothing.

    Raises:
        MetadataError: Names the first one.
    """
    for key in keys:
        try:
            ed25519.check_key(key.raw)
        except ed25519.WeakKeyError as error:
            raise MetadataError(f"key {key.keyid}: {error}") from error


def members(value: Json, what: str) -> dict[str, Json]:
    """Take a value as an object.

    Raises:
        MetadataError: It is none.
    """
    if not isinstance(value, dict):
        raise MetadataError(f"{what} is not an object")
    return value


def text(value: Json, what: str) -> str:
    """Take a value as a text.

    Raises:
        MetadataError: It is none.
    """
    if not isinstance(value, str):
        raise MetadataError(f"{what} is not a text")
    return value


def whole(value: Json, what: str) -> int:
    """Take a value as a whole number that is not negative.

    Raises:
        MetadataError: It is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MetadataError(f"{what} is not a whole number")
    return value


def _at_most(value: Json, limit: int, what: str) -> list[Json]:
    if not isinstance(value, list) or len(value) > limit:
        raise MetadataError(f"{what} is not a list of at most {limit}")
    return value


def _signature(entry: Json) -> tuple[str, bytes]:
    signature = members(entry, "a signature")
    value = text(signature.get("sig"), "sig")
    return text(signature.get("keyid"), "keyid"), _hex(value, ed25519.SIGNATURE_BYTES)


def _key(keyid: str, entry: Json) -> PublicKey:
    key = members(entry, "a key")
    if (key.get("keytype"), key.get("scheme")) != ("ed25519", "ed25519"):
        raise MetadataError(f"the key {keyid[:64]!a} is not an Ed25519 key")
    public = text(members(key.get("keyval"), "keyval").get("public"), "public")
    found = PublicKey(_hex(public, ed25519.KEY_BYTES))
    if found.keyid != keyid:
        raise MetadataError(f"the id {keyid[:64]!a} is not that of its key")
    return found


def _hex(value: str, size: int) -> bytes:
    if len(value) != 2 * size or not _HEX.fullmatch(value):
        raise MetadataError(f"not {size} bytes in lower-case hexadecimal")
    return bytes.fromhex(value)
