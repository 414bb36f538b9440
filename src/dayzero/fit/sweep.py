"""Size one model on many systems, spread in many ways."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dayzero.core.errors import InputError
from dayzero.core.hardware import System
from dayzero.core.parallelism import Parallelism
from dayzero.core.verdict import Proven
from dayzero.fit.cheapest import Sizing
from dayzero.fit.memory_log import GIB
from dayzero.fit.model import Component, FitPlan, Report

_DIGITS = 2


@dataclass(frozen=True, slots=True)
class Swept:
    """One way to serve, sized."""

    plan: FitPlan
    report: Report

    @property
    def cost(self) -> int:
        """Bytes of GPU memory that it takes up, used or not: what stands in for a price."""
        return self.plan.parallelism.ranks * self.plan.system.memory.count

    @property
    def weights_gib(self) -> float | None:
        """Weights on the rank that holds most."""
        sizes = [rank.figure(Component.WEIGHTS).size.count for rank in self.report.ranks]
        return round(max(sizes) / GIB, _DIGITS) if sizes else None


def sweep(plan: FitPlan, systems: Iterable[System], size: Sizing) -> tuple[Swept, ...]:
    """Size a plan on every system in every way that the engine takes, the cheapest first, what fits before what does not.

    Args:
        plan: The model, the engine's version and settings.
        systems: Where it could run.
        size: The memory model and its judgement.
    """
    rows: list[Swept] = []
    for system in systems:
        for spread in spreads(system):
            candidate = replace(plan, system=system, parallelism=spread, measured=())
            try:
                rows.append(Swept(candidate, size(candidate)))
            except InputError:
                continue  # the model does not divide so
    return tuple(sorted(rows, key=_order))


def spreads(system: System) -> Iterator[Parallelism]:
    """Give every way to take all GPUs of a system: powers of two of tp, pp and dp, without and with ep."""
    for pp in _powers(system.gpus):
        for dp in _powers(system.gpus // pp):
            tp = system.gpus // pp // dp
            if tp * pp * dp != system.gpus:
                continue
            yield Parallelism(tp=tp, pp=pp, dp=dp)
            if tp * dp > 1:
                yield Parallelism(tp=tp, pp=pp, dp=dp, ep=True)


def _powers(limit: int) -> Iterator[int]:
    power = 1
    while power <= limit:
        yield power
        power *= 2


def _order(row: Swept) -> tuple[bool, int, int]:
    return (not isinstance(row.report.verdict, Proven), row.cost, -row.report.headroom)
