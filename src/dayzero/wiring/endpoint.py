"""Measure an endpoint over HTTP: look at it, run the cells, make rows of the reads, and report."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from heapq import merge
from pathlib import Path
from typing import Final

import msgspec

from dayzero import __version__
from dayzero.adapters.measuring.client import MeasuringClient
from dayzero.adapters.measuring.cost import Cost, cores, on_core, peak_memory_bytes, total_cpu_s
from dayzero.adapters.measuring.digest import client_sha256
from dayzero.adapters.measuring.records import ReadsFile
from dayzero.adapters.measuring.resume import Earlier, ResumedPlan, look_back, require_same
from dayzero.adapters.measuring.shards import ShardedClient, ShardPlan, Share, share_of
from dayzero.adapters.openai_discovery import Discovered
from dayzero.adapters.row_file import write_lines
from dayzero.bench.model import Aborted, ClientLoad, Completed, Ending, Environment, Outcome, Progress, ReadsHeader, Row
from dayzero.bench.parse import Parsed, parse
from dayzero.bench.plans import plan_of
from dayzero.bench.ports import Plan
from dayzero.bench.report import Report as BenchReport
from dayzero.bench.report import report as report_bench
from dayzero.bench.rows import encode
from dayzero.core.workload import Cell, Workload
from dayzero.wiring.look import READS, ROWS, BenchTarget, Looked, look_at, require_possible
from dayzero.wiring.server_side import NOTHING_DECIDED, CellSide, Decided, heard, listen, with_server_side

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_BLOCK: Final = 1 << 18
_LONGEST_CELL: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMeasurement:
    """What an endpoint was found to be, and what was measured of it.

    Attributes:
        found: What it was found to be.
        workload: What was sent.
        outcome: What was measured.
        report: What was made of it.
        server: What it said of itself meanwhile, a cell each.
        decided: What its log says of its start, where the log is at hand.
    """

    found: Discovered
    workload: Workload
    outcome: Outcome
    report: BenchReport
    server: tuple[CellSide, ...] = ()
    decided: Decided = NOTHING_DECIDED


def measure_endpoint(
    target: BenchTarget, workload: Workload, on_progress: Callable[[Progress], None], *, looked: Looked | None = None
) -> EndpointMeasurement:
    """Look at an endpoint, measure a workload over it, and keep every read and every row.

    Args:
        target: What is measured.
        workload: What is sent.
        on_progress: Called now and then; must return at once.
        looked: What was found at an earlier look, so that it is not looked at again.

    Raises:
        InputError: There are measured rows already, the model has to be named, or the run cannot be resumed.
        RemoteError: The endpoint cannot be reached, or the files cannot be written.
    """
    require_possible(target, workload)
    seen = looked or look_at(target.connection, target.model)
    run = _Run(target, workload, seen)
    before = os.getloadavg()[0]
    with on_core(target.core) as core:
        ending = run.drive(on_progress)
    after = os.getloadavg()[0]
    parsed = _parsed(target, seen.found)
    write_lines(target.folder / ROWS, map(encode, parsed.rows))
    outcome = Outcome(rows=parsed.rows, ending=ending, client=run.load(parsed), holes=parsed.holes)
    environment = Environment(
        client=f"dayzero {__version__}",
        client_sha256=client_sha256(),
        stamps="kernel, SO_TIMESTAMPNS" if parsed.stamped else "user space",
        cores=cores(),
        core=core,
        load_before=before,
        load_after=after,
    )
    server = heard(target.folder, outcome, workload)
    report = with_server_side(report_bench(outcome, workload, environment), server)
    spent = run.load(parsed)  # with what the figures cost
    return EndpointMeasurement(
        found=seen.found,
        workload=workload,
        outcome=replace(outcome, client=spent),
        report=replace(report, client=spent),
        server=server,
    )


def seed_to_resume(folder: Path) -> int:
    """Read the seed of the interrupted run in a folder.

    Raises:
        InputError: There is none.
    """
    sharded = folder / "reads-0.bin"
    return look_back(sharded if sharded.exists() else folder / READS, conversations=False).header.seed


class _Run:
    """One run: its files, its clients, and what they cost."""

    def __init__(self, target: BenchTarget, workload: Workload, looked: Looked) -> None:
        self._target = target
        self._workload = workload
        self._server, self._wording, self._found = looked.server, looked.wording, looked.found
        self._cost = Cost()
        self._connections = self._memory_bytes = 0

    def drive(self, on_progress: Callable[[Progress], None]) -> Ending:
        """Run the cells in order; the first one that ends early ends the run."""
        # Prompts that cannot be written are refused before there is a file.
        plans = [plan_of(self._workload, cell, self._found.pool) for cell in self._workload.cells]
        shards = range(self._target.processes)
        earlier = [self._earlier(shard) for shard in shards]
        with ExitStack() as stack:
            files = [stack.enter_context(self._open(shard, earlier[shard])) for shard in shards]
            stack.enter_context(listen(self._server, self._wording, self._found.engine, self._target.folder))
            if len(files) == 1:
                return self._alone(plans, files[0], earlier[0], on_progress)
            return self._sharded(plans, files, earlier, on_progress)

    def load(self, parsed: Parsed) -> ClientLoad:
        """Say what measuring cost so far."""
        return ClientLoad(
            lag_ms=parsed.lag_ms,
            window_s=self._cost.window_s,
            cpu_s=self._cost.cpu_s,
            waited_s=self._cost.waited_s,
            total_cpu_s=total_cpu_s(),
            memory_bytes=peak_memory_bytes() + self._memory_bytes,
            connections=self._connections,
            clock_moved_ns=parsed.clock_moved_ns,
        )

    def _alone(
        self, plans: list[Plan], file: ReadsFile, earlier: Earlier | None, on_progress: Callable[[Progress], None]
    ) -> Ending:
        client = self._client(file)
        try:
            for cell, plan in zip(self._workload.cells, plans, strict=True):
                ending = client.run(_resumed(plan, earlier, cell), cell=cell, on_progress=on_progress)
                if isinstance(ending, Aborted):
                    return ending
        finally:
            client.close()
            self._cost, self._connections = client.cost, client.connections
        return Completed()

    def _sharded(
        self,
        plans: list[Plan],
        files: list[ReadsFile],
        earlier: list[Earlier | None],
        on_progress: Callable[[Progress], None],
    ) -> Ending:
        client = ShardedClient()
        try:
            for cell, plan in zip(self._workload.cells, plans, strict=True):
                shares = [self._share(cell, plan, shard, files[shard], earlier[shard]) for shard in range(len(files))]
                ending = client.run(shares, cell=cell, on_progress=on_progress)
                if isinstance(ending, Aborted):
                    return ending
        finally:
            self._cost, self._connections, self._memory_bytes = client.cost, client.connections, client.memory_bytes
        return Completed()

    def _share(self, cell: Cell, plan: Plan, shard: int, file: ReadsFile, earlier: Earlier | None) -> Share:
        """Give one process its own; each has a copy of the plan from the fork on."""
        shards = self._target.processes
        own = share_of(cell, shard=shard, shards=shards)
        part = ShardPlan(_resumed(plan, earlier, own), shard=shard, shards=shards)
        return Share(client=self._client(file), plan=part, cell=own)

    def _client(self, file: ReadsFile) -> MeasuringClient:
        timeout_s = self._target.connection.timeout_s
        return MeasuringClient(self._server, self._wording, self._found.how, file, timeout_s=timeout_s)

    def _earlier(self, shard: int) -> Earlier | None:
        if not self._target.resumes:
            return None
        conversations = any(cell.turns > 1 for cell in self._workload.cells)
        earlier = look_back(self._target.reads(shard), conversations=conversations)
        require_same(earlier.header, self._header(shard))
        return earlier

    def _open(self, shard: int, earlier: Earlier | None) -> ReadsFile:
        path = self._target.reads(shard)
        if earlier is not None:
            return ReadsFile.again(path, earlier.whole_bytes)
        return ReadsFile.new(path, self._header(shard))

    def _header(self, shard: int) -> ReadsHeader:
        found = self._found
        pool = msgspec.json.encode((type(found.pool).__name__, found.pool))
        return ReadsHeader(
            server=str(self._server.address),
            model=found.how.model,
            route=found.how.route,
            engine=found.engine,
            seed=self._workload.seed,
            nonce=self._workload.nonce,
            cells=tuple(map(_written_out, self._workload.cells)),
            pool_sha256=hashlib.sha256(pool).hexdigest(),
            boot=_BOOT.read_text().strip(),
            shard=shard,
            shards=self._target.processes,
            client=f"dayzero {__version__}",
        )


def _resumed(plan: Plan, earlier: Earlier | None, cell: Cell) -> Plan:
    return plan if earlier is None else ResumedPlan(plan, earlier, streams=cell.concurrency)


def _written_out(cell: Cell) -> str:
    text = repr(cell)
    if len(text) <= _LONGEST_CELL:
        return text
    return f"{text[:_LONGEST_CELL]}... sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def _parsed(target: BenchTarget, found: Discovered) -> Parsed:
    dialect = found.how.dialect
    each = [
        parse(_pieces(target.reads(shard)), dialect.usage, tokens_without_text=dialect.tokens_without_text)
        for shard in range(target.processes)
    ]
    return each[0] if len(each) == 1 else merged(each)


def merged(each: Sequence[Parsed]) -> Parsed:
    """Make what the processes of one run read into one."""
    rows: Iterable[Row] = merge(*(parsed.rows for parsed in each), key=lambda row: row.sent_ns)
    return replace(
        each[0],
        rows=tuple(rows),
        interrupted=sum(parsed.interrupted for parsed in each),
        holes=tuple(hole for parsed in each for hole in parsed.holes),
        lag_ms=tuple(merge(*(parsed.lag_ms for parsed in each))),
        stamped=all(parsed.stamped for parsed in each),
        clock_moved_ns=max(parsed.clock_moved_ns for parsed in each),
        set_aside=sum(parsed.set_aside for parsed in each),
    )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while piece := stream.read(_BLOCK):
            yield piece
