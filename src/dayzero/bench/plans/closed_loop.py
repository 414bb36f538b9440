"""A closed loop: each stream sends its next request as soon as it has the answer to its last one.

Warm-up and measured requests are handed over without a pause. Draining between the phases would start the measured one with
the burst that the warm-up was there to avoid.
"""

from collections.abc import Callable
from typing import Final

from dayzero.bench.model import Exhausted, Request, Wait
from dayzero.bench.prompts import PromptWriter

STAGGER_NS: Final = 1_030_000
"""Between the starts of two streams; no divisor of common gaps between tokens, so that streams do not march in step."""


class ClosedLoopPlan:
    """Hands out the requests of a cell in order, as many at once as it has streams."""

    def __init__(self, writer: PromptWriter) -> None:
        writer.opening(0)  # what cannot be written is refused before anything is sent
        self._writer = writer
        self._sent = self._in_flight = 0

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        """Give the next request to a free stream; see :class:`dayzero.bench.ports.Plan`."""
        cell = self._writer.cell
        if self._sent == cell.size:
            return Exhausted()
        if self._in_flight == cell.concurrency:
            return Wait(until_ns=None)
        if self._sent < cell.concurrency and elapsed_ns < self._sent * STAGGER_NS:
            return Wait(until_ns=self._sent * STAGGER_NS)
        request = self._writer.drawn(self._sent)
        self._sent += 1
        self._in_flight += 1
        return request

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:  # noqa: ARG002  (the port's)
        """Free the stream."""
        self._in_flight -= 1
