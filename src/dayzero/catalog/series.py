"""The measured grid as series to plot: requests in flight to the right, the metric upwards. Only numbers that are shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dayzero.catalog.model import Card, Shown
from dayzero.core.workload import Cell, ClosedLoop

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_METRICS: Mapping[str, str] = {
    "output_tok_s": "output rate",
    "ttft_ms": "time to first token",
    "itl_ms": "gap between tokens",
    "tpot_ms": "time per output token",
    "e2e_ms": "whole request",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One number.

    Attributes:
        x: Requests in flight.
        y: The value, for the position only; ``text`` is what is printed.
        text: The value with its unit.
        slug: The claim.
        cell: Name of the cell.
    """

    x: int
    y: float
    text: str
    slug: str
    cell: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric over the cells that differ in nothing but in how many requests are in flight.

    Attributes:
        metric: Name of the metric, as the extractor takes it (``ttft_ms``).
        statistic: Which statistic, in words.
        label: What it is, in words (``time to first token, 50th percentile``).
        unit: Its unit.
        load: What the cells have in common, in words.
        points: At least one, by ``x``.
    """

    metric: str
    statistic: str
    label: str
    unit: str
    load: str
    points: tuple[Point, ...]


def series_of(card: Card) -> tuple[Series, ...]:
    """Gather what can be plotted: numbers of a closed loop that are shown, in the order of the definition."""
    cells = {cell.name: cell for cell in card.package.workload.cells}
    found: dict[tuple[str, str, str, Cell], list[Point]] = {}
    for measurement in card.measurements:
        asked = dict(measurement.ref.parameters)
        cell, figure = cells.get(asked.get("cell", "")), measurement.figure
        if cell is None or not isinstance(figure, Shown) or not isinstance(cell.load, ClosedLoop) or cell.turns > 1:
            continue
        if "metric" not in asked or not _NUMBER.fullmatch(figure.claim.value):
            continue
        point = Point(
            x=cell.concurrency,
            y=float(figure.claim.value),
            text=figure.claim.text,
            slug=measurement.slug,
            cell=cell.name,
        )
        common = replace(cell, name="", concurrency=1, requests=1, warmup_requests=0)
        key = (asked["metric"], measurement.statistic, figure.claim.unit, common)
        found.setdefault(key, []).append(point)
    return tuple(_series(key, points) for key, points in found.items())


def _series(key: tuple[str, str, str, Cell], points: list[Point]) -> Series:
    metric, statistic, unit, cell = key
    name = _METRICS.get(metric, metric)
    return Series(
        metric=metric,
        statistic=statistic,
        label=f"{name}, {statistic}" if statistic else name,
        unit=unit,
        load=f"{cell.input_tokens} prompt tokens and {cell.output_tokens} output tokens each",
        points=tuple(sorted(points, key=lambda point: (point.x, point.cell))),
    )
