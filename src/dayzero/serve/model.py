"""How a start ended."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of an engine's log: its 1-based number and its text."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Healthy:
    """The engine answered its health path after ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The engine ended before it was healthy.

    Attributes:
        seconds: Seconds from the start to its end.
        exit_code: Exit code; negative is the signal that killed it.
        root: The last line of its log that looks like a cause, where there is one.
    """

    seconds: float
    exit_code: int
    root: LogLine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    """The start budget ran out while the engine was still coming up."""

    seconds: float
    root: LogLine | None


Start: TypeAlias = Healthy | Died | TimedOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """One thing that an engine's log says it resolved.

    Attributes:
        name: What (``attention_backend``, ``block_size``, ``kv_cache_tokens``, ...).
        value: To what, as the log words it; thousands are not separated.
        line: 1-based line of the log.
    """

    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPhase:
    """How long one phase of a start took, as the log says. Phases may contain each other: they do not add up.

    Attributes:
        name: Which (``weights``, ``compile``, ``autotune``, ``capture``, ...).
        seconds: Of the slowest rank, where several say it.
        line: 1-based line of the log that says so.
    """

    name: str
    seconds: float
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One thing that a launch asks for, in the words of :class:`Resolved`.

    Attributes:
        name: What.
        value: The value that was asked for.
        by: The flag or variable that asks.
    """

    name: str
    value: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """What was asked beside what the log says came of it.

    Attributes:
        asked: What was asked.
        got: Each different value that the log states, in order; empty where it states none.
        agrees: Whether all of them are what was asked; ``None`` where the log states none.
    """

    asked: Asked
    got: tuple[Resolved, ...]
    agrees: bool | None
