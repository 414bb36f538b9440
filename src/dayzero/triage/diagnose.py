"""Diagnose a log, whole or while it is being written."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from enum import Enum

from dayzero.advisories.walls.model import WallRule
from dayzero.triage.answer import answer
from dayzero.triage.dialect import LogDialect
from dayzero.triage.kept import Kept
from dayzero.triage.model import Diagnosis
from dayzero.triage.speech import beginnings
from dayzero.triage.supervisors import SUPERVISORS
from dayzero.triage.transport import without_escapes

_OVERLAP = 4096
_DIED = re.compile(
    r"Main process exited, code=|exited with code \d|Engine core initialization failed\. See|Engine process failed to start"
    r"|Received sigquit from a child|Executor worker returned error|Error: (?:ShardCannotStart|WebserverFailed)"
    r"|exiting due to model loading error|failed to load all models"
)


class Heard(Enum):
    """What the newest bytes said about the process."""

    NOTHING = "nothing"
    STARTED = "started"
    DIED = "died"


class Reader:
    """Reads a log as it comes, in bounded memory.

    Args:
        dialects: Every dialect that may have written it.
        walls: Every rule, the more particular ones first.
    """

    def __init__(self, dialects: Sequence[LogDialect], walls: Sequence[WallRule]) -> None:
        self._dialects, self._walls = (*dialects, SUPERVISORS), tuple(walls)
        self._kept, self._digest, self._size = Kept(beginnings(self._dialects)), hashlib.sha256(), 0
        self._started = tuple(pattern for dialect in dialects for pattern in dialect.started)
        self._rest = b""

    def feed(self, data: bytes) -> Heard:
        """Take the next bytes, cut anywhere.

        Returns:
            What they say about the process. For a log that is read at once, this may be ignored.
        """
        self._digest.update(data)
        self._size += len(data)
        self._kept.feed(data)
        return self._listen(data)

    def _listen(self, data: bytes) -> Heard:
        if len(data) > 1 << 16:
            return Heard.NOTHING  # a file, not a running process
        text = without_escapes((self._rest + data).decode("utf-8", "replace"))
        self._rest = (self._rest + data).rsplit(b"\n", 1)[-1][-_OVERLAP:]
        if _DIED.search(text):
            return Heard.DIED
        return Heard.STARTED if any(pattern.search(text) for pattern in self._started) else Heard.NOTHING

    def so_far(self) -> Diagnosis:
        """Diagnose what was fed until now; more may follow. Costs up to a few seconds for a long log."""
        return answer(
            self._kept, self._dialects, self._walls, sha256=self._digest.copy().hexdigest(), size_bytes=self._size
        )

    def end(self) -> Diagnosis:
        """Diagnose the whole log."""
        return self.so_far()


def diagnose(log: bytes | Iterable[bytes], dialects: Sequence[LogDialect], walls: Sequence[WallRule]) -> Diagnosis:
    """Diagnose a whole log.

    Args:
        log: Its bytes, or pieces of them cut anywhere.
        dialects: Every dialect that may have written it.
        walls: Every rule, the more particular ones first.

    Returns:
        A root with its chain, a refusal that says what to collect, or a healthy start.
    """
    reader = Reader(dialects, walls)
    for piece in (log,) if isinstance(log, bytes) else log:
        reader.feed(piece)
    return reader.end()
