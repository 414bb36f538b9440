"""Read off a measured window what is compared: its figures, and one value a request for the bootstrap."""

from collections.abc import Sequence

from dayzero.bench.metrics import E2E, METRICS, RATES, TPOT, TTFT, Figure, sample, summarise
from dayzero.bench.model import Row
from dayzero.bench.report import Report
from dayzero.bench.windows.model import Measure, Taken, Window
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell

_ONE_VALUE_A_REQUEST = (TTFT, TPOT, E2E)


def take(window: Window, cell: Cell, rows: Sequence[Row], *, report: Report) -> Taken:
    """Read a window of one cell.

    Args:
        window: Which window it was.
        cell: Its load.
        rows: Its rows, both phases.
        report: What was made of them.
    """
    measured = tuple(row for row in rows if row.phase == "measured")
    figures = _figures(cell, rows, measured)
    return Taken(
        window=window,
        figures={measure: figure for measure, figure in figures.items() if isinstance(figure, float) and figure > 0},
        missing={measure: _why(figure) for measure, figure in figures.items()},
        values={metric.name: tuple(sample(metric, measured).values) for metric in _ONE_VALUE_A_REQUEST},
        invalid_because=report.invalid_because,
        deserves_another=report.deserves_another,
    )


def _figures(cell: Cell, rows: Sequence[Row], measured: Sequence[Row]) -> dict[Measure, Figure]:
    summaries = [summarise(metric, measured) for metric in METRICS]
    latencies = {Measure(one.metric.name, name): figure for one in summaries for name, figure in one.figures}
    return {**latencies, **{Measure(rate.name): rate.figure(rows, cell) for rate in RATES if rate.applies(cell)}}


def _why(figure: Figure) -> str:
    return figure.reason if isinstance(figure, Undecided) else "it is not above 0"
