"""The attempts of a gate: a line as each begins and a line as it ends, chained, so that none can be left out unseen."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.row_file import write_all
from dayzero.core.errors import IntegrityError

SCHEMA = "dayzero/gate-attempt/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt as the file has it.

    Attributes:
        number: From 1.
        pair: What was compared, as it was named.
        verdict: Its verdict, ``""`` where it did not end.
        gate_sha256: Digest of its ``gate.json``, ``""`` where it did not end.
    """

    number: int
    pair: tuple[str, str]
    verdict: str
    gate_sha256: str


class AttemptFile:
    """The file of one folder.

    Args:
        path: The file; it need not be there.

    Raises:
        IntegrityError: A line was changed, or one is missing between two.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = self._read()

    def attempts(self) -> tuple[Attempt, ...]:
        """Give the attempts in their order."""
        found: dict[int, Attempt] = {}
        for line in self._lines:
            number = int(str(line["attempt"]))
            pair = (str(line["a"]), str(line["b"]))
            verdict, digest = str(line.get("verdict", "")), str(line.get("gate_sha256", ""))
            found[number] = Attempt(number=number, pair=pair, verdict=verdict, gate_sha256=digest)
        return tuple(found.values())

    def add(self, event: str, attempt: Attempt, *, at: str) -> None:
        """Append that an attempt begins or ends.

        Raises:
            RemoteError: The disk refused.
        """
        line: dict[str, object] = {
            "schema": SCHEMA,
            "attempt": attempt.number,
            "event": event,
            "at": at,
            "a": attempt.pair[0],
            "b": attempt.pair[1],
        }
        if attempt.verdict:
            line |= {"verdict": attempt.verdict, "gate_sha256": attempt.gate_sha256}
        line["previous"] = _digest(self._lines[-1]) if self._lines else ""
        with disk_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                write_all(descriptor, _content(line) + b"\n", self._path)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self._lines.append(line)

    def _read(self) -> list[Mapping[str, object]]:
        if not self._path.exists():
            return []
        found: list[Mapping[str, object]] = []
        for number, text in enumerate(self._path.read_bytes().splitlines(), 1):
            try:
                line = json.loads(text)
                stands = line["previous"] == (_digest(found[-1]) if found else "") and "attempt" in line
            except (ValueError, KeyError, TypeError):
                stands = False
            if not stands:
                raise IntegrityError(
                    f"{self._path}:{number} does not follow from the line before it: attempts were changed or taken out",
                    hint="Name another folder with -o; what stands here is no record any more.",
                )
            found.append(line)
        return found


def _content(line: Mapping[str, object]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def _digest(line: Mapping[str, object]) -> str:
    return hashlib.sha256(_content(line)).hexdigest()
