"""A signer whose key is known, so that what it signs is the same in every run."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dayzero.attestation.model import SignerKind
from dayzero_verify.keys import PublicKey


@dataclass(frozen=True)
class KnownSigner:
    seed: bytes = b"\x01" * 32
    kind: SignerKind = "demo"

    @property
    def public_key(self) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(message)

    @property
    def trusted(self) -> PublicKey:
        return PublicKey(self.public_key)


class BrokenSigner(KnownSigner):
    """Signs, but not under the key that it shows."""

    def sign(self, message: bytes) -> bytes:
        return Ed25519PrivateKey.from_private_bytes(b"\x03" * 32).sign(message)
