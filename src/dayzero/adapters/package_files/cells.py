"""The cells of a workload out of their tables."""

import msgspec.structs

from dayzero.adapters.package_files.schema import CellTable, LoadTable, RampTable, SloTable
from dayzero.core.errors import InputError
from dayzero.core.workload import Cell, ClosedLoop, Constant, Load, Poisson, Ramp, Slo


def cell_of(table: CellTable) -> Cell:
    """Read one point of the grid.

    Raises:
        InputError: The load has no form, or more than one.
    """
    return Cell(
        name=table.name,
        concurrency=table.concurrency,
        requests=table.requests,
        warmup_requests=table.warmup_requests,
        input_tokens=table.input_tokens,
        output_tokens=table.output_tokens,
        load=ClosedLoop() if table.load is None else _load(table.load),
        turns=table.turns,
        think_s=table.think_s,
        shared_prefix_tokens=table.shared_prefix_tokens,
        slos=_slos(table.slo),
    )


def _load(table: LoadTable) -> Load:
    match table:
        case LoadTable(constant_per_s=float(rate), poisson_per_s=None, ramp=None):
            return Constant(rate)
        case LoadTable(constant_per_s=None, poisson_per_s=float(rate), ramp=None):
            return Poisson(rate)
        case LoadTable(constant_per_s=None, poisson_per_s=None, ramp=RampTable() as ramp):
            return Ramp(
                start_per_s=ramp.start_per_s, end_per_s=ramp.end_per_s, over_s=ramp.over_s, arrivals=ramp.arrivals
            )
        case _:
            raise InputError("load needs exactly one form", hint="Give one of constant_per_s, poisson_per_s and ramp.")


def _slos(table: SloTable | None) -> tuple[Slo, ...]:
    limits = {} if table is None else msgspec.structs.asdict(table)
    return tuple(Slo(metric, limit) for metric, limit in limits.items() if limit is not None)
