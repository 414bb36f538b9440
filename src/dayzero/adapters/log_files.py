"""Logs on this disk, and a log that comes through a pipe while it is written."""

import os
import select
from collections.abc import Iterator
from pathlib import Path

from dayzero.core.errors import InputError

_PIECE_BYTES = 1 << 20
_PIPE_BYTES = 1 << 16


def pieces(path: Path) -> Iterator[bytes]:
    """Read a file piece by piece, without holding it in memory.

    Raises:
        InputError: There is no such file, or it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            while piece := stream.read(_PIECE_BYTES):
                yield piece
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", hint="Give a log file, a folder of logs, or - for a pipe."
        ) from error


def logs_under(folder: Path) -> tuple[Path, ...]:
    """List the logs of a folder and the folders below it, sorted: ``*.log``, ``*.txt``, ``*.out`` and ``*.err``.

    Raises:
        InputError: It holds none.
    """
    found = tuple(
        sorted(path for path in folder.rglob("*") if path.suffix in {".log", ".txt", ".out", ".err"} and path.is_file())
    )
    if not found:
        raise InputError(f"{folder} holds no log", hint="Logs end in .log, .txt, .out or .err.")
    return found


def pipe(descriptor: int, quiet_s: float) -> Iterator[bytes]:
    """Give what comes through a pipe as it comes, and ``b""`` after each silence; end with the pipe.

    Args:
        descriptor: The pipe, or any file that can be waited for.
        quiet_s: After so many seconds without a byte a silence is told, again and again.
    """
    while True:
        ready, _, _ = select.select([descriptor], [], [], quiet_s)
        if not ready:
            yield b""
            continue
        piece = os.read(descriptor, _PIPE_BYTES)
        if not piece:
            return
        yield piece
