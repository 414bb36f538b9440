"""A kit as files: the archive, its attestation, and its log proof where there is one; read whole, written whole."""

import contextlib
import errno
import os
import re
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dayzero.adapters.disk import disk_errors
from dayzero.core.errors import InputError, IntegrityError
from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES
from dayzero_verify.dsse import EnvelopeError, parse_envelope
from dayzero_verify.kit import MAX_ATTESTATION_BYTES
from dayzero_verify.statement import StatementError, parse_kit_statement, parse_statement

MAX_PROOF_BYTES = 1024 * 1024
_ARCHIVE, _ATTESTATION, _PROOF = ".kit.zip", ".kit.intoto.jsonl", ".kit.tlog-proof"
_STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KitFiles:
    """What belongs together when a kit moves; none of it is verified.

    Attributes:
        stem: Name and version as the file names carry them (``demo-tiny-1.0.0``).
        archive, attestation: Their bytes.
        proof: Bytes of the proof that the log holds the kit, ``None`` where none came with it.
    """

    stem: str
    archive: bytes
    attestation: bytes
    proof: bytes | None = None

    @property
    def archive_name(self) -> str:
        """File name of the archive."""
        return self.stem + _ARCHIVE

    def named(self) -> tuple[tuple[str, bytes], ...]:
        """Give the files by name, the archive last: where it lies, the others lie too."""
        proof = () if self.proof is None else ((self.stem + _PROOF, self.proof),)
        return (*proof, (self.stem + _ATTESTATION, self.attestation), (self.archive_name, self.archive))


def stem_of(archive_name: str) -> str:
    """Take the stem out of ``NAME-VERSION.kit.zip``.

    Raises:
        InputError: It is no such plain file name.
    """
    stem = archive_name.removesuffix(_ARCHIVE)
    if stem == archive_name or not _STEM.fullmatch(stem):
        raise InputError(
            f"{archive_name!a} is not the file name of a kit", hint=f"Name a file that ends with {_ARCHIVE}."
        )
    return stem


def attestation_name(stem: str) -> str:
    """Name the signed statements of a kit."""
    return stem + _ATTESTATION


def proof_name(stem: str) -> str:
    """Name the log proof of a kit."""
    return stem + _PROOF


def read_kit(archive: Path) -> KitFiles:
    """Read an archive with what lies beside it.

    Raises:
        InputError: A file is missing, larger than a kit's may be, or the statements are about another archive.
    """
    stem = stem_of(archive.name)
    proof = archive.with_name(proof_name(stem))
    files = KitFiles(
        stem=stem,
        archive=_read(archive, MAX_ARCHIVE_BYTES),
        attestation=_read(archive.with_name(attestation_name(stem)), MAX_ATTESTATION_BYTES),
        proof=_read(proof, MAX_PROOF_BYTES) if proof.exists() else None,
    )
    if (problem := mismatch(files)) is not None:
        raise InputError(f"{archive}: {problem}", hint="Put the kit and its attestation side by side again.")
    return files


def mismatch(files: KitFiles) -> str | None:
    """Say why the statements are not about the archive, ``None`` where they are; this looks at no signature."""
    try:
        statement = parse_statement(parse_envelope(files.attestation.partition(b"\n")[0]).payload)
        named = parse_kit_statement(statement).subject
    except (EnvelopeError, StatementError) as error:
        return f"the attestation does not begin with a kit statement: {error}"
    return None if named == sha256(files.archive).hexdigest() else "the attestation is about another archive"


def write_kit(files: KitFiles, folder: Path) -> tuple[Path, ...]:
    """Write the files of a kit into a folder, which is made if missing; the archive last.

    Files that are there with the same bytes are left alone; if one has others, or anything fails, nothing is added.

    Raises:
        IntegrityError: A file of that name is there with other bytes.
        RemoteError: The disk is full or may not be written.
    """
    targets = [(folder / name, content) for name, content in files.named()]
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        missing = [(target, content) for target, content in targets if not _holds(target, content)]
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{files.stem}.") as work, contextlib.ExitStack() as undo:
            for target, content in missing:
                whole = Path(work) / target.name
                whole.write_bytes(content)
                _publish(whole, target)
                undo.callback(target.unlink)
            undo.pop_all()
    return tuple(target for target, _ in targets)


def _publish(whole: Path, target: Path) -> None:
    """Give a whole file its name; unlike a rename, a link replaces nothing that came there in between."""
    try:
        os.link(whole, target)
    except FileExistsError as error:
        raise _taken(target) from error
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS} or os.path.lexists(target):
            raise
        whole.rename(target)  # a memory stick's file system has no links


def _holds(target: Path, content: bytes) -> bool:
    if not os.path.lexists(target):
        return False
    if target.is_symlink() or not target.is_file() or target.read_bytes() != content:
        raise _taken(target)
    return True


def _taken(target: Path) -> IntegrityError:
    return IntegrityError(
        f"{target} is there already, with other bytes", hint="Name another folder, or move that file away."
    )


def _read(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="Give the path of a packed kit.") from error
    if len(content) > limit:
        raise InputError(f"{path} is larger than {limit} bytes", hint="Give the path of a packed kit.")
    return content
