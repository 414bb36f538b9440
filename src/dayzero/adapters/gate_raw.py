"""The raw exchanges of a gate: a file of lines for each capture, appended to as answers come, read again to go on."""

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.row_file import write_all
from dayzero.core.errors import InputError
from dayzero.gates.exchange import Job, Key, Question, Reply, Side

PROBE: Final = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One exchange.

    Attributes:
        side: Which endpoint was asked.
        job: The question and its key.
        reply: The answer.
        sent_at: When it was sent, RFC 3339.
        seconds: How long it took.
    """

    side: Side
    job: Job
    reply: Reply
    sent_at: str
    seconds: float


class RawFolder:
    """A folder of exchanges. What was handed over is with the operating system: a kill loses only what was in flight.

    Args:
        folder: The folder; it is made.

    Raises:
        InputError: A line that was kept before cannot be read.
        RemoteError: The disk refused.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, int] = {}
        self._lock = threading.Lock()
        self._kept = {job.key: (job.question, reply) for path in self.paths() for job, reply in _read(path)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)

    def paths(self) -> tuple[Path, ...]:
        """List the files."""
        return tuple(sorted(self._folder.glob("*.jsonl")))

    def answered(self, job: Job) -> Reply | None:
        """Give the answer that was kept to a question, ``None`` where there is none; one that failed is asked again.

        Raises:
            InputError: Under its key another question was kept.
        """
        kept = self._kept.get(job.key)
        if kept is None or not kept[1].ok:
            return None
        if kept[0] != job.question:
            raise InputError(
                f"{job.key.arm} {job.key.capture}, prompt {job.key.prompt}: another question was asked before the interruption",
                hint="The endpoint is not the one that it was; begin a new attempt, without --resume.",
            )
        return kept[1]

    def keep(self, record: Record) -> None:
        """Append one exchange to its file.

        Raises:
            RemoteError: The disk refused.
        """
        key = record.job.key
        line = {
            "capture": key.capture,
            "arm": key.arm,
            "prompt": key.prompt,
            "part": key.part,
            "endpoint": record.side,
            "sent_at": record.sent_at,
            "seconds": round(record.seconds, 6),
            "path": record.job.question.path,
            "request": record.job.question.body,
            "status": record.reply.status,
            "answer": record.reply.body,
            "error": record.reply.error,
        }
        content = msgspec.json.encode(line) + b"\n"
        name = PROBE if key.arm == PROBE else f"{key.arm}-{key.capture}"
        with self._lock:
            write_all(self._descriptor(name), content, self._folder / name)

    def _descriptor(self, name: str) -> int:
        if name not in self._files:
            path = self._folder / f"{name}.jsonl"
            with disk_errors(path):
                self._files[name] = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        return self._files[name]


def _read(path: Path) -> Iterator[tuple[Job, Reply]]:
    """Read the whole lines of a file; half a line that a kill left behind is cut off."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with disk_errors(path):
            os.truncate(path, whole)
    if path.stem == PROBE:
        return
    for number, line in enumerate(content[:whole].splitlines(), 1):
        try:
            found = json.loads(line)
            key = Key(found["capture"], found["arm"], found["prompt"], found["part"])
            reply = Reply(status=found["status"], body=found["answer"], error=found["error"])
            job = Job(key, Question(found["path"], found["request"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}:{number} is not an exchange that was kept", hint="Begin a new attempt."
            ) from error
        yield job, reply
