"""Give the latencies of a lane along one axis, system by system, with what was taken back beside what is left."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dayzero.perfdb.coverage import DeclaredLane
from dayzero.perfdb.diff import noise_of
from dayzero.perfdb.lane_index import spread_sql
from dayzero.perfdb.model import Family, Import
from dayzero.perfdb.ports import Rows, Value
from dayzero.perfdb.predicate import NULL, Predicate, Term, parse_terms
from dayzero.perfdb.retraction import family_of, taken_back


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """The rows of one size.

    Attributes:
        size: On the axis.
        value_us: Their median.
        low_us: Lower end of what nine in ten repeats stay within, or nine in ten of the rows' own samples where that is wider.
        high_us: Upper end.
        rows: How many they are.
    """

    size: int
    value_us: float
    low_us: float
    high_us: float
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveLine:
    """Rows of one label on one system.

    Attributes:
        label: Version of the folder.
        substitution: What was measured in place of what, or ``""``.
        retracted: Whether they were taken back.
        points: By rising size.
    """

    label: str
    substitution: str
    retracted: bool
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A lane on a system.

    Attributes:
        lane: Title of the lane.
        system: The system.
        axis: Column along which it runs.
        fixed: The other columns, as ordered (name, value) pairs.
        lines: The lines, those that count first.
    """

    lane: str
    system: str
    axis: str
    fixed: tuple[tuple[str, str], ...]
    lines: tuple[CurveLine, ...]


def curves(
    lane: DeclaredLane, made: Import, rows: Rows, retracted: Mapping[str, Sequence[Predicate]]
) -> tuple[Curve, ...]:
    """Take the series of a lane that has the most sizes, and give it for each system.

    Args:
        lane: The lane.
        made: The import.
        rows: Its rows.
        retracted: What was taken back, by table.

    Raises:
        InputError: The import has no such table, or the table no such column.
    """
    family = family_of(made, lane.table)
    if not family.axes:
        return ()
    axis = family.axes[-1]
    terms = (*parse_terms((f"engine={lane.engine}",)), *parse_terms(lane.where))
    fixed = _longest(family, axis, terms, rows)
    if fixed is None:
        return ()
    gone = taken_back(family, retracted)
    where = Predicate(table=lane.table, terms=(*terms, *fixed)).sql(family)
    noise = noise_of(family, family.table, Predicate(table=lane.table, terms=terms).sql(family), rows)
    sql = (
        f"SELECT system, {gone}, dir_version, coalesce(substitution, ''), \"{axis}\", median(latency_us), "  # noqa: S608
        f"count(*), max({spread_sql(family)}) "
        f"FROM {family.table} WHERE {where} AND latency_us > 0 GROUP BY ALL ORDER BY ALL"
    )
    found: dict[str, dict[tuple[bool, str, str], list[CurvePoint]]] = {}
    for system, back, label, swapped, size, value, count, spread in rows.ask(sql):
        lines = found.setdefault(str(system), {})
        point = _point(size, value, count, math.exp(max(noise, float(str(spread)))))
        lines.setdefault((bool(back), str(label), str(swapped)), []).append(point)
    named = tuple((term.column, term.value) for term in fixed if term.value != NULL)
    return tuple(
        Curve(lane=lane.title, system=system, axis=axis, fixed=named, lines=_lines(found[system]))
        for system in lane.systems
        if system in found
    )


def _longest(family: Family, axis: str, terms: Sequence[Term], rows: Rows) -> tuple[Term, ...] | None:
    """Find the values of the other columns under which the axis has the most sizes, on the most systems."""
    asked = {term.column for term in terms if term.operator == "="}
    names = [name for name in (*family.lane, *family.shape) if name != axis and name not in asked]
    listed = "".join(f', "{name}"' for name in names)
    where = Predicate(table=family.table, terms=tuple(terms)).sql(family)
    sql = (
        f'SELECT count(DISTINCT "{axis}") AS sizes, count(DISTINCT system) AS places{listed} '  # noqa: S608  (checked)
        f"FROM {family.table} WHERE {where} AND latency_us > 0 "
        f"GROUP BY {', '.join(str(number) for number in range(3, 3 + len(names))) or 'true'} "
        f"ORDER BY sizes DESC, places DESC{listed} LIMIT 1"
    )
    best = next(iter(rows.ask(sql)), None)
    if best is None or not int(str(best[0])):
        return None
    return tuple(
        Term(column=name, operator="=", value=_written(value)) for name, value in zip(names, best[2:], strict=True)
    )


def _written(value: Value) -> str:
    if value is None:
        return NULL
    return str(value).lower() if isinstance(value, bool) else str(value)


def _point(size: Value, value: Value, count: Value, spread: float) -> CurvePoint:
    middle = float(str(value))
    return CurvePoint(
        size=int(str(size)),
        value_us=_rounded(middle),
        low_us=_rounded(middle / spread),
        high_us=_rounded(middle * spread),
        rows=int(str(count)),
    )


def _rounded(value: float) -> float:
    """Keep four digits: the bar is wider than what is left out."""
    return float(f"{value:.4g}")


def _lines(found: Mapping[tuple[bool, str, str], Sequence[CurvePoint]]) -> tuple[CurveLine, ...]:
    return tuple(
        CurveLine(label=label, substitution=swapped, retracted=back, points=tuple(points))
        for (back, label, swapped), points in sorted(found.items())
    )
