"""Turn rows into figures, and say where they must not be believed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.bench.metrics import METRICS, RATES, Figure, Rate, Summary, achieved_in_flight, summarise
from dayzero.bench.model import ClientLoad, Environment, Outcome, Row
from dayzero.bench.rule import CellCase, RunCase
from dayzero.bench.validity import Judgement, broken, judge, notes, only_the_client, reasons
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell, Workload

_SHARE: Final = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReport:
    """What was measured in one cell.

    Attributes:
        cell: The cell as planned.
        measured: Rows of the measured phase.
        failed: How many of them carry an error; they are in no latency figure.
        in_flight: Requests in flight on average while the load was full; see :func:`metrics.achieved_in_flight`.
        summaries: One for each of ``metrics.METRICS`` that has a meaning under this load, in their order.
        rates: One figure for each of ``metrics.RATES`` that has one.
        invalid_because: Why the figures must not be believed; empty when nothing speaks against them.
    """

    cell: Cell
    measured: int
    failed: int
    in_flight: float
    summaries: tuple[Summary, ...]
    rates: tuple[tuple[Rate, Figure], ...]
    invalid_because: tuple[str, ...]

    @property
    def output_tok_s(self) -> Figure:
        """Output rate of the cell, in tokens a second."""
        return self._rate("output_tok_s")

    @property
    def output_tok_s_per_user(self) -> Figure:
        """The same for one user."""
        return self._rate("output_tok_s_per_user")

    def _rate(self, name: str) -> Figure:
        found = (figure for rate, figure in self.rates if rate.name == name)
        return next(found, Undecided(f"{name} was not computed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run measured.

    Attributes:
        seed: Seed of the prompts.
        cells: One a cell of the workload, in its order.
        environment: The machine that the client ran on.
        client: What measuring cost.
        tokens: Tokens that the server generated for it, as it counts them, both phases; 0 where the cost is not of all of them.
        judgements: Every rule of validity that was asked, with what it found.
        invalid_because: All reasons of all cells and of the run, each with the cell it is about.
        notes: What a reader should know besides.
    """

    seed: int
    cells: tuple[CellReport, ...]
    environment: Environment
    client: ClientLoad
    tokens: int
    judgements: tuple[Judgement, ...]
    invalid_because: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """True when every request was measured and nothing speaks against the figures."""
        return not self.invalid_because

    @property
    def deserves_another(self) -> bool:
        """True when it is not valid, and for faults of the client or its machine alone."""
        return only_the_client(self.judgements)


def report(outcome: Outcome, workload: Workload, environment: Environment, *, error_budget: float = 0.0) -> Report:
    """Compute the figures of a run and judge them.

    Args:
        outcome: What it brought.
        workload: What was planned.
        environment: Where the client ran.
        error_budget: Share of the measured requests that may fail.
    """
    cases = tuple(
        CellCase(
            cell=cell,
            rows=tuple(row for row in outcome.rows if row.cell == cell.name),
            client=outcome.client,
            error_budget=error_budget,
            holes=outcome.holes,
        )
        for cell in workload.cells
    )
    judgements = judge(RunCase(ending=outcome.ending, client=outcome.client, cells=cases))
    reported = tuple(_report_cell(case, judgements) for case in cases)
    return Report(
        seed=workload.seed,
        cells=reported,
        environment=environment,
        client=outcome.client,
        # Of a run that was resumed only the last process is known, and its cost is none of all tokens.
        tokens=0 if outcome.holes else sum(row.usage.completion_tokens for row in outcome.rows if row.usage),
        judgements=judgements,
        invalid_because=reasons(judgements),
        notes=(*notes(judgements, environment), *_besides(outcome, reported)),
    )


def _besides(outcome: Outcome, cells: Sequence[CellReport]) -> Iterator[str]:
    if outcome.holes:
        yield "the run was resumed: what the client cost is what its last process cost, and not per token"
    for cell in cells:
        for summary in cell.summaries:
            if summary.left_out and summary.requests:
                yield (
                    f"{cell.cell.name}: {summary.left_out} of {summary.left_out + summary.requests} requests are not in "
                    f"{summary.metric.name}: a chunk of theirs holds several tokens, or none"
                )


def measured_phase(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Leave out the warm-up."""
    return tuple(row for row in rows if row.phase == "measured")


def _rate(rate: Rate, case: CellCase) -> Figure:
    over_time = rate.unit != _SHARE
    return case.hole if case.hole and over_time else rate.figure(case.rows, case.cell)


def _report_cell(case: CellCase, judgements: Sequence[Judgement]) -> CellReport:
    cell, measured = case.cell, case.measured
    own = [judgement for judgement in judgements if judgement.cell == cell.name]
    return CellReport(
        cell=cell,
        measured=len(measured),
        failed=sum(not row.ok for row in measured),
        in_flight=achieved_in_flight(case.rows, cell.concurrency),
        summaries=tuple(summarise(metric, measured) for metric in METRICS if metric.applies(measured, cell)),
        rates=tuple((rate, _rate(rate, case)) for rate in RATES if rate.applies(cell)),
        invalid_because=broken(own),
    )
