"""Say of each lane and system what is known: measured, substituted, retracted, failed, unsupported, or never attempted."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import msgspec

from dayzero.perfdb.model import UNSUPPORTED_CASE, CellState, Failure, Family, Import
from dayzero.perfdb.ports import Rows
from dayzero.perfdb.predicate import Predicate, parse_terms
from dayzero.perfdb.retraction import taken_back
from dayzero.perfdb.tables import systems


class DeclaredLane(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lane that is asked for, whether or not it has rows.

    Attributes:
        title: Its name.
        table: Table that its rows are in.
        engine: Engine.
        where: Conditions that its rows meet.
        systems: Systems on which it is asked for.
        sm: Compute capabilities that can run it; empty where all can.
        recipe: How it would be measured.
        image: On which build.
        checks: What has to hold of what was built before a row of it counts: serving's own conditions.
        label: How its rows are to be labelled.
        source: Who asks for it, or claims it.
    """

    title: str
    table: str
    engine: str
    where: tuple[str, ...]
    systems: tuple[str, ...]
    sm: tuple[int, ...] = ()
    recipe: str = ""
    image: str = ""
    checks: tuple[str, ...] = ()
    label: str = ""
    source: str = ""


class _Lanes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lane: tuple[DeclaredLane, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A lane on a system.

    Attributes:
        system: The system.
        state: What is known.
        measured: Rows that measure it.
        substituted: Rows that measure something else in its place.
        retracted: Rows that were taken back.
        failed: Cases that the tree's error files list.
        builds: Builds that its rows name, those of retracted ones too.
    """

    system: str
    state: CellState
    measured: int
    substituted: int
    retracted: int
    failed: int
    builds: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """A lane, and each system on which it is asked for."""

    lane: DeclaredLane
    cells: tuple[Cell, ...]

    @property
    def with_rows(self) -> int:
        """On how many systems it has rows that count, measured or substituted."""
        return sum(cell.state in {CellState.MEASURED, CellState.SUBSTITUTED} for cell in self.cells)

    @property
    def rows(self) -> int:
        """How many rows count."""
        return sum(cell.measured + cell.substituted for cell in self.cells)


def declared_lanes() -> tuple[DeclaredLane, ...]:
    """Read the lanes that are asked for."""
    text = files("dayzero.perfdb").joinpath("lanes.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Lanes, strict=True).lane


def coverage(lane: DeclaredLane, made: Import, rows: Rows, retracted: Mapping[str, Sequence[Predicate]]) -> Coverage:
    """Count a lane's rows, system by system; an import without its table holds none of them.

    Args:
        lane: The lane.
        made: The import.
        rows: Its rows.
        retracted: What was taken back, by table.

    Raises:
        InputError: The table has no such column.
    """
    family = next((family for family in made.families if family.table == lane.table), None)
    found = {} if family is None else _count(lane, family, rows, retracted)
    cells = (_cell(lane, system, found.get(system), made.failures) for system in lane.systems)
    return Coverage(lane=lane, cells=tuple(cells))


def _count(
    lane: DeclaredLane, family: Family, rows: Rows, retracted: Mapping[str, Sequence[Predicate]]
) -> Mapping[str, tuple[int, int, int, tuple[str, ...]]]:
    where = Predicate(table=lane.table, terms=(*parse_terms((f"engine={lane.engine}",)), *parse_terms(lane.where)))
    gone = taken_back(family, retracted)
    sql = (
        f"SELECT system, count(*) FILTER (NOT {gone} AND substitution IS NULL), "  # noqa: S608  (checked)
        f"count(*) FILTER (NOT {gone} AND substitution IS NOT NULL), count(*) FILTER ({gone}), "
        f"string_agg(DISTINCT build, ' ' ORDER BY build) FROM {family.table} WHERE {where.sql(family)} GROUP BY system"
    )
    return {
        str(system): (int(str(measured)), int(str(other)), int(str(back)), tuple(str(builds).split()))
        for system, measured, other, back, builds in rows.ask(sql)
    }


def _of_lane(failure: Failure, lane: DeclaredLane) -> bool:
    """Whether a case that failed would have been a row of the lane: as far as it says its shape, it says the lane's."""
    case = dict(failure.case)
    said = (term for term in parse_terms(lane.where) if term.column in case)
    return (
        failure.table == lane.table
        and failure.place.engine == lane.engine
        and all((case[term.column] == term.value) == (term.operator == "=") for term in said)
    )


def _cell(
    lane: DeclaredLane, system: str, found: tuple[int, int, int, tuple[str, ...]] | None, failures: Sequence[Failure]
) -> Cell:
    measured, substituted, back, builds = found or (0, 0, 0, ())
    cases = [one.error for one in failures if one.place.system == system and _of_lane(one, lane)]
    failed = sum(error != UNSUPPORTED_CASE for error in cases)
    facts = systems().get(system)
    able = not lane.sm or facts is None or facts.sm in lane.sm
    state = next(
        state
        for state, holds in (
            (CellState.MEASURED, measured),
            (CellState.SUBSTITUTED, substituted),
            (CellState.RETRACTED, back),
            (CellState.FAILED, failed),
            (CellState.UNSUPPORTED, cases or not able),
            (CellState.NOT_ATTEMPTED, True),
        )
        if holds
    )
    return Cell(
        system=system,
        state=state,
        measured=measured,
        substituted=substituted,
        retracted=back,
        failed=failed,
        builds=builds,
    )
