"""The time over which rates are taken: while the load was full."""

from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.bench.metrics.arrival import NS_PER_S
from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time, and what was received in it.

    Attributes:
        start_ns: The first measured request was sent (of those that came whole, here and below).
        end_ns: The last measured request was sent: after that nothing takes the place of one that ends, and the load falls.
            Where this is shorter than the longest request, it would hold too little, and the last response's end stands here.
        with_tail: Whether that is so; then only measured requests count, and all of each.
        rows: The rows that count.
    """

    start_ns: int
    end_ns: int
    with_tail: bool
    rows: tuple[Row, ...]

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.start_ns) / NS_PER_S

    def holds(self, stamp_ns: int) -> bool:
        """Say whether something that arrived then counts."""
        return self.with_tail or self.start_ns < stamp_ns <= self.end_ns

    def part(self, from_ns: int, until_ns: int) -> float:
        """Say which part of a stretch of time counts.

        Where streams move in step, whole requests counted by their ends would come in waves, and a rate would hang on where
        the time is cut.
        """
        if self.with_tail or until_ns <= from_ns:
            return float(self.holds(until_ns))
        return max(min(until_ns, self.end_ns) - max(from_ns, self.start_ns), 0) / (until_ns - from_ns)

    def share(self, row: Row) -> float:
        """Say which part of a request's chunks with content counts."""
        stamps = row.content_ns
        if self.with_tail or not stamps or (self.start_ns < stamps[0] and stamps[-1] <= self.end_ns):
            return 1.0 if stamps or self.with_tail else 0.0
        return sum(self.start_ns < stamp <= self.end_ns for stamp in stamps) / len(stamps)


def full_load(rows: Sequence[Row]) -> Span | Undecided:
    """Find the time over which the rates of a cell are taken.

    Requests that failed decide nothing here, so that one more of them never raises a rate.

    Args:
        rows: Rows of the cell, both phases.
    """
    whole = tuple(row for row in rows if row.ok and row.sent_ns)
    measured = tuple(row for row in whole if row.phase == "measured")
    if not measured:
        return Undecided("no request came whole")
    start_ns, last_ns = min(row.sent_ns for row in measured), max(row.sent_ns for row in measured)
    longest_ns = max(row.end_ns - row.sent_ns for row in measured)
    if last_ns - start_ns >= longest_ns > 0:
        return Span(start_ns=start_ns, end_ns=last_ns, with_tail=False, rows=whole)
    end_ns = max(row.end_ns for row in measured)
    if end_ns <= start_ns:
        return Undecided("no time passed between the first request and the last answer")
    return Span(start_ns=start_ns, end_ns=end_ns, with_tail=True, rows=measured)


def achieved_in_flight(rows: Sequence[Row], concurrency: int) -> float:
    """Compute how many requests were in flight on average while the load was meant to be full.

    That is from the moment at which the last stream had sent its first request (or the first measured request, if that
    came later) until the last request was sent; before it the load ramps up, after it there is nothing left to send.
    Where that window has no length, the largest number in flight at once is given.

    Args:
        rows: Rows of one cell, both phases.
        concurrency: The number of streams.
    """
    spans = sorted((row.sent_ns, row.end_ns) for row in rows if row.sent_ns)
    measured = [row.sent_ns for row in rows if row.sent_ns and row.phase == "measured"]
    if not measured:
        return 0.0
    start = max(spans[min(concurrency, len(spans)) - 1][0], min(measured))
    end = spans[-1][0]
    if end <= start:
        return float(sum(end_ns >= start for _, end_ns in spans))
    return sum(max(min(end_ns, end) - max(sent_ns, start), 0) for sent_ns, end_ns in spans) / (end - start)
