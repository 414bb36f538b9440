"""Times from the schedule of an open loop: what a request waited in the client counts, too."""

from collections.abc import Sequence
from typing import ClassVar

from dayzero.bench.metrics.arrival import NS_PER_MS, first_is_unsure
from dayzero.bench.metrics.interface import Metric
from dayzero.bench.model import Row
from dayzero.core.workload import Cell, ClosedLoop


class _Scheduled(Metric):
    """A time that begins when a request was due."""

    def applies(self, rows: Sequence[Row], cell: Cell) -> bool:  # noqa: ARG002  (see Metric)
        """Say whether there is a schedule; a closed loop sends when it can."""
        return not isinstance(cell.load, ClosedLoop)


class ScheduledTtft(_Scheduled):
    """From the schedule to the first content."""

    name: ClassVar = "scheduled_ttft_ms"
    formula: ClassVar = "first chunk with content - due (open loop only)"
    stamps: ClassVar = ("due_ns", "content_ns", "censored")

    def values(self, row: Row) -> tuple[float, ...]:
        """Give it, where there is content."""
        return ((row.content_ns[0] - row.due_ns) / NS_PER_MS,) if row.content_ns else ()

    def unsure(self, row: Row) -> frozenset[int]:
        """Name it unsure when the first arrival is known less well than 0.5 ms."""
        return first_is_unsure(row)


class ScheduledE2e(_Scheduled):
    """From the schedule to the end of the response."""

    name: ClassVar = "scheduled_e2e_ms"
    formula: ClassVar = "response complete - due (open loop only)"
    stamps: ClassVar = ("due_ns", "end_ns")

    def values(self, row: Row) -> tuple[float, ...]:
        """Give it."""
        return ((row.end_ns - row.due_ns) / NS_PER_MS,)


class DispatchLag(_Scheduled):
    """How much later than due a request was sent."""

    name: ClassVar = "dispatch_lag_ms"
    formula: ClassVar = "sent - due (open loop only)"
    stamps: ClassVar = ("due_ns", "sent_ns")

    def values(self, row: Row) -> tuple[float, ...]:
        """Give it."""
        return ((row.sent_ns - row.due_ns) / NS_PER_MS,)
