"""The folder of a performance database: files under their digests, written whole, and a manifest an import, written last.

``files/SHA256``: the tree's own files, read-only. ``rows/SHA256.parquet``: a family's rows. ``families/KEY.json``: what the rows of
one family were made into, under the digest of what they were made from. ``imports/ID.json``: an import.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from dayzero.adapters.disk import disk_errors
from dayzero.core.errors import InputError, IntegrityError
from dayzero.perfdb.model import Family, Import

_T = TypeVar("_T")
_SCRATCH: Final = "scratch"
_TREE: Final = "tree-"


class PerfFolder:
    """A performance database on disk."""

    def __init__(self, root: Path) -> None:
        """Name it; nothing is made before something is kept in it."""
        self.root = root

    def file(self, sha256: str) -> Path:
        """Say where a file of a tree lies."""
        return self.root / "files" / sha256

    def rows(self, sha256: str) -> Path:
        """Say where the rows of a family lie."""
        return self.root / "rows" / f"{sha256}.parquet"

    def keep(self, content: bytes) -> str:
        """Keep a file of a tree, read-only, and give its digest; one that is there already is not written again."""
        sha256 = hashlib.sha256(content).hexdigest()
        target = self.file(sha256)
        if not target.exists() or target.stat().st_size != len(content):
            self._put(target, content, 0o444)
        return sha256

    def _put(self, target: Path, content: bytes, mode: int) -> None:
        """Write a file whole or not at all; what a process that was killed leaves of it is where the next import clears it away."""
        temporary = self.root / _SCRATCH / f"{os.getpid()}-{target.name}"
        with disk_errors(target):
            for folder in (target.parent, temporary.parent):
                folder.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(content)
                temporary.chmod(mode)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    def keep_rows(self, temporary: Path) -> str:
        """Take a file of rows in, under its digest."""
        with temporary.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        target = self.rows(sha256)
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.chmod(0o444)
            temporary.replace(target)
        return sha256

    def family(self, key: str) -> Family | None:
        """Give what was made from these sources before, where its rows are still there."""
        path = self.root / "families" / f"{key}.json"
        if not path.is_file():
            return None
        family = _decode(path, Family)
        return family if self.rows(family.sha256).is_file() else None

    def keep_family(self, key: str, family: Family) -> None:
        """Note what the rows of a family were made into."""
        self._put(self.root / "families" / f"{key}.json", msgspec.json.encode(family), 0o644)

    def keep_import(self, made: Import) -> None:
        """Write the manifest of an import; only with it the import exists."""
        self._put(self.root / "imports" / f"{made.id}.json", msgspec.json.encode(made), 0o644)

    def imports(self) -> tuple[Import, ...]:
        """Give all imports, oldest first.

        Raises:
            InputError: There is none.
        """
        paths = sorted((self.root / "imports").glob("*.json"))
        if not paths:
            raise InputError(f"{self.root} holds no import", hint="Make one with: dayzero perfdb import WHEEL -o DB")
        return tuple(sorted((_decode(path, Import) for path in paths), key=lambda made: (made.imported_at, made.id)))

    def scratch(self) -> Path:
        """Give a folder for what is being made; what an import that was killed left in it is removed."""
        path = self.root / _SCRATCH
        with disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            for left in path.glob("*"):
                if left.is_file() and not _alive(left.name):
                    left.unlink(missing_ok=True)
        return path

    @contextmanager
    def workplace(self) -> Iterator[Path]:
        """Give a folder for a tree that is made on the way, and remove it; what an import that was killed left is removed, too."""
        scratch = self.scratch()
        for left in scratch.glob(f"{_TREE}*"):
            if not Path(f"/proc/{left.name.removeprefix(_TREE).split('-', maxsplit=1)[0]}").exists():
                shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f"{_TREE}{os.getpid()}-", dir=scratch) as folder:
            yield Path(folder)


def _alive(name: str) -> bool:
    """Whether the process whose number a scratch file's name begins with is still there."""
    number = name.split("-", maxsplit=1)[0]
    return number.isdigit() and Path(f"/proc/{number}").exists() and int(number) != os.getpid()


def _decode(path: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.DecodeError, OSError) as error:
        raise IntegrityError(f"{path} is damaged", hint="Remove it and import the tree again.") from error
