"""What a metric is: latencies have values of each request, rates have one figure of a cell."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeAlias

from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell

Figure: TypeAlias = float | Undecided


class Definition(Protocol):
    """What stands in the table of definitions.

    Attributes:
        name: Its name, unit at the end.
        unit: Its unit.
        formula: How it comes out of the stamps, in words.
        stamps: The fields of a row that enter.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    formula: ClassVar[str]
    stamps: ClassVar[tuple[str, ...]]


class Metric(ABC):
    """A latency.

    Attributes:
        telescopes: Whether the values of a request add up to one span, so that their mean is right although an arrival in
            between is not known well.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "ms"
    formula: ClassVar[str]
    stamps: ClassVar[tuple[str, ...]]
    telescopes: ClassVar[bool] = False

    @abstractmethod
    def values(self, row: Row) -> tuple[float, ...]:
        """Give the values of a row that came whole; none where the row has none."""

    def unsure(self, row: Row) -> frozenset[int]:  # noqa: ARG002  (most metrics know all their values)
        """Say which of them, by position, are not known well because an arrival is not."""
        return frozenset()

    def leaves_out(self, row: Row) -> bool:  # noqa: ARG002  (most metrics leave out nothing)
        """Say whether a row that came whole could have values, and has none for the way in which it came."""
        return False

    def most(self, row: Row) -> float | None:
        """Give the most that any of them can have been, however unsure; ``None`` where there is none."""
        return max(self.values(row), default=None)

    def refusal(self, rows: Sequence[Row]) -> Undecided | None:  # noqa: ARG002  (most metrics have none)
        """Say why these rows, which came whole, together carry no such figure; ``None`` when they do."""
        return None

    def applies(self, rows: Sequence[Row], cell: Cell) -> bool:  # noqa: ARG002  (most metrics always do)
        """Say whether it has a meaning of its own under this load; one that has none is not shown."""
        return True


class Rate(ABC):
    """A figure of a cell as a whole."""

    name: ClassVar[str]
    unit: ClassVar[str]
    formula: ClassVar[str]
    stamps: ClassVar[tuple[str, ...]]

    @abstractmethod
    def figure(self, rows: Sequence[Row], cell: Cell) -> Figure:
        """Compute it.

        Args:
            rows: Rows of the cell, both phases.
            cell: The cell as planned.
        """

    def applies(self, cell: Cell) -> bool:  # noqa: ARG002  (most rates always do)
        """Say whether it has a meaning under this load; one that has none is not shown."""
        return True
