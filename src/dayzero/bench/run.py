"""Drive a workload: a closed loop of streams per cell, every row to the sink as it comes.

Warm-up and measured requests are handed over without a pause: each stream takes the next planned request as soon as it has
its answer. Draining between the phases would start the measured one with a burst that the warm-up was there to avoid.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from dayzero.bench.model import Aborted, Finished, Outcome, Progress, PromptPool, Request, Row
from dayzero.bench.ports import Endpoint, RowSink
from dayzero.bench.prompts import requests_of
from dayzero.core.workload import Cell, Workload

_LAG_PERIOD_S = 0.02
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
        sink: Gets each row before the next request of that stream is sent.
        on_progress: Called after each row; must return at once.

    Raises:
        InputError: The workload's prompts cannot be written from the pool; nothing was sent.
    """
    plans = tuple((cell, requests_of(workload, cell, pool)) for cell in workload.cells)
    rows: list[Row] = []
    lag_ms: list[float] = []
    try:
        async with _sampled_lag(lag_ms):
            for cell, requests in plans:
                loop = _ClosedLoop(cell, requests, endpoint)
                async with contextlib.aclosing(loop.rows()) as arriving:
                    async for row, progress in arriving:
                        sink.add(row)
                        rows.append(row)
                        on_progress(progress)
    except _EndpointGoneError as gone:
        return Aborted(reason=str(gone), rows=tuple(rows), lag_ms=tuple(lag_ms))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        return Aborted(reason="interrupted; answers that had not come yet have no row", rows=tuple(rows), lag_ms=tuple(lag_ms))
    return Finished(rows=tuple(rows), lag_ms=tuple(lag_ms))
