"""Which paths a kit may hold: those that mean the same file on every system."""

import re
from collections.abc import Iterable

MAX_PATH_BYTES = 240

_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@=-]*(?:/[A-Za-z0-9_][A-Za-z0-9._+@=-]*)*")
_DEVICE = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")


class PathError(ValueError):
    """A path that could name another file than it seems to, or two files where one is meant."""


def check_path(path: str) -> None:
    """Refuse everything but plain relative ASCII paths.

    Raises:
        PathError: Absolute, a dot file, ``..``, a backslash, a drive, a trailing dot, a Windows device name, over 240 bytes,
            or a character outside ``A-Z a-z 0-9 . _ + @ = -``.
    """
    if len(path) > MAX_PATH_BYTES:
        raise PathError(f"a path is longer than {MAX_PATH_BYTES} bytes: {path[:40]!a}...")
    if not _PATH.fullmatch(path):
        raise PathError(f"not a plain relative path: {path!a}")
    for segment in path.split("/"):
        if segment.endswith("."):
            raise PathError(f"a trailing dot vanishes on some systems: {path!a}")
        if _DEVICE.fullmatch(segment.split(".")[0].lower()):
            raise PathError(f"a device name on some systems: {path!a}")


def check_paths(paths: Iterable[str]) -> None:
    """Check each path, and that no two collide where letter case is ignored, as files or as folders.

    Raises:
        PathError: Names the first offender.
    """
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        check_path(path)
        if path.lower() in files:
            raise PathError(f"two entries for one file where letter case is ignored: {files[path.lower()]!a}, {path!a}")
        files[path.lower()] = path
        parts = path.split("/")
        for length in range(1, len(parts)):
            folder = "/".join(parts[:length])
            if folders.setdefault(folder.lower(), folder) != folder:
                raise PathError(f"two spellings of one folder: {folders[folder.lower()]!a}, {folder!a}")
    both = sorted(files.keys() & folders.keys())
    if both:
        raise PathError(f"both a file and a folder: {files[both[0]]!a}")
