"""The file of raw reads while it is written."""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.row_file import create, write_all
from dayzero.bench.model import ReadsHeader
from dayzero.bench.reads import NO_STAMP, RECORD, TIMESPEC, Kind, encode_header
from dayzero.core.errors import InputError

_TRIES: Final = 5
_NS: Final = 1_000_000_000


class Records:
    """Records in memory until they are flushed; also what probes are kept in, which no file needs.

    Attributes:
        parts: Heads and payloads in order; the hot loop appends to it directly.
    """

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def add(self, kind: Kind, number: int, user_ns: int, floor_ns: int, payload: bytes = b"") -> None:
        """Append one record without a kernel stamp."""
        self.parts.append(RECORD.pack(kind, number, NO_STAMP, user_ns, floor_ns, len(payload)))
        if payload:
            self.parts.append(payload)

    def clock(self) -> None:
        """Append a look at both clocks: of a few, the one whose bracket is narrowest."""
        looks = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(_TRIES)]
        before, real, after = min(looks, key=lambda look: look[2] - look[0])
        wire = TIMESPEC.pack(*divmod(real, _NS))
        width = after - before
        self.parts.append(RECORD.pack(Kind.CLOCK, 0, wire, before + width // 2, width, 0))

    def flush(self) -> None:
        """Hand everything on; in memory it stays where it is."""


class ReadsFile(Records):
    """A file of raw reads; what was flushed is with the operating system and outlives this process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        super().__init__()
        self._path = path
        self._descriptor = descriptor
        self._torn = False  # a write broke off

    @classmethod
    def new(cls, path: Path, header: ReadsHeader) -> Self:
        """Create the file and the folders above it, and write its first line.

        Raises:
            InputError: The file exists.
            RemoteError: It cannot be written.
        """
        file = cls(path, create(path))
        file._take_possession()
        file.parts.append(encode_header(header))
        file.flush()
        return file

    @classmethod
    def again(cls, path: Path, whole_bytes: int) -> Self:
        """Open a file to go on with it; a record that was cut off at its end is put into ``NAME.cut`` beside it.

        Args:
            path: The file.
            whole_bytes: Its length up to the last whole record.

        Raises:
            InputError: Another process still writes it.
            RemoteError: It cannot be written.
        """
        with disk_errors(path):
            file = cls(path, descriptor := os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC))
            file._take_possession()
            cut = os.pread(descriptor, os.fstat(descriptor).st_size - whole_bytes, whole_bytes)
            if len(cut) >= RECORD.size and len(cut) >= RECORD.size + RECORD.unpack_from(cut)[-1]:
                os.close(descriptor)
                raise _taken(path)  # it has grown by a whole record since it was looked at
            if cut:
                path.with_name(f"{path.name}.cut").write_bytes(cut)
                os.ftruncate(descriptor, whole_bytes)
        file.add(Kind.RESUMED, 0, time.monotonic_ns(), 0)
        return file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def flush(self) -> None:
        """Hand everything to the operating system.

        Raises:
            RemoteError: The disk is full; a part of a record may stand at the end of the file, and nothing is put behind it.
        """
        content = b"".join(self.parts)
        self.parts.clear()
        if not self._torn:
            self._torn = True
            write_all(self._descriptor, content, self._path)
            self._torn = False

    def _take_possession(self) -> None:
        """Keep other processes from writing the file, as long as this one or a child has it open."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise _taken(self._path) from error
        except OSError:
            return  # a file system without locks

    def close(self) -> None:
        """Flush, make it durable and close it."""
        if self._descriptor < 0:
            return
        try:
            self.flush()
            with disk_errors(self._path):
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
            self._descriptor = -1


def _taken(path: Path) -> InputError:
    return InputError(
        f"{path} is being written by another process", hint="Wait until it ends, or choose another folder with -o."
    )
