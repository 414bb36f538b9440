"""What a rule of validity is. The rules stand in :mod:`dayzero.bench.row_rules`, ``client_rules`` and ``steadiness``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from dayzero.bench.metrics import TTFT, percentile, sample
from dayzero.bench.metrics.arrival import NS_PER_S
from dayzero.bench.model import ClientLoad, Ending, Row
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.core.workload import Cell

_HALF = 50


@dataclass(frozen=True, kw_only=True)
class CellCase:
    """One cell before the rules.

    Attributes:
        cell: As planned.
        rows: Its rows, both phases.
        client: What measuring cost.
        error_budget: Share of the measured requests that may fail.
        holes: (from, until) ns in which no client ran, of the whole run.
    """

    cell: Cell
    rows: tuple[Row, ...]
    client: ClientLoad
    error_budget: float = 0.0
    holes: tuple[tuple[int, int], ...] = ()

    @cached_property
    def hole(self) -> Undecided | None:
        """Why nothing can be said of the load over time: the cell was interrupted, and resumed later."""
        sent = [row.sent_ns for row in self.rows if row.sent_ns]
        inside = [until - since for since, until in self.holes if sent and since < max(sent) and until > min(sent)]
        if not inside:
            return None
        return Undecided(
            f"the run was interrupted for {max(inside) / NS_PER_S:.1f} s: rates and in flight are undecided"
        )

    @cached_property
    def measured(self) -> tuple[Row, ...]:
        """The measured phase."""
        return tuple(row for row in self.rows if row.phase == "measured")

    @cached_property
    def whole(self) -> tuple[Row, ...]:
        """Those of them that came whole."""
        return tuple(row for row in self.measured if row.ok)

    @cached_property
    def median_ttft_ms(self) -> float | None:
        """Median time to the first token, certified or not: bounds of the client hang on it, no figure does."""
        values = sample(TTFT, self.measured).values
        return percentile(values, _HALF) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """The run as a whole before the rules.

    Attributes:
        ending: How it ended.
        client: What measuring cost.
        cells: Each cell.
    """

    ending: Ending
    client: ClientLoad
    cells: tuple[CellCase, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one rule found.

    Attributes:
        measured: The value that was held against the bound, with its unit; ``""`` where there is none.
        bound: The bound that held here, where the rule's own depends on the cell; ``""`` for the rule's own.
        verdict: Proven: kept. Refuted: the figures must not be believed. Undecided: it cannot be told, and is said.
    """

    measured: str
    verdict: Verdict
    bound: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRule:
    """A rule over one cell.

    Attributes:
        id: Its name.
        sentence: What it asks.
        bound: Where it ends, in words.
        check: Answers it; ``None`` where it is not asked under this load.
    """

    id: str
    sentence: str
    bound: str
    check: Callable[[CellCase], Finding | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRule:
    """A rule over the whole run; fields as of :class:`CellRule`."""

    id: str
    sentence: str
    bound: str
    check: Callable[[RunCase], Finding | None]


Rule: TypeAlias = CellRule | RunRule


def kept(measured: str, *, bound: str = "") -> Finding:
    """Say that the bound is kept."""
    return Finding(measured=measured, verdict=Proven("kept"), bound=bound)


def broken(measured: str, reason: str, *, bound: str = "") -> Finding:
    """Say that the figures must not be believed."""
    return Finding(measured=measured, verdict=Refuted(reason), bound=bound)


def untold(reason: str) -> Finding:
    """Say that it cannot be told."""
    return Finding(measured="", verdict=Undecided(reason))
