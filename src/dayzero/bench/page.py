"""What the one-page report of a run shows, ready for a template: the verdict first, then figures, plots and what backs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.bench.foreign.fields import at, items, number, text
from dayzero.bench.metrics import METRICS, RATES, STATISTICS, Definition
from dayzero.bench.model import Row
from dayzero.bench.page_plots import plots
from dayzero.bench.plot import Plot

_SMALL: Final = 100
_DEFINED: Final[tuple[Definition, ...]] = (*METRICS, *RATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One line of a cell's table: a metric's name, its figures as text, why the missing ones are missing, and its sample."""

    name: str
    figures: tuple[str, ...]
    reasons: tuple[str, ...]
    requests: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """One cell: its load in words, its figures, its rate and its plots."""

    name: str
    load: str
    figures: tuple[FigureRow, ...]
    rate: str
    plots: tuple[Plot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """A raw file that the page stands on."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """The whole page.

    Attributes:
        title: Model and engine.
        valid: Whether the figures can be believed.
        reasons: Why not.
        facts: (name, text) of what was measured and with what.
        cells: One view a cell.
        definitions: (metric, unit, formula).
        client: (name, text) of what measuring cost.
        server: (cell, its (name, text)) of what the server and its GPUs said.
        start: (name, text) of what the engine decided when it started, and how long that took.
        notes: What a reader should know besides.
        files: Raw files.
    """

    title: str
    valid: bool
    reasons: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    cells: tuple[CellView, ...]
    definitions: tuple[tuple[str, str, str], ...]
    client: tuple[tuple[str, str], ...]
    server: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    start: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    files: tuple[FileView, ...]


def page(document: Mapping[str, object], rows: Sequence[Row], files: Sequence[FileView]) -> PageView:
    """Arrange a run for the template.

    Args:
        document: Its JSON result.
        rows: All its rows.
        files: The raw files with their digests.
    """
    engine = text(document, "engine")
    return PageView(
        title=text(document, "model") or "unnamed model",
        valid=document.get("valid") is True,
        reasons=_texts(document, "invalid_because"),
        facts=(
            ("Engine", engine or "not recognised"),
            ("Seed of the prompts", _plain(at(document, "seed"))),
            ("Requests", _plain(sum(row.phase == "measured" for row in rows))),
            ("Measured by", text(document, "client", "name")),
        ),
        cells=tuple(_cell(cell, rows) for cell in items(document, "cells")),
        definitions=tuple(
            (known.name, known.unit, known.formula) for known in _DEFINED if known.name in _shown(document)
        ),
        client=_flat(at(document, "client")),
        server=_server(document),
        start=(*map(_decision, items(document, "dispatched")), *map(_phase, items(document, "start_phases"))),
        notes=_texts(document, "notes"),
        files=tuple(files),
    )


def _server(document: Mapping[str, object]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    said = at(document, "server")
    return tuple((cell, _flat(inner)) for cell, inner in said.items()) if isinstance(said, dict) else ()


def _decision(entry: object) -> tuple[str, str]:
    asked = f", asked {text(entry, 'asked')}" if at(entry, "differs") is True else ""
    return text(entry, "what"), f"{text(entry, 'resolved')}{asked} ({text(entry, 'source_line')})"


def _phase(entry: object) -> tuple[str, str]:
    return f"start: {text(entry, 'name')}", f"{_plain(at(entry, 'seconds'))} s"


def _shown(document: Mapping[str, object]) -> frozenset[str]:
    """Name the metrics of all cells."""
    found = (at(cell, "metrics") for cell in items(document, "cells"))
    return frozenset(name for metrics in found if isinstance(metrics, dict) for name in metrics)


def _texts(value: object, name: str) -> tuple[str, ...]:
    return tuple(str(item) for item in items(value, name))


def _flat(value: object, prefix: str = "") -> tuple[tuple[str, str], ...]:
    """Write nested values as (dotted name, text)."""
    if not isinstance(value, dict):
        return ((prefix, _plain(value)),) if prefix else ()
    return tuple(pair for key, inner in value.items() for pair in _flat(inner, f"{prefix} {key}".strip()))


def _plain(value: object) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.3f}".rstrip("0").rstrip(".")
        case _:
            return str(value)


def _cell(cell: object, rows: Sequence[Row]) -> CellView:
    name = text(cell, "name")
    mine = [row for row in rows if row.cell == name]
    rate = number(cell, "metrics", "output_tok_s")
    return CellView(
        name=name,
        load=(
            f"{_plain(at(cell, 'measured'))} measured requests, {_pace(cell)}, "
            f"{_plain(at(cell, 'input_tokens'))} tokens in, {_plain(at(cell, 'output_tokens'))} out"
        ),
        figures=tuple(
            _figures(cell, metric.name) for metric in METRICS if at(cell, "metrics", metric.name) is not None
        ),
        rate="undecided" if rate is None else _number(rate),
        plots=plots(name, mine, streams=number(cell, "concurrency") or 0),
    )


def _pace(cell: object) -> str:
    """Say when requests are sent; a cell without a load is of a closed loop, as all were once."""
    streams = f"{_plain(at(cell, 'concurrency'))} in flight"
    words = {
        "Constant": f"{_plain(at(cell, 'load', 'rate_per_s'))} a second at even distances",
        "Poisson": f"{_plain(at(cell, 'load', 'rate_per_s'))} a second as a Poisson process",
        "Ramp": f"{_plain(at(cell, 'load', 'start_per_s'))} to {_plain(at(cell, 'load', 'end_per_s'))} a second",
        "Replay": "at the times of a trace",
    }
    pace = words.get(text(cell, "load", "kind"))
    return streams if pace is None else f"{pace}, at most {streams}"


def _figures(cell: object, name: str) -> FigureRow:
    values = {statistic: number(cell, "metrics", name, statistic) for statistic in STATISTICS}
    reasons = {
        text(cell, "metrics", name, "undecided", statistic) for statistic, value in values.items() if value is None
    }
    return FigureRow(
        name=name,
        figures=tuple("-" if value is None else _number(value) for value in values.values()),
        reasons=tuple(sorted(reasons - {""})),
        requests=_plain(at(cell, "metrics", name, "n")),
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if value < _SMALL else f"{value:,.1f}"
