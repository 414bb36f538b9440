"""Files on this disk: written whole or not at all."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dayzero.core.errors import RemoteError

_OWN: Final = 8  # random bytes of a name that no other process has
_REFUSED: Final = frozenset(
    (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG)
)


@contextlib.contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Turn a full or read-only disk, or a path that no file can have, into an error that says which path could not be written.

    Raises:
        RemoteError: The operating system refused to write.
    """
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise RemoteError(
                f"the disk is full: {target} could not be written", hint="Free some space, or choose another folder."
            ) from error
        if error.errno in _REFUSED:
            raise RemoteError(
                f"{target} cannot be written: {error.strerror}", hint="Choose a folder that you may write to."
            ) from error
        raise


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a temporary path beside ``target``; on success it becomes ``target``, on any failure nothing is left."""
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{os.urandom(_OWN).hex()}")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        try:
            yield temporary
            temporary.chmod(0o644)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def write_whole(target: Path, content: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        RemoteError: The disk is full or the path cannot be written.
    """
    with whole_file(target) as temporary:
        temporary.write_bytes(content)
