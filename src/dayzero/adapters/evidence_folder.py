"""A folder of evidence: ``ledger.jsonl``, and each raw file under ``raw/`` by its digest; or where it lies in the repository."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dayzero.adapters.disk import disk_errors, whole_file
from dayzero.core.errors import EvidenceError, IntegrityError, RemoteError
from dayzero.core.pins import Sha256
from dayzero.evidence.check import RAW_FOLDER
from dayzero.evidence.ledger import LEDGER_NAME, split_torn


class LedgerOnDisk:
    """The ledger's file. Implements ``evidence.ports.LedgerFile``.

    Writers exclude each other by a lock on the folder, so that no lock file is left in it.
    """

    def __init__(self, path: Path) -> None:
        """Name the file; it is made when the first record is filed.

        Args:
            path: Where the file is, or will be.
        """
        self.path = path

    def read(self) -> bytes:
        """Read it whole, not while a line is being added; empty when there is none yet.

        Raises:
            RemoteError: It cannot be read.
        """
        if not self.path.parent.is_dir():
            return b""
        with _locked(self.path.parent, fcntl.LOCK_SH):
            return self._content()

    def transact(self, change: Callable[[bytes], bytes]) -> tuple[str, ...]:
        """Append the lines that ``change`` makes of the whole file, durably, while nobody else can append.

        A half line at the end is moved to ``ledger.torn-<n>`` first. When ``change`` raises, or the disk is full, the whole
        lines are as they were.

        Returns:
            The paths that half lines were moved to.

        Raises:
            RemoteError: The disk is full, or the folder may not be written.
        """
        with disk_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path.parent, fcntl.LOCK_EX):
            whole, torn = split_torn(self._content())
            moved = (self._move_aside(torn, len(whole)),) if torn else ()
            lines = change(whole)
            if lines:
                self._append(lines, len(whole))
        return moved

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise RemoteError(
                f"{self.path} cannot be read: {error.strerror}", hint="Make it a file that you may read."
            ) from error

    def _move_aside(self, torn: bytes, size: int) -> str:
        """Keep the half line beside the ledger, then cut it off; killed in between, it is kept twice, never lost."""
        number = 1
        while (aside := self.path.with_name(f"{self.path.stem}.torn-{number}")).exists():
            number += 1
        with whole_file(aside) as temporary:
            _write(temporary, torn)
        with disk_errors(self.path):
            os.truncate(self.path, size)
        return str(aside)

    def _append(self, lines: bytes, size: int) -> None:
        new = not self.path.exists()
        with disk_errors(self.path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o644)
            try:
                _write_all(descriptor, lines)
                os.fsync(descriptor)
            except OSError:
                self._take_back(descriptor, size, new=new)
                raise
            finally:
                os.close(descriptor)
            if new:
                _sync_folder(self.path.parent)

    def _take_back(self, descriptor: int, size: int, *, new: bool) -> None:
        with contextlib.suppress(OSError):  # the error that led here is the one to tell
            os.ftruncate(descriptor, size)
            if new:
                self.path.unlink(missing_ok=True)


class RawFolder:
    """Raw files under their digests. Implements ``evidence.ports.RawStore``."""

    def __init__(self, path: Path) -> None:
        """Name the folder; it is made when the first file is kept.

        Args:
            path: Where the folder is, or will be.
        """
        self.path = path

    def read(self, digest: Sha256) -> bytes:
        """Read what stands under this digest now.

        Raises:
            EvidenceError: Nothing does.
            RemoteError: It is there and cannot be read.
        """
        return _read(self.path / digest.hex)

    def put(self, content: bytes) -> Sha256:
        """Keep the content durably, and give its digest.

        Raises:
            IntegrityError: Another content stands under its digest.
            RemoteError: The disk is full, or the folder may not be written.
        """
        digest = Sha256.of(content)
        target = self.path / digest.hex
        if target.exists():
            if self.read(digest) != content:
                raise IntegrityError(f"{target} was changed", hint="Put the file back as it was captured.")
            return digest
        with whole_file(target) as temporary:
            _write(temporary, content)
        with disk_errors(target):
            _sync_folder(self.path)
        return digest


class EvidenceFolder:
    """The two together, as they are committed.

    Attributes:
        root: The folder.
        ledger: Its ledger.
        raw: Its raw files.
    """

    def __init__(self, root: Path) -> None:
        """Name the folder; nothing is made before something is kept in it.

        Args:
            root: The folder that holds ``ledger.jsonl`` and ``raw``.
        """
        self.root = root
        self.ledger = LedgerOnDisk(root / LEDGER_NAME)
        self.raw = RawFolder(root / RAW_FOLDER)


class RepositoryRaw:
    """The raw files of a folder, and those that lie elsewhere in the repository. Implements ``evidence.ports.RawStore``.

    Attributes:
        lying: Where those are that are not in the folder.
    """

    def __init__(self, folder: RawFolder, lying: Mapping[Sha256, Path]) -> None:
        """Name both; a file in the folder comes before one that lies elsewhere.

        Args:
            folder: The folder of raw files.
            lying: Where others lie; each is still held to its digest by whoever reads it.
        """
        self._folder = folder
        self.lying = {digest: path for digest, path in lying.items() if not (folder.path / digest.hex).exists()}

    def read(self, digest: Sha256) -> bytes:
        """Read what stands under this digest now.

        Raises:
            EvidenceError: Nothing does.
            RemoteError: It is there and cannot be read.
        """
        path = self.lying.get(digest)
        return self._folder.read(digest) if path is None else _read(path)

    def put(self, content: bytes) -> Sha256:
        """Keep the content in the folder."""
        return self._folder.put(content)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise EvidenceError(
            f"there is no raw file {path}",
            hint="Bring it back from the last commit that had it, or from who captured it.",
        ) from error
    except OSError as error:
        raise RemoteError(
            f"{path} cannot be read: {error.strerror}", hint="Make it a file that you may read."
        ) from error


@contextlib.contextmanager
def _locked(folder: Path, mode: int) -> Iterator[None]:
    with disk_errors(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, mode)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        _write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
