"""What attestation needs from outside: a signing key, wherever it is kept."""

from typing import Protocol

from dayzero.attestation.model import SignerKind


class Signer(Protocol):
    """An Ed25519 key that signs and does not leave its place."""

    @property
    def public_key(self) -> bytes:
        """The 32 bytes of the public key."""
        ...

    @property
    def kind(self) -> SignerKind:
        """``demo`` for a key made on the spot, which proves integrity and not identity; else ``release``."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Give the 64 bytes of the pure Ed25519 signature."""
        ...
