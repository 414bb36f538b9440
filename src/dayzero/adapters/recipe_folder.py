"""The files of a repository that may describe a launch, and why the others are not read."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dayzero.core.errors import InputError

_NOT_ENTERED = {".git", ".hg", "node_modules", "__pycache__", ".venv"}
_LARGEST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A file that was read.

    Attributes:
        path: Its path below the folder, ``/`` between folders.
        text: Its content.
    """

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that was not read, and why."""

    path: str
    why: str


def recipe_files(folder: Path) -> Iterator[RecipeFile | UnreadFile]:
    """Read every file below a folder, in order; a link is not followed.

    Raises:
        InputError: There is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder", hint="Give the folder that holds the recipes.")
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in _NOT_ENTERED)
        for name in sorted(names):
            file = Path(at) / name
            yield _file(file, file.relative_to(folder).as_posix())


def _file(file: Path, path: str) -> RecipeFile | UnreadFile:
    if file.is_symlink() or not file.is_file():
        return UnreadFile(path, "it is a link, which is not followed" if file.is_symlink() else "it is no regular file")
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            return UnreadFile(path, "it is larger than 4 MiB")
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        return UnreadFile(path, f"it cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        return UnreadFile(path, "it is no UTF-8 text")
    return UnreadFile(path, "it is no text") if "\0" in text else RecipeFile(path, text)
