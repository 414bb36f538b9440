"""Requests a second, and those of them that kept their objectives."""

from collections.abc import Sequence
from typing import ClassVar

from dayzero.bench.metrics.e2e import E2e
from dayzero.bench.metrics.full_load import full_load
from dayzero.bench.metrics.interface import Figure, Metric, Rate
from dayzero.bench.metrics.itl import Itl
from dayzero.bench.metrics.tpot import Tpot
from dayzero.bench.metrics.ttft import Ttft
from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell, Slo


class RequestRate(Rate):
    """How many requests a second are answered whole."""

    name: ClassVar = "requests_per_s"
    unit: ClassVar = "1/s"
    formula: ClassVar = "whole requests, each by the part of it that lies in the time of full load / that time"
    stamps: ClassVar = ("sent_ns", "end_ns", "error")

    def figure(self, rows: Sequence[Row], cell: Cell) -> Figure:  # noqa: ARG002  (see Rate)
        """Compute it."""
        return _per_second(rows, ())


class Goodput(Rate):
    """How many requests a second are answered whole and keep every objective of the cell."""

    name: ClassVar = "goodput_per_s"
    unit: ClassVar = "1/s"
    formula: ClassVar = (
        "whole requests that keep every objective, each by the part of it in the time of full load / that time"
    )
    stamps: ClassVar = ("sent_ns", "content_ns", "censored", "end_ns", "usage", "error")

    def figure(self, rows: Sequence[Row], cell: Cell) -> Figure:
        """Compute it."""
        return _per_second(rows, cell.slos)

    def applies(self, cell: Cell) -> bool:
        """Say whether there is an objective."""
        return bool(cell.slos)


class Attainment(Rate):
    """Which share of the measured requests was answered whole and kept every objective of the cell."""

    name: ClassVar = "attainment"
    unit: ClassVar = "1"
    formula: ClassVar = "measured requests that came whole and keep every objective / measured requests"
    stamps: ClassVar = ("sent_ns", "content_ns", "censored", "end_ns", "usage", "error")

    def figure(self, rows: Sequence[Row], cell: Cell) -> Figure:
        """Compute it."""
        measured = [row for row in rows if row.phase == "measured"]
        if not measured:
            return Undecided("no request was measured")
        return sum(keeps(row, cell.slos) for row in measured) / len(measured)

    def applies(self, cell: Cell) -> bool:
        """Say whether there is an objective."""
        return bool(cell.slos)


def keeps(row: Row, slos: Sequence[Slo]) -> bool:
    """Say whether a request certainly keeps every objective: it came whole, and no value can have been above its limit.

    The gaps of ``itl_ms`` have to keep it one by one. A request without a value of the metric does not keep it.
    """
    return row.ok and all(_at_most(row, slo) for slo in slos)


def _at_most(row: Row, slo: Slo) -> bool:
    metric = next(metric for metric in _BOUNDED if metric.name == slo.metric)
    most = metric.most(row)
    return most is not None and most <= slo.limit_ms


def _per_second(rows: Sequence[Row], slos: Sequence[Slo]) -> Figure:
    span = full_load(rows)
    if isinstance(span, Undecided):
        return span
    return sum(span.part(row.sent_ns, row.end_ns) for row in span.rows if keeps(row, slos)) / span.seconds


_BOUNDED: tuple[Metric, ...] = (Ttft(), Itl(), Tpot(), E2e())
