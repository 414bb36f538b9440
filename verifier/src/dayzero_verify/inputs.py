"""Read a kit, its attestation and the trusted keys from disk; the only module that opens files."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES
from dayzero_verify.keys import KeyFileError, PublicKey, read_public_pem
from dayzero_verify.kit import MAX_ATTESTATION_BYTES, Examination, examine

_MAX_KEY_BYTES = 64 * 1024
_KIT_SUFFIX = ".zip"


class UnreadableError(Exception):
    """An input cannot be read.

    Args:
        message: Which, and why.
        hint: What the reader can do.
    """

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def examine_files(kit: Path, attestation: Path | None, keys: Sequence[Path]) -> Examination:
    """Read everything, each file once, and examine the kit.

    Args:
        kit: The archive.
        attestation: Its attestation; ``None`` for the file beside it (see :func:`attestation_path`).
        keys: Public keys in PEM, trusted.

    Raises:
        UnreadableError: A file cannot be read, or a key file is not an Ed25519 public key.
    """
    trusted = tuple(read_key(path) for path in keys)
    archive = _read(kit, MAX_ARCHIVE_BYTES, "kit")
    statements = _read(attestation or attestation_path(kit), MAX_ATTESTATION_BYTES, "attestation")
    return examine(archive, statements, trusted)


def attestation_path(kit: Path) -> Path:
    """Name the attestation beside a kit: ``NAME.kit.intoto.jsonl`` for ``NAME.kit.zip``."""
    return kit.parent / (kit.name.removesuffix(_KIT_SUFFIX) + ".intoto.jsonl")


def read_key(path: Path) -> PublicKey:
    """Read a public key.

    Raises:
        UnreadableError: It cannot be read, or is not an Ed25519 public key in PEM.
    """
    try:
        return read_public_pem(_read(path, _MAX_KEY_BYTES, "key"))
    except KeyFileError as error:
        raise UnreadableError(
            f"{path} cannot be used as a key: {error}",
            hint="give an Ed25519 public key in PEM, as openssl pkey -pubout writes it",
        ) from error


def _read(path: Path, limit: int, noun: str) -> bytes:
    """Read a regular file from one descriptor, at most one byte beyond the limit."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO must not make it wait
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableError(f"the {noun} {path} is not a regular file", hint="give the path of a file")
            return file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableError(
            f"cannot read the {noun} {path}: {reason}", hint=f"give the path of the {noun}"
        ) from error
