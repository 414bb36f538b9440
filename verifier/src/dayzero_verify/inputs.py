"""Read a kit, what lies beside it, and what is trusted, from disk."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dayzero_verify.anchor import DEFAULT_MAX_AGE_DAYS, MAX_TRUST_BYTES, Policy, TrustAnchor
from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES
from dayzero_verify.case import Circumstances
from dayzero_verify.keys import KeyFileError, PublicKey, read_public_pem
from dayzero_verify.kit import MAX_ATTESTATION_BYTES, Examination, examine
from dayzero_verify.log_head import MAX_PROOF_BYTES, LogFolder
from dayzero_verify.memory import MAX_STATE_BYTES, Memory

_MAX_LOG_FILE_BYTES = 256 * (2 + 0xFFFF)  # the largest bundle of entries; tiles and heads are smaller
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustFile:
    """A trust document on disk; members as in :class:`dayzero_verify.trust.TrustAnchor`."""

    path: Path
    root: str
    policy: Policy = Policy.NOW
    max_age_days: int = DEFAULT_MAX_AGE_DAYS
    online_expiry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What lies beside a kit, where it is not where it is looked for.

    Attributes:
        attestation: The signed statements; ``None`` for the file beside the kit (see :func:`attestation_path`).
        proof: The log's proof; ``None`` for the file beside the kit, where there is one (see :func:`proof_path`).
        log: The log's folder.
        state: What was remembered; a file that does not exist remembers nothing.
    """

    attestation: Path | None = None
    proof: Path | None = None
    log: Path | None = None
    state: Path | None = None


def examine_files(kit: Path, beside: Beside | Path | None, authority: Sequence[Path] | TrustFile) -> Examination:
    """Read everything, each file once, and examine the kit as of now.

    Args:
        kit: The archive.
        beside: Where the other files are; a path is that of the attestation.
        authority: Public keys in PEM, or a trust document.

    Raises:
        UnreadableError: A file cannot be read, or a key or state file is not one.
    """
    places = beside if isinstance(beside, Beside) else Beside(attestation=beside)
    trusted = _anchor(authority) if isinstance(authority, TrustFile) else tuple(read_key(path) for path in authority)
    archive = read_file(kit, MAX_ARCHIVE_BYTES, "kit")
    statements = read_file(places.attestation or attestation_path(kit), MAX_ATTESTATION_BYTES, "attestation")
    given = Circumstances(
        now=datetime.now(UTC).replace(microsecond=0),
        memory=None if places.state is None else read_memory(places.state),
        proof=_proof(kit, places.proof),
        **({} if places.log is None else {"log": _folder(places.log)}),
    )
    return examine(archive, statements, trusted, given)


def proof_path(kit: Path) -> Path:
    """Name the log's proof beside a kit: ``NAME.kit.tlog-proof`` for ``NAME.kit.zip``."""
    return kit.parent / (kit.name.removesuffix(_KIT_SUFFIX) + ".tlog-proof")


def read_memory(path: Path) -> Memory:
    """Read what was remembered.

    Raises:
        UnreadableError: It cannot be read, or is something else.
    """
    if not os.path.lexists(path):
        return Memory()
    from dayzero_verify.memory_format import MemoryFormatError, parse_memory  # noqa: PLC0415  (a first run has no state)

    try:
        return parse_memory(read_file(path, MAX_STATE_BYTES, "state"))
    except MemoryFormatError as error:
        raise UnreadableError(
            f"{path} cannot be used as a state: {error}",
            hint="restore it from a copy; without it, an older kit or trust document is not noticed",
        ) from error


def attestation_path(kit: Path) -> Path:
    """Name the attestation beside a kit: ``NAME.kit.intoto.jsonl`` for ``NAME.kit.zip``."""
    return kit.parent / (kit.name.removesuffix(_KIT_SUFFIX) + ".intoto.jsonl")


def read_key(path: Path) -> PublicKey:
    """Read a public key.

    Raises:
        UnreadableError: It cannot be read, or is not an Ed25519 public key in PEM.
    """
    try:
        return read_public_pem(read_file(path, _MAX_KEY_BYTES, "key"))
    except KeyFileError as error:
        raise UnreadableError(
            f"{path} cannot be used as a key: {error}",
            hint="give an Ed25519 public key in PEM, as openssl pkey -pubout writes it",
        ) from error


def _anchor(file: TrustFile) -> TrustAnchor:
    return TrustAnchor(
        document=read_file(file.path, MAX_TRUST_BYTES, "trust document"),
        root=file.root,
        policy=file.policy,
        max_age_days=file.max_age_days,
        online_expiry=file.online_expiry,
    )


def _proof(kit: Path, path: Path | None) -> bytes | None:
    if path is None and not os.path.lexists(proof_path(kit)):
        return None
    return read_file(path or proof_path(kit), MAX_PROOF_BYTES, "log's proof")


def _folder(folder: Path) -> LogFolder:
    if not folder.is_dir():
        raise UnreadableError(f"the log {folder} is not a folder", hint="give the folder that holds its checkpoint")

    def read(name: str) -> bytes | None:
        return read_file(folder / name, _MAX_LOG_FILE_BYTES, "log") if os.path.lexists(folder / name) else None

    return read


def read_file(path: Path, limit: int, noun: str) -> bytes:
    """Read a regular file from one descriptor, at most one byte beyond the limit.

    Raises:
        UnreadableError: It is not a regular file, or cannot be read.
    """
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
