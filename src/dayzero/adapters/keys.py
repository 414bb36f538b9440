"""Ed25519 keys on disk: made, kept and read with ``cryptography``; public ones read by ``dayzero_verify``."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from dayzero.attestation.model import SignerKind
from dayzero.core.errors import InputError
from dayzero_verify.keys import DEMO_MARK, KeyFileError, PublicKey, read_public_pem


@dataclass(frozen=True, slots=True)
class Ed25519Key:
    """A private key in this process's memory; it is a ``Signer``."""

    private: Ed25519PrivateKey
    kind: SignerKind

    @property
    def public_key(self) -> bytes:
        """The 32 bytes of the public key."""
        return self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, message: bytes) -> bytes:
        """Give the 64 bytes of the pure Ed25519 signature."""
        return self.private.sign(message)

    def public_pem(self) -> bytes:
        """Write the public key as PEM; a demo key says so in its first line."""
        pem = self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return self._mark() + pem

    def private_pem(self) -> bytes:
        """Write the private key as unencrypted PKCS8 PEM; a demo key says so in its first line."""
        return self._mark() + self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def _mark(self) -> bytes:
        return f"{DEMO_MARK}\n".encode("ascii") if self.kind == "demo" else b""


def make_key(kind: SignerKind) -> Ed25519Key:
    """Make a new key."""
    return Ed25519Key(Ed25519PrivateKey.generate(), kind)


def save_key(key: Ed25519Key, *, private: Path, public: Path) -> None:
    """Write both halves as new files; the private one is readable by its owner only, from the first byte on.

    Raises:
        InputError: One of the files exists already, or a folder cannot be written; neither file is left behind.
    """
    _create(private, key.private_pem(), 0o600)
    try:
        _create(public, key.public_pem(), 0o644)
    except InputError:
        private.unlink()
        raise


def load_key(path: Path) -> Ed25519Key:
    """Read a private key; its kind is what its first line says.

    Raises:
        InputError: The file cannot be read, or is not an unencrypted Ed25519 private key.
    """
    pem = _read(path)
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InputError(f"{path} is not an unencrypted private key in PEM", hint=_PRIVATE_HINT) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} holds a private key, but not an Ed25519 one", hint=_PRIVATE_HINT)
    return Ed25519Key(key, "demo" if pem.startswith(f"{DEMO_MARK}\n".encode("ascii")) else "release")


def load_public_key(path: Path) -> PublicKey:
    """Read a public key.

    Raises:
        InputError: The file cannot be read, or is not an Ed25519 public key in PEM.
    """
    try:
        return read_public_pem(_read(path))
    except KeyFileError as error:
        raise InputError(
            f"{path}: {error}", hint="Give an Ed25519 public key in PEM (openssl pkey -pubout writes one)."
        ) from error


_PRIVATE_HINT = (
    "Give NAME.key.pem; make one with: dayzero keys new NAME, or openssl genpkey -algorithm ed25519 -out KEY.pem"
)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="Give the path of a key file.") from error


def _create(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, mode)
    except FileExistsError as error:
        raise InputError(
            f"{path} exists already, and a key is never overwritten", hint="Choose another name."
        ) from error
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}", hint="Choose a folder that can be written."
        ) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise InputError(f"cannot write {path}: {error.strerror}", hint="Make room on the disk.") from error
