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
