"""Files of measurements: made new, appended to, never overwritten."""

import os
from collections.abc import Iterable
from pathlib import Path

from dayzero.adapters.disk import disk_errors, whole_file
from dayzero.core.errors import InputError


def create(path: Path) -> int:
    """Create a file and the folders above it, and give its descriptor; a file that is there already is never touched.

    Raises:
        InputError: The file exists, or a folder above it is a file.
        RemoteError: It cannot be written.
    """
    with disk_errors(path):
        _make_folder(path.parent)
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except FileExistsError as error:
            raise exists_error(path) from error


def write_all(descriptor: int, content: bytes, path: Path) -> None:
    """Hand bytes to the operating system.

    Raises:
        RemoteError: The disk is full; a part of them may have been written.
    """
    left = memoryview(content)
    with disk_errors(path):
        while left:
            left = left[os.write(descriptor, left) :]


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines as they come, whole or not at all; what stood there was made from the same raw file, and is replaced.

    Raises:
        RemoteError: The disk is full or the path cannot be written.
    """
    with whole_file(path) as temporary, temporary.open("wb") as stream:
        for line in lines:
            stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def exists_error(path: Path) -> InputError:
    """Word the refusal to overwrite what was measured before."""
    return InputError(f"{path} exists; measured rows are never overwritten", hint="Choose another folder with -o.")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, FileNotFoundError) as error:
        raise InputError(
            f"{folder} is not a folder, and cannot become one", hint="Choose another folder with -o."
        ) from error
