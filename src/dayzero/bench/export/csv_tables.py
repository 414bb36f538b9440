"""Two CSV tables: one line a request, and one line a figure."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

from dayzero.bench.export.model import ExportFormat, MeasuredRun
from dayzero.bench.foreign.fields import at, items, number, text
from dayzero.bench.metrics import E2E, RATES, STATISTICS, TPOT, TTFT
from dayzero.bench.model import Row

_PLANNED: Final = ("number", "cell", "phase", "index", "session", "turn", "input_tokens", "output_tokens")
_STAMPS: Final = ("due_ns", "sent_ns", "sent_by_ns", "first_byte_ns", "first_event_ns", "answer_ns", "end_ns", "lag_ns")
_RATE_UNITS: Final = {rate.name: rate.unit for rate in RATES}
_PER_REQUEST: Final = (TTFT, TPOT, E2E)


def request_table(rows: Iterable[Row]) -> bytes:
    """Write one line a request, stamps in nanoseconds as they were taken; an empty field means that there is none."""
    header = (
        *_PLANNED,
        *_STAMPS,
        *(metric.name for metric in _PER_REQUEST),
        *("chunks", "reasoning_chunks", "prompt_tokens", "completion_tokens", "cached_tokens"),
        *("new_connection", "status", "error"),
    )
    return _table([header, *(_request(row) for row in rows)])


def figure_table(run: MeasuredRun) -> bytes:
    """Write one line a figure; one that is undecided has an empty value and its reason."""
    lines: list[Sequence[object]] = [("cell", "metric", "unit", "statistic", "value", "n", "valid", "undecided")]
    for cell in items(run.document, "cells"):
        found = at(cell, "metrics")
        for name in found if isinstance(found, dict) else ():
            lines += _figures(run, cell, name)
    return _table(lines)


def _figures(run: MeasuredRun, cell: object, name: str) -> list[Sequence[object]]:
    metric, valid = at(cell, "metrics", name), str(run.valid).lower()
    if not isinstance(metric, dict):
        reason = text(cell, "undecided", name)
        return [(text(cell, "name"), name, _RATE_UNITS.get(name, ""), "total", number(metric), "", valid, reason)]
    return [
        (
            text(cell, "name"),
            name,
            text(metric, "unit"),
            statistic,
            number(metric, statistic),
            number(metric, "n"),
            valid,
            text(metric, "undecided", statistic),
        )
        for statistic in STATISTICS
        if statistic in metric
    ]


def _request(row: Row) -> tuple[object, ...]:
    usage = row.usage
    return (
        *(getattr(row, name) for name in (*_PLANNED, *_STAMPS)),
        *(next(iter(metric.values(row)), "") if row.ok else "" for metric in _PER_REQUEST),
        len(row.content_ns),
        row.reasoning_chunks,
        *(("", "", "") if usage is None else (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)),
        str(row.new_connection).lower(),
        row.status,
        row.error,
    )


def _table(lines: Iterable[Sequence[object]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue().encode()


FORMAT: Final = ExportFormat(
    name="csv",
    title="requests.csv (one line a request) and figures.csv (one line a figure)",
    figures=False,
    files=lambda run: (("requests.csv", request_table(run.rows)), ("figures.csv", figure_table(run))),
)
