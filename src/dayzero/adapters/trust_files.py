"""The folder that a seller publishes: ``trust.json``, the log beside it, and a root that waits for signatures."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.disk import disk_errors, whole_file
from dayzero.core.errors import InputError

TRUST, DRAFT, LOG = "trust.json", "root.draft.json", "log"


@dataclass(frozen=True, slots=True)
class TrustFolder:
    """The folder; its files are replaced whole, each on its own."""

    path: Path

    def read(self, name: str) -> bytes | None:
        """Read a file under the folder, ``None`` where there is none.

        Raises:
            InputError: It is there and cannot be read.
        """
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise InputError(
                f"cannot read {self.path / name}: {error.strerror}", hint="Mend its permissions."
            ) from error

    def read_log(self, name: str) -> bytes | None:
        """Read a file of the log; see :meth:`read`."""
        return self.read(f"{LOG}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """Replace a file under the folder; it is on the disk before anything that is written after it.

        Raises:
            RemoteError: The disk is full or the path cannot be written; what stood there still does.
        """
        write_durable(self.path / name, content)

    def write_log(self, name: str, content: bytes) -> None:
        """Replace a file of the log; see :meth:`write`."""
        self.write(f"{LOG}/{name}", content)

    def remove(self, name: str) -> None:
        """Remove a file or folder under the folder, if it is there.

        Raises:
            RemoteError: It may not be removed.
        """
        place = self.path / name
        with disk_errors(place):
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep every other writer out, this one's end included.

        Raises:
            InputError: It is no folder, or another command is writing to it.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(
                f"cannot open the folder {self.path}: {error.strerror}", hint="Make one with: dayzero keys found"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise InputError(f"another command is writing to {self.path}", hint="Wait for it to end.") from error
        finally:
            os.close(descriptor)


def write_durable(path: Path, content: bytes) -> None:
    """Replace a file whole or not at all, and wait until the disk has it.

    Raises:
        RemoteError: The disk is full or the path cannot be written.
    """
    with whole_file(path) as temporary, temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
