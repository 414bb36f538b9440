"""A file that rows are added to, one JSON line each."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from dayzero.adapters.disk import disk_errors
from dayzero.bench.model import Row
from dayzero.bench.rows import encode
from dayzero.core.errors import InputError


class RowFile:
    """A new file of rows; each row is handed to the operating system before ``add`` returns. Implements ``bench.ports.RowSink``."""

    def __init__(self, path: Path) -> None:
        """Create the file and the folders above it; a file that is there already is never touched.

        Raises:
            InputError: The file exists.
            RemoteError: It cannot be written.
        """
        self._path = path
        with disk_errors(path):
            _make_folder(path.parent)
            try:
                self._descriptor = os.open(
                    path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644
                )
            except FileExistsError as error:
                raise exists_error(path) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, row: Row) -> None:
        """Append one row.

        Raises:
            RemoteError: The disk is full; a part of the row may stand at the end of the file.
        """
        left = memoryview(encode(row))
        with disk_errors(self._path):
            while left:
                left = left[os.write(self._descriptor, left) :]

    def close(self) -> None:
        """Make all rows durable and close the file; a file without a row is removed."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with disk_errors(self._path):
                if os.fstat(descriptor).st_size:
                    os.fsync(descriptor)
                else:
                    self._path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def exists_error(path: Path) -> InputError:
    """Word the refusal to overwrite what was measured before."""
    return InputError(f"{path} exists; measured rows are never overwritten", hint="Choose another folder with -o.")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"{folder} is not a folder", hint="Choose another folder with -o.") from error
