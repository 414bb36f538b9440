"""Open the files of a model folder without being led astray, and know each of them again."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAX_DEPTH = 32

# What a loader of vLLM, SGLang, llama.cpp or transformers opens when it lies in the folder, whether or not anybody meant it to.
_TENSORS = (
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".ckpt",
    ".gguf",
    ".ggml",
    ".npz",
    ".npy",
    ".pkl",
    ".h5",
    ".msgpack",
    ".onnx",
)
_CODE = (".py", ".pyc", ".so")
_SETTINGS = (".json", ".jinja", ".model", ".tiktoken")  # configuration, chat templates, tokenizers
_LOADABLE_NAMES = frozenset({"vocab.txt", "merges.txt", "added_tokens.txt"})


class NotAFileError(Exception):
    """A pinned path does not lead to a regular file of the folder."""


class PathRefusedError(Exception):
    """A pinned path is none inside a folder."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What stays the same for as long as nobody writes to a file; any write changes its ``ctime_ns``."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Identity":
        """Take it from what the system says about an open file."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file and what it was when it was opened; whoever gets one closes its descriptor."""

    descriptor: int
    identity: Identity


class ModelFolder:
    """A folder of model files, held open, so that nobody can put another one in its place.

    No link is followed but one kind: where the folder is a snapshot of a hub's cache, its files are links to ``../../blobs/NAME``
    (or to the same folder by its absolute path), and such a link is followed once, to a regular file right inside ``blobs``.

    Raises:
        OSError: The folder cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._blobs = self._open_blobs()

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._descriptor)
        if self._blobs is not None:
            os.close(self._blobs)

    @contextlib.contextmanager
    def opened(self, path: str) -> Iterator[Opened]:
        """Open a pinned file for reading.

        Raises:
            PathRefusedError: The path is absolute, or has an empty, ``.`` or ``..`` part.
            NotAFileError: There is no such file, it is no regular one, or a link that is not followed stands in the way.
            OSError: The system refused to open it.
        """
        parts = path.split("/")
        if "\0" in path or any(part in {"", ".", ".."} for part in parts):
            raise PathRefusedError(f"not a path inside the model: {path!a}")
        with contextlib.ExitStack() as stack:
            try:
                parent = self._descriptor
                for part in parts[:-1]:
                    parent = _opened(part, parent, os.O_DIRECTORY | os.O_NOFOLLOW)
                    stack.callback(os.close, parent)
                descriptor = self._open_last(parts[-1], parent)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise NotAFileError("is missing") from error
            stack.callback(os.close, descriptor)
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise NotAFileError("is no regular file")
            yield Opened(descriptor, Identity.of(status))

    def others(self, pinned: frozenset[str]) -> Iterator[tuple[str, bool]]:
        """List every other file of the folder, and whether an engine would load it.

        A link to a folder counts as loadable: what lies behind it is not looked into.
        """
        yield from _others(self._descriptor, "", pinned, 0)

    def _open_last(self, name: str, parent: int) -> int:
        try:
            target = os.readlink(name, dir_fd=parent)
        except OSError:  # no link
            return _opened(name, parent, os.O_NOFOLLOW)
        folder, blob = os.path.split(target)
        if self._blobs is None or not blob:
            raise NotAFileError(f"is a link, to {target!a:.200}, and this is no snapshot of a hub's cache")
        led = os.stat(folder or ".", dir_fd=parent)
        if not os.path.samestat(led, os.fstat(self._blobs)):
            raise NotAFileError(f"is a link that leads out of the cache's blobs, to {target!a:.200}")
        return _opened(blob, self._blobs, os.O_NOFOLLOW)

    def _open_blobs(self) -> int | None:
        """Open the cache's folder of blobs, where this folder is ``REPOSITORY/snapshots/REVISION``."""
        try:
            snapshots = os.stat("../../snapshots", dir_fd=self._descriptor, follow_symlinks=False)
            if os.path.samestat(snapshots, os.stat("..", dir_fd=self._descriptor)):
                return _opened("../../blobs", self._descriptor, os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            pass
        return None


def _opened(name: str, parent: int, flags: int) -> int:
    try:
        # A FIFO must not make it wait, nor a terminal become this process's own.
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | flags, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENXIO, errno.ENODEV}:  # a socket, or a device without a driver
            raise NotAFileError("is no regular file") from error
        if _is_link(name, parent):
            raise NotAFileError("is, or lies behind, a link that is not followed") from error
        raise


def _is_link(name: str, parent: int) -> bool:
    try:
        os.readlink(name, dir_fd=parent)
    except OSError:
        return False
    return True


def _others(folder: int, prefix: str, pinned: frozenset[str], depth: int) -> Iterator[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth == _MAX_DEPTH:
                yield path, True
                continue
            inner = _opened(entry.name, folder, os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                yield from _others(inner, f"{path}/", pinned, depth + 1)
            finally:
                os.close(inner)
        elif path not in pinned:
            yield path, entry.is_dir() or _loadable(entry.name)


def _loadable(name: str) -> bool:
    lowered = name.lower()
    return lowered in _LOADABLE_NAMES or lowered.endswith((*_TENSORS, *_CODE, *_SETTINGS))
