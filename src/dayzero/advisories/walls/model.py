"""A wall as data: how a log shows it, what it carries, what resolves it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class On(StrEnum):
    """Where a rule looks."""

    EXCEPTION = "exception"
    LINE = "line"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison between two named values or numbers, such as ``budget < 0``."""

    left: str
    operator: str
    right: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line elsewhere in the log that the rule reads with the root.

    Attributes:
        line: Its pattern; named groups are values.
        required: Whether the rule needs it.
    """

    line: re.Pattern[str]
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What resolves it; ``confirmed_by`` is empty where nobody was seen to confirm it."""

    text: str
    confirmed_by: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WallRule:
    """One rule that recognises one wall.

    Attributes:
        id: Stable name of the rule.
        version: Raised when its meaning changes, so that an old diagnosis can be replayed.
        wall: One of the wall names.
        category: The finer name.
        title: The wall in one sentence.
        priority: Higher ones are tried first.
        on: Where it looks.
        line: Searched in an exception with its message, or in a line's message.
        exception: Searched in the exception's full type; empty matches all.
        frame: Searched in ``path:function`` of each frame; empty needs none.
        explains: Exceptions that this line is the cause of; a line beats an exception only when it explains it.
        evidence: Lines read with it.
        when: Conditions on the values; all must hold.
        units: Unit of a named group; a group without one has none.
        refuses: Whether it shows only that the cause is not in the log.
        decisive: Whether a line of low level is a root by itself.
        engines: Engines whose words these are: in a log that names another engine the rule is silent. Empty means any.
        remedy: What resolves it.
        would_confirm: What would confirm the diagnosis.
    """

    id: str
    version: int
    wall: str
    category: str
    title: str
    priority: int
    on: On
    line: re.Pattern[str]
    exception: re.Pattern[str]
    frame: re.Pattern[str]
    explains: tuple[re.Pattern[str], ...]
    evidence: tuple[Evidence, ...]
    when: tuple[Condition, ...]
    units: Mapping[str, str]
    refuses: bool
    decisive: bool
    engines: tuple[str, ...]
    remedy: Remedy
    would_confirm: str
