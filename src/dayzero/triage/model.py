"""The answer to a log: a root with its chain, a refusal that says what to collect, or a healthy start."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Role(StrEnum):
    """What a line of the chain is to the failure, from the cause outwards."""

    ROOT = "root"
    EVIDENCE = "evidence"  # a line without which the root cannot be read: a negative budget, a block size
    SYMPTOM = "symptom"  # an exception that the root explains
    WRAPPER = "exception"  # the exception that carries the root in its message
    CONSEQUENCE = "consequence"  # a later exception of the same chain
    INSPECT = "inspect"
    MISLEADING = "misleading"  # a later line that names another cause, wrongly
    WORKER = "worker"
    SCHEDULER = "scheduler"
    EXECUTOR = "executor"
    RAY = "ray"
    ENGINE_CORE = "engine_core"
    API_SERVER = "api_server"
    CLIENT = "client"
    SERVER = "server"
    LAUNCHER = "launcher"
    SUPERVISOR = "supervisor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One line of the log and its part in the failure.

    Attributes:
        role: Its part.
        line: 1-based, counted as ``sed -n Np`` counts.
        text: The line without transport, colours and prefixes, secrets redacted.
    """

    role: Role
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One value that the log names.

    Attributes:
        name: What it is (``needed``, ``available``, ``symbol``, ``keyword``, ``library``).
        value: As written there.
        unit: ``GiB``, ``tokens``; ``""`` where it has none.
        line: Where it stands.
    """

    name: str
    value: str
    unit: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What resolves a wall.

    Attributes:
        text: What to do.
        confirmed_by: Who saw it work; ``""`` means that nobody was seen to confirm it.
        reference: Where that stands.
    """

    text: str
    confirmed_by: str
    reference: str

    @property
    def confirmed(self) -> bool:
        """Say whether somebody confirmed it."""
        return bool(self.confirmed_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedWall:
    """A known wall that the root is an instance of.

    Attributes:
        wall: One of the twenty names (``kv-capacity``).
        category: The finer name below it (``kv-negative-budget``).
        rule: Id of the rule that recognised it.
        version: Version of that rule, so that an old diagnosis can be replayed.
        title: The wall in one sentence.
        resolution: What resolves it.
        would_confirm: What would confirm the diagnosis.
    """

    wall: str
    category: str
    rule: str
    version: int
    title: str
    resolution: Resolution
    would_confirm: str


@dataclass(frozen=True, slots=True)
class UnknownWall:
    """A root that no rule knows; the fingerprint groups equal ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a traceback, as written."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What two instances of one failure share.

    Attributes:
        exception: Exception type without its package; ``""`` for a line that is no exception.
        frame: ``package/path/file.py:function`` of the last engine frame; ``""`` where there is none.
    """

    exception: str
    frame: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a process ended, as some line says.

    Attributes:
        process: Which process.
        status: ``1``, ``-9``, ``signal 9``.
        line: Where it stands.
    """

    process: str
    status: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The last stage of a start that one process reached."""

    process: str
    stage: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What was read.

    Attributes:
        sha256: Of all its bytes, as given.
        size_bytes: Their number.
        lines: Number of lines.
        left_out: Lines in the middle of a long log that were only scanned.
        engine: Which engine wrote it; ``""`` when it does not say.
        version: The engine's version; ``""`` when it does not say.
        attempts: Starts that the log holds; the last complete one was read.
        exits: How processes ended.
        stages: How far each process came.
    """

    sha256: str
    size_bytes: int
    lines: int
    left_out: int
    engine: str
    version: str
    attempts: int
    exits: tuple[Exit, ...]
    stages: tuple[Stage, ...]

    @property
    def restarts(self) -> int:
        """Count the starts after the first."""
        return max(0, self.attempts - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RootFound:
    """The log names the cause.

    Attributes:
        root: The line that names it (role ``root``).
        same_as: The same failure on other ranks, or repeated.
        chain: Every line of the failure, from the cause outwards, root included.
        wall: The wall, where a rule knows it.
        numbers: Values that the wall's lines carry.
        fingerprint: Groups equal failures.
        frames: The root's traceback, outermost first; empty where it has none.
        advice: Advice inside the log's own messages that is known to mislead, each with the reason.
        log: What was read.
    """

    root: Link
    same_as: tuple[int, ...]
    chain: tuple[Link, ...]
    wall: NamedWall | UnknownWall
    numbers: tuple[Quantity, ...]
    fingerprint: Fingerprint
    frames: tuple[Frame, ...]
    advice: tuple[str, ...]
    log: Log


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseNotInLog:
    """Something failed and the cause is not among these lines.

    Attributes:
        last: The line that says most about the end, if any says something.
        chain: Lines that report the fall.
        reason: Why no root can be named.
        collect: What to collect instead.
        wall: The wall where the absence itself is one (a signal's number), else unknown.
        log: What was read.
    """

    last: Link | None
    chain: tuple[Link, ...]
    reason: str
    collect: tuple[str, ...]
    wall: NamedWall | UnknownWall
    log: Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The engine came up.

    Attributes:
        marker: The line that says so.
        later: The first failure that it reported afterwards, if any: a running engine that died is no failed start.
        log: What was read.
    """

    marker: Link
    later: Link | None
    log: Log


Diagnosis: TypeAlias = RootFound | CauseNotInLog | Started
