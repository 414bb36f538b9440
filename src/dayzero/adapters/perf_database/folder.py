"""The folder of a performance database: files under their digests, written whole, and a manifest an import, written last.

``files/SHA256``: the tree's own files, read-only. ``rows/SHA256.parquet``: a family's rows. ``families/KEY.json``: what the rows of
one family were made into, under the digest of what they were made from. ``imports/ID.json``: an import. ``scratch``: what is being
made, under the process that makes it.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.processes import process_mark
from dayzero.core.errors import InputError, IntegrityError
from dayzero.perfdb.model import Family, Import

_T = TypeVar("_T")
_LAST = b',"digest":"'
_REST = 66  # a digest, and what closes the document; one that was written before it had a digest ends otherwise


class PerfFolder:
    """A performance database on disk."""

    def __init__(self, root: Path) -> None:
        """Name it; nothing is made before something is kept in it.

        Raises:
            InputError: It is a file.
        """
        if root.exists() and not root.is_dir():
            raise InputError(f"{root} is a file, and no database", hint="Name a folder.")
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
        if not _is(target, sha256):
            self._put(target, content, 0o444)
        return sha256

    def _put(self, target: Path, content: bytes, mode: int) -> None:
        """Write a file whole or not at all; what a process that was killed leaves of it is where the next import clears it away."""
        temporary = self._scratch / f"{_own()}-{target.name}"
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
        sha256 = digest_of(temporary).hex
        target = self.rows(sha256)
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.chmod(0o444)
            temporary.replace(target)
        return sha256

    def content(self, path: str, sha256: str) -> bytes:
        """Read a file of a tree again.

        Args:
            path: Where it lay in the tree.
            sha256: Its digest.

        Raises:
            IntegrityError: It is gone, or not the one that was imported.
        """
        try:
            content = self.file(sha256).read_bytes()
        except OSError as error:
            raise IntegrityError(f"{path} is gone from the database", hint="Import the tree again.") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise IntegrityError(f"{path} is not the file that was imported", hint="Import the tree again.")
        return content

    def whole_rows(self, family: Family) -> Path:
        """Give the file with the rows of a family, held to its digest.

        Raises:
            IntegrityError: It is gone, or not the one that was written.
        """
        path = self.rows(family.sha256)
        if not _is(path, family.sha256):
            what = "is not the file that was written" if path.is_file() else "is gone"
            raise IntegrityError(f"{path} {what}", hint="Import the tree again; it is made anew.")
        return path

    def has_rows(self, made: Import) -> bool:
        """Whether the rows of an import are there as they were written."""
        return all(_is(self.rows(family.sha256), family.sha256) for family in made.families)

    def family(self, key: str) -> Family | None:
        """Give what was made from these sources before, where its rows are still there as they were written."""
        path = self.root / "families" / f"{key}.json"
        if not path.is_file():
            return None
        family = _decode(path, Family)
        return family if _is(self.rows(family.sha256), family.sha256) else None

    def keep_family(self, key: str, family: Family) -> None:
        """Note what the rows of a family were made into."""
        self._put(self.root / "families" / f"{key}.json", _encoded(family), 0o644)

    def keep_import(self, made: Import) -> None:
        """Write the manifest of an import; only with it the import exists."""
        self._put(self.root / "imports" / f"{made.id}.json", _encoded(made), 0o644)

    def imports(self) -> tuple[Import, ...]:
        """Give all imports, oldest first.

        Raises:
            InputError: There is none.
        """
        paths = sorted((self.root / "imports").glob("*.json"))
        if not paths:
            raise InputError(f"{self.root} holds no import", hint="Make one with: dayzero perfdb import WHEEL -o DB")
        return tuple(sorted((_decode(path, Import) for path in paths), key=lambda made: (made.imported_at, made.id)))

    @contextmanager
    def workplace(self) -> Iterator[Path]:
        """Give a folder of its own for what is being made, and remove it; what an import that was killed left is removed, too."""
        with disk_errors(self._scratch):
            self._scratch.mkdir(parents=True, exist_ok=True)
            for left in self._scratch.iterdir():
                if not _alive(left.name):
                    _remove(left)
            place = Path(tempfile.mkdtemp(prefix=f"{_own()}-", dir=self._scratch))
        try:
            yield place
        finally:
            _remove(place)

    @property
    def _scratch(self) -> Path:
        return self.root / "scratch"


def _own() -> str:
    """Name this process, so that another one with its number is told from it."""
    return f"{os.getpid()}.{process_mark(os.getpid())[0]}"


def _alive(name: str) -> bool:
    """Whether the process that the name of something half made begins with is still there."""
    number, _, start = name.partition("-")[0].partition(".")
    return number.isdecimal() and start.isdecimal() and process_mark(int(number))[0] == int(start) > 0


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and digest_of(path).hex == sha256


def _encoded(document: Family | Import) -> bytes:
    """Write a document with its digest as the last member: of what stands before it."""
    body = msgspec.json.encode(document)[:-1]
    return body + _LAST + hashlib.sha256(body).hexdigest().encode() + b'"}'


def _held(content: bytes) -> bytes:
    """Hold a document to its digest."""
    body, _, rest = content.rpartition(_LAST)
    if len(rest) == _REST and rest != hashlib.sha256(body).hexdigest().encode() + b'"}':
        raise msgspec.DecodeError
    return content


def _decode(path: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(_held(path.read_bytes()), type=kind)
    except (msgspec.DecodeError, OSError) as error:
        raise IntegrityError(f"{path} is damaged", hint="Remove it and import the tree again.") from error
