"""Take a figure out of a file of request rows, by the definitions of :mod:`dayzero.bench.metrics`.

Parameters: ``cell``; ``metric`` (a latency by its name, ``output_tok_s``, ``requests``, ``failed``); ``statistic`` (``mean``
or a percentile of a latency, ``total`` of the rate, ``count`` of a count); ``decimals`` (0 to 6), which counts do without.

The schema of a file names its definitions, so that a figure of an old file stays what it was: of ``dayzero/bench-row/v1``
the output rate is taken over the whole measured phase, the falling tail included.
"""

from dayzero.bench.metrics import METRICS, STATISTICS, Figure, output_tok_s, summarise
from dayzero.bench.model import Row
from dayzero.bench.report import measured_phase
from dayzero.bench.rows import SCHEMA_V1, read
from dayzero.bench.validity import row_faults
from dayzero.core.errors import EvidenceError
from dayzero.core.verdict import Undecided
from dayzero.evidence.locator import Locator, WholeFile
from dayzero.evidence.raw_bytes import once

_MOST_DECIMALS = 6
_COUNTS = ("requests", "failed")
_RATE = "output_tok_s"
_NS_PER_S = 1_000_000_000
_HINT = "See docs/reference/bench.md for the metrics and statistics of bench-rows."


class BenchRows:
    """Reads the rows of one cell's measured phase. Implements ``extractors.interface.Extractor``."""

    name = "bench-rows"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the figure as it is printed.

        Raises:
            EvidenceError: The file is cut off, the cell is not in it, its rows speak against their figures (failures, no
                usage, other lengths than planned, cached prompts), it was interrupted and the figure is a rate, or the sample
                cannot certify the statistic.
        """
        if not isinstance(locator, WholeFile):
            raise EvidenceError("bench-rows reads the whole file", hint="Locate the claim in the file as a whole.")
        asked = _Asked(parameters)
        content = once(raw, read)
        if content.set_aside:
            raise EvidenceError("the last row is cut off: the run ended early", hint="Measure again.")
        of_cell = tuple(row for row in content.rows if row.cell == asked.cell)
        rows = measured_phase(of_cell)
        if not rows:
            raise EvidenceError(f"no measured row of cell {asked.cell!r}", hint=_HINT)
        if asked.metric in _COUNTS:
            return _count(asked, rows)
        faults = row_faults(rows)
        if faults:
            raise EvidenceError(f"cell {asked.cell!r} carries no figure: {'; '.join(faults)}", hint="Measure again.")
        figure = _rate(asked, of_cell, content.schema) if asked.metric == _RATE else _latency(asked, rows)
        if isinstance(figure, Undecided):
            raise EvidenceError(
                f"cell {asked.cell!r}, {asked.metric} {asked.statistic}: {figure.reason}", hint="Measure more."
            )
        return f"{figure:.{asked.decimals}f}"


class _Asked:
    """The parameters, checked."""

    def __init__(self, parameters: tuple[tuple[str, str], ...]) -> None:
        given = dict(parameters)
        self.cell = _take(given, "cell")
        self.metric = _take(given, "metric")
        self.statistic = _take(given, "statistic")
        self.decimals = 0 if self.metric in _COUNTS else _decimals(_take(given, "decimals"))
        given.pop("decimals", None)
        if given or len(parameters) != len(dict(parameters)):
            unknown = ", ".join(given) or "a parameter given twice"
            raise EvidenceError(f"bench-rows does not know what to do with {unknown}", hint=_HINT)


def _take(given: dict[str, str], name: str) -> str:
    if name not in given:
        raise EvidenceError(f"bench-rows needs the parameter {name!r}", hint=_HINT)
    return given.pop(name)


def _decimals(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MOST_DECIMALS):
        raise EvidenceError(f"decimals must be 0 to {_MOST_DECIMALS}, not {text!r}", hint=_HINT)
    return int(text)


def _count(asked: _Asked, rows: tuple[Row, ...]) -> str:
    if asked.statistic != "count":
        raise EvidenceError(f"{asked.metric} has no {asked.statistic!r}, only a count", hint=_HINT)
    return str(len(rows) if asked.metric == "requests" else sum(not row.ok for row in rows))


def _rate(asked: _Asked, rows: tuple[Row, ...], schema: str) -> Figure:
    if asked.statistic != "total":
        raise EvidenceError(f"{_RATE} has no {asked.statistic!r}, only a total", hint=_HINT)
    if hole := _hole(rows):
        return hole
    return _whole_phase_rate(measured_phase(rows)) if schema == SCHEMA_V1 else output_tok_s(rows)


def _hole(rows: tuple[Row, ...]) -> Undecided | None:
    """Say that no client ran for a while between two requests of the cell, where that is so."""
    first_ns = min(row.sent_ns for row in rows)
    away_ns = sum(row.hole_ns for row in rows if row.sent_ns > first_ns)
    if not away_ns:
        return None
    return Undecided(f"the run was interrupted for {away_ns / _NS_PER_S:.1f} s and resumed, so it has no rate")


def _whole_phase_rate(measured: tuple[Row, ...]) -> Figure:
    """Compute the rate as it was defined for rows of schema v1: all tokens, from the first request to the last answer."""
    elapsed_ns = max(row.end_ns for row in measured) - min(row.sent_ns for row in measured)
    tokens = sum(row.usage.completion_tokens for row in measured if row.usage)
    return tokens / (elapsed_ns / _NS_PER_S) if elapsed_ns > 0 else Undecided("no time passed")


def _latency(asked: _Asked, rows: tuple[Row, ...]) -> Figure:
    metric = next((metric for metric in METRICS if metric.name == asked.metric), None)
    if metric is None or asked.statistic not in STATISTICS:
        raise EvidenceError(f"bench-rows knows no {asked.statistic!r} of {asked.metric!r}", hint=_HINT)
    return dict(summarise(metric, rows).figures)[asked.statistic]


EXTRACTOR = BenchRows()
