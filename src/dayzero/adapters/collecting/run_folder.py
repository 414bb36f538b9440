"""The folder of a run: what was asked, written once, and chains of lines to which is only added."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from dayzero.adapters.disk import disk_errors, write_whole
from dayzero.core.errors import InputError, IntegrityError
from dayzero.perfdb.run import Line, last_digest, opened, sealed

_ASKED, _PLAN, _HELD = "run.json", "plan.jsonl", ".held"
CASES, WORKERS, KERNELS = "cases.jsonl", "workers.jsonl", "kernels.jsonl"


class RunFolder:
    """A run on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._last: dict[str, tuple[int, str]] = {}

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return (self.root / _ASKED).is_file()

    def asked(self) -> Mapping[str, Any]:
        """Read what was asked.

        Raises:
            InputError: There is no run here.
        """
        try:
            return msgspec.json.decode((self.root / _ASKED).read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError) as error:
            raise InputError(
                f"{self.root} holds no run", hint="Make one with: dayzero perfdb collect LANE -o RUN"
            ) from error

    def begin(self, asked: Mapping[str, Any], plan: Sequence[Mapping[str, Any]]) -> None:
        """Write what was asked; with it the run exists."""
        lines = "".join(json.dumps(case) + "\n" for case in plan)
        write_whole(self.root / _PLAN, lines.encode())
        write_whole(self.root / _ASKED, json.dumps(asked, indent=2).encode() + b"\n")

    def plan(self) -> tuple[Mapping[str, Any], ...]:
        """Read the cases.

        Raises:
            IntegrityError: They are gone, or a line is not what was written.
        """
        path = self.root / _PLAN
        try:
            return tuple(msgspec.json.decode(line, type=dict[str, Any]) for line in path.read_bytes().splitlines())
        except (OSError, msgspec.DecodeError) as error:
            raise IntegrityError(
                f"{path} is not what was written", hint="Take the run from where it was made."
            ) from error

    def lines(self, name: str) -> tuple[Line, ...]:
        """Read a chain; none where nothing was added yet.

        Raises:
            IntegrityError: A line is not what was written.
        """
        path = self.root / name
        return opened(path.read_bytes().splitlines(keepends=True), str(path)) if path.is_file() else ()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the run to this process: two that measured into it would break each other's chain.

        Raises:
            InputError: Another process has it.
            RemoteError: The disk refused.
        """
        with disk_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.root / _HELD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _hold(descriptor, self.root)
            yield
        finally:
            os.close(descriptor)

    def mend(self) -> None:
        """Take off lines that were cut off while they were written."""
        for name in (CASES, WORKERS, KERNELS):
            self.mend_chain(name)

    def mend_chain(self, name: str) -> None:
        """Take off the last line of a chain, where it was cut off."""
        path = self.root / name
        if path.is_file() and (content := path.read_bytes()) and not content.endswith(b"\n"):
            with disk_errors(path):
                os.truncate(path, content.rfind(b"\n") + 1)

    def add(self, name: str, told: Line) -> int:
        """Add a line to a chain, on the disk before this returns; gives its number, from 1.

        Raises:
            IntegrityError: A line before it is not what was written.
            RemoteError: The disk refused.
        """
        if name not in self._last:
            before = self.lines(name)
            self._last[name] = len(before), last_digest(before)
        number, prev = self._last[name]
        path = self.root / name
        line = sealed(told, prev)
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with disk_errors(path), path.open("ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        self._last[name] = number + 1, str(json.loads(line)["sha256"])
        return number + 1


def _hold(descriptor: int, root: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(
            f"another process measures into {root}", hint="Wait for it, or name a new folder with -o."
        ) from error


def shards_of(root: Path) -> tuple[RunFolder, ...]:
    """Give the run in a folder, or the shards that lie in it.

    Raises:
        InputError: There is neither.
    """
    folders = (
        (root,) if (root / _ASKED).is_file() else tuple(sorted(path.parent for path in root.glob(f"shard-*/{_ASKED}")))
    )
    if not folders:
        RunFolder(root).asked()
    return tuple(RunFolder(folder) for folder in folders)


def is_run(root: Path) -> bool:
    """Whether a folder holds a run or shards of one."""
    return (root / _ASKED).is_file() or any(root.glob(f"shard-*/{_ASKED}"))
