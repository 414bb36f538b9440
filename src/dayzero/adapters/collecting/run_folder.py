"""The folder of a run: what was asked, written once, and chains of lines to which is only added."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dayzero.adapters.disk import disk_errors, write_whole
from dayzero.core.errors import InputError
from dayzero.perfdb.run import Line, last_digest, opened, sealed

_ASKED, _PLAN = "run.json", "plan.jsonl"
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
            told: Mapping[str, Any] = json.loads((self.root / _ASKED).read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.root} holds no run", hint="Make one with: dayzero perfdb collect LANE -o RUN"
            ) from error
        return told

    def begin(self, asked: Mapping[str, Any], plan: Sequence[Mapping[str, Any]]) -> None:
        """Write what was asked; with it the run exists."""
        lines = "".join(json.dumps(case) + "\n" for case in plan)
        write_whole(self.root / _PLAN, lines.encode())
        write_whole(self.root / _ASKED, json.dumps(asked, indent=2).encode() + b"\n")

    def plan(self) -> tuple[Mapping[str, Any], ...]:
        """Read the cases."""
        return tuple(json.loads(line) for line in (self.root / _PLAN).read_bytes().splitlines())

    def lines(self, name: str) -> tuple[Line, ...]:
        """Read a chain; none where nothing was added yet.

        Raises:
            IntegrityError: A line is not what was written.
        """
        path = self.root / name
        return opened(path.read_bytes().splitlines(keepends=True), str(path)) if path.is_file() else ()

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
