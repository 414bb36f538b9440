"""What a log dialect tells triage: how one program prefixes its lines, and which of them never name a cause."""

import re
from dataclasses import dataclass

from dayzero.triage.model import Role


@dataclass(frozen=True, slots=True)
class Saying:
    """A line that a program writes: its pattern, searched in the message, and the part it plays."""

    pattern: re.Pattern[str]
    role: Role


@dataclass(frozen=True, slots=True)
class Mark:
    """A line that says how far a start came."""

    pattern: re.Pattern[str]
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDialect:
    """One program's way of writing.

    Attributes:
        name: Name of the entry point.
        signature: Found in lines that this program writes, so that a log's engine is told by counting; ``None`` for a library.
        process_prefixes: What stands before a record and names the process: groups ``name`` and ``pid`` (optional).
        record_prefixes: What opens a record: groups ``level``, ``source``, ``process``, ``pid`` (each optional); then the message.
        suffixes: What it adds at a line's end, taken off.
        process_roles: Which part a process of that name has; matched from its start.
        frame_roles: Which part a process has whose traceback has a frame ``path:function`` like this.
        reports: Lines that report a fall whose cause stands elsewhere; never a root. A group ``quoted`` holds the cause's words.
        fallout: Exceptions of a process that another one's death took along; a root only where nothing else is left.
        noise: Lines written after the end, or harmless ones that look like errors.
        masks: Pairs (earlier, later): where ``earlier`` stands in the log, ``later`` misleads.
        began: The first line of an attempt.
        started: The engine serves.
        stages: How far it came.
        versions: Group ``version``.
        exits: How a process ended: groups ``process`` (optional) and ``status``.
        cascades: Whether each caller reports an error again: of error lines that follow each other, the first says why.
        misleading_advice: Advice in its messages known to mislead, with the reason.
    """

    name: str
    signature: re.Pattern[str] | None = None
    process_prefixes: tuple[re.Pattern[str], ...] = ()
    record_prefixes: tuple[re.Pattern[str], ...] = ()
    suffixes: tuple[re.Pattern[str], ...] = ()
    process_roles: tuple[Saying, ...] = ()
    frame_roles: tuple[Saying, ...] = ()
    reports: tuple[Saying, ...] = ()
    fallout: tuple[re.Pattern[str], ...] = ()
    noise: tuple[re.Pattern[str], ...] = ()
    masks: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = ()
    began: tuple[re.Pattern[str], ...] = ()
    started: tuple[re.Pattern[str], ...] = ()
    stages: tuple[Mark, ...] = ()
    versions: tuple[re.Pattern[str], ...] = ()
    exits: tuple[re.Pattern[str], ...] = ()
    cascades: bool = False
    misleading_advice: tuple[tuple[re.Pattern[str], str], ...] = ()
