"""The rows of one lane on one system, in memory: points by shape, series along each axis, and what they say of their own errors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeAlias

from dayzero.perfdb.error_bar import Calibration, Points, calibrate, noise, quantile, residuals
from dayzero.perfdb.model import Family
from dayzero.perfdb.ports import Rows
from dayzero.perfdb.predicate import Predicate, Term

_LEAST, _P90 = "latency_us_min", "latency_us_p90"
Shape: TypeAlias = tuple[int, ...]
SeriesKey: TypeAlias = tuple[str, Shape, Shape]
"""Label of the build, fixed shape, and the sizes on the other axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One row.

    Attributes:
        label: Version of the folder that it lies in.
        build: Id of its build.
        grade: Its grade.
        latency_us: What was measured.
        spread: What nine in ten of its samples stay within, as the logarithm of a ratio; 0 where it came without.
        source: Position of its file in the family.
        row: Row in that file, from 0.
    """

    label: str
    build: str
    grade: str
    latency_us: float
    spread: float
    source: int
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneIndex:
    """The rows of a lane on a system.

    Attributes:
        family: Their table.
        terms: What they have in common.
        points: Rows by label, fixed shape and sizes on the axes, in the table's order of columns.
        series: For each axis, its series.
        calibrations: For each axis, what interpolation along it gets wrong.
        noise: What repeats differ by.
        spread: What nine in ten rows have as their spread at most.
    """

    family: Family
    terms: tuple[Term, ...]
    points: Mapping[tuple[str, Shape, Shape], Sequence[Measurement]]
    series: Sequence[Mapping[SeriesKey, Points]]
    calibrations: Sequence[Calibration]
    noise: float
    spread: float
    labels: frozenset[str] = field(default=frozenset())

    @property
    def fixed(self) -> tuple[str, ...]:
        """The shape columns that are no axis."""
        return fixed_of(self.family)


def fixed_of(family: Family) -> tuple[str, ...]:
    """Give the shape columns that are no axis."""
    return tuple(name for name in family.shape if name not in family.axes)


def spread_sql(family: Family) -> str:
    """Write the spread of a row's own samples: nine in ten of them lie between the least and their 90th percentile."""
    if not {_LEAST, _P90} <= {name for name, _ in family.columns}:
        return "0.0"
    sides = f"latency_us / nullif({_LEAST}, 0), nullif({_P90}, 0) / latency_us"
    return f"coalesce(ln(greatest({sides}, 1.0)), 0.0)"


def load_lane(family: Family, rows: Rows, terms: tuple[Term, ...], retracted: str) -> LaneIndex:
    """Read a lane's rows that took any time and were not taken back.

    Args:
        family: The table.
        rows: The rows.
        terms: System, engine, operator, kernel and lane columns, each with its value.
        retracted: SQL condition under which a row is taken back.
    """
    fixed = fixed_of(family)
    names = ", ".join(f'coalesce("{name}", -1)' for name in (*fixed, *family.axes))
    sql = (
        f"SELECT dir_version, build, grade, latency_us, {spread_sql(family)}, source, row, {names} FROM {family.table} "  # noqa: S608  (checked)
        f"WHERE {Predicate(table=family.table, terms=terms).sql(family)} AND NOT {retracted} AND latency_us > 0"
    )
    points: dict[tuple[str, Shape, Shape], list[Measurement]] = {}
    for label, build, grade, latency, spread, source, row, *shape in rows.ask(sql):
        one = Measurement(
            label=str(label),
            build=str(build),
            grade=str(grade),
            latency_us=float(str(latency)),
            spread=float(str(spread)),
            source=int(str(source)),
            row=int(str(row)),
        )
        sizes = tuple(int(str(value)) for value in shape)
        points.setdefault((one.label, sizes[: len(fixed)], sizes[len(fixed) :]), []).append(one)
    return index_of(family, terms, points)


def index_of(
    family: Family, terms: tuple[Term, ...], points: Mapping[tuple[str, Shape, Shape], Sequence[Measurement]]
) -> LaneIndex:
    """Build the series over points, and calibrate them."""
    series = [dict(_series(points, axis)) for axis in range(len(family.axes))]
    return LaneIndex(
        family=family,
        terms=terms,
        points=points,
        series=series,
        calibrations=[calibrate(r for line in lines.values() for r in residuals(line)) for lines in series],
        noise=noise([m.latency_us for m in listed] for listed in points.values()),
        spread=quantile([m.spread for listed in points.values() for m in listed] or [0.0]),
        labels=frozenset(label for label, _, _ in points),
    )


def _series(
    points: Mapping[tuple[str, Shape, Shape], Sequence[Measurement]], axis: int
) -> Iterator[tuple[SeriesKey, Points]]:
    lines: dict[SeriesKey, list[tuple[int, float]]] = {}
    for (label, fixed, sizes), listed in points.items():
        others = sizes[:axis] + sizes[axis + 1 :]
        lines.setdefault((label, fixed, others), []).append((sizes[axis], median(m.latency_us for m in listed)))
    for key, line in lines.items():
        yield key, sorted(line)
