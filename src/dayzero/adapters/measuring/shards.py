"""Several processes, where one core is not enough: each has a share of the streams and of the requests.

One process keeps up with some tens of thousands of events a second (see docs/reference/bench.md); a run that says that its
own lag is too large, on a machine with cores to spare, is what this is for.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from dayzero.adapters.measuring.client import INTERRUPTED, MeasuringClient
from dayzero.adapters.measuring.cost import Cost, peak_memory_bytes
from dayzero.bench.model import Aborted, Completed, Ending, Exhausted, Phase, Progress, Request, Wait
from dayzero.bench.ports import Plan
from dayzero.core.workload import Cell

_BLOCK: Final = 1 << 16
_LOOK_S: Final = 0.1
_ENDS: Final = (signal.SIGINT, signal.SIGTERM)


class ShardPlan:
    """The share that one process has of a plan: whole conversations. Implements ``bench.ports.Plan``."""

    def __init__(self, plan: Plan, *, shard: int, shards: int) -> None:
        self._plan = plan
        self._shard = shard
        self._shards = shards

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        """Give the next request of this share; those of others end at once, here."""
        while True:
            step = self._plan.take(elapsed_ns)
            if not isinstance(step, Request) or step.session % self._shards == self._shard:
                return step
            self._plan.ended(step, elapsed_ns, str)

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:
        """Pass it on."""
        self._plan.ended(request, elapsed_ns, reply)


def share_of(cell: Cell, *, shard: int, shards: int) -> Cell:
    """Give the cell as one process sees it: with its share of the streams."""
    streams = cell.concurrency // shards + (shard < cell.concurrency % shards)
    return replace(cell, concurrency=streams)


class _Told(msgspec.Struct, frozen=True):
    """What a child says: how far it is, and at its end what it cost."""

    phase: Phase
    done: int
    failed: int
    in_flight: int = 0
    received_bytes: int = 0
    last: bool = False
    reason: str | None = None
    cost: Cost = Cost()
    connections: int = 0
    memory_bytes: int = 0


@dataclass(slots=True)
class _Child:
    """A process, and what it said last."""

    process: int
    pipe: int
    told: _Told
    rest: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one process does: its client, and its part of the plan."""

    client: MeasuringClient
    plan: Plan
    cell: Cell


class ShardedClient:
    """Runs each cell in processes of its own. Implements ``bench.ports.Client``, but for the plan, of which there are several.

    Attributes:
        cost: What the windows cost so far: processor time of all, time and waits of the slowest.
        connections: Connections that were opened.
        memory_bytes: Largest resident sets of the processes of a cell, added up.
    """

    def __init__(self) -> None:
        self.cost = Cost()
        self.connections = 0
        self.memory_bytes = 0

    def run(self, shares: Sequence[Share], *, cell: Cell, on_progress: Callable[[Progress], None]) -> Ending:
        """Drive one cell to its end.

        Args:
            shares: One a process; when this returns their clients are closed, and their files are with the operating system.
            cell: The cell as a whole.
            on_progress: Called now and then.
        """
        children = [_begin(share) for share in shares]
        heard: list[int] = []
        kept = {number: signal.signal(number, lambda *_: heard.append(0)) for number in _ENDS}
        try:
            self._watch(children, cell, on_progress, heard)
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
            _end(children)
            for share in shares:
                share.client.close()
        told = [child.told for child in children]
        self.cost += Cost(
            window_s=max(each.cost.window_s for each in told),
            cpu_s=sum(each.cost.cpu_s for each in told),
            waited_s=max(each.cost.waited_s for each in told),
        )
        self.connections += sum(each.connections for each in told)
        self.memory_bytes = max(self.memory_bytes, sum(each.memory_bytes for each in told))
        return _ending(told)

    def _watch(
        self, children: Sequence[_Child], cell: Cell, on_progress: Callable[[Progress], None], heard: list[int]
    ) -> None:
        """Listen to the children until all have ended; an interruption, or the end of one before its time, ends all."""
        open_ones = {child.pipe: child for child in children}
        told_s = time.monotonic()
        while open_ones:
            ready, _, _ = select.select(list(open_ones), (), (), _LOOK_S)
            for pipe in ready:
                if not _hear(open_ones[pipe]):
                    del open_ones[pipe]
            lost = any(child.told.reason or (child.pipe not in open_ones and not child.told.last) for child in children)
            if heard or lost:  # said again until it is heard: outside of its window, a child is deaf
                for child in open_ones.values():
                    os.kill(child.process, signal.SIGTERM)
            if time.monotonic() >= told_s + _LOOK_S or not open_ones:
                told_s = time.monotonic()
                on_progress(_progress(children, cell))


def _begin(share: Share) -> _Child:
    reader, writer = os.pipe()
    sys.stdout.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        os.close(writer)
        return _Child(process, reader, _Told("warmup" if share.cell.warmup_requests else "measured", 0, 0))
    code = 1
    try:
        os.close(reader)
        for number in _ENDS:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        _measure(share, writer)
        code = 0
    finally:
        os._exit(code)  # whatever the parent has open or registered is the parent's


def _measure(share: Share, writer: int) -> None:
    last = _Told("measured", 0, 0)

    def tell(told: _Told) -> None:
        os.write(writer, msgspec.json.encode(told) + b"\n")

    def on_progress(progress: Progress) -> None:
        nonlocal last
        last = _Told(progress.phase, progress.done, progress.failed, progress.in_flight, progress.received_bytes)
        tell(last)

    ending = share.client.run(share.plan, cell=share.cell, on_progress=on_progress)
    tell(
        _Told(
            last.phase,
            last.done,
            last.failed,
            last=True,
            reason=ending.reason if isinstance(ending, Aborted) else None,
            cost=share.client.cost,
            connections=share.client.connections,
            memory_bytes=peak_memory_bytes(),
        )
    )


def _hear(child: _Child) -> bool:
    """Take in what a child says; false when it has said everything."""
    block = os.read(child.pipe, _BLOCK)
    *lines, child.rest = (child.rest + block).split(b"\n")
    if lines:
        child.told = msgspec.json.decode(lines[-1], type=_Told)
    return bool(block)


def _end(children: Sequence[_Child]) -> None:
    for child in children:
        os.close(child.pipe)
    for child in children:
        os.waitpid(child.process, 0)


def _progress(children: Sequence[_Child], cell: Cell) -> Progress:
    phases = {child.told.phase for child in children}
    return Progress(
        cell=cell.name,
        phase="warmup" if phases == {"warmup"} else "measured",
        done=sum(child.told.done for child in children),
        planned=cell.size,
        failed=sum(child.told.failed for child in children),
        in_flight=sum(child.told.in_flight for child in children),
        received_bytes=sum(child.told.received_bytes for child in children),
    )


def _ending(told: Sequence[_Told]) -> Ending:
    if not all(each.last for each in told):
        return Aborted(reason="a process of the client died")
    reasons = [each.reason for each in told if each.reason is not None]
    own = [reason for reason in reasons if reason != INTERRUPTED]
    return Aborted(reason=(own or reasons)[0]) if reasons else Completed()
