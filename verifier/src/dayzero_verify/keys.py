"""Public keys: read from PEM by hand, named by the key id that TUF and securesystemslib compute."""

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256

from dayzero_verify.ed25519 import KEY_BYTES

DEMO_MARK = "# demo key, made on the spot: proves integrity, not identity"

# RFC 8410: SubjectPublicKeyInfo of an Ed25519 key is these 12 bytes and the key.
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")
_PEM = re.compile(
    r"(?P<before>(?:#[^\n]*\n)*)-----BEGIN PUBLIC KEY-----\n(?P<body>[A-Za-z0-9+/=\n]+)-----END PUBLIC KEY-----\n?"
)


class KeyFileError(ValueError):
    """A file is not an Ed25519 public key in PEM."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key; whether it can be relied on is :func:`dayzero_verify.ed25519.check_key`'s question.

    Attributes:
        raw: Its 32 bytes.
        demo: True where its file says that it was made on the spot, for a demonstration.
    """

    raw: bytes
    demo: bool = False

    @property
    def keyid(self) -> str:
        """SHA-256 of the canonical JSON of key type, value and scheme, as TUF names keys."""
        text = f'{{"keytype":"ed25519","keyval":{{"public":"{self.raw.hex()}"}},"scheme":"ed25519"}}'
        return sha256(text.encode("ascii")).hexdigest()

    @property
    def der(self) -> bytes:
        """Its SubjectPublicKeyInfo, as it stands in a PEM block."""
        return _SPKI_PREFIX + self.raw


@dataclass(frozen=True, slots=True)
class Role:
    """Who may sign for a role, and how many of them have to."""

    keys: tuple[PublicKey, ...]
    threshold: int


def read_public_pem(text: bytes) -> PublicKey:
    """Read one ``PUBLIC KEY`` block; only comment lines that start with ``#`` may stand before it.

    Raises:
        KeyFileError: The text is something else.
    """
    match = _PEM.fullmatch(text.decode("ascii", "replace").replace("\r\n", "\n"))
    if match is None:
        private = b"PRIVATE KEY" in text
        raise KeyFileError(
            "it holds a private key: give the public one" if private else "it is not one PEM block PUBLIC KEY"
        )
    body = match["body"].replace("\n", "")
    try:
        der = base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise KeyFileError("its PEM block is not base64") from error
    if len(der) != len(_SPKI_PREFIX) + KEY_BYTES or not der.startswith(_SPKI_PREFIX):
        raise KeyFileError("its key is not an Ed25519 public key")
    return PublicKey(der[len(_SPKI_PREFIX) :], demo=DEMO_MARK in match["before"].splitlines())
