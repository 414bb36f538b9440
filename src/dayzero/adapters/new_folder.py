"""Write a folder that was not there before: whole, or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from dayzero.core.errors import InputError, RemoteError

NewFile: TypeAlias = tuple[str, bytes, bool]
"""A path relative to the folder, with ``/``; the content; whether it is executable."""


def write_new_folder(folder: Path, files: Iterable[NewFile]) -> None:
    """Write files into a new folder; when anything fails, nothing is left.

    Args:
        folder: The folder; its parents are made.
        files: What is in it.

    Raises:
        InputError: The folder is there already, a path leads out of it, or two files want one path.
        RemoteError: The disk is full or may not be written.
    """
    target = folder.absolute()
    if os.path.lexists(target):
        raise InputError(f"{folder} is there already", hint="Name a new folder; nothing is overwritten.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise _refused(folder, error) from error
    try:
        _fill(work / "new", files)
        (work / "new").rename(target)
    except OSError as error:
        raise _refused(folder, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _refused(folder: Path, error: OSError) -> RemoteError:
    return RemoteError(
        f"{folder} cannot be written: {error.strerror}", hint="Free some space, or choose another folder with -o."
    )


def _fill(folder: Path, files: Iterable[NewFile]) -> None:
    folder.mkdir()
    for path, content, executable in files:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\0" in path:
            raise InputError(f"not a path inside the folder: {path!r}", hint="Give the file a plain relative path.")
        place = folder.joinpath(*parts)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:
                file.write(content)
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise InputError(f"two files want the path {path}", hint="Give one of them another name.") from error
        place.chmod(0o755 if executable else 0o644)
