"""Write a file that was not there before: whole, or not at all, and never over another."""

import os
import tempfile
from pathlib import Path

from dayzero.adapters.disk import disk_errors
from dayzero.core.errors import InputError


def write_new(target: Path, content: bytes) -> None:
    """Write a new file; one that is there already and holds the same bytes is left as it is.

    Raises:
        InputError: A different file is there, or its folder is none.
        RemoteError: The disk is full or may not be written.
    """
    with disk_errors(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(f"{target.parent} is not a folder", hint="Give a folder with -o.") from error
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            temporary.chmod(0o644)
            _link(temporary, target, content)
        finally:
            temporary.unlink(missing_ok=True)


def _link(temporary: Path, target: Path, content: bytes) -> None:
    try:
        os.link(temporary, target)  # unlike a rename, it never takes the place of a file that is there
    except FileExistsError as error:
        if not target.is_file() or target.read_bytes() != content:
            raise InputError(
                f"{target} is there already, with other bytes", hint="Choose another folder, or move it away."
            ) from error
