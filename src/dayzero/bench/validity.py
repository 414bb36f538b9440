"""Whether the figures of a run may be believed: every rule, what it found, and the reasons against.

A rule that is broken makes the run not valid. One that cannot be answered is said as a note: it never passes in silence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.bench import client_rules, row_rules, steadiness
from dayzero.bench.model import ClientLoad, Environment, Row
from dayzero.bench.rule import CellCase, CellRule, Finding, Rule, RunCase, RunRule
from dayzero.core.verdict import Refuted, Undecided, Verdict
from dayzero.core.workload import Cell

RUN_RULES: Final[tuple[RunRule, ...]] = (client_rules.ENDED, client_rules.WAITED, client_rules.CLOCK)
CELL_RULES: Final[tuple[CellRule, ...]] = (
    row_rules.COMPLETE,
    row_rules.FAILURES,
    row_rules.USAGE,
    row_rules.PROMPT_LENGTH,
    row_rules.OUTPUT_LENGTH,
    row_rules.CACHE,
    row_rules.IN_FLIGHT,
    client_rules.DISPATCH,
    client_rules.LAG,
    client_rules.CENSORED,
    client_rules.APART,
    steadiness.STEADY_TTFT,
    steadiness.STEADY_RATE,
)
RULES: Final[tuple[Rule, ...]] = (*RUN_RULES, *CELL_RULES)

_OF_THE_CLIENT: Final = frozenset(rule.id for rule in (client_rules.WAITED, client_rules.CLOCK, client_rules.LAG))
_NOBODY: Final = ClientLoad(
    lag_ms=(),
    window_s=0,
    cpu_s=0,
    waited_s=0,
    total_cpu_s=0,
    memory_bytes=0,
    connections=0,
    clock_moved_ns=0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One rule held against one cell, or against the run.

    Attributes:
        rule: Name of the rule.
        cell: Name of the cell, ``""`` for the run.
        sentence: What was asked.
        bound: The bound.
        measured: What was held against it.
        verdict: The answer.
    """

    rule: str
    cell: str
    sentence: str
    bound: str
    measured: str
    verdict: Verdict

    @property
    def reason(self) -> str:
        """Its reason, with the cell that it is about."""
        return f"{self.cell}: {self.verdict.reason}" if self.cell else self.verdict.reason


def judge(case: RunCase) -> tuple[Judgement, ...]:
    """Hold every rule that is asked against a run and its cells: the run's own first."""
    return tuple(_judgements(case))


def reasons(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """Give the reasons against the figures."""
    return tuple(judgement.reason for judgement in judgements if isinstance(judgement.verdict, Refuted))


def broken(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """Give the reasons against the figures of one cell, which need not be told which it is."""
    return tuple(judgement.verdict.reason for judgement in judgements if isinstance(judgement.verdict, Refuted))


def only_the_client(judgements: Sequence[Judgement]) -> bool:
    """Say whether a run is not valid for faults of the client or its machine alone, so that another one may be.

    Reads that held several arrivals are such a fault only beside a late client: a server that writes in bursts makes them too.
    """
    against = {judgement.rule for judgement in judgements if isinstance(judgement.verdict, Refuted)}
    return bool(against & _OF_THE_CLIENT) and against <= _OF_THE_CLIENT | {client_rules.CENSORED.id}


def notes(judgements: Sequence[Judgement], environment: Environment) -> tuple[str, ...]:
    """Give what could not be answered, each once, and what a reader should know of the machine."""
    untold = (judgement.reason for judgement in judgements if isinstance(judgement.verdict, Undecided))
    return tuple(dict.fromkeys((*untold, *_busy(environment))))


def row_faults(measured: Sequence[Row]) -> tuple[str, ...]:
    """Say what the rows of one cell's measured phase themselves show against their figures.

    Args:
        measured: All rows of the measured phase of one cell.
    """
    if not measured:
        return ()
    first = measured[0]
    cell = Cell(
        name=first.cell,
        concurrency=1,
        requests=len(measured),
        warmup_requests=0,
        input_tokens=max(first.input_tokens, 1),
        output_tokens=max(first.output_tokens, 1),
    )
    case = CellCase(cell=cell, rows=tuple(measured), client=_NOBODY)
    found = (rule.check(case) for rule in row_rules.ABOUT_ROWS)
    return tuple(finding.verdict.reason for finding in found if finding and isinstance(finding.verdict, Refuted))


def _judgements(case: RunCase) -> Iterator[Judgement]:
    for run_rule in RUN_RULES:
        yield from _judged(run_rule, "", run_rule.check(case))
    for cell in case.cells:
        for rule in CELL_RULES:
            yield from _judged(rule, cell.cell.name, rule.check(cell))


def _judged(rule: Rule, cell: str, found: Finding | None) -> Iterator[Judgement]:
    if found is not None:
        yield Judgement(
            rule=rule.id,
            cell=cell,
            sentence=rule.sentence,
            bound=found.bound or rule.bound,
            measured=found.measured,
            verdict=found.verdict,
        )


def _busy(environment: Environment) -> Iterator[str]:
    if environment.load_before > environment.cores:
        yield (
            f"the machine was busy before the run: load average {environment.load_before:.1f} on {environment.cores} cores"
        )
