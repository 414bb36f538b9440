"""The measuring client: drives the plan of a cell through the loop."""

import contextlib
import gc
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Final

from dayzero.adapters.measuring.cost import Cost, precise_sleep
from dayzero.adapters.measuring.descriptors import allow_connections
from dayzero.adapters.measuring.loop import Loop
from dayzero.adapters.measuring.records import Records
from dayzero.adapters.measuring.server import Server
from dayzero.adapters.measuring.stream import Stream
from dayzero.adapters.openai_http import Speech, Wording
from dayzero.bench.answer import reply_text
from dayzero.bench.model import (
    Aborted,
    Completed,
    Ending,
    EnoughSeenError,
    Exhausted,
    Phase,
    Progress,
    Request,
    Wait,
)
from dayzero.bench.ports import Plan
from dayzero.bench.reads import encode_sent
from dayzero.core.workload import Cell

INTERRUPTED: Final = "interrupted; requests that were still in flight have no row"

_FEWEST_UNANSWERED: Final = 3
_FLUSH_PARTS: Final = 2048
_CHECK_NS: Final = 20_000_000
_CLOCK_NS: Final = 1_000_000_000
_PROGRESS_NS: Final = 100_000_000
_OK: Final = 200
_SWITCH_S: Final = 0.0001


class MeasuringClient:
    """Sends what plans say, and keeps what comes as records. Implements ``bench.ports.Client``.

    Connections are kept from one cell to the next.

    Args:
        server: Where requests go.
        wording: Writes them.
        how: How the endpoint is spoken to.
        records: Takes what was sent and read.
        timeout_s: Seconds after which a request is given up.

    Attributes:
        cost: What the windows cost so far.
    """

    def __init__(self, server: Server, wording: Wording, how: Speech, records: Records, *, timeout_s: float) -> None:
        self.cost = Cost()
        self._wording = wording
        self._how = how
        self._records = records
        self._streams: list[Stream] = []
        self._loop = Loop(server, records, self._ended, timeout_s=timeout_s, keeps=how.keeps_connection)
        self._cell: _CellRun | None = None

    @property
    def connections(self) -> int:
        """Count the connections that were opened."""
        return self._loop.connections

    def run(self, plan: Plan, *, cell: Cell, on_progress: Callable[[Progress], None]) -> Ending:
        """Drive one cell to its end; see :class:`dayzero.bench.ports.Client`.

        Raises:
            InputError: This process may not have as many connections.
            RemoteError: The reads cannot be written.
        """
        allow_connections(cell.concurrency)
        while len(self._streams) < cell.concurrency:
            self._streams.append(Stream())
        self._loop.keeps_raw = cell.turns > 1
        run = self._cell = _CellRun(plan, cell, on_progress, self._streams[: cell.concurrency], self._loop.received)
        with _window(run), precise_sleep():
            before = Cost.now()
            try:
                return self._drive(run)
            finally:
                self._records.clock()
                self._records.flush()
                self.cost += Cost.now() - before

    def settle(self, seconds: float, work: Iterable[object] = ()) -> bool:
        """Watch idle connections for a while; true when all of them still stand.

        Args:
            seconds: How long.
            work: Each step of it is taken in that time; the connections are looked at after the last one in any case.
        """
        standing = self._loop.standing()
        until = time.monotonic_ns() + int(seconds * 1e9)
        deque(work, maxlen=0)
        self._loop.step(until)
        while time.monotonic_ns() < until and self._loop.standing() == standing:
            self._loop.step(until)
        return self._loop.standing() == standing > 0

    def close(self) -> None:
        """Close every connection."""
        self._loop.close()

    def _drive(self, run: "_CellRun") -> Ending:
        loop, records, clock = self._loop, self._records, time.monotonic_ns
        run.origin_ns = clock()  # as late as can be: what is due at once would be late
        checked_ns = 0
        while run.ending is None:
            now = clock()
            if now >= checked_ns + _CHECK_NS:
                checked_ns = now
                loop.give_up(now)
                run.tick(now, records, loop)
            wake_ns = checked_ns + _CHECK_NS
            if run.free:
                wake_ns = min(self._dispatch(run), wake_ns)
            if run.exhausted and not loop.at_work:
                run.ending = run.ending or Completed()
                break
            loop.step(wake_ns)
            if run.fresh or len(records.parts) > _FLUSH_PARTS:
                run.fresh = False
                records.flush()
        run.tell(loop)
        return run.ending

    def _dispatch(self, run: "_CellRun") -> int:
        """Send what is due; gives when to look again, on the monotonic clock."""
        while run.free and not run.exhausted and run.ending is None:
            now = time.monotonic_ns()
            match run.plan.take(now - run.origin_ns):
                case Request() as request:
                    payload = encode_sent(request, origin_ns=run.origin_ns)
                    self._loop.start(run.free.pop(), request, self._wording.streamed(self._how, request), payload)
                case Wait(until_ns=int() as until_ns):
                    return run.origin_ns + until_ns
                case Wait():
                    if not self._loop.at_work:
                        run.ending = Aborted(reason="the plan waits for an answer, and none is due")
                    break
                case Exhausted():
                    run.exhausted = True
        return time.monotonic_ns() + _CLOCK_NS

    def _ended(self, stream: Stream, now: int, error: str) -> None:
        if self._cell is not None:
            self._cell.ended(stream, now, error)


class _CellRun:
    """How far a cell has come."""

    def __init__(
        self, plan: Plan, cell: Cell, on_progress: Callable[[Progress], None], streams: list[Stream], received: int
    ) -> None:
        self.plan = plan
        self.free = streams[::-1]
        self.exhausted = False
        self.fresh = False  # whether a request has ended since the last flush
        self.ending: Ending | None = None
        self.origin_ns = 0
        self._cell = cell
        self._on_progress = on_progress
        self._done = self._failed = self._unanswered = 0
        self._phase: Phase = "warmup" if cell.warmup_requests else "measured"
        self._looked_ns = self._told_ns = 0
        self._told = -1
        self._received = received

    def ended(self, stream: Stream, now: int, error: str) -> None:
        """Count a request that has ended, free its stream and tell the plan."""
        request = stream.request
        if request is None:
            return
        status = stream.reader.status
        self.fresh = True
        self.free.append(stream)
        self._done += 1
        self._phase = request.phase
        self._failed += bool(error) or status != _OK
        self._unanswered = self._unanswered + 1 if error and not status else 0
        raw = tuple(stream.raw)
        self.plan.ended(request, now - self.origin_ns, lambda: "" if error else reply_text(b"".join(raw)))
        if self._unanswered >= max(self._cell.concurrency, _FEWEST_UNANSWERED):
            reason = f"the endpoint answered none of the last {self._unanswered} requests: {error}"
            self.ending = self.ending or Aborted(reason=reason)

    def interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """End at the next turn of the loop; a signal's handler."""
        self.ending = self.ending or Aborted(reason=INTERRUPTED)

    def tick(self, now: int, records: Records, loop: Loop) -> None:
        """Do what is done now and then: look at the clocks, tell how far it is."""
        if now >= self._looked_ns + _CLOCK_NS:
            self._looked_ns = now
            records.clock()
        if now >= self._told_ns + _PROGRESS_NS:
            self._told_ns = now
            self.tell(loop)

    def tell(self, loop: Loop) -> None:
        """Report progress, if there was any."""
        if self._done == self._told:
            return
        self._told = self._done
        progress = Progress(
            cell=self._cell.name,
            phase=self._phase,
            done=self._done,
            planned=self._cell.size,
            failed=self._failed,
            in_flight=len(loop.at_work),
            received_bytes=loop.received - self._received,
        )
        try:
            self._on_progress(progress)
        except EnoughSeenError as enough:
            self.ending = self.ending or Aborted(reason=str(enough))


@contextlib.contextmanager
def _window(run: _CellRun) -> Iterator[None]:
    """Keep the collector and other threads away, and hear a request to end at a place where nothing is half done."""
    heard: dict[signal.Signals, object] = {}
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)  # another thread gives the interpreter up so soon; Python's own 5 ms is a lag
    gc.freeze()  # what there is stays out of the collector's way; collecting it first would only keep the server waiting
    gc.disable()
    with contextlib.suppress(ValueError):  # only the main thread hears signals
        for number in (signal.SIGINT, signal.SIGTERM):
            heard[number] = signal.signal(number, run.interrupt)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        gc.enable()
        gc.unfreeze()
        sys.setswitchinterval(interval_s)
