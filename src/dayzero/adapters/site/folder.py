"""Write a site so that a reader sees the old one or the new one, and never half of each."""

import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from dayzero.adapters.site.export import SiteFile
from dayzero.core.errors import InputError, RemoteError

_TOP_LEVEL = {
    ".well-known",
    "api",
    "claims",
    "compare",
    "evidence",
    "feeds",
    "find",
    "how-to-read",
    "index.html",
    "index.json",
    "index.json.dsse",
    "listing",
    "llms.txt",
    "openapi.json",
    "packages",
    "perfdb",
    "retractions",
    "site.js",
    "style.css",
}
_SCHEMAS = {"dayzero/catalog-index/v1", "dayzero/catalog/v1"}
"""What the index of a site calls itself, now and before it listed digests."""


def write_site(files: Iterable[SiteFile], folder: Path) -> None:
    """Write all files beside the folder, then put the new folder in the old one's place.

    What stood there before is removed, so it has to be an earlier site, an empty folder or nothing. When the writing
    fails, what stood there before still stands.

    Raises:
        InputError: The folder holds something other than a site, or a path leads out of the site.
        RemoteError: The disk refuses (full, read-only).
    """
    _check_replaceable(folder)
    target = folder.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise _refused(folder, error) from error
    try:
        _fill(files, work / "new")
        _swap(work / "new", target, work / "old")
    except OSError as error:
        raise _refused(folder, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _refused(folder: Path, error: OSError) -> RemoteError:
    return RemoteError(
        f"cannot write the site to {folder}: {error.strerror}", hint="Free some space or choose another folder with -o."
    )


def _check_replaceable(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is not a folder", hint="Choose a new folder, or one that holds an earlier site.")
    present = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    if not present:
        return
    foreign = sorted(present - _TOP_LEVEL)
    if foreign or not _is_site(folder / "index.json"):
        what = (
            f"holds {foreign[0]!r}, which is no part of a site" if foreign else "is not empty and holds no earlier site"
        )
        raise InputError(
            f"{folder} {what}; it would be removed", hint="Choose a new folder, or one that holds an earlier site."
        )


def _is_site(index: Path) -> bool:
    try:
        document = json.loads(index.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("schema") in _SCHEMAS


def _fill(files: Iterable[SiteFile], folder: Path) -> None:
    folder.mkdir()
    for path, content in files:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\0" in path:
            raise InputError(f"not a path inside the site: {path!r}", hint="Give the package a plain name.")
        place = folder.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def _swap(new: Path, target: Path, old: Path) -> None:
    if target.exists():
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise
