"""The nouns of the contract: what is sent, what came back, and how a check ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

from dayzero.core.verdict import Undecided

Body: TypeAlias = Mapping[str, object] | bytes
"""What is posted: a JSON object, or bytes that are sent as they stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request.

    Attributes:
        path: Where it goes (``/v1/models``).
        body: What is posted; ``None`` asks with GET.
    """

    path: str
    body: Body | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back.

    Attributes:
        number: Its line in the file of exchanges, from 1.
        status: HTTP status, 0 where no response came whole.
        body: The body as it came.
        events: The data of each server-sent event in it, in order.
        error: Why no response came whole.
    """

    number: int
    status: int
    body: bytes = b""
    events: tuple[bytes, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Holds:
    """The endpoint did what the contract says."""

    reason: str


@dataclass(frozen=True, slots=True)
class Broken:
    """It did something else."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotOffered:
    """It says that it does not do this, instead of doing something else in silence."""

    reason: str


Outcome: TypeAlias = Holds | Broken | NotOffered | Undecided
Word: TypeAlias = Literal["holds", "broken", "not offered", "undecided"]


def outcome_word(outcome: Outcome) -> Word:
    """Name an outcome."""
    match outcome:
        case Holds():
            return "holds"
        case Broken():
            return "broken"
        case NotOffered():
            return "not offered"
        case Undecided():
            return "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One check, carried out.

    Attributes:
        check: Its name.
        promise: What it looks at, as a sentence that holds or does not.
        outcome: How it ended.
        exchanges: Lines of the file of exchanges that show it.
        known: Whether the caller knew beforehand that it is broken.
    """

    check: str
    promise: str
    outcome: Outcome
    exchanges: tuple[int, ...]
    known: bool = False


class Kept(Enum):
    """What all checks together say."""

    KEPT = "kept"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found of one endpoint.

    Attributes:
        model: The model that was asked for.
        route: Where prompts were sent.
        found: The checks, in the order in which they were made.
        unknown: Names that the caller called known to be broken and that no check has, or whose check was not broken.
    """

    model: str
    route: str
    found: tuple[Found, ...]
    unknown: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> Kept:
        """Broken where one check is that was not known to be; kept only where some held and none was left open."""
        outcomes = [one.outcome for one in self.found if not one.known]
        if any(isinstance(outcome, Broken) for outcome in outcomes):
            return Kept.BROKEN
        held = any(isinstance(outcome, Holds) for outcome in outcomes)
        if not held or any(isinstance(outcome, Undecided) for outcome in outcomes):
            return Kept.UNDECIDED
        return Kept.KEPT

    def count(self, word: Word) -> int:
        """Count the checks that ended so."""
        return sum(outcome_word(one.outcome) == word for one in self.found)


def numbers(answers: Sequence[Answer]) -> tuple[int, ...]:
    """Give the lines at which answers stand."""
    return tuple(answer.number for answer in answers)
