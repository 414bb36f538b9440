"""Ask a database for one latency: settle the lane, keep it in memory, answer, and show the rows behind the answer as they came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from dayzero.adapters.perf_database.source_row import line_of, row_as_it_came
from dayzero.core.errors import InputError
from dayzero.perfdb.explain import Answer, Outcome, explain, failed_at, question_of
from dayzero.perfdb.lane_index import LaneIndex, Measurement, load_lane
from dayzero.perfdb.model import Family
from dayzero.perfdb.ports import Value
from dayzero.perfdb.predicate import NULL, Predicate, Term
from dayzero.perfdb.retraction import Standing, applied, family_of, taken_back
from dayzero.wiring.perfdb import Database

_FILE, _LINE = "raw_file", "raw_line"  # columns of rows that were made from a line of a run, or from a record
_TOLD = 8  # values in a hint
_OPEN = ("op_name", "kernel_label")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """A row behind an answer, as it came.

    Attributes:
        used: What the answer took from it.
        file, sha256: The file that it lies in, and its digest.
        columns: All of it, in the file's own columns, names and units.
        line_file, line: The line of a run, or the record, that it was made from, as ``FILE:NUMBER`` from 1, and its text; ``""``
            for a row of somebody else's tables, which has none.
    """

    used: Measurement
    file: str
    sha256: str
    columns: Mapping[str, Value]
    line_file: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Answers points of a database; a lane that was asked once answers from memory.

    Attributes:
        database: The database.
        standing: What was taken back; those rows do not answer.
        settled: What names a lane, by what was asked.
        lanes: Lanes in memory, by what names them.
    """

    database: Database
    standing: Sequence[Standing] = ()
    settled: dict[tuple[str, tuple[Term, ...]], tuple[Term, ...]] = field(default_factory=dict)
    lanes: dict[tuple[str, tuple[Term, ...]], LaneIndex] = field(default_factory=dict)

    def lane(self, table: str, terms: tuple[Term, ...]) -> LaneIndex:
        """Settle which lane is meant, and read it.

        Args:
            table: The table.
            terms: Equalities; system and engine have to be among them, and what tells lanes apart there.

        Raises:
            InputError: There is no such lane, or several; the hint says what tells them apart.
        """
        family = family_of(self.database.made, table)
        named = tuple(term for term in terms if term.column not in family.axes)
        settled = self.settled.get((table, named))
        if settled is None:
            settled = self.settled[table, named] = self._settle(family, named)
        known = self.lanes.get((table, settled))
        if known is None:
            known = self.lanes[table, settled] = load_lane(family, self.database.rows, settled, self._gone(family))
        return known

    def answer(self, table: str, label: str, terms: tuple[Term, ...]) -> tuple[LaneIndex, Outcome]:
        """Answer a point.

        Args:
            table: The table.
            label: Version of the build that is asked for; may be left out, as ``""``, where the lane has one.
            terms: Equalities that name the lane and the shape.

        Raises:
            InputError: What is asked is not one point of one lane.
        """
        index = self.lane(table, terms)
        if not label and len(index.labels) > 1:
            raise InputError(
                "the lane has several builds", hint=f"Give --label, one of {', '.join(sorted(index.labels))}."
            )
        shape = {term.column: _size(term) for term in terms if term.column in index.family.shape}
        question = question_of(index, label or next(iter(index.labels), ""), shape) if index.points else None
        if question is None:
            raise InputError(
                "every row of this lane was taken back, or took no time", hint="See 'dayzero perfdb retractions'."
            )
        failed = failed_at(index, question, self.database.made.failures)
        return index, explain(index, replace(question, failed=failed))

    def raw_rows(self, index: LaneIndex, answer: Answer) -> tuple[RawRow, ...]:
        """Read the rows behind an answer again, from the files that were imported.

        Raises:
            IntegrityError: A file is not the one that was imported.
        """
        return tuple(self._raw_row(index, used) for used in answer.used)

    def _raw_row(self, index: LaneIndex, used: Measurement) -> RawRow:
        folder, source = self.database.folder, index.family.sources[used.source]
        columns = row_as_it_came(folder, source, used.row)
        row = RawRow(used=used, file=source.path, sha256=source.sha256, columns=columns)
        path, number = columns.get(_FILE), columns.get(_LINE)
        other = next((other for other in self.database.made.others if other.path == path), None)
        if other is None or not isinstance(number, int):
            return row
        return replace(row, line_file=f"{path}:{number}", line=line_of(folder, other.path, other.sha256, number))

    def _gone(self, family: Family) -> str:
        return taken_back(family, applied(self.standing))

    def _settle(self, family: Family, named: tuple[Term, ...]) -> tuple[Term, ...]:
        told: Mapping[str, Term] = {term.column: term for term in named}
        for column in ("system", "engine"):
            if column not in told:
                raise InputError(f"{column} is not given", hint=f"Give --{column}.")
        names = (*_OPEN, *family.lane)
        where = Predicate(table=family.table, terms=named).sql(family)
        listed = ", ".join(f'"{name}"' for name in names)
        sql = f"SELECT DISTINCT {listed} FROM {family.table} WHERE {where} ORDER BY ALL LIMIT 100"  # noqa: S608  (checked)
        lanes = self.database.rows.ask(sql)
        if not lanes:
            raise self._no_lane(family, named)
        open_ = {
            name: values
            for number, name in enumerate(names)
            if len(values := sorted({NULL if lane[number] is None else str(lane[number]) for lane in lanes})) > 1
        }
        if open_:
            choices = "; ".join(f"--where {name}=..., one of {', '.join(vs[:_TOLD])}" for name, vs in open_.items())
            raise InputError(
                f"there are {len(lanes)} such lanes; they differ in {' and '.join(open_)}", hint=f"Give {choices}."
            )
        found = {name: NULL if value is None else str(value) for name, value in zip(names, lanes[0], strict=True)}
        given = tuple(term for term in named if term.column not in found and term.column not in family.shape)
        return (*given, *(Term(column=name, operator="=", value=_written(value)) for name, value in found.items()))

    def _no_lane(self, family: Family, named: Sequence[Term]) -> InputError:
        """Say which condition leaves no row of those that meet the ones before it, and what there is in its place."""
        for number, term in enumerate(named):
            if not self._values(family, named[: number + 1], term.column):
                known = self._values(family, named[:number], term.column)
                lower = {value.lower(): value for value in known}
                close = [lower[word] for word in get_close_matches(term.value.lower(), lower, n=3)]
                beside = " and ".join(str(other) for other in named[:number])
                told = f"{family.table} has no such lane: nothing with {term}" + (f" beside {beside}" if beside else "")
                return InputError(told, hint=f"There is {', '.join(close or known[:_TOLD]) or 'none'}.")
        return InputError(f"{family.table} has no such lane", hint="'dayzero perfdb coverage' counts what there is.")

    def _values(self, family: Family, named: Sequence[Term], column: str) -> Sequence[str]:
        where = Predicate(table=family.table, terms=tuple(named)).sql(family)
        sql = f'SELECT DISTINCT "{column}" FROM {family.table} WHERE {where} ORDER BY 1'  # noqa: S608  (checked)
        return [NULL if value is None else str(value) for (value,) in self.database.rows.ask(sql)]


def _written(value: str) -> str:
    """Write a value as conditions do: truth in lower case."""
    return value.lower() if value in {"True", "False"} else value


def _size(term: Term) -> int:
    if term.operator != "=" or not term.value.removeprefix("-").isdecimal():
        raise InputError(f"{term} does not name a point", hint="Give each shape column as COLUMN=WHOLE NUMBER.")
    return int(term.value)
