"""Write a report as a JSON document, schema ``dayzero/bench/v1``. The format: docs/reference/bench.md."""

import math
from collections.abc import Sequence

from dayzero.bench.metrics import Figure, Summary, percentile
from dayzero.bench.report import CellReport, Report
from dayzero.core.verdict import Undecided

SCHEMA = "dayzero/bench/v1"

_DECIMALS = 6


def of_report(
    report: Report, *, model: str, engine: str, rows_file: str, notes: Sequence[str] = ()
) -> dict[str, object]:
    """Write the whole report.

    Args:
        report: What was measured.
        model: Model that was asked for.
        engine: Engine that answered, ``""`` when none was recognised.
        rows_file: Where the rows stand.
        notes: Notes besides the report's own.
    """
    cells = [_of_cell(cell) for cell in report.cells]
    return {
        "schema": SCHEMA,
        "valid": report.valid,
        "invalid_because": list(report.invalid_because),
        "model": model,
        "engine": engine,
        "seed": report.seed,
        # The figures of a run of one cell stand where a script looks for them first.
        **({"metrics": cells[0]["metrics"]} if len(cells) == 1 else {}),
        "cells": cells,
        "client": {
            "name": report.environment.client,
            "stamps": "user space, monotonic clock, at each piece that the transport hands over",
            "cores": report.environment.cores,
            "load_average_before": round(report.environment.load_before, 2),
            "load_average_after": round(report.environment.load_after, 2),
            "loop_lag_ms": lag(report.lag_ms),
        },
        "notes": [*notes, *report.notes],
        "rows": rows_file,
    }


def lag(ordered: Sequence[float]) -> dict[str, object]:
    """Summarise how late the client's loop woke up, from sorted samples in milliseconds."""
    if not ordered:
        return {"p50": None, "p99": None, "max": None, "n": 0}
    p50, p99 = percentile(ordered, 50), percentile(ordered, 99)
    return {"p50": round(p50, 2), "p99": round(p99, 2), "max": round(ordered[-1], 2), "n": len(ordered)}


def _of_cell(cell: CellReport) -> dict[str, object]:
    plan = cell.cell
    metrics: dict[str, object] = {summary.metric.name: _of_summary(summary) for summary in cell.summaries}
    rates = (("output_tok_s", cell.output_tok_s), ("output_tok_s_per_user", cell.output_tok_s_per_user))
    metrics |= {name: _number(rate) for name, rate in rates}
    return {
        "name": plan.name,
        "concurrency": plan.concurrency,
        "requests": plan.requests,
        "warmup_requests": plan.warmup_requests,
        "input_tokens": plan.input_tokens,
        "output_tokens": plan.output_tokens,
        "measured": cell.measured,
        "failed": cell.failed,
        "in_flight": round(cell.in_flight, 3),
        "metrics": metrics,
        "undecided": {name: rate.reason for name, rate in rates if isinstance(rate, Undecided)},
        "invalid_because": list(cell.invalid_because),
    }


def _of_summary(summary: Summary) -> dict[str, object]:
    undecided = {name: figure.reason for name, figure in summary.figures if isinstance(figure, Undecided)}
    return {
        "unit": summary.metric.unit,
        **{name: _number(figure) for name, figure in summary.figures},
        "n": summary.requests,
        "values": summary.values,
        "undecided": undecided,
    }


def _number(figure: Figure) -> float | None:
    if isinstance(figure, Undecided) or not math.isfinite(figure):
        return None
    return round(figure, _DECIMALS)
