"""Read a tree of performance data out of a wheel, or out of a folder; names are looked at, never written to."""

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from dayzero.adapters.file_digest import digest_of
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.pins import Sha256

_SYSTEMS = "systems"
_HINT = "Give the wheel of aiconfigurator-core, or the folder 'systems' in it."


class Tree(Protocol):
    """The files under a systems folder, by relative path."""

    @property
    def name(self) -> str:
        """Name of the distribution or folder."""
        ...

    @property
    def version(self) -> str:
        """Version of the distribution, or ``""``."""
        ...

    @property
    def sha256(self) -> str:
        """Digest of the wheel, or ``""``."""
        ...

    def paths(self) -> tuple[str, ...]:
        """List them, sorted."""
        ...

    def read(self, path: str) -> bytes:
        """Read one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wheel:
    name: str
    version: str
    sha256: str
    archive: zipfile.ZipFile
    prefix: str

    def paths(self) -> tuple[str, ...]:
        names = (name.removeprefix(self.prefix) for name in self.archive.namelist() if name.startswith(self.prefix))
        return tuple(sorted(name for name in names if name and not name.endswith("/")))

    def read(self, path: str) -> bytes:
        try:
            return self.archive.read(self.prefix + path)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise InputError(f"{path} in the wheel is damaged: {error}", hint="Fetch the wheel again.") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    name: str
    version: str
    sha256: str
    root: Path

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(str(path.relative_to(self.root)) for path in self._files()))

    def _files(self) -> Iterator[Path]:
        """List the files; a folder that cannot be listed is refused, and a link that is no file: what it hides would be missed."""
        for folder, inner, names in os.walk(self.root, onerror=_unlisted):
            links = [Path(folder, name) for name in inner if Path(folder, name).is_symlink()]
            for path in (*links, *(Path(folder, name) for name in names)):
                if not path.is_file():
                    raise InputError(
                        f"{path} is no file, or a link to none",
                        hint="Import a tree of files; 'cp -rL' makes one of links.",
                    )
                if not path.name.isprintable():
                    raise InputError(f"{str(path)!r} is no name in UTF-8", hint="Give the file another name.")
                yield path

    def read(self, path: str) -> bytes:
        try:
            return (self.root / path).read_bytes()
        except OSError as error:
            raise RemoteError(
                f"{self.root / path} cannot be read: {error.strerror}", hint="Make it readable."
            ) from error


def _unlisted(error: OSError) -> None:
    raise RemoteError(f"{error.filename} cannot be read: {error.strerror}", hint="Make it readable.") from error


@contextmanager
def open_tree(source: Path, pin: Sha256 | None, target: Path) -> Iterator[Tree]:
    """Open a wheel or a folder.

    Args:
        source: The wheel, or a folder that is or holds a systems folder.
        pin: Digest that the wheel has to have, where it is pinned.
        target: Folder that it is imported to.

    Raises:
        InputError: It is neither, holds no tables, or holds the target.
        IntegrityError: It is not the pinned wheel.
    """
    if source.is_dir():
        if pin is not None:
            raise InputError("a folder has no digest to compare", hint="Leave --sha256 out, or give the wheel.")
        yield _folder(source, target)
        return
    if not source.is_file():
        raise InputError(f"there is no {source}", hint=_HINT)
    digest = digest_of(source)
    if pin is not None and digest != pin:
        raise IntegrityError(f"{source} has the digest {digest}, not {pin}", hint="Fetch the pinned wheel again.")
    try:
        archive = zipfile.ZipFile(source)
    except zipfile.BadZipFile as error:
        raise InputError(f"{source} is no wheel", hint=_HINT) from error
    with archive:
        yield _wheel(source, digest, archive)


def _folder(source: Path, target: Path) -> Tree:
    found = (p for p in (source, source / _SYSTEMS, *source.glob(f"*/{_SYSTEMS}")) if (p / "data").is_dir())
    root = next(found, None)
    if root is None:
        raise InputError(f"{source} holds no folder 'data' of tables", hint=_HINT)
    if target.resolve().is_relative_to(root.resolve()):
        raise InputError(f"{target} lies in {root}, and would import itself", hint="Name a folder beside it with -o.")
    return _Folder(name=source.resolve().name, version="", sha256="", root=root)


def _wheel(source: Path, digest: Sha256, archive: zipfile.ZipFile) -> Tree:
    inside = next((n for n in archive.namelist() if f"/{_SYSTEMS}/data/" in n), None)
    if inside is None:
        raise InputError(f"{source} holds no folder 'systems/data' of tables", hint=_HINT)
    for name in archive.namelist():
        if ".." in PurePosixPath(name).parts or name.startswith("/") or "\\" in name:
            raise InputError(f"{source} holds a file that leads out of it: {name!r}", hint="Do not use this wheel.")
    distribution, _, rest = source.name.partition("-")
    prefix = inside[: inside.index(f"/{_SYSTEMS}/data/") + len(_SYSTEMS) + 2]
    return _Wheel(
        name=distribution.replace("_", "-"),
        version=rest.split("-")[0],
        sha256=digest.hex,
        archive=archive,
        prefix=prefix,
    )
