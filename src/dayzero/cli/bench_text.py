"""What ``dayzero bench`` prints for people."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dayzero.bench.answer import printable
from dayzero.bench.metrics import CHUNK_GAP, ITL, Figure, Summary, minimum_sample, percentile
from dayzero.bench.model import Aborted
from dayzero.bench.report import CellReport, Report
from dayzero.core.verdict import Undecided
from dayzero.core.workload import ClosedLoop
from dayzero.wiring.endpoint import EndpointMeasurement

_SMALL = 100
_MIB = 1 << 20
_TOO_SMALL = "n too small"
_MEAN = "mean"


def print_text(measured: EndpointMeasurement, rows_file: Path) -> None:
    """Print what was measured, and whether to believe it."""
    print("\n".join(_lines(measured, rows_file)))


def _lines(measured: EndpointMeasurement, rows_file: Path) -> Iterator[str]:
    report, found = measured.report, measured.found
    engine = found.engine or "engine not recognised"
    yield f"{printable(found.how.model)} ({engine}), {found.how.route}, seed {report.seed}"
    for cell in report.cells:
        yield from cell_lines(cell)
    yield from client_lines(report)
    for note in (*found.notes, *report.notes):
        yield f"note: {note}"
    if measured.outcome.rows:
        yield f"rows: {rows_file}"
    if report.valid:
        yield "valid: every request was measured, nothing speaks against the figures"
        return
    yield "NOT VALID; do not believe these figures:"
    for reason in report.invalid_because:
        yield f"  {reason}"
    if isinstance(measured.outcome.ending, Aborted):
        yield f"what was measured is kept; --resume -o {rows_file.parent} goes on with it"


def cell_lines(cell: CellReport) -> Iterator[str]:
    """Write the figures of one cell as a table."""
    plan = cell.cell
    many = "in flight" if isinstance(plan.load, ClosedLoop) else "in flight at most"
    yield (
        f"{plan.name}: {cell.measured} requests, {plan.concurrency} {many}, "
        f"{plan.input_tokens} tokens in, {plan.output_tokens} out"
    )
    reasons: dict[str, list[str]] = {}
    summaries = shown(cell)
    statistics = [name for name, _ in cell.summaries[0].figures] if cell.summaries else []
    rows = [("", *statistics, "requests")]
    for summary in summaries:
        figures = [_figure(figure, summary.metric.name, reasons) for _, figure in summary.figures]
        rows.append((summary.metric.name, *figures, str(summary.requests)))
    yield from _aligned(rows)
    rates = ", ".join(f"{rate.name} {_figure(figure, rate.name, reasons)}" for rate, figure in cell.rates)
    yield f"  {rates}; failed {cell.failed}; in flight on average {cell.in_flight:.2f}"
    if reasons.pop(_TOO_SMALL, None) is not None:
        needed = ", ".join(f"{name} {minimum_sample(float(name[1:]))}" for name in statistics if name != _MEAN)
        yield f"  {_TOO_SMALL}: requests needed for a percentile to be certified: {needed}"
    for reason, names in reasons.items():
        yield f"  -: {reason} ({', '.join(names)})"


def shown(cell: CellReport) -> tuple[Summary, ...]:
    """Leave out the gaps between chunks where they are the gaps between tokens."""
    means = (figure for each in cell.summaries if each.metric is ITL for name, figure in each.figures if name == _MEAN)
    same = not any(isinstance(figure, Undecided) for figure in means)
    return tuple(summary for summary in cell.summaries if not (same and summary.metric is CHUNK_GAP))


def client_lines(report: Report) -> Iterator[str]:
    """Say what the figures were measured with, and what that cost."""
    environment, client = report.environment, report.client
    if client.lag_ms:
        median, most = (f"{percentile(client.lag_ms, p):.2f} ms" for p in (50, 99))
        stamped = environment.stamps.startswith("kernel")
        late = f"read {median} after the kernel" if stamped else f"read at most {median} after it came"
        late += f" at the median, {most} at p99"
    else:
        late = "lag unknown"
    kept = "" if environment.core is None else f", kept on core {environment.core} apart from the engine"
    yield (
        f"client: {environment.client}, stamps: {environment.stamps}; {late}; "
        f"{client.cpu_s:.2f} CPU-s in {client.window_s:.2f} s, {client.total_cpu_s:.2f} in all, "
        f"{client.memory_bytes / _MIB:.0f} MiB; {environment.cores} cores{kept}, "
        f"load average {environment.load_before:.2f} before, {environment.load_after:.2f} after"
    )


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *figures in rows:
        cells = (figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True))
        yield f"  {name.ljust(widths[0])}  {'  '.join(cells)}".rstrip()


def _figure(figure: Figure, name: str, reasons: dict[str, list[str]]) -> str:
    if isinstance(figure, Undecided):
        if figure.reason.startswith(_TOO_SMALL):
            reasons.setdefault(_TOO_SMALL, [])
            return _TOO_SMALL
        names = reasons.setdefault(figure.reason, [])
        names += [] if name in names else [name]
        return "-"
    return f"{figure:.2f}" if figure < _SMALL else f"{figure:.1f}"
