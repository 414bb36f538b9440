"""Where in a raw file a claim's value stands."""

from dataclasses import dataclass
from typing import TypeAlias

from dayzero.core.pins import Sha256
from dayzero.evidence.fields import need_lines, need_names, need_pointer, need_span


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFile:
    """The claim rests on the file as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLocator:
    """One line: 1-based, split on newline only, so that ``sed -n 448p`` shows it; ``sha256`` is of the line's bytes."""

    line: int
    sha256: Sha256

    def __post_init__(self) -> None:
        need_lines(self.line, self.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeLocator:
    """Lines ``first`` to ``last``, both included; ``sha256`` is of their bytes with the newlines between them."""

    first: int
    last: int
    sha256: Sha256

    def __post_init__(self) -> None:
        need_lines(self.first, self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerLocator:
    """One value of a JSON file, by its RFC 6901 pointer."""

    pointer: str

    def __post_init__(self) -> None:
        need_pointer(self.pointer)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonlLocator:
    """One value of the JSON document that stands alone on a 1-based line."""

    line: int
    pointer: str

    def __post_init__(self) -> None:
        need_lines(self.line, self.line)
        need_pointer(self.pointer)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLocator:
    """One cell of a CSV file with a header row: in the one row whose ``key_column`` holds ``key``, the cell of ``column``."""

    key_column: str
    key: str
    column: str

    def __post_init__(self) -> None:
        need_names(self.key_column, self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLocator:
    """One member of a zip archive, a wheel for one; ``sha256`` is of its bytes unpacked."""

    member: str
    sha256: Sha256

    def __post_init__(self) -> None:
        need_names(self.member)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLocator:
    """``length`` bytes from the 0-based byte ``offset``; ``sha256`` is of them."""

    offset: int
    length: int
    sha256: Sha256

    def __post_init__(self) -> None:
        need_span(self.offset, self.length)


Locator: TypeAlias = (
    WholeFile | LineLocator | RangeLocator | PointerLocator | JsonlLocator | CsvLocator | MemberLocator | SpanLocator
)
