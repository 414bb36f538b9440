"""The journal of a study on this disk: one file a worker, a line a fact, on disk before the next step."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.row_file import write_all
from dayzero.core.errors import InputError
from dayzero.optimize.facts import Fact, decode, encode

SUFFIX: Final = ".jsonl"
_TURN: Final = ".turn"


class StudyJournal:
    """Journals of every worker in a folder. Implements ``optimize.ports.Journal``.

    Args:
        folder: The folder.
        worker: Whose file is written.

    Raises:
        InputError: The worker's name is no file name.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        if not worker.replace("-", "").replace("_", "").replace(".", "").isalnum() or worker.startswith("."):
            raise InputError(f"not a worker's name: {worker!r}", hint="Give letters, digits, - and _.")
        self._folder = folder
        self._file = folder / f"{worker}{SUFFIX}"

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn to choose, by a lock that ends with its process, however that ends.

        Raises:
            RemoteError: The disk refused.
        """
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._folder / _TURN, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            with disk_errors(self._folder):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def write(self, fact: Fact) -> None:
        """Put a fact on disk; what an earlier process left of a line is closed first.

        Raises:
            RemoteError: The disk refused.
        """
        with disk_errors(self._file):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._cut()
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                write_all(descriptor, encode(fact), self._file)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def facts(self) -> tuple[Fact, ...]:
        """Read every fact of every worker.

        Raises:
            IntegrityError: A whole line is no fact.
        """
        files = sorted(self._folder.glob(f"*{SUFFIX}"))
        return tuple(fact for file in files for fact in decode(file.read_bytes(), str(file)))

    def _cut(self) -> None:
        """Take the torn line of a crash off the end of the own file."""
        if not self._file.exists():
            return
        raw = self._file.read_bytes()
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            os.truncate(self._file, whole)
