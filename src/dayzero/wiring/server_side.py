"""The server's side of a measurement: what it and its GPUs said meanwhile, and what its log says it decided at the start."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from dayzero.adapters.measuring.server import Server
from dayzero.adapters.openai_http import Wording
from dayzero.adapters.telemetry import Source, recording
from dayzero.bench.model import Outcome, Row
from dayzero.bench.receipt import Dispatched, StartPhase
from dayzero.bench.report import Report
from dayzero.bench.telemetry.exposition import series_names
from dayzero.bench.telemetry.findings import document as telemetry_document
from dayzero.bench.telemetry.findings import findings
from dayzero.bench.telemetry.model import ClientSide, Finding, Recording, Unknown, Window
from dayzero.bench.telemetry.rules import judge
from dayzero.bench.telemetry.window import over, read_recording
from dayzero.bench.validity import Judgement, broken, reasons
from dayzero.core.workload import Cell, ClosedLoop, Workload
from dayzero.wiring.dialects import endpoint_dialect

TELEMETRY: Final = "telemetry.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSide:
    """One cell from the server's side.

    Attributes:
        cell: Its name.
        said: What was said over its measured phase.
        found: What that says about the figures.
        judgements: The rules of validity that it answers.
    """

    cell: str
    said: Window | Unknown
    found: tuple[Finding, ...]
    judgements: tuple[Judgement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What an engine's log says of its start.

    Attributes:
        dispatched: What it decided, beside what was asked.
        start_phases: How long each phase took.
        differences: What came out otherwise than the launch asks, in words.
    """

    dispatched: tuple[Dispatched, ...]
    start_phases: tuple[StartPhase, ...]
    differences: tuple[str, ...]


NOTHING_DECIDED: Final = Decided(dispatched=(), start_phases=(), differences=())


def listen(server: Server, wording: Wording, engine_name: str, folder: Path) -> AbstractContextManager[None]:
    """Record the server's metrics and its GPUs while a block runs.

    Args:
        server: Where it is.
        wording: Writes requests to it.
        engine_name: Which engine was recognised, ``""`` for none.
        folder: Where the recording is kept.

    Raises:
        RemoteError: The recording cannot be created.
    """
    own = endpoint_dialect(engine_name).metric_names if engine_name else {}
    return recording(Source(server=server, wording=wording, series=series_names(own)), folder / TELEMETRY)


def heard(folder: Path, outcome: Outcome, workload: Workload) -> tuple[CellSide, ...]:
    """Sum up a recording over each cell's measured phase."""
    with (folder / TELEMETRY).open("rb") as lines:
        recorded = read_recording(lines)
    return tuple(_heard(recorded, outcome, cell) for cell in workload.cells)


def with_server_side(report: Report, sides: Sequence[CellSide]) -> Report:
    """Add to a report what the server's side says against its figures, and what a reader should know."""
    judgements = tuple(judgement for side in sides for judgement in side.judgements)
    known = dict.fromkeys(
        finding.sentence if finding.rule == "telemetry-absent" else f"{side.cell}: {finding.sentence}"
        for side in sides
        for finding in side.found
        if finding.weight == "note"
    )
    against = {side.cell: broken(side.judgements) for side in sides}
    return replace(
        report,
        cells=tuple(
            replace(cell, invalid_because=(*cell.invalid_because, *against.get(cell.cell.name, ())))
            for cell in report.cells
        ),
        judgements=(*report.judgements, *judgements),
        invalid_because=(*report.invalid_because, *reasons(judgements)),
        notes=(*report.notes, *known),
    )


def said(sides: Sequence[CellSide]) -> dict[str, object]:
    """Write what the server said over each cell; the fields: docs/reference/telemetry.md."""
    return {side.cell: telemetry_document(side.said) for side in sides}


def document(sides: Sequence[CellSide], start: Decided) -> dict[str, object]:
    """Write the server's side for a report; the fields: docs/reference/telemetry.md."""
    server = said(sides)
    if start == NOTHING_DECIDED:
        return {"server": server}
    return {
        "server": server,
        "dispatched": [{**asdict(entry), "differs": entry.differs} for entry in start.dispatched],
        "start_phases": [asdict(phase) for phase in start.start_phases],
    }


def _heard(recorded: Recording, outcome: Outcome, cell: Cell) -> CellSide:
    rows = [row for row in outcome.rows if row.cell == cell.name and row.sent_ns]
    measured = [row for row in rows if row.phase == "measured"]
    if not measured:
        said: Window | Unknown = Unknown("nothing was measured")
        return _side(cell, said, _client(cell, measured, None))
    begin = min(row.sent_ns for row in measured)
    said = over(recorded, begin, max(row.end_ns for row in measured))
    generated = None if isinstance(said, Unknown) else _generated(outcome.rows, said)
    return _side(cell, said, _client(cell, measured, generated))


def _side(cell: Cell, said: Window | Unknown, client: ClientSide) -> CellSide:
    judgements = judge(cell.name, said, client)
    return CellSide(cell=cell.name, said=said, found=findings(said, client), judgements=judgements)


def _client(cell: Cell, measured: Sequence[Row], generated: int | None) -> ClientSide:
    cached = [row.usage.cached_tokens for row in measured if row.usage and row.usage.cached_tokens is not None]
    return ClientSide(
        in_flight=cell.concurrency if isinstance(cell.load, ClosedLoop) and not cell.think_s else 0,
        cached_tokens=sum(cached) if cached else None,
        generated_tokens=generated,
        declares_reuse=cell.shared_prefix_tokens > 0 or cell.turns > 1,
    )


def _generated(rows: Sequence[Row], window: Window) -> int | None:
    """Count the tokens that the client got between the two scrapes: of every request that ran in between, all of them."""
    within = [row for row in rows if row.end_ns >= window.from_ns and row.sent_ns <= window.to_ns]
    if not all(row.usage for row in within):
        return None
    return sum(row.usage.completion_tokens for row in within if row.usage)
