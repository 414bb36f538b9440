"""Compare two builds, or two imports, where both measured the same, with the noise of repeats in view."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dayzero.perfdb.error_bar import COVERAGE, FALLBACK_NOISE
from dayzero.perfdb.model import Family
from dayzero.perfdb.ports import Rows, Value
from dayzero.perfdb.predicate import Predicate, parse_terms

ENOUGH = 20


class Change(StrEnum):
    """What became of a lane's latencies."""

    SAME = "same within noise"
    FASTER = "faster"
    SLOWER = "slower"
    MIXED = "faster here, slower there"
    UNTOLD = "too few to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: the name of its view of a table is ``prefix + table``; ``label`` narrows it to ``ENGINE/VERSION``."""

    prefix: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Shapes that both sides measured, of one system and pair of kernels.

    Attributes:
        table: The table.
        system: The system.
        engine: The engine.
        kernels: Kernel label of the first side and of the second.
        shapes: How many shapes both have.
        p10, p50, p90: Quantiles of the second's latency over the first's.
        noise: Ratio that two single measurements of the same stay within in nine of ten cases.
        change: What that says.
    """

    table: str
    system: str
    engine: str
    kernels: tuple[str, str]
    shapes: int
    p10: float
    p50: float
    p90: float
    noise: float
    change: Change


def compare(family: Family, first: Side, second: Side, rows: Rows) -> Iterator[Difference]:
    """Compare a table; shapes are matched by operator, lane and shape, and by kernel where one side measured several of them.

    Args:
        family: The table, with the columns that both sides have.
        first: What is compared with.
        second: What is compared.
        rows: Rows of both sides.
    """
    repeats = [noise_of(family, f"{s.prefix}{family.table}", _narrowed(family, s), rows) for s in (first, second)]
    noise = math.exp(math.hypot(*repeats))
    for row in rows.ask(_sql(family, first, second)):
        yield _difference(family.table, noise, row)


def verdict(shapes: int, quantiles: tuple[float, float, float], noise: float) -> Change:
    """Say what quantiles of ratios mean when single ratios stay within ``noise`` by themselves.

    Args:
        shapes: How many ratios there are.
        quantiles: Their 10th, 50th and 90th percentile.
        noise: At least 1.
    """
    p10, p50, p90 = quantiles
    if shapes < ENOUGH:
        return Change.UNTOLD
    if p10 < 1 / noise and p90 > noise:
        return Change.MIXED
    if p50 > noise:
        return Change.SLOWER
    if p50 < 1 / noise:
        return Change.FASTER
    return Change.SAME if p10 >= 1 / noise and p90 <= noise else Change.MIXED


def _difference(table: str, noise: float, row: tuple[Value, ...]) -> Difference:
    system, engine, first, second, shapes, *quantiles = row
    p10, p50, p90 = (float(str(value)) for value in quantiles)
    return Difference(
        table=table,
        system=str(system),
        engine=str(engine),
        kernels=(str(first), str(second)),
        shapes=int(str(shapes)),
        p10=p10,
        p50=p50,
        p90=p90,
        noise=noise,
        change=verdict(int(str(shapes)), (p10, p50, p90), noise),
    )


def _sql(family: Family, first: Side, second: Side) -> str:
    key = [*_same(first, second), "system", "op_name", *family.lane, *family.shape]
    on = " AND ".join(f'a."{name}" IS NOT DISTINCT FROM b."{name}"' for name in key)
    on += " AND (a._kernel = b._kernel OR a.kernel_label = b.kernel_label)"  # one side may have fewer kernels than the other
    return (
        f"WITH a AS ({_medians(family, first, key)}), b AS ({_medians(family, second, key)}) "  # noqa: S608  (checked)
        "SELECT a.system, any_value(b.engine), a.kernel_label, b.kernel_label, count(*) AS n, "
        "quantile_cont(b.latency / a.latency, 0.1), quantile_cont(b.latency / a.latency, 0.5), "
        f"quantile_cont(b.latency / a.latency, 0.9) FROM a JOIN b ON {on} "
        "GROUP BY a.system, a.kernel_label, b.kernel_label ORDER BY a.system, n DESC, a.kernel_label, b.kernel_label"
    )


def _same(first: Side, second: Side) -> Sequence[str]:
    """Give what has to be the same beside lane and shape: engine and version, where no labels say that they differ."""
    return () if first.label and second.label else ("dir_version",)


def _medians(family: Family, side: Side, key: Sequence[str]) -> str:
    names = ", ".join(f'"{name}"' for name in key)
    return (
        "SELECT *, CASE WHEN min(kernel_label) OVER w = max(kernel_label) OVER w THEN '' ELSE kernel_label END AS _kernel "  # noqa: S608
        f"FROM (SELECT {names}, engine, kernel_label, median(latency_us) AS latency FROM {side.prefix}{family.table} "
        f"WHERE latency_us > 0 AND {_narrowed(family, side)} GROUP BY ALL) WINDOW w AS (PARTITION BY {names}, engine)"
    )


def _narrowed(family: Family, side: Side) -> str:
    if not side.label:
        return "true"
    engine, _, version = side.label.partition("/")
    terms = parse_terms((f"engine={engine}", f"dir_version={version}"))
    return Predicate(table=family.table, terms=terms).sql(family)


def noise_of(family: Family, view: str, where: str, rows: Rows) -> float:
    """Give the 90th percentile of what repeats of a shape differ from their median, as the logarithm of a ratio.

    Args:
        family: The table.
        view: Name of its view.
        where: Which rows of it, as SQL.
        rows: The rows; with too few repeats it is what all repeats of the anchor have.
    """
    names = ", ".join(f'"{name}"' for name in ("source", *family.key))
    sql = (
        "SELECT count(*), quantile_cont(e, "  # noqa: S608  (checked)
        f"{COVERAGE}) FROM (SELECT abs(ln(latency_us / median(latency_us) OVER w)) AS e, count(*) OVER w AS n "
        f"FROM {view} WHERE latency_us > 0 AND {where} WINDOW w AS (PARTITION BY {names})) "
        "WHERE n > 1"
    )
    count, error = rows.ask(sql)[0]
    return float(str(error)) if int(str(count)) >= ENOUGH else FALLBACK_NOISE
