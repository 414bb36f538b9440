"""An open loop: requests go out when the schedule says so, whether or not earlier ones were answered.

The schedule is the clock: a request that the cap or a slow client holds back keeps its time, so that its lateness can be
seen, and latencies can be counted from when it was wanted.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from dayzero.bench.model import Exhausted, Request, Wait

LEAD_NS: Final = 100_000_000
"""From the start of the cell to time 0 of the schedule: the first request is not late because the client has just begun."""


class OpenLoopPlan:
    """Hands out the requests of a cell at their times, never more at once than the cap.

    Args:
        times: When each request is due, in nanoseconds of the schedule; in order, ``None`` for at once.
        write: Writes the request of a position, due then.
        size: Requests in all.
        cap: The most in flight.
    """

    def __init__(
        self, times: Iterator[int | None], write: Callable[[int, int | None], Request], *, size: int, cap: int
    ) -> None:
        due = (None if time is None else time + LEAD_NS for time in islice(times, size))
        self._upcoming = map(write, range(size), due)
        self._next = next(self._upcoming, None)
        self._cap = cap
        self._in_flight = 0

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        """Give the request that is due; see :class:`dayzero.bench.ports.Plan`."""
        if self._next is None:
            self._next = next(self._upcoming, None)  # written ahead, in the pause after the last one
        if self._next is None:
            return Exhausted()
        if self._in_flight == self._cap:
            return Wait(until_ns=None)
        request = self._next
        if request.due_ns is not None and request.due_ns > elapsed_ns:
            return Wait(until_ns=request.due_ns)
        self._next = None
        self._in_flight += 1
        return request

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:  # noqa: ARG002  (the port's)
        """Make room under the cap."""
        self._in_flight -= 1
