"""Turn rows into figures, and say where they must not be believed."""

from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.bench.metrics import (
    METRICS,
    NO_USAGE,
    TTFT,
    Figure,
    Summary,
    output_tok_s,
    output_tok_s_per_user,
    percentile,
    summarise,
)
from dayzero.bench.model import Aborted, Environment, Outcome, Row
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell, Workload

_CACHED_SHARE = 0.01
_IN_FLIGHT_SHARE = 0.95
_LAG_SHARE = 0.02
_P99 = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReport:
    """What was measured in one cell.

    Attributes:
        cell: The cell as planned.
        measured: Rows of the measured phase.
        failed: How many of them carry an error; they are in no latency figure.
        in_flight: Requests in flight on average while the load was full; see :func:`achieved_in_flight`.
        summaries: One a metric, in the order of ``metrics.METRICS``.
        output_tok_s: Output rate of the cell, in tokens a second.
        output_tok_s_per_user: The same for one stream.
        invalid_because: Why the figures must not be believed; empty when nothing speaks against them.
        notes: What a reader should know besides.
    """

    cell: Cell
    measured: int
    failed: int
    in_flight: float
    summaries: tuple[Summary, ...]
    output_tok_s: Figure
    output_tok_s_per_user: Figure
    invalid_because: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run measured.

    Attributes:
        seed: Seed of the prompts.
        cells: One a cell of the workload, in its order.
        environment: The machine that the client ran on.
        lag_ms: How late the client's own loop woke up, sorted.
        invalid_because: All reasons of all cells and of the run, each with the cell it is about.
        notes: What a reader should know besides.
    """

    seed: int
    cells: tuple[CellReport, ...]
    environment: Environment
    lag_ms: tuple[float, ...]
    invalid_because: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """True when every request was measured and nothing speaks against the figures."""
        return not self.invalid_because


def report(outcome: Outcome, workload: Workload, environment: Environment) -> Report:
    """Compute the figures of a run and judge them."""
    cells = tuple(
        _report_cell(cell, tuple(row for row in outcome.rows if row.cell == cell.name)) for cell in workload.cells
    )
    reasons = [f"the run ended early: {outcome.reason}"] if isinstance(outcome, Aborted) else []
    reasons += [f"{cell.cell.name}: {reason}" for cell in cells for reason in cell.invalid_because]
    notes = [f"{cell.cell.name}: {note}" for cell in cells for note in cell.notes]
    lag_ms = tuple(sorted(outcome.lag_ms))
    notes += _busy(environment) + _late(lag_ms, cells)
    return Report(
        seed=workload.seed,
        cells=cells,
        environment=environment,
        lag_ms=lag_ms,
        invalid_because=tuple(reasons),
        notes=tuple(notes),
    )


def measured_phase(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Leave out the warm-up."""
    return tuple(row for row in rows if row.phase == "measured")


def row_faults(measured: Sequence[Row]) -> tuple[str, ...]:
    """Say what the rows of one cell's measured phase themselves show against their figures.

    Args:
        measured: All rows of the measured phase of one cell.
    """
    whole = tuple(row for row in measured if row.ok)
    found = (_failures(measured), _usage(whole), _prompt_lengths(whole), _output_lengths(whole), _cached(whole))
    return tuple(fault for fault in found if fault)


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
    measured = [row.sent_ns for row in measured_phase(rows) if row.sent_ns]
    if not measured:
        return 0.0
    start = max(spans[min(concurrency, len(spans)) - 1][0], min(measured))
    end = spans[-1][0]
    if end <= start:
        return float(sum(end_ns >= start for _, end_ns in spans))
    return sum(max(min(end_ns, end) - max(sent_ns, start), 0) for sent_ns, end_ns in spans) / (end - start)


def _report_cell(cell: Cell, rows: Sequence[Row]) -> CellReport:
    measured = measured_phase(rows)
    in_flight = achieved_in_flight(rows, cell.concurrency)
    reasons = list(row_faults(measured))
    if len(measured) < cell.requests:
        reasons.insert(0, f"only {len(measured)} of {cell.requests} requests were measured")
    if in_flight < _IN_FLIGHT_SHARE * cell.concurrency:
        reasons.append(f"only {in_flight:.2f} requests were in flight on average, {cell.concurrency} were asked")
    return CellReport(
        cell=cell,
        measured=len(measured),
        failed=sum(not row.ok for row in measured),
        in_flight=in_flight,
        summaries=tuple(summarise(metric, measured) for metric in METRICS),
        output_tok_s=output_tok_s(measured),
        output_tok_s_per_user=output_tok_s_per_user(measured, cell.concurrency),
        invalid_because=tuple(reasons),
        notes=_cache_unknown(measured),
    )


def _failures(measured: Sequence[Row]) -> str:
    errors = [row.error for row in measured if not row.ok]
    if not errors:
        return ""
    most = max(sorted(set(errors)), key=errors.count)
    return f"{len(errors)} of {len(measured)} requests failed and are in no latency figure; most often: {most}"


def _usage(whole: Sequence[Row]) -> str:
    return NO_USAGE if any(row.usage is None for row in whole) else ""


def _prompt_lengths(whole: Sequence[Row]) -> str:
    other = sorted(
        {row.usage.prompt_tokens for row in whole if row.usage and row.usage.prompt_tokens != row.input_tokens}
    )
    count = sum(row.usage is not None and row.usage.prompt_tokens != row.input_tokens for row in whole)
    if not other:
        return ""
    return (
        f"{whole[0].input_tokens} prompt tokens were planned, the server counted {_range(other)} in {_of(count, whole)}"
    )


def _output_lengths(whole: Sequence[Row]) -> str:
    other = sorted(
        {row.usage.completion_tokens for row in whole if row.usage and row.usage.completion_tokens != row.output_tokens}
    )
    count = sum(row.usage is not None and row.usage.completion_tokens != row.output_tokens for row in whole)
    if not other:
        return ""
    return f"{whole[0].output_tokens} output tokens were asked, the server made {_range(other)} in {_of(count, whole)}"


def _cached(whole: Sequence[Row]) -> str:
    counted = [row.usage for row in whole if row.usage]
    prompt = sum(usage.prompt_tokens for usage in counted)
    cached = sum(usage.cached_tokens or 0 for usage in counted)
    if cached <= _CACHED_SHARE * prompt:
        return ""
    return f"{cached} of {prompt} prompt tokens came out of the server's prefix cache; use another seed, or restart the server"


def _cache_unknown(measured: Sequence[Row]) -> tuple[str, ...]:
    silent = any(row.ok and row.usage is not None and row.usage.cached_tokens is None for row in measured)
    return ("the server does not say how many prompt tokens came out of a cache",) if silent else ()


def _busy(environment: Environment) -> list[str]:
    if environment.load_before <= environment.cores:
        return []
    return [
        f"the machine was busy before the run: load average {environment.load_before:.1f} on {environment.cores} cores"
    ]


def _late(lag_ms: Sequence[float], cells: Sequence[CellReport]) -> list[str]:
    """Say so when the client itself was late by more than 2 % of what it measured."""
    first_tokens = [
        figure
        for cell in cells
        for summary in cell.summaries
        for name, figure in summary.figures
        if summary.metric is TTFT and name == "mean" and not isinstance(figure, Undecided)
    ]
    if not lag_ms or not first_tokens or percentile(lag_ms, _P99) <= _LAG_SHARE * min(first_tokens):
        return []
    late = percentile(lag_ms, _P99)
    return [
        f"the client's own loop woke up {late:.1f} ms late at p99, and stamps with it: give the client a core of its own"
    ]


def _range(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _of(count: int, whole: Sequence[Row]) -> str:
    return f"{count} of {len(whole)} requests"
