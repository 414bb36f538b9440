"""Drive a workload: a closed loop of streams per cell, every row to the sink as it comes.

Warm-up and measured requests are handed over without a pause: each stream takes the next planned request as soon as it has
its answer. Draining between the phases would start the measured one with a burst that the warm-up was there to avoid.
"""

import asyncio
from collections.abc import Callable, Iterator

from dayzero.bench.model import Aborted, Finished, Outcome, Progress, PromptPool, Request, Row
from dayzero.bench.ports import Endpoint, RowSink
from dayzero.bench.prompts import requests_of
from dayzero.core.workload import Cell, Workload

_LAG_PERIOD_S = 0.02
_MS_PER_S = 1000
_FEWEST_UNANSWERED = 3


class _EndpointGoneError(Exception):
    """The endpoint answered none of the last requests."""


async def measure(
    workload: Workload,
    pool: PromptPool,
    endpoint: Endpoint,
    sink: RowSink,
    on_progress: Callable[[Progress], None],
) -> Outcome:
    """Measure every cell in order.

    Ends early, with an outcome that says so, when the task is cancelled (Ctrl-C under ``asyncio.run``) and when the
    endpoint is gone: when as many requests in a row as there are streams, and at least three, got no answer at all.
    An error of the sink goes through; the rows before it are in the sink.

    Args:
        workload: What is sent.
        pool: What its prompts are drawn from.
        endpoint: Where it is sent.
        sink: Gets each row before that stream sends its next request.
        on_progress: Called after each row; must return at once.

    Raises:
        InputError: The workload's prompts cannot be written from the pool; nothing was sent.
    """
    plans = tuple((cell, requests_of(workload, cell, pool)) for cell in workload.cells)
    record = _Record(sink, on_progress)
    lag_ms: list[float] = []
    watch = asyncio.create_task(_sample_lag(lag_ms))
    try:
        for cell, requests in plans:
            await _measure_cell(cell, requests, endpoint, record)
    except _EndpointGoneError as gone:
        return Aborted(reason=str(gone), rows=tuple(record.rows), lag_ms=tuple(lag_ms))
    except asyncio.CancelledError:
        _take_back_cancellation()
        reason = "interrupted; requests that were still in flight have no row"
        return Aborted(reason=reason, rows=tuple(record.rows), lag_ms=tuple(lag_ms))
    finally:
        watch.cancel()
    return Finished(rows=tuple(record.rows), lag_ms=tuple(lag_ms))


class _Record:
    """All rows so far, and how many of the last ones had no answer."""

    def __init__(self, sink: RowSink, on_progress: Callable[[Progress], None]) -> None:
        self.rows: list[Row] = []
        self._sink = sink
        self._on_progress = on_progress
        self._done = self._failed = self._unanswered = 0

    def start_cell(self) -> None:
        self._done = self._failed = self._unanswered = 0

    def add(self, row: Row, cell: Cell) -> None:
        self._sink.add(row)
        self.rows.append(row)
        self._done += 1
        self._failed += not row.ok
        self._unanswered = self._unanswered + 1 if row.error and not row.status else 0
        planned = cell.warmup_requests + cell.requests
        self._on_progress(
            Progress(cell=cell.name, phase=row.phase, done=self._done, planned=planned, failed=self._failed)
        )
        if self._unanswered >= max(cell.concurrency, _FEWEST_UNANSWERED):
            raise _EndpointGoneError(f"the endpoint answered none of the last {self._unanswered} requests: {row.error}")


async def _measure_cell(cell: Cell, requests: tuple[Request, ...], endpoint: Endpoint, record: _Record) -> None:
    record.start_cell()
    planned = iter(requests)
    streams = [asyncio.create_task(_stream(cell, planned, endpoint, record)) for _ in range(cell.concurrency)]
    try:
        await asyncio.gather(*streams)
    finally:
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)


async def _stream(cell: Cell, planned: Iterator[Request], endpoint: Endpoint, record: _Record) -> None:
    for request in planned:
        record.add(await endpoint.complete(request), cell)


async def _sample_lag(lag_ms: list[float]) -> None:
    """Note how much later than asked the loop wakes this task: as late as that, a stamp can be."""
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + _LAG_PERIOD_S
        await asyncio.sleep(_LAG_PERIOD_S)
        lag_ms.append(max(clock() - due, 0.0) * _MS_PER_S)


def _take_back_cancellation() -> None:
    """Tell the task that its cancellation was answered, so that the caller's next wait is not cancelled too."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
