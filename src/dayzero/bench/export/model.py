"""A run as it is exported, and what a format is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dayzero.bench.model import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A run of ours: its result as it was printed, and its rows.

    Attributes:
        document: The JSON result, ``dayzero/bench``, as docs/reference/bench.md describes it.
        rows: All rows, both phases.
        version: Version of dayzero that exports.
    """

    document: Mapping[str, object]
    rows: Sequence[Row]
    version: str

    @property
    def valid(self) -> bool:
        """True when the figures can be believed."""
        return self.document.get("valid") is True

    def measured(self, cell: str) -> tuple[Row, ...]:
        """Give the rows of one cell without its warm-up."""
        return tuple(row for row in self.rows if row.cell == cell and row.phase == "measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """One format.

    Attributes:
        name: What is typed after ``--export``.
        title: What it is, in a few words.
        figures: True where it carries figures without their reasons: such a file is written of a valid run only.
        files: Writes it: (name, content) of each file.
    """

    name: str
    title: str
    figures: bool
    files: Callable[[MeasuredRun], tuple[tuple[str, bytes], ...]]
